#include <errno.h>

#include "base/json/json_scan.h"
#include "bundle/settings/settings.h"

#define TEXT_MAX     (4u * 1024 * 1024)
#define INDENT_MAX   32
#define INDENT_USUAL "  "

/* Positions in the text, as offsets; `to` is after the last byte. */
struct span {
    size_t from, to;
};

struct layout {
    str text;
    size_t object_end; /* of the closing brace of the document */
    struct span last;  /* the document's last value; from == to: it has none */
    bool has_member;
    struct span member; /* the value to change; for bundles: the array with its brackets */
    struct span *items;
    size_t nitems;
    bool is_one_line;
};

static struct span span_of(str text, str part)
{
    size_t from = (size_t)(part.p - text.p);
    return (struct span){from, from + part.n};
}

/* ---- finding ---- */

static size_t skip_json_string(str s, size_t i)
{
    for (i++; i < s.n && s.p[i] != '"'; i++)
        if (s.p[i] == '\\')
            i++;
    return i + 1;
}

static bool is_json_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The elements of an array whose text is known to be valid JSON. */
static void find_items(struct arena *a, struct layout *l, size_t count)
{
    size_t depth = 0, i = l->member.from + 1, end = l->member.to - 1;
    l->items = arena_array(a, count, sizeof *l->items);
    struct span at = {0};
    bool is_inside = false;
    while (i < end && l->nitems < count) {
        char c = l->text.p[i];
        if (!is_inside && !is_json_space(c) && c != ',') {
            is_inside = true;
            at.from = i;
        }
        depth += c == '{' || c == '[';
        depth -= c == '}' || c == ']';
        i = c == '"' ? skip_json_string(l->text, i) : i + 1;
        if (!is_json_space(c) && c != ',')
            at.to = i;
        bool is_over = depth == 0 && (i == end || l->text.p[i] == ',');
        if (is_inside && is_over) {
            l->items[l->nitems++] = at;
            is_inside = false;
        }
    }
}

static void find_members(struct layout *l, const char *wanted)
{
    struct json_scan scan;
    str key, value;
    json_scan_init(&scan, l->text);
    while (json_scan_next(&scan, &key, &value)) {
        value = str_trim(value);
        l->last = span_of(l->text, value);
        if (str_eq(key, str_from(wanted))) {
            l->has_member = true;
            l->member = l->last;
        }
    }
    l->object_end = (size_t)str_rfind_char(l->text, '}');
    l->is_one_line = str_find_char(str_trim(l->text), '\n') < 0;
}

/* ---- writing ---- */

/* The white space before the token at `at`, if the token begins a line. */
static str indent_at(str text, size_t at)
{
    size_t from = at;
    while (from > 0 && (text.p[from - 1] == ' ' || text.p[from - 1] == '\t'))
        from--;
    bool begins_line = from == 0 || text.p[from - 1] == '\n';
    return begins_line && at - from <= INDENT_MAX ? str_slice(text, from, at) : STR_NONE;
}

static bool begins_line(str text, size_t at)
{
    while (at > 0 && (text.p[at - 1] == ' ' || text.p[at - 1] == '\t'))
        at--;
    return at > 0 && text.p[at - 1] == '\n';
}

/* The indentation of the line that holds `at`. */
static str line_indent(str text, size_t at)
{
    size_t from = at;
    while (from > 0 && text.p[from - 1] != '\n')
        from--;
    size_t to = from;
    while (to < text.n && (text.p[to] == ' ' || text.p[to] == '\t'))
        to++;
    return to - from <= INDENT_MAX ? str_slice(text, from, to) : STR_NONE;
}

/* A value over several lines; all but the first are indented. */
static void add_value(struct buf *out, const struct json *v, str indent, bool is_one_line)
{
    struct buf b;
    str rest, line;
    if (is_one_line) {
        json_write(out, v);
        return;
    }
    buf_init(&b, TEXT_MAX);
    json_write_pretty(&b, v);
    rest = str_trim(buf_str(&b));
    for (size_t i = 0; str_split(&rest, '\n', &line); i++) {
        if (i > 0) {
            buf_add_char(out, '\n');
            buf_add_str(out, indent);
        }
        buf_add_str(out, line);
    }
    if (buf_failed(&b))
        out->failed = true;
    buf_done(&b);
}

