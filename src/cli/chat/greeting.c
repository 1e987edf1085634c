#include "base/utf8.h"
#include "cli/chat/chat.h"
#include "cli/term/styled.h"
#include "cli/term/text.h"

#define LINES_MAX        (1024u * 1024)
#define RESUMED_MESSAGES 6
#define QUESTION_LINES   8
#define QUESTION_BYTES   2000

/* The beginning of a message, which may be long because it contains attached files. */
static void show_question(struct view *v, str text)
{
    struct buf out;
    str line, rest = utf8_truncate(text, QUESTION_BYTES);
    bool is_cut = rest.n < text.n;
    buf_init(&out, LINES_MAX);
    for (size_t i = 0; str_split(&rest, '\n', &line); i++) {
        is_cut = is_cut || i == QUESTION_LINES;
        if (i == QUESTION_LINES)
            break;
        style_add(&out, v->has_color, STYLE_BOLD | STYLE_CYAN, i == 0 ? STR("❯ ") : STR("  "));
        text_add(&out, line);
        buf_add_char(&out, '\n');
    }
    if (is_cut)
        style_add(&out, v->has_color, STYLE_DIM, STR("  …\n"));
    view_lines(v, buf_str(&out));
    buf_done(&out);
}

static void show_message(void *ctx, bool is_user, str text)
{
    struct view *v = ctx;
    if (is_user)
        show_question(v, text);
    else
        view_markdown(v, text);
}

void greeting_resumed(struct chat *c, struct view *v)
{
    struct err e = {0};
    view_say(v, STYLE_DIM, "continuing %.*s", STR_ARG(session_conversation(c->session)));
    if (session_history(c->session, RESUMED_MESSAGES, show_message, v, &e) < 0)
        view_say(v, STYLE_RED, "%s", e.msg);
}

static void add_path(struct buf *out, const char *path)
{
    const char *home = getenv("HOME");
    str p = str_from(path), h = str_from(home);
    bool is_below = h.n > 1 && str_starts(p, h) && (p.n == h.n || p.p[h.n] == '/');
    buf_add_lit(out, is_below ? "~" : "");
    text_add_line(out, is_below ? str_skip(p, h.n) : p);
}

/* Where commands run: shown when a server does the work, or when it is not the current
 * directory. */
static void tell_directory(const struct chat *c, struct view *v)
{
    struct buf text;
    str why, here = session_directory(c->session, &why);
    if (here.n > 0 && !session_is_remote(c->session))
        return;
    buf_init(&text, LINES_MAX);
    buf_add_lit(&text, c->config->remote.url ? "Commands run on the server: "
                       : here.n > 0          ? "Commands run in "
                                             : "Commands run in a directory of nb's own: ");
    if (here.n > 0)
        add_path(&text, here.p);
    else
        text_add_line(&text, why);
    buf_add_lit(&text, here.n > 0 ? "." : "");
    view_more(v, STYLE_DIM, buf_str(&text));
    buf_done(&text);
}

void greeting_hello(struct chat *c, struct view *v)
{
    str model = session_model(c->session), id = session_conversation(c->session);
    struct buf line;
    buf_init(&line, LINES_MAX);
    buf_add_lit(&line, "nb " NB_VERSION " · ");
    text_add_line(&line, model);
    if (session_is_remote(c->session) && !c->config->remote.url)
        buf_add_lit(&line, " · through the running server");
    buf_add_lit(&line, " · ");
    if (c->config->remote.url)
        text_add_line(&line, str_from(c->config->remote.url));
    else if (strcmp(c->config->store.type, "memory") == 0)
        buf_add_lit(&line, "conversations are not stored (--store memory)");
    else
        add_path(&line, c->config->work_dir);
    view_notice(v, STYLE_BOLD, buf_str(&line));
    buf_done(&line);
    tell_directory(c, v);
    if (str_starts(model, STR("demo")))
        view_more(v, STYLE_DIM,
                  STR("Offline demo model; set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY "
                      "for a real one."));
    view_more(v, STYLE_DIM, STR("/help shows commands and keys."));
    if (id.n > 0)
        greeting_resumed(c, v);
}

void greeting_bye(struct chat *c, struct view *v)
{
    str id = session_conversation(c->session);
    bool is_kept = strcmp(c->config->store.type, "memory") != 0;
    const char *url = c->cli->opt.server;
    if (id.n > 0 && is_kept)
        view_say(v, STYLE_DIM, "to continue: nb%s%s --resume %.*s", url ? " --server " : "",
                 url ? url : "", STR_ARG(id));
}
