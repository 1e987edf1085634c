#include "cli/chat/slash.h"

#include "base/nearest.h"
#include "cli/term/styled.h"

static slash_fn cmd_help;

static void cmd_id(struct slash *s, str arg)
{
    str id = session_conversation(s->chat->session);
    if (id.n > 0)
        view_say(s->view, 0, "%.*s", STR_ARG(id));
    else
        view_say(s->view, STYLE_DIM, "the conversation gets its id with the first message");
}

static void cmd_open(struct slash *s, str arg)
{
    media_open(s->view, s->chat->session);
}

static void cmd_expand(struct slash *s, str arg)
{
    int64_t number = 0;
    if (arg.n > 0 && (parse_i64(arg, &number) < 0 || number < 1))
        view_say(s->view, STYLE_RED, "/expand takes a number that is shown in brackets");
    else
        view_unfold(s->view, (size_t)number);
}

static void cmd_theme(struct slash *s, str arg)
{
    bool is_known = str_eq(arg, STR("colour")) || str_eq(arg, STR("mono"));
    if (is_known)
        view_set_color(s->view, str_eq(arg, STR("colour")));
    view_say(s->view, arg.n > 0 && !is_known ? STYLE_RED : STYLE_DIM, "%s%s",
             arg.n > 0 && !is_known ? "/theme takes colour or mono; now: " : "theme: ",
             s->view->has_color ? "colour" : "mono");
}

static void cmd_clear(struct slash *s, str arg)
{
    view_wipe(s->view);
}

static void cmd_quit(struct slash *s, str arg)
{
    s->is_quitting = true;
}

/* clang-format off */
#define SLASH_COMMANDS(X)                                                                          \
    X("/help", "", "show this list", cmd_help)                                                     \
    X("/new", "", "start a new conversation", slash_new)                                           \
    X("/resume", "[ID|WORDS]", "continue a conversation; without an argument, choose it", slash_resume)         \
    X("/fork", "", "continue in a copy of this conversation", slash_fork)                          \
    X("/branch", "[N]", "continue in a copy that ends before your message N; lists them without N", slash_branch) \
    X("/undo", "", "continue in a copy without your last message and its answer", slash_undo)      \
    X("/retry", "", "undo, then send your last message again", slash_retry)                        \
    X("/edit", "", "undo, then edit your last message", slash_edit)                                \
    X("/rename", "TITLE", "change the title", slash_rename)                                        \
    X("/delete", "", "move this conversation to the trash", slash_delete)                          \
    X("/share", "[USER...|off]", "share with members, or stop; shows who takes part", slash_share) \
    X("/notes", "[TEXT]", "add a note that no model sees, or show the notes", slash_notes)         \
    X("/export", "[FILE]", "write the conversation to a file: .md, .html, .json or .jsonl", slash_export) \
    X("/copy", "", "copy the last answer to the clipboard", slash_copy)                            \
    X("/open", "", "open the pictures and documents of the last answer", cmd_open)                 \
    X("/expand", "[N]", "show what is folded under [N]: a result, a change, thoughts", cmd_expand)  \
    X("/id", "", "show the id of this conversation", cmd_id)                                       \
    X("/model", "[NAME]", "use this model; without an argument, choose it", slash_model)             \
    X("/tools", "[WORD]", "list the tools of the agent", slash_tools)                              \
    X("/skills", "[WORD]", "list the skills", slash_skills)                                        \
    X("/bundles", "", "list the bundles and their state", slash_bundles)                           \
    X("/permissions", "", "show which tools ask first", slash_permissions)                         \
    X("/prompt", "[TEXT]", "show the text that a message would send in front of it", slash_prompt) \
    X("/compact", "", "summarise the older messages for the model, before the next answer", slash_compact) \
    X("/context", "", "show what fills the context of the model", slash_context)                   \
    X("/cost", "", "show tokens and cost of this conversation", slash_cost)                        \
    X("/usage", "", "show tokens and cost of the last 30 days", slash_usage)                       \
    X("/files", "", "list the files that you gave", slash_files)                                   \
    X("/theme", "[colour|mono]", "show or change the colours", cmd_theme)                          \
    X("/clear", "", "clear the screen", cmd_clear)                                                 \
    X("/quit", "", "quit (also Ctrl-D)", cmd_quit)
/* clang-format on */

#define AS_ROW(name, arg, help, run)  {name, arg, help, run},
#define AS_WORD(name, arg, help, run) name,

static const struct {
    const char *name, *arg, *help;
    slash_fn *run;
} COMMANDS[] = {SLASH_COMMANDS(AS_ROW)};

const char *const SLASH_WORDS[] = {SLASH_COMMANDS(AS_WORD) NULL};

