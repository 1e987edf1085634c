#include "base/text/log_scrub.h"

#define REDACTED "[redacted]"

static bool is_alnum(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Characters of bearer tokens and keys: base64 in both alphabets, and JWT dots. */
static bool is_token_char(char c)
{
    return is_alnum(c) || (c != '\0' && strchr("-._~+/=", c));
}

static size_t token_len(str s)
{
    size_t n = 0;
    while (n < s.n && is_token_char(s.p[n]))
        n++;
    return n;
}

/* Keys that are recognised by their prefix. The prefix is removed too, unless it is a word. */
static const struct shape {
    str prefix;
    size_t min; /* characters behind the prefix; fewer are ordinary text */
    bool keep_prefix;
} SHAPES[] = {
    {STR_INIT("sk-"), 8, false},    {STR_INIT("AIza"), 20, false}, {STR_INIT("ghp_"), 16, false},
    {STR_INIT("xoxb-"), 8, false},  {STR_INIT("eyJ"), 24, false},  {STR_INIT("Bearer "), 8, true},
    {STR_INIT("Basic "), 12, true},
};

/* Fields whose value is secret whatever it looks like: `name: v`, `name=v`, `"name":"v"`. */
static const str FIELDS[] = {
    STR_INIT("x-api-key"),     STR_INIT("api_key"),       STR_INIT("api-key"),
    STR_INIT("apikey"),        STR_INIT("access_token"),  STR_INIT("refresh_token"),
    STR_INIT("client_secret"), STR_INIT("authorization"), STR_INIT("password"),
};

static size_t skip_any(str s, size_t at, const char *set)
{
    while (at < s.n && s.p[at] != '\0' && strchr(set, s.p[at]))
        at++;
    return at;
}

static size_t match_secret(str s, const str *secrets, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (str_starts(s, secrets[i]))
            return secrets[i].n;
    return 0;
}

/* Both matchers return the length of what is secret and, in *ret_keep, how many bytes in
 * front of it are not; 0 when nothing matches. */
static size_t match_shape(str s, size_t *ret_keep)
{
    for (size_t i = 0; i < ARRAY_LEN(SHAPES); i++) {
        const struct shape *shape = &SHAPES[i];
        if (!str_starts_nocase(s, shape->prefix))
            continue;
        size_t n = token_len(str_skip(s, shape->prefix.n));
        if (n < shape->min)
            continue;
        *ret_keep = shape->keep_prefix ? shape->prefix.n : 0;
        return shape->keep_prefix ? n : n + shape->prefix.n;
    }
    return 0;
}

static size_t match_field(str s, size_t *ret_keep)
{
    for (size_t i = 0; i < ARRAY_LEN(FIELDS); i++) {
        if (!str_starts_nocase(s, FIELDS[i]))
            continue;
        size_t at = skip_any(s, FIELDS[i].n, "\"'\\ ");
        if (at >= s.n || (s.p[at] != ':' && s.p[at] != '='))
            continue;
        at = skip_any(s, at + 1, "\"'\\ ");
        for (int scheme = 0; scheme < 2; scheme++) {
            str word = scheme ? STR("Basic ") : STR("Bearer ");
            if (str_starts_nocase(str_skip(s, at), word))
                at += word.n;
        }
        size_t end = at;
        while (end < s.n && !strchr("\"'\\ ,;&}", s.p[end]))
            end++;
        *ret_keep = at;
        return end - at;
    }
    return 0;
}

void log_scrub(struct buf *out, str text, const str *secrets, size_t count)
{
    size_t copied = 0;
    for (size_t at = 0; at < text.n;) {
        str s = str_skip(text, at);
        size_t keep = 0, n = match_secret(s, secrets, count);
        bool at_word = at == 0 || !is_alnum(text.p[at - 1]);
        if (n == 0 && at_word)
            n = match_field(s, &keep);
        if (n == 0 && at_word)
            n = match_shape(s, &keep);
        if (n == 0) {
            at++;
            continue;
        }
        (void)buf_add(out, text.p + copied, at + keep - copied);
        (void)buf_add_lit(out, REDACTED);
        copied = at = at + keep + n;
    }
    (void)buf_add(out, text.p ? text.p + copied : NULL, text.n - copied);
}
