#include "tools/names.h"

#include <assert.h>

#include "base/bytes/hash.h"

#define SEPARATOR "__"

static bool is_public_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

static bool is_plain(str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!is_public_char(s.p[i]))
            return false;
    return true;
}

/* Appends as much of s as fits below `end`; a character of several bytes becomes one '_'. */
static char *put_mapped(char *at, const char *end, str s)
{
    for (size_t i = 0; i < s.n && at < end; i++) {
        bool is_continuation = ((unsigned char)s.p[i] & 0xc0) == 0x80;
        if (is_public_char(s.p[i]))
            *at++ = s.p[i];
        else if (!is_continuation)
            *at++ = '_';
    }
    return at;
}

static size_t mapped_len(str s)
{
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++)
        n += ((unsigned char)s.p[i] & 0xc0) != 0x80;
    return n;
}

static char *put_joined(char *at, const char *end, str source, str tool)
{
    at = put_mapped(at, end, source);
    at = put_mapped(at, end, STR(SEPARATOR));
    return put_mapped(at, end, tool);
}

/* The NUL between the two keeps ("a", "bc") and ("ab", "c") apart. */
static void hash_of(str source, str tool, char hex[SHA256_HEX_LEN + 1])
{
    struct buf joined;
    buf_init(&joined, source.n + tool.n + 1);
    buf_add_str(&joined, source);
    buf_add_char(&joined, '\0');
    buf_add_str(&joined, tool);
    sha256_hex(buf_str(&joined), hex);
    buf_done(&joined);
}

size_t tool_name_make_hashed(str source, str tool, char out[TOOL_NAME_MAX + 1])
{
    char hex[SHA256_HEX_LEN + 1];
    char *at = put_joined(out, out + TOOL_NAME_MAX - TOOL_NAME_HASH_LEN - 1, source, tool);

    hash_of(source, tool, hex);
    *at++ = '_';
    memcpy(at, hex, TOOL_NAME_HASH_LEN);
    at += TOOL_NAME_HASH_LEN;
    assert(at <= out + TOOL_NAME_MAX);
    *at = '\0';
    return (size_t)(at - out);
}

size_t tool_name_make(str source, str tool, char out[TOOL_NAME_MAX + 1])
{
    if (mapped_len(source) + sizeof(SEPARATOR) - 1 + mapped_len(tool) > TOOL_NAME_MAX)
        return tool_name_make_hashed(source, tool, out);
    char *at = put_joined(out, out + TOOL_NAME_MAX, source, tool);
    *at = '\0';
    return (size_t)(at - out);
}

bool tool_name_is_exact(str source, str tool)
{
    return is_plain(source) && is_plain(tool) &&
           source.n + sizeof(SEPARATOR) - 1 + tool.n <= TOOL_NAME_MAX;
}

bool tool_source_name_valid(str source)
{
    return source.n > 0 && source.n <= TOOL_NAME_MAX && is_plain(source);
}

bool tool_name_split(str name, const str *sources, size_t n_sources, str *ret_source, str *ret_tool)
{
    size_t longest = 0;

    for (size_t i = 0; i < n_sources; i++) {
        str s = sources[i];
        if (s.n > longest && str_starts(name, s) && str_starts(str_skip(name, s.n), STR(SEPARATOR)))
            longest = s.n;
    }
    if (longest == 0)
        return false;
    *ret_source = str_slice(name, 0, longest);
    *ret_tool = str_skip(name, longest + sizeof(SEPARATOR) - 1);
    return true;
}

bool tool_name_is_system(str name)
{
    return str_starts(name, STR("nb" SEPARATOR));
}
