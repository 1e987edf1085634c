/* nb conversations export - writes a conversation as a document, of any size, piece by piece. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/conversations/export_elsewhere.h"
#include "cli/conversations/stores.h"
#include "cli/term/safe_out.h"
#include "os/file.h"
#include "transfer/export.h"

static const struct arg ARGS[] = {
    {"format", 't', ARG_STRING, "F",
     "write markdown, json, html or jsonl (default: by the name of FILE, otherwise markdown)"},
    {"output", 'o', ARG_STRING, "FILE", "write to FILE instead of the terminal"},
    {"no-tools", 0, ARG_FLAG, NULL, "leave tool calls out"},
    {"thoughts", 0, ARG_FLAG, NULL, "include the thoughts of models (Markdown and HTML)"},
    {"force", 'f', ARG_FLAG, NULL, "replace FILE if it exists"},
    {0}};

enum { FILES_MAX = 100000, COPY_BYTES = 128 * 1024 };

struct writing {
    FILE *out;
    struct err err;
    bool is_piece, is_last;
};

/* ---- files that messages name ---- */

struct exported_files {
    struct arena arena;
    str *sha256;
    size_t n, cap;
    const char *dir;
    bool is_opened;
    int fd;
};

static void on_export_file(void *ctx, str sha256)
{
    struct exported_files *files = ctx;
    for (size_t i = 0; i < files->n; i++)
        if (str_eq(files->sha256[i], sha256))
            return;
    if (files->n == FILES_MAX)
        return;
    GROW(files->sha256, files->n, files->cap);
    files->sha256[files->n++] = arena_str(&files->arena, sha256);
}

static void on_export_opened(void *ctx, const struct err *err, int fd, const char *mime)
{
    struct exported_files *files = ctx;
    files->is_opened = true;
    files->fd = err ? -1 : fd;
}

static int copy_fd(struct exported_files *files, const char *to, struct err *e)
{
    char *piece = arena_alloc(&files->arena, COPY_BYTES);
    ssize_t n = 1;
    int r = 0, out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (out < 0)
        return err_errno(e, -errno, "cannot create", to);
    while (r == 0 && n > 0) {
        n = read(files->fd, piece, COPY_BYTES);
        r = n < 0 ? -errno : file_write_all(out, str_make(piece, (size_t)n));
    }
    file_close(out);
    return r < 0 ? err_errno(e, r, "cannot write", to) : 0;
}

/* Beside the document, where the import of a log looks for them. A file that is gone is left out.
 */
static int write_files(struct stores *s, struct store *store, str id, struct exported_files *files,
                       struct err *e)
{
    int r = files->n > 0 ? file_make_dirs(files->dir, e) : 0;
    for (size_t i = 0; i < files->n && r == 0; i++) {
        files->is_opened = false;
        store_open_file(store, id, files->sha256[i], on_export_opened, files);
        cmd_wait(s->x, &files->is_opened);
        if (files->fd < 0)
            continue;
        r = copy_fd(files,
                    arena_printf(&files->arena, "%s/%.*s", files->dir, STR_ARG(files->sha256[i])).p,
                    e);
        file_close(files->fd);
    }
    return r;
}

/* notes.md has its files in notes.blobs/. */
static struct export_options files_beside(struct exported_files *files, const char *out,
                                          const struct export_options *opt)
{
    struct export_options with = *opt;
    const char *slash = strrchr(out, '/'), *name = slash ? slash + 1 : out;
    const char *dot = strrchr(name, '.');
    int n = dot && dot > name ? (int)(dot - out) : (int)strlen(out);
    arena_init(&files->arena);
    files->dir = arena_printf(&files->arena, "%.*s.blobs", n, out).p;
    with.file_base = arena_printf(&files->arena, "%s/", files->dir + (name - out)).p;
    with.on_file = on_export_file;
    with.file_ctx = files;
    return with;
}

static void files_done(struct exported_files *files)
{
    free(files->sha256);
    arena_done(&files->arena);
}

/* ---- the document ---- */

static void on_piece(void *ctx, const struct err *err, str piece, bool is_last)
{
    struct writing *w = ctx;
    w->is_piece = true;
    w->is_last = is_last;
    if (err)
        w->err = *err;
    else if (piece.n > 0 && fwrite(piece.p, 1, piece.n, w->out) != piece.n)
        err_errno(&w->err, errno ? -errno : -EIO, "cannot write", "the document");
}

static int write_elsewhere(struct cmd *x, str id, enum export_format f,
                           const struct export_options *opt, struct writing *w)
{
    str rest =
        arena_printf(&x->arena, "/export?format=%s&tools=%s&thoughts=%s", export_suffix(f),
                     opt->without_tools ? "false" : "true", opt->with_reasoning ? "true" : "false");
    return export_elsewhere(x, conv_path(x, id, rest.p), w->out, &w->err);
}

