#include "store/event/event.h"

#include <errno.h>

#include "base/clock.h"
#include "base/json/json_scan.h"
#include "store/store.h"

/* If a name occurs several times, the first member is valid, as everywhere in nb. */
static bool read_head(str line, bool is_good, struct event_head *ret)
{
    struct json_scan scan;
    str key, value, type = STR_NONE, role = STR_NONE, ts = STR_NONE, timestamp = STR_NONE;
    json_scan_init(&scan, line);
    while (!(is_good && type.n && ts.n) && json_scan_next(&scan, &key, &value)) {
        if (!type.n && str_eq(key, STR("type")))
            type = json_scan_plain(value);
        else if (!role.n && str_eq(key, STR("role")))
            role = json_scan_plain(value);
        else if (!ts.n && str_eq(key, STR("ts")))
            ts = value;
        else if (!timestamp.n && str_eq(key, STR("timestamp")))
            timestamp = value;
    }
    *ret = (struct event_head){
        .type = type.n ? event_type_of(type) : EV_LEGACY_MESSAGE,
        .type_name = type.n ? type : STR("message"),
        .ts = ts.n ? ts : timestamp,
    };
    return !scan.failed && (type.n || role.n);
}

bool event_scan(str line, struct event_head *ret)
{
    return read_head(line, false, ret);
}

/* The bytes up to the next quotation mark. Empty: there is none, or an escape comes first. */
static str plain_string(const char *p, const char *end)
{
    const char *quote = memchr(p, '"', (size_t)(end - p));
    size_t n = quote ? (size_t)(quote - p) : 0;
    return memchr(p, '\\', n) ? STR_NONE : str_make(p, n);
}

/* {"ts":"2026-01-01T00:00:00.000Z","type":"...", as nb writes nearly every line. False: it looks
 * different. */
static bool peek_usual(str line, struct event_head *ret)
{
    static const char TS[] = "{\"ts\":\"", TYPE[] = "\",\"type\":\"";
    enum { TS_AT = sizeof(TS) - 1, TS_END = TS_AT + CLOCK_ISO_LEN };
    enum { TYPE_AT = TS_END + sizeof(TYPE) - 1 };
    if (line.n <= TYPE_AT || memcmp(line.p, TS, sizeof(TS) - 1) != 0 ||
        memcmp(line.p + TS_END, TYPE, sizeof(TYPE) - 1) != 0)
        return false;
    str ts = plain_string(line.p + TS_AT, line.p + line.n);
    str type = plain_string(line.p + TYPE_AT, line.p + line.n);
    if (ts.n != CLOCK_ISO_LEN || type.n == 0)
        return false;
    *ret = (struct event_head){.type = event_type_of(type),
                               .type_name = type,
                               .ts = str_make(ts.p - 1, ts.n + 2)}; /* with its quotation marks */
    return true;
}

bool event_peek(str line, struct event_head *ret)
{
    return peek_usual(line, ret) || read_head(line, true, ret);
}

static int event_check(struct arena *a, str in, struct json **ret, struct err *e)
{
    if (in.n > STORE_LINE_MAX)
        return err_set(e, -E2BIG, "event of %zu bytes is larger than the limit of %u", in.n,
                       STORE_LINE_MAX);
    if (json_parse(a, in, 0, ret, e) < 0) {
        err_prefix(e, "event is not valid JSON");
        return -EINVAL;
    }
    if (!json_get_string(*ret, "type").n &&
        (json_get(*ret, "type") || !json_get_string(*ret, "role").n))
        return err_set(e, -EINVAL, "event has no \"type\"");
    return 0;
}

/* The object with {"ts":...} as its first member, and `end` behind it. */
static str with_time(struct arena *a, str object, int64_t ms, str end)
{
    char ts[CLOCK_ISO_LEN + 1];
    clock_iso(ms, ts);
    const str parts[] = {STR("{\"ts\":\""), str_make(ts, CLOCK_ISO_LEN), STR("\","),
                         str_skip(object, 1), end};
    return arena_join(a, parts, ARRAY_LEN(parts));
}

int event_prepare(struct arena *a, str in, int64_t now_ms, str *ret_line, struct err *e)
{
    struct json *v;
    int r = event_check(a, in, &v, e);
    if (r < 0)
        return r;
    in = str_trim(in);
    if (str_find_char(in, '\n') >= 0 || str_find_char(in, '\r') >= 0)
        in = json_to_str(a, v);
    bool is_dated = json_get(v, "ts") != NULL;
    *ret_line = is_dated ? arena_concat(a, in, STR("\n")) : with_time(a, in, now_ms, STR("\n"));
    return 0;
}

bool event_is_waiting(str run_done_line)
{
    str reason = json_scan_plain(json_scan_field(run_done_line, STR("stopReason")));
    return str_eq(reason, STR("waiting"));
}

void event_begin_undated(struct json_writer *w, struct buf *out, enum event_type t)
{
    jw_init(w, out);
    jw_object(w);
    jw_kstr(w, "type", event_name(t));
}

void event_begin(struct json_writer *w, struct buf *out, enum event_type t, int64_t now_ms)
{
    char ts[CLOCK_ISO_LEN + 1];
    clock_iso(now_ms, ts);
    jw_init(w, out);
    jw_object(w);
    jw_kstr(w, "ts", str_from(ts));
    jw_kstr(w, "type", event_name(t));
}

static bool event_value_time(const struct json *v, int64_t *ret_ms)
{
    if (json_is(v, JSON_INT)) {
        *ret_ms = v->i;
        return true;
    }
    return json_is(v, JSON_STRING) && clock_parse_iso(v->s, ret_ms) == 0;
}

bool event_time(const struct json *line, int64_t *ret_ms)
{
    return event_value_time(json_get(line, "ts"), ret_ms) ||
           event_value_time(json_get(line, "timestamp"), ret_ms) ||
           event_value_time(json_get(line, "createdAt"), ret_ms);
}

str event_iso(struct arena *a, const struct json *line)
{
    char iso[CLOCK_ISO_LEN + 1] = "";
    int64_t ms;
    if (event_time(line, &ms))
        clock_iso(ms, iso);
    return arena_str(a, str_from(iso));
}

str event_dated(struct arena *a, str line, const struct json *v, int64_t *last_ms)
{
    (void)event_time(v, last_ms);
    return json_get(v, "ts") ? line : with_time(a, line, *last_ms, STR_NONE);
}
