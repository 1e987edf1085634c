/* nb conversations rename, fork, delete, restore, note: one API request each. */
#include "base/utf8.h"
#include "cli/conversations/conversations.h"
#include "cli/term/styled.h"
#include "cli/term/text.h"

enum { BODY_MAX = 1 << 20 };

/* {"<key>": "<text>"} */
static int one_member(struct conv_cli *x, const char *key, str text, str *ret)
{
    struct buf b;
    struct json_writer w;
    if (!utf8_valid(text)) {
        fprintf(stderr, "nb: the %s is not valid UTF-8\n", key);
        return EXIT_FAILED;
    }
    jw_start(&w, &b, BODY_MAX);
    jw_object(&w);
    jw_kstr(&w, key, text);
    jw_end(&w);
    bool fits = !buf_failed(&b);
    *ret = buf_keep(&b, &x->arena);
    if (!fits)
        fprintf(stderr, "nb: the %s is too long\n", key);
    return fits ? EXIT_DONE : EXIT_FAILED;
}

static str words(struct conv_cli *x, int argc, char **argv)
{
    str s = STR_NONE;
    for (int i = 0; i < argc; i++)
        s = arena_printf(&x->arena, "%.*s%s%s", STR_ARG(s), i ? " " : "", argv[i]);
    return s;
}

/* ---- rename ---- */

static int do_rename(struct conv_cli *x, const void *options, int argc, char **argv)
{
    str id, body;
    struct json *c;
    int code = conv_id(x, argv[0], &id);
    if (code == EXIT_DONE)
        code = one_member(x, "title", words(x, argc - 1, argv + 1), &body);
    if (code == EXIT_DONE)
        code = conv_ask(x, "PATCH", conv_path(x, id, ""), body, argv[0], &c);
    if (code != EXIT_DONE)
        return code;
    if (x->cli->opt.is_json)
        conv_print_json(c);
    else
        printf("%.*s is now \"%.*s\"\n", STR_ARG(id), STR_ARG(conv_label(x, c)));
    return EXIT_DONE;
}

static int run_rename(struct cli *cli, const void *options, int argc, char **argv)
{
    if (argc < 2)
        return cli_usage_error("rename: name a conversation and its new title");
    return conv_with(cli, true, do_rename, options, argc, argv);
}

const struct command CONV_RENAME = {
    .name = "rename",
    .usage = "conversations rename ID TITLE...",
    .summary = "change the title of a conversation",
    .help = "A title given by a person is never replaced by an automatic one.\n",
    .run = run_rename,
};

/* ---- fork ---- */

struct fork_options {
    const char *at;
};

static const struct arg FORK_ARGS[] = {{"at", 0, ARG_STRING, offsetof(struct fork_options, at), "N",
                                        "copy only the first N messages (default: all)"},
                                       {0}};

static int do_fork(struct conv_cli *x, const void *options, int argc, char **argv)
{
    const struct fork_options *o = options;
    str id;
    struct json *c;
    str body = o->at ? arena_printf(&x->arena, "{\"atMessage\":%s}", o->at) : STR_NONE;
    int code = conv_id(x, argv[0], &id);
    if (code == EXIT_DONE)
        code = conv_ask(x, "POST", conv_path(x, id, "/fork"), body, argv[0], &c);
    if (code != EXIT_DONE)
        return code;
    if (x->cli->opt.is_json)
        conv_print_json(c);
    else
        printf("%.*s is a fork of %.*s with %lld messages\n", STR_ARG(json_get_string(c, "id")),
               STR_ARG(id), (long long)json_get_int(c, "messageCount", 0));
    return EXIT_DONE;
}

static int run_fork(struct cli *cli, const void *options, int argc, char **argv)
{
    const struct fork_options *o = options;
    uint64_t n;
    if (argc != 1)
        return cli_usage_error("fork: name one conversation");
    if (o->at && (parse_u64(str_from(o->at), &n) < 0 || n > INT64_MAX))
        return cli_usage_error("--at: '%s' is not a number of messages", o->at);
    return conv_with(cli, true, do_fork, options, argc, argv);
}

const struct command CONV_FORK = {
    .name = "fork",
    .usage = "conversations fork [--at N] ID",
    .summary = "copy a conversation up to a message",
    .help = "The original is not changed. Questions and answers both count as messages: --at 2 "
            "copies the first question and its answer.\n",
    .args = FORK_ARGS,
    .options_size = sizeof(struct fork_options),
    .run = run_fork,
};

/* ---- delete ---- */

struct delete_options {
    bool is_sure, is_purge;
};

static const struct arg DELETE_ARGS[] = {
    {"yes", 'y', ARG_FLAG, offsetof(struct delete_options, is_sure), NULL, "do not ask"},
    {"purge", 0, ARG_FLAG, offsetof(struct delete_options, is_purge), NULL,
     "delete permanently, also conversations in the trash"},
    {0}};

static bool confirm(struct conv_cli *x, const struct delete_options *o, str id)
{
    char answer[16];
    struct json *c;
    struct err e = {0};
    struct client_ask q = {.path = conv_path(x, id, "")};
    if (o->is_sure)
        return true;
    if (client_ask(x->client, &q, &x->arena, &c, &e) == 0)
        fprintf(stderr, "%.*s  %.*s (%lld messages)\n", STR_ARG(id), STR_ARG(conv_label(x, c)),
                (long long)json_get_int(c, "messageCount", 0));
    fprintf(stderr, o->is_purge ? "Delete it permanently? [y/N] "
                                : "Delete it? (It can be restored for 7 days.) [y/N] ");
    fflush(stderr);
    return fgets(answer, sizeof answer, stdin) && (answer[0] == 'y' || answer[0] == 'Y');
}