/* store NULL: the server of --server has the conversation. */
static int write_pieces(struct stores *s, struct store *store, str id, enum export_format f,
                        const struct export_options *opt, struct writing *w)
{
    if (!store)
        return write_elsewhere(s->x, id, f, opt, w);
    struct export *x = export_open(store, id, f, opt, NULL);
    while (!w->is_last && !w->err.code) {
        w->is_piece = false;
        export_next(x, on_piece, w);
        cmd_wait(s->x, &w->is_piece);
    }
    export_close(x);
    if (!w->err.code && fflush(w->out) != 0)
        err_errno(&w->err, -errno, "cannot write", "the document");
    return w->err.code;
}

static int choose_format(const struct cmd *x, enum export_format *ret, struct err *e)
{
    const char *out = cmd_opt(x, "output"), *dot = out ? strrchr(out, '.') : NULL;
    if (cmd_opt(x, "format"))
        return export_format_parse(str_from(cmd_opt(x, "format")), ret, e);
    if (!dot || export_format_parse(str_from(dot + 1), ret, NULL) < 0)
        *ret = EXPORT_MARKDOWN;
    return 0;
}

/* Writes to a temporary file first, so that an old document is kept until the new one is
 * complete. */
static int write_document(struct stores *s, struct store *store, str id, enum export_format f,
                          const struct export_options *opt, struct exported_files *files,
                          struct err *e)
{
    const char *out = cmd_opt(s->x, "output");
    char temp[PATH_MAX];
    struct writing w = {0};
    if (snprintf(temp, sizeof temp, "%s.%d.tmp", out, (int)getpid()) >= (int)sizeof temp)
        return err_set(e, -ENAMETOOLONG, "%s: this name is too long", out);
    w.out = fopen(temp, "wxe");
    if (!w.out) /* -ENOENT means the conversation, so use another code */
        return err_set(e, -EIO, "cannot create %s: %s", out, err_reason(-errno));
    int r = write_pieces(s, store, id, f, opt, &w);
    if (r == 0)
        r = write_files(s, store, id, files, &w.err);
    if (fclose(w.out) != 0 && r == 0)
        r = err_errno(&w.err, -errno, "cannot write", temp);
    if (r == 0 && rename(temp, out) < 0)
        r = err_errno(&w.err, -errno, "cannot create", out);
    if (r < 0) {
        (void)unlink(temp);
        *e = w.err;
    }
    return r;
}

static int export_to_file(struct stores *s, struct store *store, str id, enum export_format f,
                          const struct export_options *opt, struct err *e)
{
    const char *out = cmd_opt(s->x, "output");
    struct exported_files files = {.fd = -1};
    if (!cmd_flag(s->x, "force") && access(out, F_OK) == 0)
        return err_set(e, -EEXIST, "%s exists already; --force replaces it", out);
    struct export_options with = files_beside(&files, out, opt);
    int r = write_document(s, store, id, f, &with, &files, e);
    files_done(&files);
    return r;
}

static int conv_export(struct cmd *x)
{
    struct export_options opt = {.without_tools = cmd_flag(x, "no-tools"),
                                 .with_reasoning = cmd_flag(x, "thoughts")};
    struct store_conf conf;
    struct stores s;
    struct store *store = NULL;
    struct writing w = {.out = stdout};
    enum export_format f;
    struct err e = {0};
    const char *typed = x->argv[0];
    if (strcmp(typed, "latest") == 0 && !x->client &&
        client_open(x->loop, &x->config, &x->client, &e) < 0)
        return cli_fail(&e);
    str id = conv_id(x, typed);
    if (id.n == 0)
        return EXIT_FAILED;
    if (choose_format(x, &f, &e) < 0)
        return cli_usage_error("--format: %s", e.msg);
    bool is_here = !x->config.remote.url;
    if (is_here && stores_find(x, NULL, NULL, &conf, &e) < 0)
        return cli_fail(&e);
    conf.read_only = true;
    stores_init(&s, x);
    int r = is_here ? stores_open(&s, &conf, &store, &e) : 0;
    bool is_open = r == 0;
    if (r == 0 && strcmp(cmd_opt_or(x, "output", "-"), "-") != 0)
        r = export_to_file(&s, store, id, f, &opt, &e);
    else if (r == 0) {
        if ((f == EXPORT_JSON || f == EXPORT_JSONL) && !x->cli->opt.is_json) {
            safe_out_begin(SAFE_JSON);
            w.out = stdout;
        }
        r = write_pieces(&s, store, id, f, &opt, &w);
        e = w.err;
    }
    stores_close(&s, store);
    stores_done(&s);
    if (r == 0 && is_here)
        cli_record(&x->config, "conversation.export", id, true, STR_NONE);
    if (r == -ENOENT && is_open)
        return cli_failed("no conversation '%s'", typed);
    return r < 0 ? cli_fail(&e) : EXIT_DONE;
}

const struct command CONV_EXPORT = {
    .name = "export",
    .operands = "ID",
    .summary = "export a conversation as Markdown, JSON, HTML or log lines",
    .help = "jsonl is the log itself; nb conv import imports it unchanged. With --output, files "
            "that messages name are written beside FILE: those of notes.md into notes.blobs/, "
            "where the import finds them. With --server, only the document is written.\n",
    .args = ARGS,
    .needs = NEEDS_LOOP | WORKS_ELSEWHERE,
    .run = conv_export,
};
