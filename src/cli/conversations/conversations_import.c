/* nb conversations import - the process that owns the store imports; this command polls its
 * progress. */
#include <errno.h>
#include <limits.h>

#include "cli/conversations/conversations.h"
#include "cli/term/progress.h"

enum { POLL_MS = 100 };

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

static bool import_one(struct cmd *x, const char *typed, const char *kind)
{
    char path[PATH_MAX];
    struct err e = {0};
    if (!realpath(typed, path)) {
        err_errno(&e, -errno, "cannot read", typed);
        (void)cli_fail(&e);
        return false;
    }
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
    if (error.n > 0 && str_find(error, str_from(typed), 0) >= 0)
        cli_complain(error);
    else if (error.n > 0)
        (void)cli_failed("%s: %.*s", typed, STR_ARG(error));
    return error.n == 0;
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
    .help = "Reads logs of nb (jsonl or folder), sessions of Claude Code, and the unpacked exports "
            "of ChatGPT and Claude.ai (conversations.json); a FILE may be a directory. Times are "
            "kept. A conversation that was imported before is not changed.\n",
    .args = IMPORT_ARGS,
    .run = conv_import,
};
