/* Slash commands about the conversation as a whole: choose, copy, name, share, export, delete. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "cli/chat/conv_list.h"
#include "cli/chat/slash.h"
#include "cli/session/members.h"
#include "cli/term/styled.h"
#include "os/file.h"

#define EXPORT_MAX (256u * 1024 * 1024)

void slash_new(struct slash *s, str arg)
{
    session_forget(s->chat->session);
    view_say(s->view, STYLE_DIM, "a new conversation begins with your next message");
}

/* The only conversation with these words in its title or its first message. */
static str find_by_words(struct slash *s, str words)
{
    struct arena *a = &s->arena;
    str path =
        arena_printf(a, "/v1/conversations?limit=2&search=%.*s", STR_ARG(client_encode(a, words)));
    const struct json *page = slash_ask(s, NULL, path, NULL);
    const struct json *list = json_get(page, "conversations");
    if (!page || !json_is(list, JSON_ARRAY))
        return STR_NONE;
    if (list->len == 1)
        return json_get_string(json_at(list, 0), "id");
    view_say(s->view, STYLE_RED,
             list->len == 0 ? "no conversation has '%.*s' in its title"
                            : "several conversations have '%.*s' in their "
                              "title; /resume ID takes one",
             STR_ARG(words));
    return STR_NONE;
}

/* Empty: none was chosen, after saying so if there is none. */
static str choose_conversation(struct slash *s)
{
    struct picker p;
    struct err e = {0};
    str id = STR_NONE;
    picker_init(&p, "Continue a conversation");
    if (conv_list_fill(session_client(s->chat->session), &p, &e) < 0)
        slash_fail(s, &e);
    else if (p.n == 0)
        view_say(s->view, STYLE_DIM, "no conversation to continue yet");
    else if (s->choose(s->choose_ctx, &p))
        id = arena_str(&s->arena, picker_value(&p));
    picker_done(&p);
    return id;
}

void slash_resume(struct slash *s, str arg)
{
    bool is_id = str_starts(arg, STR("conv_")) || str_eq(arg, STR("latest"));
    str id = arg.n == 0 ? choose_conversation(s) : is_id ? arg : find_by_words(s, arg);
    if (id.n == 0)
        return;
    if (s->chat->has_env_model) /* the conversation has a model of its own */
        s->chat->config->models.named = STR_NONE;
    if (slash_go_to(s, str_eq(id, STR("latest")) ? STR_NONE : id))
        greeting_resumed(s->chat, s->view);
}

void slash_fork(struct slash *s, str arg)
{
    str path = slash_path(s, "/fork");
    const struct json *made = path.n > 0 ? slash_ask(s, "POST", path, NULL) : NULL;
    if (made && slash_go_to(s, json_get_string(made, "id")))
        view_say(s->view, STYLE_DIM, "continuing in %.*s, a copy with %lld messages",
                 STR_ARG(json_get_string(made, "id")),
                 (long long)json_get_int(made, "messageCount", 0));
}

/* {"<key>": "<text>"} */
static struct json *one_member(struct slash *s, const char *key, str text)
{
    struct json *body = json_new(&s->arena, JSON_OBJECT);
    json_set(&s->arena, body, str_from(key), json_of_str(text));
    return body;
}

void slash_rename(struct slash *s, str arg)
{
    str path = slash_path(s, "");
    if (path.n == 0)
        return;
    if (arg.n == 0) {
        view_say(s->view, STYLE_RED, "/rename needs a title");
        return;
    }
    const struct json *c = slash_ask(s, "PATCH", path, one_member(s, "title", arg));
    if (c)
        view_say(s->view, STYLE_DIM, "the title is now \"%.*s\"",
                 STR_ARG(json_get_string(c, "title")));
}

/* It can be restored, so it does not ask. */
void slash_delete(struct slash *s, str arg)
{
    str path = slash_path(s, ""), id = session_conversation(s->chat->session);
    if (path.n == 0 || !slash_ask(s, "DELETE", path, NULL))
        return;
    view_say(s->view, STYLE_DIM, "deleted; nb conv restore %.*s restores it within 7 days",
             STR_ARG(id));
    session_forget(s->chat->session);
}

