#include "cli/term/text.h"

#include "base/text/plain.h"
#include "base/utf8.h"
#include "cli/term/styled.h"
#include "cli/term/table.h"

#define REPLACEMENT 0xfffd
#define PRINT_MAX   (64u * 1024)

static uint32_t visible(uint32_t cp)
{
    if (cp < 0x20)
        return 0x2400 + cp; /* the control pictures are in the same order */
    if (cp == 0x7f)
        return 0x2421;
    if (cp == 0x2028 || cp == 0x2029)
        return ' ';
    return plain_is_hidden(cp) ? REPLACEMENT : cp;
}

void text_add_char(struct buf *out, uint32_t cp)
{
    (void)utf8_encode(out, visible(cp));
}

static size_t text_decode(str s, uint32_t *ret_cp)
{
    size_t n = utf8_decode(s, ret_cp);
    if (n > 0)
        return n;
    *ret_cp = REPLACEMENT;
    return 1;
}

void text_add(struct buf *out, str s)
{
    for (size_t i = 0; i < s.n;) {
        uint32_t cp;
        i += text_decode(str_skip(s, i), &cp);
        if (cp == '\n')
            buf_add_char(out, '\n');
        else if (cp == '\t')
            buf_printf(out, "%*s", TEXT_TAB_COLUMNS, "");
        else if (cp != '\r' || i >= s.n || s.p[i] != '\n')
            text_add_char(out, cp);
    }
}

void text_add_line(struct buf *out, str s)
{
    bool is_gap = false;
    s = str_trim(s);
    for (size_t i = 0; i < s.n;) {
        uint32_t cp;
        i += text_decode(str_skip(s, i), &cp);
        if (cp == '\n' || cp == '\r' || cp == '\t' || cp == ' ') {
            is_gap = true;
            continue;
        }
        if (is_gap)
            buf_add_char(out, ' ');
        is_gap = false;
        text_add_char(out, cp);
    }
}

/* Length of the colour sequence at s, 0 when there is none. */
static size_t sequence_length(str s)
{
    if (s.n < 3 || s.p[0] != '\x1b' || s.p[1] != '[')
        return 0;
    ptrdiff_t end = str_find_char(s, 'm');
    return end < 0 ? s.n : (size_t)end + 1;
}

static size_t measure(str s, size_t *ret_columns)
{
    uint32_t cp;
    size_t n = sequence_length(s);
    *ret_columns = 0;
    if (n > 0)
        return n;
    n = text_decode(s, &cp);
    *ret_columns = (size_t)utf8_width(cp);
    return n;
}

size_t text_width(str s)
{
    size_t width = 0, columns;
    for (size_t i = 0; i < s.n; width += columns)
        i += measure(str_skip(s, i), &columns);
    return width;
}

void text_clip(struct buf *out, str s, size_t width)
{
    if (text_width(s) <= width) {
        buf_add_str(out, s);
        return;
    }
    bool has_sequence = false;
    for (size_t i = 0, used = 0; i < s.n;) {
        size_t columns, n = measure(str_skip(s, i), &columns);
        if (used + columns + 1 > width)
            break;
        has_sequence = has_sequence || s.p[i] == '\x1b';
        buf_add(out, s.p + i, n);
        used += columns;
        i += n;
    }
    buf_add_lit(out, width > 0 ? "…" : "");
    buf_add_lit(out, has_sequence ? "\x1b[0m" : "");
}

static void print_wrapped(FILE *out, size_t indent, size_t columns, str safe)
{
    struct styled t;
    struct styled_line line;
    size_t at = 0;
    styled_init(&t, PRINT_MAX);
    styled_add(&t, safe, 0);
    for (bool is_first = true; styled_wrap(&t, &at, t.text.n, columns, &line); is_first = false)
        fprintf(out, "%*s%.*s\n", is_first ? 0 : (int)indent, "", (int)(line.to - line.from),
                t.text.p + line.from);
    styled_done(&t);
}

#define TEXT_COLUMNS_MIN 12 /* narrower text is not easier to read */

void text_print(FILE *out, const char *label, int width, str s)
{
    struct buf b;
    size_t columns = table_terminal_width(fileno(out));
    if (s.n == 0)
        return;
    buf_init(&b, PRINT_MAX);
    text_add_line(&b, s);
    int n = fprintf(out, "%-*s ", width, label);
    size_t indent = n > 0 ? (size_t)n : 0;
    if (columns < indent + TEXT_COLUMNS_MIN) /* or no terminal */
        fprintf(out, "%s\n", buf_cstr(&b));
    else
        print_wrapped(out, indent, columns - indent, buf_str(&b));
    buf_done(&b);
}

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

#define EIGHTHS 8

void bar_text(char out[BAR_BYTES_MAX], double share)
{
    static const char *const PARTS[EIGHTHS] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    static const char FULL[] = "█";
    int eighths = (int)(share * BAR_COLUMNS * EIGHTHS + 0.5);
    if (share > 0 && eighths == 0)
        eighths = 1;
    if (eighths > BAR_COLUMNS * EIGHTHS)
        eighths = BAR_COLUMNS * EIGHTHS;
    size_t n = 0;
    for (int i = 0; i < eighths / EIGHTHS; i++, n += sizeof FULL - 1)
        memcpy(out + n, FULL, sizeof FULL - 1);
    const char *rest = PARTS[eighths % EIGHTHS > 0 ? eighths % EIGHTHS : 0];
    memcpy(out + n, rest, strlen(rest) + 1);
}