static const struct {
    const char *key, *help;
} KEYS[] = {
    {"Enter", "send the message"},
    {"@PATH", "attach a file; Tab completes its name"},
    {"@conv", "quote a conversation; Tab lets you choose it"},
    {"!COMMAND", "run a command of the shell; its output can be sent"},
    {"Alt-Enter", "begin a new line (also \\ Enter)"},
    {"Tab", "complete a command or a name"},
    {"Up, Down", "show earlier messages"},
    {"Ctrl-R", "search earlier messages"},
    {"Ctrl-A, E", "go to the start, the end of the line"},
    {"Alt-B, F", "go a word back, forward"},
    {"Ctrl-W, U, K", "cut a word, the text before, the text after the cursor"},
    {"Ctrl-Y", "paste the text that was cut"},
    {"Ctrl-X Ctrl-E", "edit the message with $EDITOR"},
    {"Ctrl-O", "show what was folded last"},
    {"Ctrl-L", "clear the screen"},
    {"Ctrl-Z", "suspend nb; fg continues it"},
    {"Esc", "stop the answer"},
    {"Ctrl-C", "stop the answer, clear the line; twice: quit"},
};

static void cmd_help(struct slash *s, str arg)
{
    struct rows r;
    rows_init(&r);
    rows_title(&r, STR("Commands"));
    for (size_t i = 0; i < ARRAY_LEN(COMMANDS); i++) {
        str left = arena_printf(&s->arena, "%s %s", COMMANDS[i].name, COMMANDS[i].arg);
        rows_add(&r, str_trim(left), str_from(COMMANDS[i].help));
    }
    rows_title(&r, STR("Keys"));
    for (size_t i = 0; i < ARRAY_LEN(KEYS); i++)
        rows_add(&r, str_from(KEYS[i].key), str_from(KEYS[i].help));
    slash_show(s, &r, NULL);
}

/* "/word" is a command; "/usr/bin is full" is a message. */
static bool looks_like_command(str text)
{
    str rest = text, word;
    (void)str_split(&rest, ' ', &word);
    for (size_t i = 1; i < word.n; i++)
        if (word.p[i] < 'a' || word.p[i] > 'z')
            return false;
    return word.n > 1 && word.p[0] == '/';
}

static void no_such(struct slash *s, str word)
{
    struct nearest n = nearest_to(word);
    for (size_t i = 0; i < ARRAY_LEN(COMMANDS); i++)
        nearest_offer(&n, COMMANDS[i].name);
    if (n.best)
        view_say(s->view, STYLE_RED, "no such command %.*s; did you mean %s? /help lists all",
                 STR_ARG(word), n.best);
    else
        view_say(s->view, STYLE_RED, "no such command %.*s; /help lists all", STR_ARG(word));
}

bool slash_run(struct slash *s, str message)
{
    str arg = message, word;
    s->message = s->draft = STR_NONE;
    arena_reset(&s->arena);
    if (!looks_like_command(arg))
        return false;
    (void)str_split(&arg, ' ', &word);
    for (size_t i = 0; i < ARRAY_LEN(COMMANDS); i++) {
        if (str_eq(word, str_from(COMMANDS[i].name))) {
            COMMANDS[i].run(s, str_trim(arg));
            return true;
        }
    }
    no_such(s, word);
    return true;
}

/* ---- for the commands ---- */

void slash_fail(struct slash *s, const struct err *e)
{
    view_say(s->view, STYLE_RED, "%s", e->msg);
}

struct json *slash_ask(struct slash *s, const char *method, str path, const struct json *body)
{
    struct json *answer = NULL;
    struct err e = {0};
    struct client_ask q = {
        .method = method, .path = path, .body = body ? json_to_str(&s->arena, body) : STR_NONE};
    if (client_ask(session_client(s->chat->session), &q, &s->arena, &answer, &e) < 0) {
        slash_fail(s, &e);
        return NULL;
    }
    return answer;
}

str slash_path(struct slash *s, const char *rest)
{
    str id = session_conversation(s->chat->session);
    if (id.n > 0)
        return arena_printf(&s->arena, "/v1/conversations/%.*s%s", STR_ARG(id), rest);
    view_say(s->view, STYLE_DIM, "there is no conversation yet: send a message first");
    return STR_NONE;
}

void slash_show(struct slash *s, struct rows *r, const char *empty)
{
    struct buf out;
    buf_init(&out, ROWS_OUT_MAX);
    rows_draw(r, screen_width(s->view->screen), s->view->has_color, &out);
    if (r->n > 0)
        view_lines(s->view, buf_str(&out));
    else if (empty)
        view_say(s->view, STYLE_DIM, "%s", empty);
    buf_done(&out);
    rows_done(r);
}

bool slash_go_to(struct slash *s, str id)
{
    struct err e = {0};
    if (session_resume(s->chat->session, id, &e) == 0)
        return true;
    slash_fail(s, &e);
    return false;
}
