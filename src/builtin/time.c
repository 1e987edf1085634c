#include <time.h>

#include "base/clock.h"
#include "builtin/internal.h"
#include "config/config.h"
#include "os/zone.h"

static void tell_time(struct builtin_call *c)
{
    str zone = json_get_string(c->call.args, "timezone");
    if (zone.n == 0)
        zone = runtime_deps(c->builtin->deps.runtime)->config->time_zone;
    int64_t now_ms = clock_now_ms();
    int32_t offset;
    char abbr[ZONE_ABBR_MAX];
    struct err e = {0};
    if (zone_offset(zone, now_ms / 1000, &offset, abbr, &e) < 0) {
        builtin_fail(c, "%s", e.msg);
        return;
    }
    time_t shifted = (time_t)(now_ms / 1000 + offset);
    struct tm tm;
    gmtime_r(&shifted, &tm);
    char text[96], iso[CLOCK_ISO_LEN + 1];
    size_t n = strftime(text, sizeof text, "%A, %d %B %Y, %H:%M:%S ", &tm);
    snprintf(text + n, sizeof text - n, "%s", abbr);
    clock_iso(now_ms, iso);

    struct json *out = json_new(&c->call.arena, JSON_OBJECT);
    json_set(&c->call.arena, out, STR("utc"),
             json_of_str(arena_str(&c->call.arena, str_from(iso))));
    json_set(&c->call.arena, out, STR("timezone"), json_of_str(zone.n > 0 ? zone : STR("UTC")));
    json_set(&c->call.arena, out, STR("offsetSeconds"), json_of_int(offset));
    json_set(&c->call.arena, out, STR("epochMs"), json_of_int(now_ms));
    builtin_reply_json(c, str_from(text), out);
}

const struct builtin_tool BUILTIN_TIME = {
    .name = "time",
    .title = "Current time",
    .description = "Get the current date and time, in UTC or in a given time zone.",
    .schema = "{\"type\":\"object\",\"properties\":{\"timezone\":{\"type\":\"string\","
              "\"description\":\"IANA name (Europe/Berlin), UTC, or an offset (+02:00)\"}},"
              "\"additionalProperties\":false}",
    .is_read_only = true,
    .call = tell_time,
};
