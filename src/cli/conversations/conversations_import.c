/* nb conversations import - the process that owns the store imports; this command polls its
 * progress. */
#include <errno.h>
#include <limits.h>

#include "cli/conversations/conversations.h"
#include "cli/term/progress.h"

enum { POLL_MS = 100 };

struct import_options {
    const char *kind;
};

static const struct arg IMPORT_ARGS[] = {
    {"from", 0, ARG_STRING, offsetof(struct import_options, kind), "KIND",
     "read nb, folder, claude-code, chatgpt or claude (default: detected)"},
    {0}};

static str import_body(struct conv_cli *x, const char *path, const char *kind)
{
    struct buf b;
    struct json_writer w;
    jw_start(&w, &b, 4 * PATH_MAX);
    jw_object(&w);
    jw_kstr(&w, "path", str_from(path));
    if (kind)
        jw_kstr(&w, "kind", str_from(kind));
    jw_end(&w);
    return buf_keep(&b, &x->arena);
}

static void wait_a_moment(struct conv_cli *x)
{
    bool never = false;
    (void)loop_run_until(x->loop, &never, POLL_MS);
}

static int conv_import_follow(struct conv_cli *x, const char *path, struct json **state)
{
    struct progress p;
    int code = EXIT_DONE;
    progress_begin(&p, "importing");
    while (code == EXIT_DONE && json_get_bool(*state, "isRunning", false)) {
        str text = arena_printf(&x->arena, "%lld conversations",
                                (long long)json_get_int(*state, "conversations", 0));
        progress_update(&p, json_double(json_get(*state, "share"), -1), text);
        wait_a_moment(x);
        code = conv_ask(x, NULL, STR("/v1/import"), STR_NONE, path, state);
    }
    progress_end(&p);
    return code;
}

static void print_import(struct conv_cli *x, const char *path, const struct json *s)
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

static int import_one(struct conv_cli *x, const char *typed, const char *kind)
{
    char path[PATH_MAX];
    struct json *state;
    struct err e = {0};
    if (!realpath(typed, path)) {
        err_errno(&e, -errno, "cannot read", typed);
        return cli_fail(&e);
    }
    int code = conv_ask(x, "POST", STR("/v1/import"), import_body(x, path, kind), typed, &state);
    if (code == EXIT_DONE)
        code = conv_import_follow(x, typed, &state);
    if (code != EXIT_DONE)
        return code;
    if (x->cli->opt.is_json)
        conv_print_json(state);
    else
        print_import(x, typed, state);
    str error = json_get_string(state, "error");
    if (error.n > 0 && str_find(error, str_from(typed), 0) >= 0)
        cli_complain(error);
    else if (error.n > 0)
        fprintf(stderr, "nb: %s: %.*s\n", typed, STR_ARG(error));
    return error.n > 0 ? EXIT_FAILED : EXIT_DONE;
}

static int do_import(struct conv_cli *x, const void *options, int argc, char **argv)
{
    const struct import_options *o = options;
    int code = EXIT_DONE;
    for (int i = 0; i < argc; i++)
        if (import_one(x, argv[i], o->kind) != EXIT_DONE)
            code = EXIT_FAILED;
    return code;
}

static int run_import(struct cli *cli, const void *options, int argc, char **argv)
{
    if (argc == 0)
        return cli_usage_error("import: name the files or directories");
    return conv_with(cli, true, do_import, options, argc, argv);
}

const struct command CONV_IMPORT = {
    .name = "import",
    .usage = "conversations import [--from KIND] FILE...",
    .summary = "import conversations of nb, Claude Code, ChatGPT or Claude.ai",
    .help = "Reads logs of nb (jsonl or folder), sessions of Claude Code, and the unpacked exports "
            "of ChatGPT and Claude.ai (conversations.json); a FILE may be a directory. Times are "
            "kept. A conversation that was imported before is not changed.\n",
    .args = IMPORT_ARGS,
    .options_size = sizeof(struct import_options),
    .run = run_import,
};
