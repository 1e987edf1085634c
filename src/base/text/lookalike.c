#include "base/text/lookalike.h"

#include "base/text/hidden.h"
#include "base/utf8.h"

struct twin {
    uint32_t cp;
    char letter;
};

/* Letters of other scripts that common fonts draw as an ASCII letter; sorted by code point. */
static const struct twin TWINS[] = {
    {0x00df, 'b'}, {0x0131, 'l'}, {0x0251, 'a'}, {0x0261, 'g'}, {0x0269, 'l'}, {0x026a, 'l'},
    {0x0391, 'a'}, {0x0392, 'b'}, {0x0395, 'e'}, {0x0396, 'z'}, {0x0397, 'h'}, {0x0399, 'l'},
    {0x039a, 'k'}, {0x039c, 'm'}, {0x039d, 'n'}, {0x039f, 'o'}, {0x03a1, 'p'}, {0x03a4, 't'},
    {0x03a5, 'y'}, {0x03a7, 'x'}, {0x03b1, 'a'}, {0x03b9, 'l'}, {0x03ba, 'k'}, {0x03bd, 'v'},
    {0x03bf, 'o'}, {0x03c1, 'p'}, {0x03c3, 'o'}, {0x03c4, 't'}, {0x03c5, 'u'}, {0x0405, 's'},
    {0x0406, 'l'}, {0x0408, 'j'}, {0x0410, 'a'}, {0x0412, 'b'}, {0x0415, 'e'}, {0x041a, 'k'},
    {0x041c, 'm'}, {0x041d, 'h'}, {0x041e, 'o'}, {0x0420, 'p'}, {0x0421, 'c'}, {0x0422, 't'},
    {0x0423, 'y'}, {0x0425, 'x'}, {0x042c, 'b'}, {0x0430, 'a'}, {0x0432, 'b'}, {0x0435, 'e'},
    {0x043a, 'k'}, {0x043c, 'm'}, {0x043d, 'h'}, {0x043e, 'o'}, {0x043f, 'n'}, {0x0440, 'p'},
    {0x0441, 'c'}, {0x0442, 't'}, {0x0443, 'y'}, {0x0445, 'x'}, {0x044c, 'b'}, {0x0455, 's'},
    {0x0456, 'l'}, {0x0458, 'j'}, {0x04bb, 'h'}, {0x04c0, 'l'}, {0x04cf, 'l'}, {0x0501, 'd'},
    {0x051b, 'q'}, {0x051d, 'w'}, {0x0578, 'n'}, {0x057d, 'u'}, {0x0585, 'o'}, {0x13de, 'l'},
    {0x1d0f, 'o'}, {0x2113, 'l'}, {0x2160, 'l'}, {0x2170, 'l'}, {0x217c, 'l'},
};

static char twin_of(uint32_t cp)
{
    size_t from = 0, to = ARRAY_LEN(TWINS);
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        if (TWINS[mid].cp == cp)
            return TWINS[mid].letter;
        if (TWINS[mid].cp < cp)
            from = mid + 1;
        else
            to = mid;
    }
    return 0;
}

/* Full-width forms, letters in circles, mathematical alphabets: variants of ASCII letters. */
static uint32_t plain_variant(uint32_t cp)
{
    if (cp >= 0xff01 && cp <= 0xff5e)
        return cp - 0xff01 + '!';
    if (cp >= 0x24b6 && cp <= 0x24e9)
        return 'a' + (cp - 0x24b6) % 26;
    if (cp >= 0x1d400 && cp <= 0x1d6a3)
        return 'a' + (cp - 0x1d400) % 26;
    if (cp >= 0x1d7ce && cp <= 0x1d7ff)
        return '0' + (cp - 0x1d7ce) % 10;
    return cp;
}

/* The first letter of accented Latin letters, which are easily overlooked. */
static uint32_t without_accent(uint32_t cp)
{
    static const char LATIN1[] = "aaaaaaaceeeeiiiidnooooo*ouuuuyp*aaaaaaaceeeeiiiidnooooo*ouuuuypy";
    static const char EXTENDED[] = "aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiiiiijjkkkllll"
                                   "llllllnnnnnnnnnoooooooorrrrrrssssssssttttttuuuuuuuuuuuuwwyyy"
                                   "zzzzzzs";
    if (cp >= 0xc0 && cp < 0xc0 + sizeof LATIN1 - 1 && LATIN1[cp - 0xc0] != '*')
        return (unsigned char)LATIN1[cp - 0xc0];
    if (cp >= 0x100 && cp < 0x100 + sizeof EXTENDED - 1)
        return (unsigned char)EXTENDED[cp - 0x100];
    return cp;
}

static bool is_separator(uint32_t cp)
{
    return cp == '-' || cp == '_' || cp == '.' || cp == '/' || cp == ' ' || cp == '\t' ||
           cp == 0xa0 || (cp >= 0x2010 && cp <= 0x2015) || cp == 0x2212 || cp == 0x3000;
}

/* The letter that stands for all that are drawn like this one; other characters stay. */
static uint32_t drawn_as(uint32_t cp)
{
    cp = plain_variant(cp);
    char twin = twin_of(cp);
    cp = twin ? (unsigned char)twin : without_accent(cp);
    if (cp >= 'A' && cp <= 'Z')
        cp = cp - 'A' + 'a';
    if (cp == '0')
        return 'o';
    return cp == '1' || cp == 'i' || cp == '|' || cp == '!' ? 'l' : cp;
}

static void add_letter(struct buf *out, uint32_t cp)
{
    char last = out->n > 0 ? out->p[out->n - 1] : 0;
    if (cp == 'n' && last == 'r')
        out->p[out->n - 1] = 'm';
    else if (cp == 'v' && last == 'v')
        out->p[out->n - 1] = 'w';
    else
        (void)utf8_encode(out, cp);
}

static void add_separator(struct buf *out)
{
    if (out->n > 0 && out->p[out->n - 1] != '-')
        (void)buf_add_char(out, '-');
}

str lookalike_skeleton(struct arena *a, str name, bool has_separators)
{
    struct buf out;
    buf_init(&out, 4 * name.n + 8);
    while (name.n > 0) {
        uint32_t cp = '?';
        size_t n = utf8_decode(name, &cp);
        name = str_skip(name, n ? n : 1);
        cp = plain_variant(cp);
        if (is_separator(cp) && has_separators)
            add_separator(&out);
        else if (!is_separator(cp) && !hidden_is(cp))
            add_letter(&out, drawn_as(cp));
    }
    while (has_separators && out.n > 0 && out.p[out.n - 1] == '-')
        out.n--;
    return buf_keep(&out, a);
}

bool lookalike_eq(struct arena *a, str x, str y)
{
    return str_eq(lookalike_skeleton(a, x, false), lookalike_skeleton(a, y, false));
}