static void add_range(struct buf *out, const struct layout *l, size_t from, size_t to)
{
    buf_add_str(out, str_slice(l->text, from, to));
}

/* "[", the entry on its own lines, "]"; `indent` is that of the line the array begins on. */
static void add_array(struct buf *out, const struct json *entry, str indent, str step,
                      bool is_one_line)
{
    char inner[2 * INDENT_MAX + 1];
    int n = snprintf(inner, sizeof inner, "%.*s%.*s", STR_ARG(indent), STR_ARG(step));
    buf_add_char(out, '[');
    if (!is_one_line)
        buf_printf(out, "\n%s", inner);
    add_value(out, entry, str_make(inner, (size_t)n), is_one_line);
    if (!is_one_line)
        buf_printf(out, "\n%.*s", STR_ARG(indent));
    buf_add_char(out, ']');
}

static bool has_no_member(const struct layout *l)
{
    return l->last.from == l->last.to;
}

/* The indentation of one level of the document. */
static str indent_step(const struct layout *l)
{
    if (has_no_member(l))
        return STR(INDENT_USUAL);
    str indent = line_indent(l->text, l->last.from);
    return indent.n > 0 ? indent : STR(INDENT_USUAL);
}

/* A member at the end of the document: the text before its value, and the text after it. */
static void begin_member(struct buf *out, const struct layout *l, const char *key)
{
    bool is_empty = has_no_member(l);
    add_range(out, l, 0, is_empty ? (size_t)str_find_char(l->text, '{') + 1 : l->last.to);
    if (!is_empty)
        buf_add_char(out, ',');
    if (l->is_one_line && !is_empty)
        buf_add_char(out, ' ');
    else
        buf_printf(out, "\n%.*s", STR_ARG(indent_step(l)));
    buf_printf(out, "\"%s\": ", key);
}

static void end_member(struct buf *out, const struct layout *l)
{
    bool is_empty = has_no_member(l);
    if (is_empty)
        buf_add_char(out, '\n');
    add_range(out, l, is_empty ? l->object_end : l->last.to, l->text.n);
}

static void add_item(struct buf *out, const struct layout *l, const struct json *entry)
{
    if (!l->has_member) {
        str step = indent_step(l);
        begin_member(out, l, "bundles");
        add_array(out, entry, step, step, l->is_one_line && !has_no_member(l));
        end_member(out, l);
        return;
    }
    if (l->nitems == 0) {
        add_range(out, l, 0, l->member.from);
        add_array(out, entry, line_indent(l->text, l->member.from), indent_step(l), l->is_one_line);
        add_range(out, l, l->member.to, l->text.n);
        return;
    }
    struct span last = l->items[l->nitems - 1];
    bool is_own_line = begins_line(l->text, last.from);
    str indent = indent_at(l->text, last.from);
    add_range(out, l, 0, last.to);
    if (is_own_line)
        buf_printf(out, ",\n%.*s", STR_ARG(indent));
    else
        buf_add_lit(out, ", ");
    add_value(out, entry, indent, !is_own_line);
    add_range(out, l, last.to, l->text.n);
}

static void replace_item(struct buf *out, const struct layout *l, size_t at,
                         const struct json *entry)
{
    struct span old = l->items[at];
    bool was_one_line = str_find_char(str_slice(l->text, old.from, old.to), '\n') < 0;
    add_range(out, l, 0, old.from);
    add_value(out, entry, line_indent(l->text, old.from), was_one_line);
    add_range(out, l, old.to, l->text.n);
}

static void remove_item(struct buf *out, const struct layout *l, size_t at)
{
    struct span gap = l->items[at];
    if (l->nitems == 1)
        gap = (struct span){l->member.from + 1, l->member.to - 1};
    else if (at + 1 < l->nitems)
        gap.to = l->items[at + 1].from;
    else
        gap.from = l->items[at - 1].to;
    add_range(out, l, 0, gap.from);
    add_range(out, l, gap.to, l->text.n);
}

