#include "cli/term/result_words.h"

#include "store/event/parts.h"

#define WORDS_MAX_BYTES (1024u * 1024)

/* The structured content of a command: {stdout, stderr, exit_code}; else NULL. */
static const struct json *command_of(const struct json *call, int64_t *ret_code)
{
    const struct json *parts = json_get(call, "parts");
    const struct json *last =
        json_is(parts, JSON_ARRAY) && parts->len > 0 ? json_at(parts, parts->len - 1) : NULL;
    const struct json *value = json_get(last, "value");
    const struct json *code = json_get(value, "exit_code");
    bool is_command = json_is(code, JSON_INT) && json_is(json_get(value, "stdout"), JSON_STRING);
    *ret_code = is_command ? code->i : 0;
    return is_command ? value : NULL;
}

/* The length of the escape sequence at s: ESC [ ... final byte. */
static size_t escape_length(str s)
{
    size_t n = 2;
    if (s.n < 3 || s.p[0] != '\x1b' || s.p[1] != '[')
        return 0;
    while (n < s.n && s.p[n] >= ' ' && s.p[n] < '@')
        n++;
    return n < s.n ? n + 1 : n;
}

static void add_without_colours(struct buf *out, str s)
{
    while (s.n > 0) {
        size_t skipped = escape_length(s);
        if (skipped == 0)
            buf_add_char(out, s.p[0]);
        s = str_skip(s, skipped > 0 ? skipped : 1);
    }
}

static void add_command(struct buf *out, const struct json *value, int64_t code)
{
    str printed = json_get_string(value, "stdout"), err = json_get_string(value, "stderr");
    if (code != 0)
        buf_printf(out, "exit %lld: ", (long long)code);
    add_without_colours(out, printed);
    if (printed.n > 0 && err.n > 0 && !str_ends(printed, STR("\n")))
        buf_add_char(out, '\n');
    add_without_colours(out, err);
}

str result_words(struct arena *a, const struct json *call)
{
    int64_t code;
    const struct json *command = command_of(call, &code), *parts = json_get(call, "parts");
    struct buf out;
    buf_init(&out, WORDS_MAX_BYTES);
    if (command)
        add_command(&out, command, code);
    else
        add_without_colours(&out, json_get_string(call, "output"));
    for (size_t i = 0; json_is(parts, JSON_ARRAY) && i < parts->len; i++) {
        str label = parts_label(a, &parts->items[i]);
        if (label.n > 0 && out.n > 0)
            buf_add_char(&out, ' ');
        buf_add_str(&out, label);
    }
    return buf_keep(&out, a);
}

bool result_is_ok(const struct json *call)
{
    int64_t code;
    (void)command_of(call, &code);
    return json_get_bool(call, "ok", false) && code == 0;
}
