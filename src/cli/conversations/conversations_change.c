/* nb conversations rename, fork, promote, delete, restore, note: one API request each. */
#include "base/utf8.h"
#include "cli/conversations/conversations.h"
#include "cli/term/styled.h"
#include "cli/term/text.h"

enum { BODY_MAX = 1 << 20 };

/* {"<key>": "<text>"}, of the operands after the first; NULL after printing an error. */
static struct json *words_body(struct cmd *x, const char *key)
{
    str text = cmd_words(x, 1);
    if (!utf8_valid(text)) {
        (void)cli_failed("the %s is not valid UTF-8", key);
        return NULL;
    }
    if (text.n > BODY_MAX) {
        (void)cli_failed("the %s is too long", key);
        return NULL;
    }
    return cmd_object(x, {str_from(key), json_of_str(text)});
}

static str conv_get_id(const struct json *conv)
{
    return json_get_string(conv, "id");
}

/* ---- rename ---- */

static int conv_rename(struct cmd *x)
{
    const struct json *body = words_body(x, "title");
    const struct json *c = body ? conv_ask(x, x->argv[0], "PATCH", "", body) : NULL;
    return c ? cmd_say(x, c, "%.*s is now \"%.*s\"", STR_ARG(conv_get_id(c)),
                       STR_ARG(conv_label(x, c)))
             : EXIT_FAILED;
}

const struct command CONV_RENAME = {
    .name = "rename",
    .operands = "ID TITLE...",
    .summary = "change the title of a conversation",
    .help = "A title given by a person is never replaced by an automatic one.\n",
    .run = conv_rename,
};

/* ---- fork ---- */

static const struct arg FORK_ARGS[] = {
    {"at", 0, ARG_STRING, "N", "copy only the first N messages (default: all)"}, {0}};

static int conv_fork(struct cmd *x)
{
    int64_t n = 0;
    if (cmd_opt(x, "at") && (parse_i64(str_from(cmd_opt(x, "at")), &n) < 0 || n < 0))
        return cli_usage_error("--at: '%s' is not a number of messages", cmd_opt(x, "at"));
    const struct json *body =
        cmd_opt(x, "at") ? cmd_object(x, {STR("atMessage"), json_of_int(n)}) : NULL;
    const struct json *c = conv_ask(x, x->argv[0], "POST", "/fork", body);
    return c ? cmd_say(x, c, "%.*s is a fork of %.*s with %lld messages", STR_ARG(conv_get_id(c)),
                       STR_ARG(json_get_string(c, "forkedFrom")),
                       (long long)json_get_int(c, "messageCount", 0))
             : EXIT_FAILED;
}

const struct command CONV_FORK = {
    .name = "fork",
    .operands = "ID",
    .summary = "copy a conversation up to a message",
    .help = "The original is not changed. Questions and answers both count as messages: --at 2 "
            "copies the first question and its answer.\n",
    .args = FORK_ARGS,
    .run = conv_fork,
};

/* ---- promote ---- */

static int conv_promote(struct cmd *x)
{
    const struct json *c = conv_ask(x, x->argv[0], "POST", "/promote", NULL);
    return c ? cmd_say(x, c, "%.*s is a conversation of its own", STR_ARG(conv_get_id(c)))
             : EXIT_FAILED;
}

const struct command CONV_PROMOTE = {
    .name = "promote",
    .operands = "ID",
    .summary = "make a branch a conversation of its own",
    .help = "The page makes a branch when a question is changed or answered again. A branch is not "
            "listed, except with nb conv list --hidden, until it is promoted or shared.\n",
    .run = conv_promote,
};

/* ---- delete ---- */

static const struct arg DELETE_ARGS[] = {
    {"purge", 0, ARG_FLAG, NULL, "delete permanently, also conversations in the trash"}, {0}};

