#include "os/zone.h"

#include <ctype.h>
#include <errno.h>

#include "base/arena.h"
#include "os/file.h"

#define ZONE_DIR      "/usr/share/zoneinfo/"
#define ZONE_FILE_MAX (256u * 1024)
#define TZIF_HEADER   44

/* No dots, no leading slash: a name cannot leave the zone directory. */
static bool is_name_safe(str name)
{
    if (name.n == 0 || name.n > 64 || name.p[0] == '/')
        return false;
    for (size_t i = 0; i < name.n; i++) {
        unsigned char c = (unsigned char)name.p[i];
        if (!isalnum(c) && c != '/' && c != '_' && c != '-' && c != '+')
            return false;
    }
    return true;
}

static bool fixed_offset(str name, int32_t *ret)
{
    if (name.n != 6 || (name.p[0] != '+' && name.p[0] != '-') || name.p[3] != ':')
        return false;
    uint64_t hours, minutes;
    if (parse_u64(str_slice(name, 1, 3), &hours) < 0 ||
        parse_u64(str_slice(name, 4, 6), &minutes) < 0)
        return false;
    if (hours > 14 || minutes > 59)
        return false;
    int32_t seconds = (int32_t)(hours * 3600 + minutes * 60);
    *ret = name.p[0] == '-' ? -seconds : seconds;
    return true;
}

static uint32_t be32(const char *p)
{
    const unsigned char *u = (const unsigned char *)p;
    return (uint32_t)u[0] << 24 | (uint32_t)u[1] << 16 | (uint32_t)u[2] << 8 | u[3];
}

static int64_t be64(const char *p)
{
    return (int64_t)((uint64_t)be32(p) << 32 | be32(p + 4));
}

struct counts {
    size_t isut, isstd, leap, time, type, chars;
};

static bool read_counts(str data, struct counts *ret)
{
    if (data.n < TZIF_HEADER || memcmp(data.p, "TZif", 4) != 0)
        return false;
    *ret = (struct counts){be32(data.p + 20), be32(data.p + 24), be32(data.p + 28),
                           be32(data.p + 32), be32(data.p + 36), be32(data.p + 40)};
    return ret->time <= 10000 && ret->type >= 1 && ret->type <= 256 && ret->chars <= 4096 &&
           ret->leap <= 10000 && ret->isut <= 256 && ret->isstd <= 256;
}

/* Size of a version's data block: times and leap seconds are `width` bytes wide. */
static size_t block_size(const struct counts *c, size_t width)
{
    return c->time * width + c->time + c->type * 6 + c->chars + c->leap * (width + 4) + c->isstd +
           c->isut;
}

static int lookup(str data, int64_t t, int32_t *ret_offset, char abbr[ZONE_ABBR_MAX])
{
    struct counts c;
    if (!read_counts(data, &c) || data.p[4] < '2')
        return -EINVAL;
    data = str_skip(data, TZIF_HEADER + block_size(&c, 4)); /* to the 64-bit data */
    if (!read_counts(data, &c) || data.n < TZIF_HEADER + block_size(&c, 8))
        return -EINVAL;

    const char *times = data.p + TZIF_HEADER, *kinds = times + c.time * 8;
    const char *types = kinds + c.time, *names = types + c.type * 6;
    size_t type = 0;
    for (size_t i = 0; i < c.time && be64(times + i * 8) <= t; i++)
        type = (unsigned char)kinds[i];
    if (type >= c.type)
        return -EINVAL;
    const char *info = types + type * 6;
    size_t name = (unsigned char)info[5];
    if (name >= c.chars)
        return -EINVAL;
    *ret_offset = (int32_t)be32(info);
    snprintf(abbr, ZONE_ABBR_MAX, "%.*s", (int)(c.chars - name), names + name);
    return 0;
}

int zone_offset(str name, int64_t epoch_s, int32_t *ret_offset_s, char abbr[ZONE_ABBR_MAX],
                struct err *e)
{
    if (name.n == 0 || str_eq_nocase(name, STR("UTC")) || str_eq(name, STR("Z"))) {
        *ret_offset_s = 0;
        snprintf(abbr, ZONE_ABBR_MAX, "UTC");
        return 0;
    }
    if (fixed_offset(name, ret_offset_s)) {
        snprintf(abbr, ZONE_ABBR_MAX, "%.*s", STR_ARG(name));
        return 0;
    }
    if (!is_name_safe(name))
        return err_set(e, -ENOENT, "'%.*s' is not a time zone name", STR_ARG(name));
    struct arena a;
    arena_init(&a);
    str data;
    const char *path = arena_printf(&a, ZONE_DIR "%.*s", STR_ARG(name)).p;
    int r = file_read(&a, path, ZONE_FILE_MAX, &data, NULL);
    if (r == 0)
        r = lookup(data, epoch_s, ret_offset_s, abbr);
    arena_done(&a);
    if (r < 0)
        return err_set(e, -ENOENT,
                       "Unknown time zone '%.*s'. Use a name like Europe/Berlin, UTC, or an "
                       "offset like +02:00.",
                       STR_ARG(name));
    return 0;
}
