#include "api/files/range.h"

enum range_result range_parse(str header, uint64_t size, uint64_t *ret_from, uint64_t *ret_to)
{
    uint64_t first = 0, last = 0;
    *ret_from = 0;
    *ret_to = size;
    if (!str_starts_nocase(header, STR("bytes=")) || str_find_char(header, ',') >= 0)
        return RANGE_WHOLE;
    str spec = str_trim(str_skip(header, 6));
    ptrdiff_t dash = str_find_char(spec, '-');
    if (dash < 0)
        return RANGE_WHOLE;
    str before = str_slice(spec, 0, (size_t)dash), after = str_skip(spec, (size_t)dash + 1);
    bool has_first = parse_u64(before, &first) == 0, has_last = parse_u64(after, &last) == 0;
    if ((before.n > 0 && !has_first) || (after.n > 0 && !has_last) || (!has_first && !has_last))
        return RANGE_WHOLE;
    if (!has_first) { /* the last bytes */
        *ret_from = last < size ? size - last : 0;
        return last == 0 || size == 0 ? RANGE_BEYOND : RANGE_PART;
    }
    if (has_last && last < first)
        return RANGE_WHOLE;
    if (first >= size)
        return RANGE_BEYOND;
    *ret_from = first;
    *ret_to = has_last && last < size - 1 ? last + 1 : size;
    return RANGE_PART;
}
