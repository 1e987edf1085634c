/* Any bytes as a settings file that is changed by us, and as one of another program: a change
 * means exactly what was asked for, and taking it back gives the same document again. */
#include <assert.h>

#include "bundle/entry/import.h"
#include "bundle/settings/settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct json *parse(struct arena *a, str text)
{
    struct json *v;
    return json_parse(a, text, JSON_COPY | JSON_UNIQUE, &v, NULL) == 0 ? v : NULL;
}

static void edit(struct arena *a, str text)
{
    str added, removed;
    struct err e = {0};
    struct json *entry = json_new(a, JSON_OBJECT);
    json_set(a, entry, STR("path"), json_of_str(STR("x")));
    if (settings_text_edit(a, text, SETTINGS_ADD, 0, entry, &added, &e) < 0) {
        assert(e.msg[0]);
        return;
    }
    struct json *before = parse(a, text), *after = parse(a, added);
    const struct json *list = json_get(after, "bundles");
    assert(before && after && list->len > 0);
    assert(json_equal(json_at(list, list->len - 1), entry));
    assert(settings_text_edit(a, added, SETTINGS_REPLACE, list->len - 1, entry, &added, &e) == 0);
    assert(settings_text_edit(a, added, SETTINGS_REMOVE, list->len - 1, NULL, &removed, &e) == 0);
    if (!json_get(before, "bundles"))
        json_set(a, before, STR("bundles"), *json_new(a, JSON_ARRAY));
    assert(json_equal(parse(a, removed), before));
}

static void import(struct arena *a, str text)
{
    struct import_list l;
    struct err e = {0};
    if (import_parse(a, text, "/dir", "/home", &l, &e) < 0) {
        assert(e.msg[0]);
        return;
    }
    for (size_t i = 0; i < l.len; i++)
        assert(l.items[i].entry ? l.items[i].bundle.server_name.n > 0 : l.items[i].notes.len > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a;
    if (size > 64 * 1024)
        return 0;
    arena_init(&a);
    edit(&a, str_make((const char *)data, size));
    import(&a, str_make((const char *)data, size));
    arena_done(&a);
    return 0;
}
