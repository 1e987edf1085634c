/* Slash commands about messages that were sent: they never change a log, but continue in a copy
 * that ends earlier. */
#include "base/bytes/base64.h"
#include "cli/chat/slash.h"
#include "cli/term/styled.h"

#define COPY_MAX (64u * 1024) /* terminals refuse more */

struct sent { /* a message of the person at the terminal, or of another participant */
    str text;
    int64_t before; /* how many messages are in front of it, as a copy counts them */
};

struct sent_list {
    struct sent *items;
    size_t n, cap;
    str answer; /* the text of the last answer */
};

/* A run is one message for a copy, however many answers it consists of. */
static bool read_sent(struct slash *s, struct sent_list *ret)
{
    str path = slash_path(s, "/history?limit=20000"), run = STR_NONE;
    const struct json *page = path.n > 0 ? slash_ask(s, NULL, path, NULL) : NULL;
    const struct json *list = json_get(page, "messages");
    int64_t count = 0;
    *ret = (struct sent_list){0};
    for (size_t i = 0; json_is(list, JSON_ARRAY) && i < list->len; i++) {
        const struct json *m = json_at(list, i);
        bool is_user = str_eq(json_get_string(m, "role"), STR("user"));
        str text = json_get_string(m, "content"), id = json_get_string(m, "runId");
        if (is_user) {
            ARENA_GROW(&s->arena, ret->items, ret->n, ret->cap);
            ret->items[ret->n++] = (struct sent){text, count};
        } else if (text.n > 0) {
            ret->answer = text;
        }
        count += is_user || id.n == 0 || !str_eq(id, run);
        run = is_user ? STR_NONE : id;
    }
    if (json_get_int(page, "before", 0) > 0)
        view_say(s->view, STYLE_DIM, "only the end of this long conversation is looked at");
    return page != NULL;
}

/* Continues in a copy that ends before the message. */
static bool branch_at(struct slash *s, const struct sent *m)
{
    struct json *body = json_new(&s->arena, JSON_OBJECT);
    if (m->before == 0) {
        session_forget(s->chat->session);
        return true;
    }
    json_set(&s->arena, body, STR("atMessage"), json_of_int(m->before));
    const struct json *made = slash_ask(s, "POST", slash_path(s, "/fork"), body);
    return made && slash_go_to(s, json_get_string(made, "id"));
}

static void tell_branch(struct slash *s, str from)
{
    str id = session_conversation(s->chat->session);
    if (id.n > 0)
        view_say(s->view, STYLE_DIM, "continuing in %.*s, a copy; %.*s stays as it is", STR_ARG(id),
                 STR_ARG(from));
    else
        view_say(s->view, STYLE_DIM, "a new conversation begins; %.*s stays as it is",
                 STR_ARG(from));
}

static void list_sent(struct slash *s, const struct sent_list *list)
{
    struct rows r;
    rows_init(&r);
    for (size_t i = 0; i < list->n; i++)
        rows_add(&r, arena_printf(&s->arena, "%zu", i + 1), list->items[i].text);
    slash_show(s, &r, "no messages yet");
}

void slash_branch(struct slash *s, str arg)
{
    struct sent_list list;
    int64_t number = 0;
    str from = session_conversation(s->chat->session);
    if (!read_sent(s, &list))
        return;
    if (arg.n == 0) {
        list_sent(s, &list);
    } else if (parse_i64(arg, &number) < 0 || number < 1 || (size_t)number > list.n) {
        view_say(s->view, STYLE_RED, "your messages have the numbers 1 to %zu; /branch lists them",
                 list.n);
    } else if (branch_at(s, &list.items[number - 1])) {
        s->draft = list.items[number - 1].text;
        tell_branch(s, from);
    }
}

/* The last message; false after saying why there is none. */
static bool step_back(struct slash *s, str *ret_text)
{
    struct sent_list list;
    str from = session_conversation(s->chat->session);
    if (!read_sent(s, &list))
        return false;
    if (list.n == 0) {
        view_say(s->view, STYLE_DIM, "no messages yet");
        return false;
    }
    *ret_text = list.items[list.n - 1].text;
    if (!branch_at(s, &list.items[list.n - 1]))
        return false;
    tell_branch(s, from);
    return true;
}

void slash_undo(struct slash *s, str arg)
{
    str text;
    (void)step_back(s, &text);
}

void slash_retry(struct slash *s, str arg)
{
    str text;
    if (step_back(s, &text))
        s->message = text;
}

void slash_edit(struct slash *s, str arg)
{
    str text;
    if (step_back(s, &text))
        s->draft = text;
}

/* OSC 52: the terminal sets the clipboard of the machine that the person sits at. */
void slash_copy(struct slash *s, str arg)
{
    struct sent_list list;
    struct buf out;
    if (!read_sent(s, &list))
        return;
    if (list.answer.n == 0 || list.answer.n > COPY_MAX) {
        view_say(s->view, STYLE_DIM,
                 list.answer.n == 0 ? "there is no answer to copy yet"
                                    : "the answer is too long for a clipboard; /export "
                                      "writes it to a file");
        return;
    }
    buf_init(&out, 2 * COPY_MAX);
    buf_add_lit(&out, "\x1b]52;c;");
    base64_encode(&out, list.answer);
    buf_add_lit(&out, "\x07");
    screen_picture(s->view->screen, buf_str(&out));
    buf_done(&out);
    view_say(s->view, STYLE_DIM, "copied %zu bytes, if the terminal allows it", list.answer.n);
}