/* ---- the same on the document, to check the text against ---- */

static void edit_document(struct arena *a, struct json *root, enum settings_edit what, size_t at,
                          const struct json *entry)
{
    struct json *list = json_get(root, "bundles");
    if (!list)
        list = json_set(a, root, STR("bundles"), *json_new(a, JSON_ARRAY));
    if (what == SETTINGS_ADD) {
        json_push(a, list, *entry);
    } else if (what == SETTINGS_REPLACE) {
        list->items[at] = *entry;
    } else {
        memmove(&list->items[at], &list->items[at + 1], (list->len - at - 1) * sizeof *list->items);
        list->len--;
    }
}

static void edit_text(struct buf *out, const struct layout *l, enum settings_edit what, size_t at,
                      const struct json *entry)
{
    if (what == SETTINGS_ADD)
        add_item(out, l, entry);
    else if (what == SETTINGS_REPLACE)
        replace_item(out, l, at, entry);
    else
        remove_item(out, l, at);
}

/* The result must mean what was asked for: if the edited text does not, the document is formatted
 * from scratch. */
static int settle_text(struct arena *a, struct buf *out, const struct json *wanted, str *ret,
                       struct err *e)
{
    struct json *got;
    bool is_right = !buf_failed(out) &&
                    json_parse(a, buf_str(out), JSON_UNIQUE | JSON_COPY, &got, NULL) == 0 &&
                    json_equal(got, wanted);
    if (!is_right) {
        buf_clear(out);
        json_write_pretty(out, wanted);
        buf_add_char(out, '\n');
    }
    if (buf_failed(out))
        return err_set(e, -EFBIG, "the settings would be larger than %u bytes", TEXT_MAX);
    *ret = arena_str(a, buf_str(out));
    return 0;
}

int settings_text_edit(struct arena *a, str text, enum settings_edit what, size_t at,
                       const struct json *entry, str *ret, struct err *e)
{
    struct json *root;
    int r = json_parse(a, text, JSON_UNIQUE | JSON_COPY, &root, e);
    if (r < 0)
        return r;
    const struct json *list = json_get(root, "bundles");
    if (root->type != JSON_OBJECT || (list && list->type != JSON_ARRAY))
        return err_set(e, -EINVAL, "\"bundles\" is not an array in an object");
    size_t count = list ? list->len : 0;
    if (what != SETTINGS_ADD && at >= count)
        return err_set(e, -ENOENT, "\"bundles\" has no entry %zu", at);
    struct layout l = {.text = text};
    struct buf out;
    find_members(&l, "bundles");
    if (l.has_member)
        find_items(a, &l, count);
    edit_document(a, root, what, at, entry);
    buf_init(&out, TEXT_MAX);
    if (l.nitems == count)
        edit_text(&out, &l, what, at, entry);
    r = settle_text(a, &out, root, ret, e);
    buf_done(&out);
    return r;
}

static void set_member(struct buf *out, const struct layout *l, const char *key,
                       const struct json *value)
{
    if (l->has_member) {
        add_range(out, l, 0, l->member.from);
        add_value(out, value, line_indent(l->text, l->member.from), l->is_one_line);
        add_range(out, l, l->member.to, l->text.n);
        return;
    }
    begin_member(out, l, key);
    add_value(out, value, indent_step(l), l->is_one_line && !has_no_member(l));
    end_member(out, l);
}

int settings_text_set(struct arena *a, str text, const char *key, const struct json *value,
                      str *ret, struct err *e)
{
    struct json *root;
    struct layout l = {.text = text};
    struct buf out;
    int r = json_parse(a, text, JSON_UNIQUE | JSON_COPY, &root, e);
    if (r < 0)
        return r;
    if (root->type != JSON_OBJECT)
        return err_set(e, -EINVAL, "the document is not an object");
    find_members(&l, key);
    json_set(a, root, str_from(key), *value);
    buf_init(&out, TEXT_MAX);
    set_member(&out, &l, key, value);
    r = settle_text(a, &out, root, ret, e);
    buf_done(&out);
    return r;
}
