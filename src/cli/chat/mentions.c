#include "cli/chat/mentions.h"

#include <ctype.h>
#include <limits.h>
#include <sys/stat.h>

#include "attach/file_name.h"
#include "attach/sniff.h"
#include "cli/term/text.h"
#include "os/dir.h"
#include "os/file.h"
#include "store/store.h"

enum { LISTED_MAX = 60 };

/* ---- words ---- */

/* Reads up to white space into `word`, with the quoting of a shell if wanted. Returns the bytes
 * that were used; 0: a quote has no end, as an apostrophe has none. */
static size_t read_word(str text, bool has_quotes, char *word, size_t *ret_n)
{
    size_t n = 0, i = 0;
    char quote = 0;
    for (; i < text.n; i++) {
        char c = text.p[i];
        if (!quote && strchr(" \t\n", c))
            break;
        if (quote && c == quote)
            quote = 0;
        else if (has_quotes && !quote && (c == '"' || c == '\'') && n == 0)
            quote = c;
        else if (c == '\\' && quote != '\'' && i + 1 < text.n)
            word[n++] = text.p[++i];
        else
            word[n++] = c;
    }
    *ret_n = n;
    return quote ? 0 : i;
}

/* False at the end. */
static bool next_word(struct arena *a, str *text, bool *ret_is_mention, str *ret)
{
    *text = str_trim(*text);
    if (text->n == 0)
        return false;
    *ret_is_mention = text->p[0] == '@';
    *text = str_skip(*text, *ret_is_mention ? 1 : 0);
    char *word = arena_alloc(a, text->n + 1);
    size_t n, used = read_word(*text, true, word, &n);
    if (used == 0)
        used = read_word(*text, false, word, &n);
    word[n] = '\0';
    *text = str_skip(*text, used);
    *ret = str_make(word, n);
    return true;
}

static str resolve(struct arena *a, str word, const char *dir, const char *home)
{
    if (str_starts(word, STR("file://")))
        return file_name_decode(a, str_skip(word, 7));
    if (str_starts(word, STR("~/")) && home)
        return arena_printf(a, "%s%.*s", home, STR_ARG(str_skip(word, 1)));
    if (word.n > 0 && word.p[0] != '/')
        return arena_printf(a, "%s/%.*s", dir, STR_ARG(word));
    return word;
}

static bool is_readable(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0;
}

/* Without an @, only what is clearly meant: the path of a picture or a PDF. */
static bool is_pasted(str word, const char *path)
{
    char head[SNIFF_BYTES];
    bool is_path = str_starts(word, STR("/")) || str_starts(word, STR("~/")) ||
                   str_starts(word, STR("./")) || str_starts(word, STR("file://"));
    if (!is_path || !is_readable(path))
        return false;
    str type = str_from(sniff_type(file_head(path, head, sizeof head)));
    return str_starts(type, STR("image/")) || str_eq(type, STR("application/pdf"));
}

static bool is_known(const struct mentions *m, const char *path)
{
    for (size_t i = 0; i < m->n; i++)
        if (strcmp(m->paths[i], path) == 0)
            return true;
    return false;
}

/* "@notes.md," means notes.md. */
static const char *without_point(struct arena *a, const char *path)
{
    str s = str_from(path);
    while (s.n > 0 && strchr(",.;:!?)", s.p[s.n - 1]) && !is_readable(arena_cstr(a, s)))
        s.n--;
    return arena_cstr(a, s);
}

void mentions_find(struct arena *a, str text, const char *dir, const char *home,
                   struct mentions *ret)
{
    str word;
    bool is_mention;
    *ret = (struct mentions){0};
    while (next_word(a, &text, &is_mention, &word)) {
        if (word.n == 0 || word.n >= PATH_MAX || memchr(word.p, '\0', word.n))
            continue;
        const char *path = without_point(a, arena_cstr(a, resolve(a, word, dir, home)));
        bool is_file = is_mention ? is_readable(path) : is_pasted(word, path);
        if (!is_file || is_known(ret, path))
            continue;
        ret->is_cut |= ret->n == MENTIONS_MAX;
        if (ret->n < MENTIONS_MAX)
            ret->paths[ret->n++] = path;
    }
}

/* ---- conversations ---- */

static bool is_listed(const str *list, size_t n, str id)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(list[i], id))
            return true;
    return false;
}

size_t mentions_conversations(str text, str ret[MENTIONS_CONVERSATIONS_MAX])
{
    size_t n = 0;
    ptrdiff_t at = -1;
    while (n < MENTIONS_CONVERSATIONS_MAX &&
           (at = str_find(text, STR("@conv_"), (size_t)(at + 1))) >= 0) {
        size_t end = (size_t)at + 1;
        while (end < text.n && (isalnum((unsigned char)text.p[end]) || text.p[end] == '_'))
            end++;
        str id = str_slice(text, (size_t)at + 1, end);
        bool is_word = at == 0 || strchr(" \t\n(", text.p[at - 1]);
        if (is_word && store_id_valid(id) && !is_listed(ret, n, id))
            ret[n++] = id;
    }
    return n;
}

/* ---- completion ---- */

static void add_escaped(struct buf *out, str name)
{
    for (size_t i = 0; i < name.n; i++) {
        if (strchr(" \\\"'", name.p[i]))
            buf_add_char(out, '\\');
        buf_add_char(out, name.p[i]);
    }
}

static size_t same_length(str a, str b)
{
    size_t n = 0;
    while (n < a.n && n < b.n && a.p[n] == b.p[n])
        n++;
    while (n > 0 && n < a.n && ((unsigned char)a.p[n] & 0xc0) == 0x80)
        n--; /* between characters */
    return n;
}

bool mentions_complete(void *ctx, str typed, struct buf *ret_common, struct buf *ret_all)
{
    struct arena a;
    struct stat st;
    str word, common = STR_NONE;
    bool is_mention, is_dir = false;
    size_t found = 0;
    arena_init(&a);
    str rest = arena_concat(&a, STR("@"), typed);
    (void)next_word(&a, &rest, &is_mention, &word);
    ptrdiff_t slash = str_rfind_char(word, '/');
    str parent = str_slice(word, 0, (size_t)(slash + 1)), start = str_skip(word, parent.n);
    str base = parent.n > 0 ? resolve(&a, parent, ".", ctx) : STR(".");
    const char *dir = arena_cstr(&a, base);
    DIR_EACH (d, dir) {
        str name = str_from(d.name);
        if (!str_starts(name, start) || (d.name[0] == '.' && start.n == 0))
            continue;
        is_dir = stat(arena_printf(&a, "%s/%s", dir, d.name).p, &st) == 0 && S_ISDIR(st.st_mode);
        common = found == 0 ? arena_str(&a, name) : str_slice(common, 0, same_length(common, name));
        if (found++ < LISTED_MAX) {
            text_add_line(ret_all, name); /* names may have control characters */
            buf_add_str(ret_all, is_dir ? STR("/  ") : STR("  "));
        }
    }
    if (found > 0) {
        add_escaped(ret_common, parent);
        add_escaped(ret_common, common);
        buf_add_lit(ret_common, found == 1 ? is_dir ? "/" : " " : "");
    }
    arena_done(&a);
    return found == 1;
}
