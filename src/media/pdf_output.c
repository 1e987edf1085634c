#include "media/pdf_output.h"

#include "base/buf.h"
#include "base/utf8.h"

#define SIDE_MAX 1e6 /* points; larger ones are shown with the right shape, or almost */

/* ---- pdfinfo ---- */

static str word(str *rest)
{
    str one = STR_NONE;
    *rest = str_trim(*rest);
    return str_split(rest, ' ', &one) ? one : STR_NONE;
}

static double clamp_side(double side)
{
    return side >= 1 ? (side <= SIDE_MAX ? side : SIDE_MAX) : 1;
}

/* "612 x 792 pts (letter)" */
static bool read_size(str rest, struct media_page_size *ret)
{
    double width, height;
    if (parse_double(word(&rest), &width) < 0 || !str_eq(word(&rest), STR("x")) ||
        parse_double(word(&rest), &height) < 0)
        return false;
    *ret = (struct media_page_size){clamp_side(width), clamp_side(height)};
    return true;
}

static void turn(struct media_page_size *s, str rotation)
{
    uint64_t degrees;
    if (parse_u64(rotation, &degrees) == 0 && degrees % 180 == 90)
        *s = (struct media_page_size){s->height, s->width};
}

/* "Page    3 size:  612 x 792 pts", then "Page    3 rot:   90" */
static void read_page(str rest, struct media_pages *ret)
{
    uint64_t number;
    if (parse_u64(word(&rest), &number) < 0)
        return;
    str what = word(&rest);
    bool is_next = number == ret->n + 1 && ret->n < MEDIA_PAGES_MAX;
    if (is_next && str_eq(what, STR("size:")) && read_size(rest, &ret->sizes[ret->n]))
        ret->n++;
    else if (number == ret->n && number > 0 && str_eq(what, STR("rot:")))
        turn(&ret->sizes[ret->n - 1], str_trim(rest));
}

bool pdf_output_pages(struct arena *a, str output, struct media_pages *ret)
{
    str line = STR_NONE;
    *ret = (struct media_pages){
        .sizes = arena_array(a, MEDIA_PAGES_MAX, sizeof(struct media_page_size))};
    while (str_split(&output, '\n', &line)) {
        str rest = line, key = word(&rest);
        if (str_eq(key, STR("Page")))
            read_page(rest, ret);
        else if (str_eq(key, STR("Pages:")))
            (void)parse_u64(str_trim(rest), &ret->count);
    }
    if (ret->count > INT32_MAX)
        ret->count = 0;
    if (ret->n > ret->count)
        ret->n = (size_t)ret->count;
    return ret->n > 0;
}

/* ---- pdftotext -bbox ---- */

/* xMin="72.000000" */
static bool read_side(str *rest, const char *name, double *ret)
{
    str key = STR_NONE, value = STR_NONE;
    return str_split(rest, '"', &key) && str_split(rest, '"', &value) &&
           str_eq(str_trim(key), str_from(name)) && parse_double(value, ret) == 0 &&
           *ret >= -SIDE_MAX && *ret <= SIDE_MAX;
}

static const struct {
    str name;
    char c;
} ENTITIES[] = {{STR_INIT("&amp;"), '&'},
                {STR_INIT("&lt;"), '<'},
                {STR_INIT("&gt;"), '>'},
                {STR_INIT("&quot;"), '"'},
                {STR_INIT("&apos;"), '\''}};

static size_t entity_at(str s)
{
    for (size_t i = 0; i < ARRAY_LEN(ENTITIES); i++)
        if (str_starts(s, ENTITIES[i].name))
            return i;
    return ARRAY_LEN(ENTITIES);
}

static str plain_text(struct arena *a, str s)
{
    struct buf b;
    buf_init(&b, s.n + 1);
    while (s.n > 0) {
        size_t i = s.p[0] == '&' ? entity_at(s) : ARRAY_LEN(ENTITIES);
        bool is_entity = i < ARRAY_LEN(ENTITIES);
        if (is_entity || (unsigned char)s.p[0] >= ' ')
            buf_add_char(&b, is_entity ? ENTITIES[i].c : s.p[0]);
        s = str_skip(s, is_entity ? ENTITIES[i].name.n : 1);
    }
    return buf_keep(&b, a);
}

/* <word xMin="72.0" yMin="74.7" xMax="126.6" yMax="96.9">Hello</word> */
static bool read_word(struct arena *a, str line, struct media_word *ret)
{
    static const str BEGIN = STR_INIT("<word "), END = STR_INIT("</word>");
    str rest = str_skip(line, BEGIN.n);
    if (!str_starts(line, BEGIN) || !str_ends(line, END) || !read_side(&rest, "xMin=", &ret->x) ||
        !read_side(&rest, "yMin=", &ret->y) || !read_side(&rest, "xMax=", &ret->x_end) ||
        !read_side(&rest, "yMax=", &ret->y_end) || !str_starts(rest, STR(">")) ||
        rest.n < 1 + END.n)
        return false;
    str text = str_slice(rest, 1, rest.n - END.n);
    if (text.n > MEDIA_WORD_BYTES || !utf8_valid(text) || ret->x_end <= ret->x ||
        ret->y_end <= ret->y)
        return false;
    ret->text = plain_text(a, text);
    return ret->text.n > 0;
}

void pdf_output_words(struct arena *a, str output, struct media_words *ret)
{
    str line = STR_NONE;
    size_t cap = 0;
    *ret = (struct media_words){0};
    while (ret->n < MEDIA_WORDS_MAX && str_split(&output, '\n', &line)) {
        struct media_word one;
        if (!read_word(a, str_trim(line), &one))
            continue;
        ARENA_GROW(a, ret->words, ret->n, cap);
        ret->words[ret->n++] = one;
    }
}
