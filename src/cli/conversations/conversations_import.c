/* nb conversations import - the process that owns the store imports; this command polls its
 * progress. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "bundle/package/archive.h"
#include "cli/conversations/conversations.h"
#include "cli/term/progress.h"
#include "os/file.h"
#include "store/event/io.h"

enum { POLL_MS = 100, REMOVE_DEPTH = ARCHIVE_DEPTH_MAX + 2 };

static const struct arg IMPORT_ARGS[] = {
    {"from", 0, ARG_STRING, "KIND",
     "read nb, folder, claude-code, chatgpt or claude (default: detected)"},
    {0}};

static void wait_a_moment(struct cmd *x)
{
    bool never = false;
    (void)loop_run_until(x->loop, &never, POLL_MS);
}

/* The state after the import has ended; NULL after printing an error. */
static const struct json *conv_import_follow(struct cmd *x, const char *path,
                                             const struct json *state)
{
    struct progress p;
    progress_begin(&p, "importing");
    while (state && json_get_bool(state, "isRunning", false)) {
        str text = arena_printf(&x->arena, "%lld conversations",
                                (long long)json_get_int(state, "conversations", 0));
        progress_update(&p, json_double(json_get(state, "share"), -1), text);
        wait_a_moment(x);
        state = cmd_ask(x, NULL, STR("/v1/import"), NULL, path);
    }
    progress_end(&p);
    return state;
}

static void print_import(struct cmd *x, const char *path, const struct json *s)
{
    const struct json *losses = json_get(s, "losses");
    int64_t lost = json_get_int(s, "lost", 0), existing = json_get_int(s, "existing", 0);
    int64_t made = json_get_int(s, "conversations", 0);
    printf("%s: %lld conversation%s, %lld events", path, (long long)made, made == 1 ? "" : "s",
           (long long)json_get_int(s, "events", 0));
    if (existing > 0)
        printf("; %lld already existed", (long long)existing);
    if (lost > 0)
        printf("; %lld items could not be imported", (long long)lost);
    putchar('\n');
    for (size_t i = 0; losses && i < losses->len; i++)
        fprintf(stderr, "  %.*s\n", STR_ARG(json_string(json_at(losses, i), STR_NONE)));
}

/* The exports of ChatGPT and Claude.ai come as ZIP archives. */
static bool is_zip(const char *path)
{
    char head[4];
    return str_eq(file_head(path, head, sizeof head), STR("PK\x03\x04"));
}

static bool import_path(struct cmd *x, const char *typed, const char *path, const char *kind)
{
    struct json *body = cmd_object(x, {STR("path"), json_of_str(str_from(path))});
    if (kind)
        json_set(&x->arena, body, STR("kind"), json_of_str(str_from(kind)));
    const struct json *state =
        conv_import_follow(x, typed, cmd_ask(x, "POST", STR("/v1/import"), body, typed));
    if (!state)
        return false;
    if (!cmd_json(x, state))
        print_import(x, typed, state);
    str error = json_get_string(state, "error");
    if (str_starts(error, str_from(path))) /* an archive was unpacked there */
        error = arena_concat(&x->arena, str_from(typed), str_skip(error, strlen(path)));
    if (error.n > 0 && str_find(error, str_from(typed), 0) >= 0)
        cli_complain(error);
    else if (error.n > 0)
        (void)cli_failed("%s: %.*s", typed, STR_ARG(error));
    return error.n == 0;
}

/* Unpacked beside other large temporary files, and removed when the import has ended. */
static bool import_zip(struct cmd *x, const char *typed, const char *path, const char *kind)
{
    struct err e = {0};
    const char *base = getenv("TMPDIR");
    char *tmp = arena_cstr(&x->arena, arena_printf(&x->arena, "%s/nb-import-XXXXXX",
                                                   base && *base ? base : "/var/tmp"));
    if (!mkdtemp(tmp)) {
        err_errno(&e, -errno, "cannot create a directory in", base && *base ? base : "/var/tmp");
        return cli_fail(&e) == EXIT_DONE;
    }
    const char *dir = arena_printf(&x->arena, "%s/export", tmp).p;
    bool is_done = false;
    if (archive_unpack(path, dir, &e) < 0)
        (void)cli_fail(&e);
    else
        is_done = import_path(x, typed, dir, kind);
    (void)io_remove_tree(&store_io_system, tmp, REMOVE_DEPTH);
    return is_done;
}

static bool import_one(struct cmd *x, const char *typed, const char *kind)
{
    char path[PATH_MAX];
    struct err e = {0};
    if (realpath(typed, path))
        return is_zip(path) ? import_zip(x, typed, path, kind) : import_path(x, typed, path, kind);
    err_errno(&e, -errno, "cannot read", typed);
    (void)cli_fail(&e);
    return false;
}

static int conv_import(struct cmd *x)
{
    int code = EXIT_DONE;
    for (int i = 0; i < x->argc; i++)
        if (!import_one(x, x->argv[i], cmd_opt(x, "from")))
            code = EXIT_FAILED;
    return code;
}

const struct command CONV_IMPORT = {
    .name = "import",
    .operands = "FILE...",
    .summary = "import conversations of nb, Claude Code, ChatGPT or Claude.ai",
    .help = "Reads logs of nb (jsonl or folder), sessions of Claude Code, and the exports of "
            "ChatGPT and Claude.ai: the ZIP archive, the directory it was unpacked to, or its "
            "conversations.json. Pictures and documents in the archive come along. Times are kept. "
            "A conversation that was imported before is not changed.\n",
    .args = IMPORT_ARGS,
    .needs = NEEDS_CLIENT,
    .run = conv_import,
};
