#include "apps/file_args.h"

bool file_args_is(const struct json *schema)
{
    return json_get_bool(schema, "x-nb-file", false);
}

bool file_args_in(const struct json *schema)
{
    return file_args_is(schema) || file_args_is(json_get(schema, "items"));
}

bool file_args_has_outbox(const struct tool *t)
{
    return json_get_bool(t->meta, FILE_ARGS_OUTBOX, false);
}

bool file_args_needed(const struct tool *t, const struct json *args)
{
    const struct json *properties = json_get(t->input_schema, "properties");
    if (file_args_has_outbox(t))
        return true;
    for (uint32_t i = 0; json_is(properties, JSON_OBJECT) && i < properties->len; i++)
        if (file_args_in(&properties->members[i].value) &&
            json_get_str(args, properties->members[i].key))
            return true;
    return false;
}
