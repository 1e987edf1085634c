/* Converts blocks of Markdown, as md4c reports them, to lines.
 *
 * Containers (quotes, list items) put a prefix before every line inside them; text is collected in
 * `line` until its paragraph, heading or item ends and is then wrapped. Tables are in
 * markdown_table.c. */
#include "cli/screen/markdown.h"

#include <md4c.h>

#include "base/utf8.h"
#include "cli/screen/markdown_impl.h"
#include "cli/term/text.h"

#define WIDTH_MIN  20
#define RULE_WIDTH 40

/* ---- lines ---- */

static size_t prefix_width(const struct md *m)
{
    size_t width = 0;
    for (size_t i = 0; i < m->depth; i++)
        width += m->stack[i].columns;
    return width;
}

size_t md_width(const struct md *m)
{
    size_t prefix = prefix_width(m);
    return m->style->width > prefix + WIDTH_MIN ? m->style->width - prefix : WIDTH_MIN;
}

void md_prefix(struct md *m)
{
    for (size_t i = 0; i < m->depth; i++) {
        struct md_container *c = &m->stack[i];
        if (c->type == MD_BLOCK_QUOTE)
            style_add(m->out, m->style->has_color, STYLE_DIM, STR("│ "));
        else if (c->marker[0])
            style_add(m->out, m->style->has_color, STYLE_DIM, str_from(c->marker));
        else
            buf_printf(m->out, "%*s", (int)c->columns, "");
        c->marker[0] = '\0';
    }
}

/* Lines with only white space become empty. */
void md_end_line(struct md *m)
{
    while (m->out->n > 0 && m->out->p[m->out->n - 1] == ' ')
        buf_truncate(m->out, m->out->n - 1);
    buf_add_char(m->out, '\n');
}

static void blank_line(struct md *m)
{
    md_prefix(m);
    md_end_line(m);
}

/* Ends the text that was collected, if any. */
static void flush_text(struct md *m)
{
    struct styled_line line;
    if (m->table || m->line.text.n == 0)
        return;
    for (size_t at = 0; styled_wrap(&m->line, &at, m->line.text.n, md_width(m), &line);) {
        md_prefix(m);
        styled_emit(m->out, m->style->has_color, &m->line, line.from, line.to);
        md_end_line(m);
    }
    styled_clear(&m->line);
}

/* ---- blocks ---- */

static void separate(struct md *m)
{
    struct md_container *parent = m->depth > 0 ? &m->stack[m->depth - 1] : &m->root;
    if (parent->children++ > 0 && !parent->is_tight && m->too_deep == 0)
        blank_line(m);
}

static struct md_container *open_container(struct md *m, MD_BLOCKTYPE type)
{
    if (m->depth == MD_DEPTH_MAX) {
        m->too_deep++;
        return NULL;
    }
    struct md_container *c = &m->stack[m->depth++];
    *c = (struct md_container){.type = type};
    return c;
}

static void enter_list(struct md *m, MD_BLOCKTYPE type, const void *detail)
{
    const MD_BLOCK_UL_DETAIL *ul = detail;
    const MD_BLOCK_OL_DETAIL *ol = detail;
    struct md_container *c = open_container(m, type);
    if (!c)
        return;
    c->is_tight = type == MD_BLOCK_UL ? ul->is_tight : ol->is_tight;
    c->number = type == MD_BLOCK_UL ? 0 : ol->start;
}

static void enter_item(struct md *m, const MD_BLOCK_LI_DETAIL *li)
{
    static const char *const BULLETS[] = {"• ", "◦ ", "▪ "};
    size_t lists = 0;
    for (size_t i = 0; i < m->depth; i++)
        lists += m->stack[i].type == MD_BLOCK_UL;
    struct md_container *list = m->depth > 0 ? &m->stack[m->depth - 1] : NULL;
    struct md_container *c = open_container(m, MD_BLOCK_LI);
    if (!c || !list)
        return;
    c->is_tight = list->is_tight;
    if (li->is_task)
        (void)snprintf(c->marker, sizeof c->marker, "%s ", li->task_mark == ' ' ? "☐" : "☑");
    else if (list->type == MD_BLOCK_OL)
        (void)snprintf(c->marker, sizeof c->marker, "%u. ", list->number++);
    else
        (void)snprintf(c->marker, sizeof c->marker, "%s",
                       BULLETS[lists > 0 ? (lists - 1) % ARRAY_LEN(BULLETS) : 0]);
    c->columns = text_width(str_from(c->marker));
}

static void draw_rule(struct md *m, str label)
{
    size_t width = md_width(m) < RULE_WIDTH ? md_width(m) : RULE_WIDTH;
    struct buf rule, clipped;
    buf_init(&rule, 4096);
    buf_init(&clipped, 1024);
    text_clip(&clipped, label, width / 2);
    buf_add_lit(&rule, label.n > 0 ? "── " : "");
    buf_add_str(&rule, buf_str(&clipped));
    buf_add_lit(&rule, label.n > 0 ? " " : "");
    for (size_t used = text_width(buf_str(&rule)); used < width; used++)
        buf_add_lit(&rule, "─");
    md_prefix(m);
    style_add(m->out, m->style->has_color, STYLE_DIM, buf_str(&rule));
    md_end_line(m);
    buf_done(&rule);
    buf_done(&clipped);
}