static int delete_one(struct conv_cli *x, const struct delete_options *o, const char *typed)
{
    str id;
    struct json *answer;
    int code = conv_id(x, typed, &id);
    if (code != EXIT_DONE)
        return code;
    if (!confirm(x, o, id)) {
        fprintf(stderr, "%.*s was kept.\n", STR_ARG(id));
        return EXIT_FAILED;
    }
    str path = conv_path(x, id, o->is_purge ? "?purge=true" : "");
    code = conv_ask(x, "DELETE", path, STR_NONE, typed, &answer);
    if (code != EXIT_DONE)
        return code;
    if (x->cli->opt.is_json)
        conv_print_json(answer);
    else if (o->is_purge)
        printf("%.*s is deleted permanently\n", STR_ARG(id));
    else
        printf("%.*s is deleted (nb conv restore %.*s brings it back for 7 days)\n", STR_ARG(id),
               STR_ARG(id));
    return EXIT_DONE;
}

static int do_delete(struct conv_cli *x, const void *options, int argc, char **argv)
{
    int code = EXIT_DONE;
    for (int i = 0; i < argc; i++)
        if (delete_one(x, options, argv[i]) != EXIT_DONE)
            code = EXIT_FAILED;
    return code;
}

static int run_delete(struct cli *cli, const void *options, int argc, char **argv)
{
    const struct delete_options *o = options;
    if (argc == 0)
        return cli_usage_error("delete: name the conversations");
    if (!o->is_sure && !cli->is_tty_in)
        return cli_usage_error("delete: stdin is not a terminal; pass --yes to confirm");
    return conv_with(cli, true, do_delete, options, argc, argv);
}

const struct command CONV_DELETE = {
    .name = "delete",
    .alias = "rm",
    .usage = "conversations delete [--yes] [--purge] ID...",
    .summary = "move conversations to the trash",
    .help = "Asks first. A running answer is cancelled and live streams end. Conversations in the "
            "trash are removed permanently after 7 days, or immediately with --purge.\n",
    .args = DELETE_ARGS,
    .options_size = sizeof(struct delete_options),
    .run = run_delete,
};

/* ---- restore ---- */

static int do_restore(struct conv_cli *x, const void *options, int argc, char **argv)
{
    str id;
    struct json *c;
    int code = conv_id(x, argv[0], &id);
    if (code == EXIT_DONE)
        code = conv_ask(x, "POST", conv_path(x, id, "/restore"), STR_NONE, argv[0], &c);
    if (code != EXIT_DONE)
        return code;
    if (x->cli->opt.is_json)
        conv_print_json(c);
    else
        printf("%.*s is restored: %.*s\n", STR_ARG(id), STR_ARG(conv_label(x, c)));
    return EXIT_DONE;
}

static int run_conv_restore(struct cli *cli, const void *options, int argc, char **argv)
{
    if (argc != 1)
        return cli_usage_error("restore: name one conversation");
    return conv_with(cli, true, do_restore, options, argc, argv);
}

const struct command CONV_RESTORE = {
    .name = "restore",
    .usage = "conversations restore ID",
    .summary = "restore a deleted conversation",
    .run = run_conv_restore,
};

/* ---- note ---- */

static void print_notes(struct conv_cli *x, const struct json *notes)
{
    struct buf b;
    for (size_t i = 0; notes && i < notes->len; i++) {
        const struct json *n = json_at(notes, i);
        str ago = conv_ago(x, json_get_string(n, "timestamp"));
        buf_init(&b, BODY_MAX);
        style_add(&b, x->cli->has_color_out, STYLE_DIM,
                  arena_printf(&x->arena, "%.*s, %.*s", STR_ARG(json_get_string(n, "author")),
                               STR_ARG(ago)));
        buf_add_char(&b, '\n');
        text_add(&b, json_get_string(n, "content"));
        printf("%s\n", buf_cstr(&b));
        buf_done(&b);
    }
}

static int do_note(struct conv_cli *x, const void *options, int argc, char **argv)
{
    str id, body = STR_NONE;
    struct json *answer;
    bool is_new = argc > 1;
    int code = conv_id(x, argv[0], &id);
    if (code == EXIT_DONE && is_new)
        code = one_member(x, "content", words(x, argc - 1, argv + 1), &body);
    if (code == EXIT_DONE)
        code =
            conv_ask(x, is_new ? "POST" : NULL, conv_path(x, id, "/notes"), body, argv[0], &answer);
    if (code != EXIT_DONE)
        return code;
    const struct json *notes = json_get(answer, "notes");
    if (x->cli->opt.is_json)
        conv_print_json(answer);
    else if (is_new)
        printf("note added (%u in all)\n", notes ? notes->len : 0);
    else
        print_notes(x, notes);
    return EXIT_DONE;
}

static int run_note(struct cli *cli, const void *options, int argc, char **argv)
{
    if (argc == 0)
        return cli_usage_error("note: name a conversation");
    return conv_with(cli, true, do_note, options, argc, argv);
}

const struct command CONV_NOTE = {
    .name = "note",
    .alias = "notes",
    .usage = "conversations note ID [TEXT...]",
    .summary = "add a note to a conversation, or read its notes",
    .help = "Notes are not sent to a model. Search finds them.\n",
    .run = run_note,
};
