#include "cli/chat/chat.h"
#include "cli/term/styled.h"

static void cmd_help(struct slash *s, str arg);

static void cmd_new(struct slash *s, str arg)
{
    session_forget(s->chat->session);
    view_say(s->view, STYLE_DIM, "a new conversation begins with your next message");
}

static void cmd_resume(struct slash *s, str arg)
{
    struct err e = {0};
    if (s->chat->has_env_model) /* the conversation has a model of its own */
        s->chat->config->models.named = STR_NONE;
    if (session_resume(s->chat->session, arg, &e) < 0)
        view_say(s->view, STYLE_RED, "%s", e.msg);
    else
        greeting_resumed(s->chat, s->view);
}

static void cmd_model(struct slash *s, str arg)
{
    view_say(s->view, 0, "%.*s", STR_ARG(session_model(s->chat->session)));
    if (arg.n > 0)
        view_say(s->view, STYLE_DIM, "to use another model, start nb with --model NAME");
}

static void cmd_id(struct slash *s, str arg)
{
    str id = session_conversation(s->chat->session);
    if (id.n > 0)
        view_say(s->view, 0, "%.*s", STR_ARG(id));
    else
        view_say(s->view, STYLE_DIM, "the conversation gets its id with the first message");
}

static void cmd_clear(struct slash *s, str arg)
{
    view_wipe(s->view);
}

static void cmd_quit(struct slash *s, str arg)
{
    s->is_quitting = true;
}

#define SLASH_COMMANDS(X)                                                                          \
    X("/help", "", "show this list", cmd_help)                                                     \
    X("/new", "", "start a new conversation", cmd_new)                                             \
    X("/resume", " [ID]", "continue a conversation, or the latest one", cmd_resume)                \
    X("/id", "", "show the id of this conversation", cmd_id)                                       \
    X("/model", "", "show which model answers", cmd_model)                                         \
    X("/clear", "", "clear the screen", cmd_clear)                                                 \
    X("/quit", "", "quit (also Ctrl-D)", cmd_quit)

#define AS_ROW(name, arg, help, run)  {name, arg, help, run},
#define AS_WORD(name, arg, help, run) name,

static const struct {
    const char *name, *arg, *help;
    void (*run)(struct slash *s, str arg);
} COMMANDS[] = {SLASH_COMMANDS(AS_ROW)};

const char *const SLASH_WORDS[] = {SLASH_COMMANDS(AS_WORD) NULL};

static void cmd_help(struct slash *s, str arg)
{
    static const char KEYS[] =
        "\n"
        "Enter        send the message\n"
        "Alt-Enter    begin a new line (also \\ Enter)\n"
        "Up, Down     show earlier messages\n"
        "Ctrl-R       search earlier messages\n"
        "Ctrl-A, E    go to the start, the end of the line\n"
        "Alt-B, F     go a word back, forward\n"
        "Ctrl-W, U, K cut a word, the text before, the text after the cursor\n"
        "Ctrl-Y       paste the text that was cut\n"
        "Ctrl-L       clear the screen\n"
        "Ctrl-C       stop the answer, clear the line\n";
    struct buf text;
    buf_init(&text, 8192);
    for (size_t i = 0; i < ARRAY_LEN(COMMANDS); i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "%s%s", COMMANDS[i].name, COMMANDS[i].arg);
        buf_printf(&text, "%-12s %s\n", name, COMMANDS[i].help);
    }
    buf_add_lit(&text, KEYS);
    view_lines(s->view, buf_str(&text));
    buf_done(&text);
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

bool slash_run(struct slash *s, str message)
{
    str arg = message, word;
    if (!looks_like_command(arg))
        return false;
    (void)str_split(&arg, ' ', &word);
    for (size_t i = 0; i < ARRAY_LEN(COMMANDS); i++) {
        if (str_eq(word, str_from(COMMANDS[i].name))) {
            COMMANDS[i].run(s, str_trim(arg));
            return true;
        }
    }
    view_say(s->view, STYLE_RED, "no such command %.*s; /help lists the commands", STR_ARG(word));
    return true;
}