static void enter_code(struct md *m, const MD_BLOCK_CODE_DETAIL *d)
{
    struct buf label;
    buf_init(&label, 1024);
    text_add_line(&label, utf8_truncate(str_make(d->lang.text, d->lang.size), 200));
    draw_rule(m, buf_str(&label));
    buf_done(&label);
    m->is_code = true;
}

static void leave_code(struct md *m)
{
    str rest = buf_str(&m->line.text), line;
    m->is_code = false;
    while (str_split(&rest, '\n', &line)) {
        md_prefix(m);
        buf_add_str(m->out, line);
        md_end_line(m);
    }
    styled_clear(&m->line);
    draw_rule(m, STR_NONE);
}

static void enter_heading(struct md *m, const MD_BLOCK_H_DETAIL *d)
{
    static const char MARKS[] = "###### ";
    m->base_style = STYLE_BOLD | (d->level == 1 ? STYLE_UNDERLINE : 0);
    if (!m->style->has_color && d->level <= 6)
        styled_add(&m->line, str_from(MARKS + 6 - d->level), 0);
}

static int enter_block(MD_BLOCKTYPE type, void *detail, void *ctx)
{
    struct md *m = ctx;
    flush_text(m);
    if (type == MD_BLOCK_DOC)
        return 0;
    if (type >= MD_BLOCK_THEAD)
        return md_table_enter(m, type, detail);
    separate(m);
    if (type == MD_BLOCK_QUOTE) {
        struct md_container *c = open_container(m, type);
        if (c)
            c->columns = 2;
    } else if (type == MD_BLOCK_UL || type == MD_BLOCK_OL) {
        enter_list(m, type, detail);
    } else if (type == MD_BLOCK_LI) {
        enter_item(m, detail);
    } else if (type == MD_BLOCK_HR) {
        draw_rule(m, STR_NONE);
    } else if (type == MD_BLOCK_H) {
        enter_heading(m, detail);
    } else if (type == MD_BLOCK_CODE) {
        enter_code(m, detail);
    } else if (type == MD_BLOCK_TABLE) {
        return md_table_enter(m, type, detail);
    }
    return 0;
}

static void leave_container(struct md *m)
{
    if (m->too_deep > 0)
        m->too_deep--;
    else if (m->depth > 0)
        m->depth--;
}

/* An item without text still shows its marker. */
static void leave_item(struct md *m)
{
    if (m->too_deep == 0 && m->depth > 0 && m->stack[m->depth - 1].marker[0])
        blank_line(m);
    leave_container(m);
}

static int leave_block(MD_BLOCKTYPE type, void *detail, void *ctx)
{
    struct md *m = ctx;
    if (type >= MD_BLOCK_TABLE) {
        md_table_leave(m, type);
        return 0;
    }
    if (m->is_code)
        leave_code(m);
    flush_text(m);
    m->base_style = 0;
    if (type == MD_BLOCK_LI)
        leave_item(m);
    else if (type == MD_BLOCK_QUOTE || type == MD_BLOCK_UL || type == MD_BLOCK_OL)
        leave_container(m);
    return buf_failed(m->out) ? -1 : 0;
}

/* ---- text and spans ---- */

static unsigned current_style(const struct md *m)
{
    static const unsigned STYLES[] = {
        [MD_SPAN_EM] = STYLE_ITALIC,  [MD_SPAN_STRONG] = STYLE_BOLD, [MD_SPAN_A] = STYLE_UNDERLINE,
        [MD_SPAN_IMG] = STYLE_ITALIC, [MD_SPAN_CODE] = STYLE_CYAN,   [MD_SPAN_DEL] = STYLE_STRIKE,
    };
    unsigned style = m->base_style;
    for (size_t i = 0; i < ARRAY_LEN(STYLES); i++)
        style |= m->spans[i] > 0 ? STYLES[i] : 0;
    return style;
}

void md_add_text(struct md *m, str text, unsigned style)
{
    struct buf safe;
    buf_init(&safe, MARKDOWN_OUTPUT_MAX);
    text_add(&safe, text);
    styled_add(&m->line, buf_str(&safe), style);
    buf_done(&safe);
}

static void add_code_point(struct buf *out, uint64_t cp)
{
    text_add_char(out,
                  cp > 0 && cp <= 0x10ffff && (cp < 0xd800 || cp > 0xdfff) ? (uint32_t)cp : 0xfffd);
}

static uint64_t number_of_entity(str digits, bool is_hex)
{
    uint64_t cp = 0;
    for (size_t i = 0; i < digits.n && cp <= 0x10ffff; i++) {
        char c = digits.p[i];
        uint64_t v = c <= '9' ? (uint64_t)(c - '0') : (uint64_t)((c | 32) - 'a' + 10);
        cp = cp * (is_hex ? 16 : 10) + v;
    }
    return cp;
}

