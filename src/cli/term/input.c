#include "cli/term/input.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/sniff.h"
#include "base/utf8.h"
#include "os/file.h"

enum { TEXT_INLINE_MAX = 256 * 1024 };

int input_read_stdin(struct arena *a, size_t max, str *ret, struct err *e)
{
    struct buf b;
    int r = 0;
    buf_init(&b, max);
    for (;;) {
        char chunk[65536];
        ssize_t n = read(STDIN_FILENO, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            r = err_set(e, -errno, "cannot read the piped input: %s", err_reason(-errno));
        if (n <= 0)
            break;
        if (buf_add(&b, chunk, (size_t)n) < 0) {
            r = err_set(e, -EFBIG, "the piped input has more than %zu bytes", max);
            break;
        }
    }
    if (r == 0)
        *ret = arena_str(a, buf_str(&b));
    buf_done(&b);
    return r;
}

bool input_read_line(FILE *in, struct buf *line)
{
    int c;
    buf_clear(line);
    while ((c = getc(in)) != EOF && c != '\n')
        if (line->n < INPUT_LINE_MAX)
            buf_add_char(line, (char)c);
    return c != EOF || (line->n > 0 && !ferror(in));
}

/* A fence longer than any run of backticks inside. */
static size_t fence_len(str text)
{
    size_t longest = 2, run = 0;
    for (size_t i = 0; i < text.n; i++) {
        run = text.p[i] == '`' ? run + 1 : 0;
        if (run > longest)
            longest = run;
    }
    return longest + 1;
}

int input_add_block(struct buf *b, const char *label, str text, struct err *e)
{
    static const char TICKS[] = "````````````````````````````````";
    size_t n = fence_len(text);
    if (!utf8_valid(text))
        return err_set(e, -EILSEQ, "%s is not text (it is not valid UTF-8)", label);
    if (n >= sizeof TICKS)
        return err_set(e, -EINVAL, "%s contains more backticks in a row than can be quoted", label);
    if (b->n > 0)
        buf_add_lit(b, "\n\n");
    buf_printf(b, "%s:\n%.*s\n%.*s%s%.*s", label, (int)n, TICKS, STR_ARG(text),
               str_ends(text, STR("\n")) ? "" : "\n", (int)n, TICKS);
    return 0;
}

/* Anything else, and a text that is too long for a message, is given as a file. */
static bool is_text_file(const char *path)
{
    char head[SNIFF_BYTES];
    struct stat st;
    if (stat(path, &st) == 0 && st.st_size > TEXT_INLINE_MAX)
        return false;
    return sniff_is_text(str_from(sniff_type(file_head(path, head, sizeof head))));
}

static int add_input_file(struct buf *b, struct arena *a, const char *path,
                          struct input_files *files, struct err *e)
{
    str text;
    const char *slash = strrchr(path, '/');
    if (!is_text_file(path)) {
        files->paths[files->n++] = path;
        return 0;
    }
    int r = file_read(a, path, TURN_MESSAGE_MAX, &text, e);
    if (r == 0)
        r = input_add_block(b, arena_printf(a, "File %s", slash ? slash + 1 : path).p, text, e);
    return r;
}

int input_compose(const struct cli *cli, struct arena *a, str *ret, struct input_files *ret_files,
                  struct err *e)
{
    struct buf b;
    str piped = STR_NONE;
    int r = 0;
    *ret_files =
        (struct input_files){.paths = arena_array(a, cli->chat.files.len, sizeof(const char *))};
    buf_init(&b, 2 * TURN_MESSAGE_MAX);
    buf_add_str(&b, str_from(cli->chat.prompt));
    if (!cli->is_tty_in)
        r = input_read_stdin(a, TURN_MESSAGE_MAX, &piped, e);
    if (r == 0 && piped.n > 0)
        r = input_add_block(&b, "Piped input", piped, e);
    for (size_t i = 0; r == 0 && i < cli->chat.files.len; i++)
        r = add_input_file(&b, a, cli->chat.files.items[i], ret_files, e);
    if (r == 0 && (buf_failed(&b) || b.n > TURN_MESSAGE_MAX))
        r = err_set(e, -EFBIG, "the message with its attachments has more than %u bytes",
                    TURN_MESSAGE_MAX);
    if (r == 0)
        *ret = arena_str(a, buf_str(&b));
    buf_done(&b);
    return r;
}