static const struct json *ask_members(struct slash *s)
{
    return members_ask(session_client(s->chat->session), s->chat->config->workspace, &s->arena);
}

static void show_sharing(struct slash *s, const struct json *conv)
{
    struct rows r;
    const struct json *who = json_get(conv, "participants"), *members = ask_members(s);
    rows_init(&r);
    rows_add(&r, STR("visibility"), json_get_string(conv, "visibility"));
    for (size_t i = 0; json_is(who, JSON_ARRAY) && i < who->len; i++) {
        str id = json_string(json_at(who, i), STR_NONE);
        bool is_owner = str_eq(id, json_get_string(conv, "ownerId"));
        rows_add(&r, is_owner ? STR("owner") : STR("participant"), members_name(members, id));
    }
    slash_show(s, &r, NULL);
}

void slash_share(struct slash *s, str arg)
{
    bool is_end = str_eq(arg, STR("off"));
    str path = slash_path(s, is_end ? "/unshare" : arg.n > 0 ? "/share" : ""), user;
    if (path.n == 0)
        return;
    const struct json *c = slash_ask(s, is_end || arg.n > 0 ? "POST" : NULL, path, NULL);
    while (c && !is_end && str_split(&arg, ' ', &user))
        if (user.n > 0)
            c = slash_ask(s, "POST", slash_path(s, "/participants"), one_member(s, "userId", user));
    if (c)
        show_sharing(s, c);
}

void slash_notes(struct slash *s, str arg)
{
    struct rows r;
    str path = slash_path(s, "/notes");
    if (path.n == 0)
        return;
    const struct json *answer = arg.n > 0
                                    ? slash_ask(s, "POST", path, one_member(s, "content", arg))
                                    : slash_ask(s, NULL, path, NULL);
    const struct json *notes = json_get(answer, "notes");
    if (!answer)
        return;
    const struct json *members = ask_members(s);
    rows_init(&r);
    for (size_t i = 0; json_is(notes, JSON_ARRAY) && i < notes->len; i++) {
        const struct json *n = json_at(notes, i);
        rows_add(&r, members_name(members, json_get_string(n, "author")),
                 json_get_string(n, "content"));
    }
    slash_show(s, &r, "no notes yet");
}

/* The model call needs a turn, so the summary is made with the next message. */
void slash_compact(struct slash *s, str arg)
{
    if (slash_path(s, "").n == 0)
        return;
    session_compact(s->chat->session);
    view_say(
        s->view, STYLE_DIM,
        "the older messages are summarised before the next answer; the conversation keeps them");
}

/* ---- /export ---- */

static const char *format_of(str file)
{
    static const char *const FORMATS[][2] = {
        {".md", "markdown"}, {".html", "html"}, {".json", "json"}, {".jsonl", "jsonl"}};
    for (size_t i = 0; i < ARRAY_LEN(FORMATS); i++)
        if (str_ends(file, str_from(FORMATS[i][0])))
            return FORMATS[i][1];
    return NULL;
}

/* A file that exists stays as it is. */
static int write_new(const char *path, str bytes, struct err *e)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_errno(e, -errno, "cannot create", path);
    close(fd);
    return file_write_atomic(path, bytes, 0600, e);
}

void slash_export(struct slash *s, str arg)
{
    struct err e = {0};
    str bytes, path = slash_path(s, "/export?format=");
    if (path.n == 0)
        return;
    str file = arg.n > 0 ? arg
                         : arena_printf(&s->arena, "%.*s.md",
                                        STR_ARG(session_conversation(s->chat->session)));
    const char *format = format_of(file);
    if (!format) {
        view_say(s->view, STYLE_RED, "the name must end with .md, .html, .json or .jsonl");
        return;
    }
    path = arena_concat(&s->arena, path, str_from(format));
    int r =
        client_get_bytes(session_client(s->chat->session), path, EXPORT_MAX, &s->arena, &bytes, &e);
    if (r == 0)
        r = write_new(arena_cstr(&s->arena, file), bytes, &e);
    if (r < 0)
        slash_fail(s, &e);
    else
        view_say(s->view, STYLE_DIM, "wrote %.*s (%zu bytes)", STR_ARG(file), bytes.n);
}
