#include "base/clock.h"

#include <errno.h>
#include <time.h>

#define YEAR_0_MS     INT64_C(-62167219200000)
#define YEAR_10000_MS INT64_C(253402300800000)

int64_t clock_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

uint64_t clock_mono_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

uint64_t clock_mono_ms(void)
{
    return clock_mono_us() / 1000;
}

/* Writes `width` digits of v and returns the place behind them. */
static char *put_digits(char *out, int64_t v, int width)
{
    for (int i = width - 1; i >= 0; i--, v /= 10)
        out[i] = (char)('0' + v % 10);
    return out + width;
}

void clock_iso(int64_t epoch_ms, char out[CLOCK_ISO_LEN + 1])
{
    if (epoch_ms < YEAR_0_MS)
        epoch_ms = YEAR_0_MS;
    if (epoch_ms >= YEAR_10000_MS)
        epoch_ms = YEAR_10000_MS - 1;
    int64_t ms = (epoch_ms % 1000 + 1000) % 1000;
    time_t seconds = (time_t)((epoch_ms - ms) / 1000);
    struct tm t;
    gmtime_r(&seconds, &t);
    const struct {
        int64_t value;
        int width;
        char after;
    } parts[] = {{t.tm_year + 1900, 4, '-'},
                 {t.tm_mon + 1, 2, '-'},
                 {t.tm_mday, 2, 'T'},
                 {t.tm_hour, 2, ':'},
                 {t.tm_min, 2, ':'},
                 {t.tm_sec, 2, '.'},
                 {ms, 3, 'Z'}};
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        out = put_digits(out, parts[i].value, parts[i].width);
        *out++ = parts[i].after;
    }
    *out = '\0';
}

/* A reader that remembers that something was wrong, so that the grammar reads downward. */
struct iso_reader {
    str rest;
    bool failed;
};

static bool accept(struct iso_reader *in, char c)
{
    if (in->failed || in->rest.n == 0 || in->rest.p[0] != c)
        return false;
    in->rest = str_skip(in->rest, 1);
    return true;
}

static void expect(struct iso_reader *in, char c)
{
    if (!accept(in, c))
        in->failed = true;
}

static int iso_number(struct iso_reader *in, size_t width, int min, int max)
{
    uint64_t v = 0;
    if (in->rest.n < width || parse_u64(str_slice(in->rest, 0, width), &v) < 0 ||
        v < (uint64_t)min || v > (uint64_t)max) {
        in->failed = true;
        return min;
    }
    in->rest = str_skip(in->rest, width);
    return (int)v;
}

/* One to nine digits; what is finer than a millisecond is dropped. */
static int fraction_ms(struct iso_reader *in)
{
    int ms = 0, scale = 100, digits = 0;
    while (in->rest.n > 0 && in->rest.p[0] >= '0' && in->rest.p[0] <= '9') {
        ms += (in->rest.p[0] - '0') * scale;
        scale /= 10;
        digits++;
        in->rest = str_skip(in->rest, 1);
    }
    if (digits < 1 || digits > 9)
        in->failed = true;
    return ms;
}

static int days_in_month(int year, int month)
{
    static const int DAYS[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return DAYS[month - 1] + (month == 2 && leap);
}

static int64_t read_date(struct iso_reader *in)
{
    int year = iso_number(in, 4, 0, 9999);
    expect(in, '-');
    int month = iso_number(in, 2, 1, 12);
    expect(in, '-');
    int day = iso_number(in, 2, 1, days_in_month(year, month));
    struct tm t = {.tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day};
    return (int64_t)timegm(&t) * 1000;
}

static int64_t read_time(struct iso_reader *in)
{
    int64_t minutes = iso_number(in, 2, 0, 23) * 60;
    expect(in, ':');
    minutes += iso_number(in, 2, 0, 59);
    int64_t ms = minutes * 60000;
    if (accept(in, ':')) {
        ms += iso_number(in, 2, 0, 59) * 1000;
        if (accept(in, '.'))
            ms += fraction_ms(in);
    }
    return ms;
}

/* The offset to subtract; without a zone the time is UTC. */
static int64_t read_zone(struct iso_reader *in)
{
    if (in->rest.n == 0 || accept(in, 'Z'))
        return 0;
    bool west = accept(in, '-');
    if (!west)
        expect(in, '+');
    int64_t minutes = iso_number(in, 2, 0, 23) * 60;
    expect(in, ':');
    minutes += iso_number(in, 2, 0, 59);
    return (west ? -minutes : minutes) * 60000;
}

int clock_parse_iso(str s, int64_t *ret_epoch_ms)
{
    struct iso_reader in = {.rest = s};
    int64_t ms = read_date(&in);
    if (accept(&in, 'T'))
        ms += read_time(&in);
    ms -= read_zone(&in);
    if (in.failed || in.rest.n > 0)
        return -EINVAL;
    *ret_epoch_ms = ms;
    return 0;
}
