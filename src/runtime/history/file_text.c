#include "runtime/history/file_text.h"

#include "runtime/history/escape.h"

#define NAME_SHOWN    200
#define PROBLEM_SHOWN 500
#define READ_TOOL     "files__read"

/* By the end of the name. Types are sniffed, and every text is text/plain; a language is only a
 * hint for the reader. */
static const struct {
    const char *suffix, *language;
} LANGUAGES[] = {
    {"c", "C"},
    {"cc", "C++"},
    {"conf", "configuration"},
    {"cpp", "C++"},
    {"cs", "C#"},
    {"css", "CSS"},
    {"csv", "CSV"},
    {"diff", "diff"},
    {"ex", "Elixir"},
    {"go", "Go"},
    {"h", "C"},
    {"hpp", "C++"},
    {"hs", "Haskell"},
    {"htm", "HTML"},
    {"html", "HTML"},
    {"ini", "INI"},
    {"java", "Java"},
    {"jl", "Julia"},
    {"js", "JavaScript"},
    {"json", "JSON"},
    {"jsonl", "JSON lines"},
    {"jsx", "JavaScript"},
    {"kt", "Kotlin"},
    {"log", "log"},
    {"lua", "Lua"},
    {"md", "Markdown"},
    {"mjs", "JavaScript"},
    {"ml", "OCaml"},
    {"patch", "diff"},
    {"php", "PHP"},
    {"pl", "Perl"},
    {"proto", "Protobuf"},
    {"ps1", "PowerShell"},
    {"py", "Python"},
    {"r", "R"},
    {"rb", "Ruby"},
    {"rs", "Rust"},
    {"scala", "Scala"},
    {"sh", "shell"},
    {"sql", "SQL"},
    {"svg", "SVG"},
    {"swift", "Swift"},
    {"tex", "LaTeX"},
    {"toml", "TOML"},
    {"ts", "TypeScript"},
    {"tsv", "TSV"},
    {"tsx", "TypeScript"},
    {"vue", "Vue"},
    {"xml", "XML"},
    {"yaml", "YAML"},
    {"yml", "YAML"},
    {"zig", "Zig"},
};

static const char *language_of(str name)
{
    ptrdiff_t dot = str_rfind_char(name, '.');
    str suffix = dot < 0 ? STR_NONE : str_skip(name, (size_t)dot + 1);
    for (size_t i = 0; i < ARRAY_LEN(LANGUAGES); i++)
        if (str_eq_nocase(suffix, str_from(LANGUAGES[i].suffix)))
            return LANGUAGES[i].language;
    return NULL;
}

static void add_kind(struct buf *b, const struct json *part, str name)
{
    const char *language = language_of(name);
    if (str_eq(json_get_string(part, "mimeType"), STR("application/pdf")))
        buf_add_lit(b, " (the text of a PDF)");
    else if (language)
        buf_printf(b, " (%s)", language);
}

static str unread(struct arena *a, const struct json *part, str name)
{
    str why = escape_line(a, json_get_string(part, "unreadable"), PROBLEM_SHOWN);
    return arena_printf(
        a, "[The user attached the file \"%.*s\" (%.*s, %lld bytes). You cannot read it%s%.*s.]",
        STR_ARG(name), STR_ARG(escape_line(a, json_get_string(part, "mimeType"), NAME_SHOWN)),
        (long long)json_get_int(part, "bytes", 0), why.n > 0 ? ": " : "", STR_ARG(why));
}

/* A view, such as the text of a PDF, is a file with an id of its own. */
static void add_reference(struct buf *b, struct arena *a, const struct json *part)
{
    const struct json *view = json_get(part, "view");
    const struct json *file = json_get(view, "file") ? view : part;
    buf_printf(b,
               "[It is too long to be shown whole: these are the first %lld of %lld bytes. Read "
               "more of it, in parts, with the tool " READ_TOOL ", id %.*s.]\n",
               (long long)json_get_int(part, "shown", 0), (long long)json_get_int(file, "bytes", 0),
               STR_ARG(escape_line(a, json_get_string(file, "file"), NAME_SHOWN)));
}

str file_text(struct arena *a, const struct json *part)
{
    struct buf b;
    const struct json *text = json_get(part, "text");
    str name = escape_line(a, json_get_string(part, "name"), NAME_SHOWN);
    if (!json_is(text, JSON_STRING))
        return unread(a, part, name);
    buf_init(&b, 4 * text->s.n + 8192); /* a byte becomes at most four */
    buf_printf(&b, "[The user attached the file \"%.*s\"", STR_ARG(name));
    add_kind(&b, part, name);
    buf_add_lit(&b, ":]\n");
    if (json_get(part, "shown"))
        add_reference(&b, a, part);
    escape_container(&b, CONTAINER_FILE, text->s, b.max);
    return buf_keep(&b, a);
}
