#include "store/event/fold.h"

#include "base/utf8.h"

/* U+00C0 to U+017F: the letter without its accents. */
static const char LATIN[] = "aaaaaaaceeeeiiiidnooooo ouuuuytsaaaaaaaceeeeiiiidnooooo ouuuuyty"
                            "aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiiiiijjkkklllllll"
                            "lllnnnnnnnnnoooooooorrrrrrssssssssttttttuuuuuuuuuuuuwwyyyzzzzzzs";

static const struct {
    uint32_t first, last;
    int32_t shift;
} RANGES[] = {
    {'A', 'Z', 32},
    {0x391, 0x3a9, 32},
    {0x400, 0x40f, 80},
    {0x410, 0x42f, 32},
    {0x531, 0x556, 48},
    {0xff21, 0xff3a, 'a' - 0xff21},
    {0xff41, 0xff5a, 'a' - 0xff41},
    {0xff10, 0xff19, '0' - 0xff10},
};

/* Greek vowels with accents, in pairs. */
static const uint16_t GREEK[][2] = {
    {0x386, 0x3b1}, {0x388, 0x3b5}, {0x389, 0x3b7}, {0x38a, 0x3b9}, {0x38c, 0x3bf},
    {0x38e, 0x3c5}, {0x38f, 0x3c9}, {0x3ac, 0x3b1}, {0x3ad, 0x3b5}, {0x3ae, 0x3b7},
    {0x3af, 0x3b9}, {0x3cc, 0x3bf}, {0x3cd, 0x3c5}, {0x3ce, 0x3c9}, {0x3c2, 0x3c3},
};

bool fold_is_cjk(uint32_t cp)
{
    return (cp >= 0x3040 && cp <= 0x30ff) || (cp >= 0x3400 && cp <= 0x9fff) ||
           (cp >= 0xac00 && cp <= 0xd7af) || (cp >= 0xf900 && cp <= 0xfaff) ||
           (cp >= 0x20000 && cp <= 0x3ffff);
}

static bool is_mark(uint32_t cp)
{
    return cp >= 0x300 && cp <= 0x36f;
}

static bool is_word_cp(uint32_t cp)
{
    if (cp < 0x80)
        return (cp >= '0' && cp <= '9') || (cp >= 'a' && cp <= 'z');
    return !(cp < 0xc0 || cp == 0xd7 || cp == 0xf7 || (cp >= 0x2000 && cp <= 0x2bff) ||
             (cp >= 0x3000 && cp <= 0x303f) || (cp >= 0xff00 && cp <= 0xff0f));
}

static uint32_t fold_char(uint32_t cp)
{
    if (cp >= 0xc0 && cp < 0x180)
        return (uint32_t)LATIN[cp - 0xc0];
    for (size_t i = 0; i < ARRAY_LEN(RANGES); i++) {
        if (cp >= RANGES[i].first && cp <= RANGES[i].last)
            return cp + (uint32_t)RANGES[i].shift;
    }
    for (size_t i = 0; cp >= 0x386 && cp <= 0x3ce && i < ARRAY_LEN(GREEK); i++) {
        if (GREEK[i][0] == cp)
            return GREEK[i][1];
    }
    return cp == 0x451 ? 0x435 : cp; /* Cyrillic io is written as ie */
}

void fold_init(struct casefold_iter *f, str text)
{
    *f = (struct casefold_iter){.rest = text};
}

/* The fast path: ASCII. */
static uint32_t fold_ascii(unsigned char c)
{
    if (c >= 'A' && c <= 'Z')
        return c + 32u;
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ? c : ' ';
}

bool fold_next(struct casefold_iter *f, uint32_t *ret_cp, size_t *ret_at)
{
    while (f->rest.n) {
        uint32_t cp;
        unsigned char c = (unsigned char)*f->rest.p;
        if (c < 0x80) {
            *ret_at = f->at++;
            f->rest = (str){f->rest.p + 1, f->rest.n - 1};
            *ret_cp = fold_ascii(c);
            return true;
        }
        size_t len = utf8_decode(f->rest, &cp);
        *ret_at = f->at;
        f->at += len ? len : 1;
        f->rest = str_skip(f->rest, len ? len : 1);
        if (len && is_mark(cp))
            continue;
        *ret_cp = len ? fold_char(cp) : ' ';
        if (!is_word_cp(*ret_cp))
            *ret_cp = ' ';
        return true;
    }
    return false;
}

str fold_text(struct arena *a, str text)
{
    struct casefold_iter f;
    struct buf out;
    uint32_t cp;
    size_t at;
    bool is_gap = true;
    buf_init(&out, text.n * 3 + 8);
    fold_init(&f, text);
    while (fold_next(&f, &cp, &at)) {
        if (cp < 0x80 && (cp != ' ' || !is_gap))
            buf_add_char(&out, (char)cp);
        else if (cp != ' ')
            utf8_encode(&out, cp);
        is_gap = cp == ' ';
    }
    str folded = arena_str(a, str_trim(buf_str(&out)));
    buf_done(&out);
    return folded;
}