static void add_entity(struct buf *out, str e)
{
    static const struct {
        const char *name, *text;
    } NAMES[] = {{"&amp;", "&"},   {"&lt;", "<"},    {"&gt;", ">"},   {"&quot;", "\""},
                 {"&apos;", "'"},  {"&nbsp;", " "},  {"&copy;", "©"}, {"&hellip;", "…"},
                 {"&mdash;", "—"}, {"&ndash;", "–"}, {"&rarr;", "→"}, {"&larr;", "←"},
                 {"&times;", "×"}, {"&deg;", "°"},   {"&euro;", "€"}, {"&bull;", "•"}};
    if (e.n > 3 && e.p[1] == '#') {
        bool is_hex = (e.p[2] | 32) == 'x';
        add_code_point(out, number_of_entity(str_slice(e, is_hex ? 3 : 2, e.n - 1), is_hex));
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(NAMES); i++) {
        if (str_eq(e, str_from(NAMES[i].name))) {
            buf_add_lit(out, NAMES[i].text);
            return;
        }
    }
    buf_add_str(out, e);
}

static int on_md_text(MD_TEXTTYPE type, const MD_CHAR *text, MD_SIZE size, void *ctx)
{
    struct md *m = ctx;
    str s = str_make(text, size);
    if (type == MD_TEXT_BR)
        styled_add(&m->line, STR("\n"), 0);
    else if (type == MD_TEXT_SOFTBR)
        styled_add(&m->line, STR(" "), current_style(m));
    else if (type == MD_TEXT_NULLCHAR)
        styled_add(&m->line, STR("\xef\xbf\xbd"), current_style(m));
    else if (type == MD_TEXT_ENTITY) {
        struct buf safe;
        buf_init(&safe, 256);
        add_entity(&safe, s);
        styled_add(&m->line, buf_str(&safe), current_style(m));
        buf_done(&safe);
    } else {
        md_add_text(m, s, m->is_code ? 0 : current_style(m));
    }
    return m->line.text.failed ? -1 : 0;
}

static int enter_span(MD_SPANTYPE type, void *detail, void *ctx)
{
    struct md *m = ctx;
    if (type == MD_SPAN_CODE && !m->style->has_color)
        styled_add(&m->line, STR("`"), 0);
    if (type == MD_SPAN_A || type == MD_SPAN_IMG)
        m->link_start = m->line.text.n;
    if (type < ARRAY_LEN(m->spans))
        m->spans[type]++;
    return 0;
}

/* The address after the text, unless the text is the address. */
static void add_address(struct md *m, const MD_ATTRIBUTE *href)
{
    struct buf url;
    buf_init(&url, MARKDOWN_OUTPUT_MAX);
    text_add_line(&url, str_make(href->text, href->size));
    str shown = str_skip(buf_str(&m->line.text), m->link_start);
    str bare = buf_str(&url);
    if (str_starts(bare, STR("mailto:")))
        bare = str_skip(bare, 7);
    if (url.n > 0 && !str_eq(shown, bare)) {
        styled_add(&m->line, STR(" ("), STYLE_DIM);
        styled_add(&m->line, buf_str(&url), STYLE_DIM);
        styled_add(&m->line, STR(")"), STYLE_DIM);
    }
    buf_done(&url);
}

static int leave_span(MD_SPANTYPE type, void *detail, void *ctx)
{
    struct md *m = ctx;
    if (type < ARRAY_LEN(m->spans))
        m->spans[type]--;
    if (type == MD_SPAN_CODE && !m->style->has_color)
        styled_add(&m->line, STR("`"), 0);
    if (type == MD_SPAN_A)
        add_address(m, &((const MD_SPAN_A_DETAIL *)detail)->href);
    if (type == MD_SPAN_IMG)
        add_address(m, &((const MD_SPAN_IMG_DETAIL *)detail)->src);
    return m->line.text.failed ? -1 : 0;
}

/* ---- whole texts ---- */

static void add_plain(struct buf *out, str text)
{
    text_add(out, str_trim(text));
    buf_add_char(out, '\n');
}

void markdown_block(struct buf *out, str text, const struct markdown_style *style)
{
    static const MD_PARSER PARSER = {
        .flags = MD_FLAG_TABLES | MD_FLAG_STRIKETHROUGH | MD_FLAG_TASKLISTS | MD_FLAG_NOHTML |
                 MD_FLAG_NOINDENTEDCODEBLOCKS | MD_FLAG_PERMISSIVEURLAUTOLINKS |
                 MD_FLAG_COLLAPSEWHITESPACE,
        .enter_block = enter_block,
        .leave_block = leave_block,
        .enter_span = enter_span,
        .leave_span = leave_span,
        .text = on_md_text,
    };
    struct md m = {.out = out, .style = style};
    size_t start = out->n;
    if (str_trim(text).n == 0)
        return;
    styled_init(&m.line, MARKDOWN_OUTPUT_MAX);
    int r = md_parse(text.p, (MD_SIZE)text.n, &PARSER, &m);
    styled_done(&m.line);
    md_table_done(&m);
    if (r != 0)
        buf_truncate(out, start);
    if (r != 0 || out->n == start) /* nothing visible, such as a list of link targets */
        add_plain(out, text);
}
