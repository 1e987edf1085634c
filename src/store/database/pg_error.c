#include "store/database/pg_error.h"

#include <errno.h>

#include "base/buf.h"

enum { TEXT_MAX_BYTES = 800, SECRET_MIN = 3 };

/* A row applies to every SQLSTATE that begins with it; the first that fits is used. */
static const struct {
    const char *prefix;
    int code;
} CODES[] = {
    {"08", -EHOSTUNREACH},    /* connection exceptions */
    {"25006", -EHOSTUNREACH}, /* read-only: this server has become a standby */
    {"40001", -EAGAIN},       /* serialization failure */
    {"40P01", -EAGAIN},       /* deadlock */
    {"42501", -EACCES},       /* insufficient privilege */
    {"28", -EACCES},          /* invalid authorization */
    {"42P01", -ENODATA},      /* undefined table */
    {"53100", -ENOSPC},       /* disk full */
    {"53", -EHOSTUNREACH},    /* too many connections, out of memory */
    {"57014", -EHOSTUNREACH}, /* statement timeout */
    {"57", -EHOSTUNREACH},    /* the server shuts down or starts */
    {"25P03", -EHOSTUNREACH}, /* idle in transaction for too long */
    {"23505", -EEXIST},       /* unique violation */
    {"23503", -EAGAIN},       /* a blob was removed, or used again, at the same moment */
    {"58", -EIO},             /* errors of the server's files */
};

int pg_error_code(const char *sqlstate)
{
    str state = str_from(sqlstate);
    for (size_t i = 0; i < ARRAY_LEN(CODES); i++)
        if (str_starts(state, str_from(CODES[i].prefix)))
            return CODES[i].code;
    return -EIO;
}

static void add_secret(struct pg_secrets *s, str part)
{
    if (part.n >= SECRET_MIN && s->n < ARRAY_LEN(s->parts))
        s->parts[s->n++] = part;
}

/* Everything between the name of the user and the last @ of postgresql://user:password@host. A
 * password in which @ or / is not escaped is cut there by libpq, so its pieces are kept as well. */
static void from_address(struct pg_secrets *s, str url)
{
    ptrdiff_t at = str_rfind_char(url, '@');
    ptrdiff_t scheme = str_find(url, STR("://"), 0);
    if (at < 0 || scheme < 0)
        return;
    str user = str_slice(url, (size_t)scheme + 3, (size_t)at);
    ptrdiff_t colon = str_find_char(user, ':');
    if (colon < 0)
        return;
    str rest = str_skip(user, (size_t)colon + 1), piece;
    add_secret(s, rest);
    size_t start = 0;
    for (size_t i = 0; i <= rest.n; i++) {
        if (i < rest.n && !strchr("@/:?#", rest.p[i]))
            continue;
        piece = str_slice(rest, start, i);
        start = i + 1;
        if (piece.n < rest.n)
            add_secret(s, piece);
    }
}

/* password=... of an address in the form of key words, and of a query. */
static void from_words(struct pg_secrets *s, str url)
{
    static const str KEY = STR_INIT("password=");
    for (ptrdiff_t at = 0; (at = str_find(url, KEY, (size_t)at)) >= 0; at++) {
        str value = str_skip(url, (size_t)at + KEY.n);
        size_t end = 0;
        bool is_quoted = value.n > 0 && value.p[0] == '\'';
        value = str_skip(value, is_quoted);
        while (end < value.n && !strchr(is_quoted ? "'" : " &", value.p[end]))
            end++;
        add_secret(s, str_slice(value, 0, end));
    }
}

void pg_secrets_of(struct pg_secrets *ret, str url)
{
    *ret = (struct pg_secrets){0};
    from_address(ret, url);
    from_words(ret, url);
}

static size_t secret_at(const struct pg_secrets *s, str rest)
{
    size_t longest = 0;
    for (size_t i = 0; i < s->n; i++)
        if (s->parts[i].n > longest && str_starts(rest, s->parts[i]))
            longest = s->parts[i].n;
    return longest;
}

str pg_error_text(struct arena *a, const struct pg_secrets *secrets, const char *message)
{
    str text = str_trim(str_from(message));
    ptrdiff_t line = str_find_char(text, '\n');
    if (line >= 0)
        text = str_slice(text, 0, (size_t)line);
    struct buf b;
    buf_init(&b, TEXT_MAX_BYTES);
    while (text.n > 0) {
        size_t n = secret_at(secrets, text);
        if (n > 0)
            buf_add_lit(&b, "***");
        else
            buf_add_char(&b, text.p[0]);
        text = str_skip(text, n > 0 ? n : 1);
    }
    return buf_keep(&b, a);
}
