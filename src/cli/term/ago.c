#include "cli/term/ago.h"

enum { MINUTE = 60, HOUR = 3600, DAY = 24 * HOUR, WEEK = 7 * DAY };

static void add_date(struct buf *out, int64_t then_s, int64_t now_s)
{
    static const char MONTHS[][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    struct tm then, now;
    time_t a = (time_t)then_s, b = (time_t)now_s;
    gmtime_r(&a, &then);
    gmtime_r(&b, &now);
    buf_printf(out, "%d %s", then.tm_mday, MONTHS[then.tm_mon]);
    if (then.tm_year != now.tm_year)
        buf_printf(out, " %d", then.tm_year + 1900);
}

void ago_add(struct buf *out, int64_t then_ms, int64_t now_ms)
{
    int64_t s = (now_ms - then_ms) / 1000;
    if (s < MINUTE)
        buf_add_lit(out, "just now");
    else if (s < HOUR)
        buf_printf(out, "%lld min ago", (long long)(s / MINUTE));
    else if (s < DAY)
        buf_printf(out, "%lld h ago", (long long)(s / HOUR));
    else if (s < 2 * DAY)
        buf_add_lit(out, "yesterday");
    else if (s < WEEK)
        buf_printf(out, "%lld days ago", (long long)(s / DAY));
    else
        add_date(out, then_ms / 1000, now_ms / 1000);
}
