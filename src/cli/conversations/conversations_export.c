/* nb conversations export - writes a conversation as a document, of any size, piece by piece. */
#include <errno.h>
#include <limits.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/conversations/stores.h"
#include "cli/term/safe_out.h"
#include "transfer/export.h"

static const struct arg ARGS[] = {
    {"format", 't', ARG_STRING, "F",
     "write markdown, json, html or jsonl (default: by the name of FILE, otherwise markdown)"},
    {"output", 'o', ARG_STRING, "FILE", "write to FILE instead of the terminal"},
    {"no-tools", 0, ARG_FLAG, NULL, "leave tool calls out"},
    {"force", 'f', ARG_FLAG, NULL, "replace FILE if it exists"},
    {0}};

struct writing {
    FILE *out;
    struct err err;
    bool is_piece, is_last;
};

static void on_piece(void *ctx, const struct err *err, str piece, bool is_last)
{
    struct writing *w = ctx;
    w->is_piece = true;
    w->is_last = is_last;
    if (err)
        w->err = *err;
    else if (fwrite(piece.p, 1, piece.n, w->out) != piece.n)
        err_errno(&w->err, errno ? -errno : -EIO, "cannot write", "the document");
}

static int write_pieces(struct stores *s, struct store *store, str id, enum export_format f,
                        const struct export_options *opt, struct writing *w)
{
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
static int export_to_file(struct stores *s, struct store *store, str id, enum export_format f,
                          const struct export_options *opt, struct err *e)
{
    const char *out = cmd_opt(s->x, "output");
    char temp[PATH_MAX];
    struct writing w = {0};
    if (!cmd_flag(s->x, "force") && access(out, F_OK) == 0)
        return err_set(e, -EEXIST, "%s exists already; --force replaces it", out);
    if (snprintf(temp, sizeof temp, "%s.%d.tmp", out, (int)getpid()) >= (int)sizeof temp)
        return err_set(e, -ENAMETOOLONG, "%s: this name is too long", out);
    w.out = fopen(temp, "wxe");
    if (!w.out) /* -ENOENT means the conversation, so use another code */
        return err_set(e, -EIO, "cannot create %s: %s", out, err_reason(-errno));
    int r = write_pieces(s, store, id, f, opt, &w);
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

static int conv_export(struct cmd *x)
{
    struct export_options opt = {.without_tools = cmd_flag(x, "no-tools")};
    struct store_conf conf;
    struct stores s;
    struct store *store = NULL;
    struct writing w = {.out = stdout};
    enum export_format f;
    struct err e = {0};
    const char *typed = x->argv[0];
    if (strcmp(typed, "latest") == 0 && client_open(x->loop, &x->config, &x->client, &e) < 0)
        return cli_fail(&e);
    str id = conv_id(x, typed);
    if (id.n == 0)
        return EXIT_FAILED;
    if (choose_format(x, &f, &e) < 0)
        return cli_usage_error("--format: %s", e.msg);
    if (stores_find(x, NULL, NULL, &conf, &e) < 0)
        return cli_fail(&e);
    conf.read_only = true;
    stores_init(&s, x);
    int r = stores_open(&s, &conf, &store, &e);
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
    if (r == 0)
        cli_record(&x->config, "conversation.export", id, true, STR_NONE);
    if (r == -ENOENT && is_open)
        return cli_failed("no conversation '%s'", typed);
    return r < 0 ? cli_fail(&e) : EXIT_DONE;
}

const struct command CONV_EXPORT = {
    .name = "export",
    .operands = "ID",
    .summary = "export a conversation as Markdown, JSON, HTML or log lines",
    .help = "jsonl is the log itself; nb conv import imports it unchanged.\n",
    .args = ARGS,
    .needs = NEEDS_LOOP,
    .run = conv_export,
};