/* Shows what would be deleted, then asks. */
static bool is_agreed(struct cmd *x, bool is_purge, str id)
{
    struct json *c;
    struct err e = {0};
    struct client_ask q = {.path = conv_path(x, id, "")};
    if (!x->cli->opt.is_sure && client_ask(x->client, &q, &x->arena, &c, &e) == 0)
        fprintf(stderr, "%.*s  %.*s (%lld messages)\n", STR_ARG(id), STR_ARG(conv_label(x, c)),
                (long long)json_get_int(c, "messageCount", 0));
    str kept = arena_printf(&x->arena, "%.*s was kept.", STR_ARG(id));
    return cmd_confirm(x,
                       is_purge ? "Delete it permanently?"
                                : "Delete it? (It can be restored for 7 days.)",
                       kept.p) == EXIT_DONE;
}

static int delete_one(struct cmd *x, const char *typed)
{
    str id = conv_id(x, typed);
    if (id.n == 0 || !is_agreed(x, cmd_flag(x, "purge"), id))
        return EXIT_FAILED;
    const struct json *answer = cmd_ask(
        x, "DELETE", conv_path(x, id, cmd_flag(x, "purge") ? "?purge=true" : ""), NULL, typed);
    if (!answer)
        return EXIT_FAILED;
    if (cmd_flag(x, "purge"))
        return cmd_say(x, answer, "%.*s is deleted permanently", STR_ARG(id));
    return cmd_say(x, answer, "%.*s is deleted (nb conv restore %.*s restores it within 7 days)",
                   STR_ARG(id), STR_ARG(id));
}

static int conv_delete(struct cmd *x)
{
    int code = EXIT_DONE;
    for (int i = 0; i < x->argc; i++)
        if (delete_one(x, x->argv[i]) != EXIT_DONE)
            code = EXIT_FAILED;
    return code;
}

const struct command CONV_DELETE = {
    .name = "delete",
    .alias = "rm",
    .operands = "ID...",
    .summary = "move conversations to the trash",
    .help = "Asks first. A running answer is cancelled and live streams end. Conversations in the "
            "trash are removed permanently after 7 days, or immediately with --purge.\n",
    .args = DELETE_ARGS,
    .yes = "do not ask",
    .needs = NEEDS_CLIENT | NEEDS_TERMINAL | WORKS_ELSEWHERE,
    .run = conv_delete,
};

/* ---- restore ---- */

static int conv_restore(struct cmd *x)
{
    const struct json *c = conv_ask(x, x->argv[0], "POST", "/restore", NULL);
    return c ? cmd_say(x, c, "%.*s is restored: %.*s", STR_ARG(conv_get_id(c)),
                       STR_ARG(conv_label(x, c)))
             : EXIT_FAILED;
}

const struct command CONV_RESTORE = {
    .name = "restore",
    .operands = "ID",
    .summary = "restore a deleted conversation",
    .run = conv_restore,
};

/* ---- note ---- */

static void print_notes(struct cmd *x, const struct json *notes)
{
    struct buf b;
    for (size_t i = 0; notes && i < notes->len; i++) {
        const struct json *n = json_at(notes, i);
        str ago = conv_ago(x, json_get_string(n, "timestamp"));
        buf_init(&b, BODY_MAX);
        style_add(&b, x->cli->has_color_out, STYLE_DIM,
                  arena_printf(&x->arena, "%.*s, %.*s",
                               STR_ARG(conv_person(x, json_get_string(n, "author"))),
                               STR_ARG(ago)));
        buf_add_char(&b, '\n');
        text_add(&b, json_get_string(n, "content"));
        printf("%s\n", buf_cstr(&b));
        buf_done(&b);
    }
}

static int conv_note(struct cmd *x)
{
    bool is_new = x->argc > 1;
    const struct json *body = is_new ? words_body(x, "content") : NULL;
    if (is_new && !body)
        return EXIT_FAILED;
    const struct json *answer = conv_ask(x, x->argv[0], is_new ? "POST" : NULL, "/notes", body);
    if (!answer)
        return EXIT_FAILED;
    const struct json *notes = json_get(answer, "notes");
    if (is_new || x->cli->opt.is_json)
        return cmd_say(x, answer, "note added (%u in total)", notes ? notes->len : 0);
    print_notes(x, notes);
    return EXIT_DONE;
}

const struct command CONV_NOTE = {
    .name = "note",
    .alias = "notes",
    .operands = "ID [TEXT...]",
    .summary = "add a note to a conversation, or read its notes",
    .help = "Notes are not sent to a model. Search finds them.\n",
    .run = conv_note,
};
