#include "media/helper/ppm.h"

#include <errno.h>

bool ppm_is(str file)
{
    return str_starts(file, STR("P6\n"));
}

static bool ppm_head(str *rest, uint64_t *ret_width, uint64_t *ret_height)
{
    str magic = STR_NONE, width = STR_NONE, height = STR_NONE, most = STR_NONE;
    return str_split(rest, '\n', &magic) && str_eq(magic, STR("P6")) &&
           str_split(rest, ' ', &width) && str_split(rest, '\n', &height) &&
           str_split(rest, '\n', &most) && str_eq(most, STR("255")) &&
           parse_u64(width, ret_width) == 0 && parse_u64(height, ret_height) == 0 &&
           *ret_width <= UINT32_MAX && *ret_height <= UINT32_MAX;
}

int ppm_decode(str file, struct picture *ret, struct err *e)
{
    uint64_t width, height;
    if (!ppm_head(&file, &width, &height))
        return err_set(e, -EINVAL, "it is broken or incomplete");
    if (picture_check((uint32_t)width, (uint32_t)height, e) < 0)
        return e->code;
    size_t n = (size_t)(width * height);
    if (file.n != n * 3)
        return err_set(e, -EINVAL, "it is broken or incomplete");
    picture_init(ret, (uint32_t)width, (uint32_t)height);
    for (size_t i = 0; i < n; i++) {
        memcpy(ret->pixels + i * 4, file.p + i * 3, 3);
        ret->pixels[i * 4 + 3] = UINT8_MAX;
    }
    return 0;
}
