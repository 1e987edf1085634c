/* pg_relay_wire.c - messages of the relay. Each is an object on one line:
 *
 *   {"k":"event","w":workspace,"c":conversation or "","t":type,"a":audience?,"d":data}
 *   {"k":"watch","w":workspace,"c":conversation,"on":bool}    streams begin or end there
 *   {"k":"order","w":workspace,"c":conversation,"o":order,"i":number?}    for the server that runs
 * it
 *   {"k":"ask","w":workspace,"c":conversation,"i":id,"q":question}    who has it answers (pg_ask.c)
 *   {"k":"reply","w":workspace,"c":"","i":id,"q":reply}
 *   {"k":"echo","w":"","c":"","o":microseconds}    to itself: how long does a notification take?
 *   {"k":"person","w":workspace,"c":"","u":user,"t":type,"d":data}    for the streams of a person
 *
 * pg_outbox.h has the form of a notification. The database is trusted, but a newer nb may send what
 * this one does not know: that is ignored. */
#include <assert.h>
#include <errno.h>

#include "base/clock.h"
#include "base/json/json_decode.h"
#include "base/json/json_scan.h"
#include "bus/vocabulary.h"
#include "store/postgres/pg_store.h"
#include "store/replica/pg_relay_impl.h"

enum { WATCHERS_MAX = 64, SLACK = 64 * 1024 };

/* ---- who watches elsewhere ---- */

struct remote_watch {
    char *servers[WATCHERS_MAX];
    size_t n;
};

static str remote_key(struct arena *a, str workspace, str id)
{
    return arena_printf(a, "%.*s/%.*s", STR_ARG(workspace), STR_ARG(id));
}

static void remote_free(struct remote_watch *w)
{
    for (size_t i = 0; i < w->n; i++)
        free(w->servers[i]);
    free(w);
}

static void remote_drop(struct pg_relay *r, str key, struct remote_watch *w, str server)
{
    for (size_t i = 0; i < w->n; i++) {
        if (!str_eq(server, str_from(w->servers[i])))
            continue;
        free(w->servers[i]);
        w->servers[i] = w->servers[--w->n];
        break;
    }
    if (w->n == 0) {
        map_del(&r->remote, key);
        remote_free(w);
    }
}

static void remote_add(struct pg_relay *r, str key, struct remote_watch *w, str server)
{
    if (!w) {
        w = xcalloc(1, sizeof *w);
        map_put(&r->remote, key, w);
    }
    for (size_t i = 0; i < w->n; i++)
        if (str_eq(server, str_from(w->servers[i])))
            return;
    if (w->n < WATCHERS_MAX)
        w->servers[w->n++] = str_dup(server);
}

void remote_set(struct pg_relay *r, str workspace, str id, str server, bool is_on)
{
    struct arena a;
    arena_init(&a);
    str key = remote_key(&a, workspace, id);
    struct remote_watch *w = map_get(&r->remote, key);
    if (is_on)
        remote_add(r, key, w, server);
    else if (w)
        remote_drop(r, key, w, server);
    arena_done(&a);
}

void remote_clear(struct pg_relay *r)
{
    struct map_entry *e;
    for (size_t i = 0; (e = map_next(&r->remote, &i)) != NULL;)
        remote_free(e->value);
    map_done(&r->remote);
    map_init(&r->remote);
}

/* ---- sending ---- */

static void tell(struct pg_relay *r, struct json_writer *w, struct buf *b)
{
    jw_close(w);
    if (!buf_failed(b))
        pg_outbox_tell(r->db, buf_str(b));
    buf_done(b);
}

static void begin(struct json_writer *w, struct buf *b, const char *kind, str workspace, str id)
{
    jw_start(w, b, OUTBOX_MESSAGE);
    jw_object(w);
    jw_kcstr(w, "k", kind);
    jw_kstr(w, "w", workspace);
    jw_kstr(w, "c", id);
}

static void write_audience(struct json_writer *w, const struct bus_audience *a)
{
    jw_kobject(w, "a");
    jw_kstr(w, "c", a->conversation_id);
    jw_kstr(w, "owner", a->acl.owner_id);
    jw_kbool(w, "shared", a->acl.is_shared);
    jw_kbool(w, "sealed", a->acl.is_sealed);
    jw_kstrs(w, "people", a->acl.participants.items, a->acl.participants.len);
    jw_kstrs(w, "readers", a->acl.readers.items, a->acl.readers.len);
    jw_kbool(w, "forLost", a->is_for_lost);
    jw_kstrs(w, "lost", a->lost.items, a->lost.len);
    jw_end(w);
}

void relay_forward(struct pg_relay *r, str workspace, const struct bus_msg *msg)
{
    struct json_writer w;
    struct buf b;
    bool is_conv = str_starts(msg->topic, STR("conv/"));
    str id = is_conv ? str_skip(msg->topic, sizeof "conv/" + workspace.n) : STR_NONE;
    begin(&w, &b, "event", workspace, id);
    jw_kstr(&w, "t", msg->type);
    if (msg->audience)
        write_audience(&w, msg->audience);
    jw_kraw(&w, "d", msg->data);
    tell(r, &w, &b);
}

void pg_forward(struct store *s, const struct bus_msg *msg)
{
    struct pg_relay *r = pg_database(s)->relay;
    if (r && map_get(&r->remote, str_skip(msg->topic, sizeof "conv/" - 1)))
        relay_forward(r, pg_workspace(s), msg);
}

void relay_tell_watch(struct pg_relay *r, str workspace, str id, bool is_on)
{
    struct json_writer w;
    struct buf b;
    begin(&w, &b, "watch", workspace, id);
    jw_kbool(&w, "on", is_on);
    tell(r, &w, &b);
}

/* Questions that leave with the same transaction are one. */
uint64_t relay_ask_progress(struct relay_conv *v)
{
    struct pg_relay *r = v->relay;
    struct json_writer w;
    struct buf b;
    if (v->progress_echo > 0 && v->progress_load == r->db->outbox.ntaken)
        return v->progress_echo;
    char number[24];
    v->progress_echo = ++r->echoes;
    v->progress_load = r->db->outbox.ntaken;
    (void)snprintf(number, sizeof number, "%llu", (unsigned long long)v->progress_echo);
    begin(&w, &b, "order", pg_workspace(v->store), v->id);
    jw_kcstr(&w, "o", "progress");
    jw_kcstr(&w, "i", number);
    tell(r, &w, &b);
    return v->progress_echo;
}

void pg_tell(struct store *s, str id, str order)
{
    struct pg_relay *r = pg_database(s)->relay;
    struct json_writer w;
    struct buf b;
    if (!r)
        return;
    begin(&w, &b, "order", pg_workspace(s), id);
    jw_kstr(&w, "o", order);
    tell(r, &w, &b);
}

void relay_tell_ask(struct pg_relay *r, const char *kind, str workspace, str id, str ask_id,
                    str json)
{
    struct json_writer w;
    struct buf b;
    begin(&w, &b, kind, workspace, id);
    jw_kstr(&w, "i", ask_id);
    jw_kraw(&w, "q", json);
    tell(r, &w, &b);
}

void pg_relay_echo(struct database *db)
{
    struct json_writer w;
    struct buf b;
    char now[32];
    if (!db->relay || !db->relay->is_listening)
        return;
    if (db->relay->echo_us > 0)
        relay_set_deaf(db->relay, true);
    db->relay->echo_us = clock_mono_us();
    (void)snprintf(now, sizeof now, "%llu", (unsigned long long)db->relay->echo_us);
    begin(&w, &b, "echo", STR(""), STR(""));
    jw_kcstr(&w, "o", now);
    tell(db->relay, &w, &b);
}

void pg_tell_person(struct store *s, str user_id, str type, str data)
{
    struct pg_relay *r = pg_database(s)->relay;
    struct json_writer w;
    struct buf b;
    if (!r)
        return;
    begin(&w, &b, "person", pg_workspace(s), STR(""));
    jw_kstr(&w, "u", user_id);
    jw_kstr(&w, "t", type);
    jw_kraw(&w, "d", data);
    tell(r, &w, &b);
}

/* ---- receiving ---- */

struct told_audience {
    str conversation, owner;
    bool is_shared, is_sealed, is_for_lost;
    struct json_strs people, readers, lost;
};

struct told {
    str kind, workspace, conversation, type, order, user, ask_id;
    const struct json *question;
    bool is_on, has_audience;
    const struct json *audience, *data;
};

static const struct json_field AUDIENCE_FIELDS[] = {
    {"c", JF_STR, offsetof(struct told_audience, conversation), JF_REQUIRED, NULL, 0},
    {"owner", JF_STR, offsetof(struct told_audience, owner), JF_REQUIRED, NULL, 0},
    {"shared", JF_BOOL, offsetof(struct told_audience, is_shared), JF_REQUIRED, NULL, 0},
    {"sealed", JF_BOOL, offsetof(struct told_audience, is_sealed), JF_REQUIRED, NULL, 0},
    {"people", JF_STRS, offsetof(struct told_audience, people), JF_REQUIRED, NULL, 0},
    {"readers", JF_STRS, offsetof(struct told_audience, readers), JF_REQUIRED, NULL, 0},
    {"forLost", JF_BOOL, offsetof(struct told_audience, is_for_lost), JF_REQUIRED, NULL, 0},
    {"lost", JF_STRS, offsetof(struct told_audience, lost), JF_REQUIRED, NULL, 0},
    {0}};

static const struct json_field TOLD_FIELDS[] = {
    {"k", JF_STR, offsetof(struct told, kind), JF_REQUIRED, NULL, 0},
    {"w", JF_STR, offsetof(struct told, workspace), JF_REQUIRED, NULL, 0},
    {"c", JF_STR, offsetof(struct told, conversation), JF_REQUIRED, NULL, 0},
    {"t", JF_STR, offsetof(struct told, type), 0, NULL, 0},
    {"o", JF_STR, offsetof(struct told, order), 0, NULL, 0},
    {"u", JF_STR, offsetof(struct told, user), 0, NULL, 0},
    {"i", JF_STR, offsetof(struct told, ask_id), 0, NULL, 0},
    {"q", JF_JSON_OBJECT, offsetof(struct told, question), 0, NULL, 0},
    {"on", JF_BOOL, offsetof(struct told, is_on), 0, NULL, 0},
    {"a", JF_JSON_OBJECT, offsetof(struct told, audience), 0, NULL, 0},
    {"d", JF_JSON_OBJECT, offsetof(struct told, data), 0, NULL, 0},
    {0}};

/* An audience that cannot be read is that of nobody: the event is dropped. */
static bool read_audience(struct arena *a, const struct json *from, struct bus_audience *ret)
{
    struct told_audience t = {0};
    struct err e = {0};
    if (json_decode(a, from, AUDIENCE_FIELDS, &t, "", NULL, NULL, &e) < 0)
        return false;
    *ret = (struct bus_audience){
        .conversation_id = t.conversation,
        .acl = {.owner_id = t.owner,
                .is_shared = t.is_shared,
                .is_sealed = t.is_sealed,
                .participants = t.people,
                .readers = t.readers},
        .is_for_lost = t.is_for_lost,
        .lost = t.lost,
    };
    return true;
}

static void take_event(struct pg_relay *r, struct arena *a, const struct told *t, str line)
{
    struct store *s = relay_store(r, t->workspace);
    struct bus_audience audience;
    bool is_conv = t->conversation.n > 0;
    if (!s || !t->data || t->type.n == 0 || (is_conv && !store_id_valid(t->conversation)))
        return;
    if (!is_conv && t->audience && !read_audience(a, t->audience, &audience))
        return;
    struct bus_msg msg = {
        .topic = is_conv ? store_topic(a, s, t->conversation) : store_space_topic(a, s),
        .type = t->type,
        .data = json_scan_field(line, STR("d")),
        .audience = !is_conv && t->audience ? &audience : NULL,
    };
    relay_event(r, &msg);
}

static void obey(struct pg_relay *r, const struct told *t, str order)
{
    const struct replica *me = r->db->replica;
    if (me->ev.on_order)
        me->ev.on_order(me->ctx, t->workspace, t->conversation, order);
}

static void take_person(struct pg_relay *r, const struct told *t, str line)
{
    const struct replica *me = r->db->replica;
    if (me->ev.on_person && t->data && t->user.n > 0 && t->type.n > 0)
        me->ev.on_person(me->ctx, t->workspace, t->user, t->type, json_scan_field(line, STR("d")));
}

static void take_ask(struct pg_relay *r, const struct told *t)
{
    const struct replica *me = r->db->replica;
    if (me->ev.on_ask && t->question && t->ask_id.n > 0 && store_id_valid(t->conversation))
        me->ev.on_ask(me->ctx, t->workspace, t->conversation, t->ask_id, t->question);
}

/* Deltas travel from now on; the text before them is sent once. */
static void take_watch(struct pg_relay *r, const struct told *t, str server)
{
    remote_set(r, t->workspace, t->conversation, server, t->is_on);
    if (t->is_on)
        obey(r, t, STR("progress"));
}

static void take_message(struct pg_relay *r, str server, str line)
{
    struct arena a;
    struct json *doc;
    struct told t = {0};
    struct err e = {0};
    arena_init(&a);
    if (json_parse(&a, line, JSON_COPY, &doc, &e) == 0 &&
        json_decode(&a, doc, TOLD_FIELDS, &t, "", NULL, NULL, &e) == 0) {
        if (str_eq(t.kind, STR("event")))
            take_event(r, &a, &t, line);
        else if (str_eq(t.kind, STR("watch")) && store_id_valid(t.conversation))
            take_watch(r, &t, server);
        else if (str_eq(t.kind, STR("order")))
            obey(r, &t, t.order);
        else if (str_eq(t.kind, STR("ask")))
            take_ask(r, &t);
        else if (str_eq(t.kind, STR("reply")) && t.question)
            relay_take_reply(r, t.ask_id, t.question);
        else if (str_eq(t.kind, STR("person")))
            take_person(r, &t, line);
    } else {
        log_warn(r->db->log, "store", "a message of the server %.*s cannot be read: %s",
                 STR_ARG(server), e.msg);
    }
    arena_done(&a);
}

static str take_word(str *text, char end)
{
    ptrdiff_t at = str_find_char(*text, end);
    str word = at < 0 ? *text : str_slice(*text, 0, (size_t)at);
    *text = at < 0 ? STR_NONE : str_skip(*text, (size_t)at + 1);
    return word;
}

/* "<workspace> <conversation> <last line>" in each line. */
static void take_grown(struct pg_relay *r, str text)
{
    while (text.n > 0) {
        uint64_t last;
        char place[512];
        str line = take_word(&text, '\n');
        str workspace = take_word(&line, ' '), id = take_word(&line, ' ');
        int n = snprintf(place, sizeof place, "%.*s/%.*s", STR_ARG(workspace), STR_ARG(id));
        struct relay_conv *v =
            n > 0 && (size_t)n < sizeof place ? relay_conv_of(r, str_make(place, (size_t)n)) : NULL;
        if (v && parse_u64(line, &last) == 0)
            relay_conv_grown(v, last);
        else if (str_eq(workspace, STR("*")))
            relay_ask(r);
    }
}

/* Parts of one server come in order, over one connection. */
static void take_part(struct pg_relay *r, str server, str text, bool is_last)
{
    struct relay_part *p = map_get(&r->parts, server);
    if (!p) {
        p = xcalloc(1, sizeof *p);
        buf_init(&p->text, OUTBOX_MESSAGE + SLACK);
        map_put(&r->parts, server, p);
    }
    buf_add_str(&p->text, text);
    if (!is_last)
        return;
    if (!buf_failed(&p->text))
        take_message(r, server, buf_str(&p->text));
    map_del(&r->parts, server);
    buf_done(&p->text);
    free(p);
}

void parts_clear(struct pg_relay *r)
{
    struct map_entry *e;
    for (size_t i = 0; (e = map_next(&r->parts, &i)) != NULL;) {
        struct relay_part *p = e->value;
        buf_done(&p->text);
        free(p);
    }
    map_done(&r->parts);
    map_init(&r->parts);
}

static bool take_number(str line, const char *member, uint64_t *ret)
{
    return parse_u64(json_scan_plain(json_scan_field(line, str_from(member))), ret) == 0;
}

/* A message of this server. */
static void take_own(struct pg_relay *r, str line)
{
    uint64_t number, now = clock_mono_us();
    str kind = json_scan_plain(json_scan_field(line, STR("k")));
    if (str_eq(kind, STR("echo")) && take_number(line, "o", &number) && number <= now) {
        r->lag_us = now - number;
        r->echo_us = 0;
        relay_set_deaf(r, false);
    } else if (str_eq(kind, STR("order")) && take_number(line, "i", &number) && number > r->heard) {
        r->heard = number;
    }
}

void relay_on_notice(void *ctx, str payload)
{
    struct pg_relay *r = ctx;
    str rest = payload;
    str head = take_word(&rest, '\n');
    str server = take_word(&head, ' ');
    (void)take_word(&head, ' '); /* its number */
    if (head.n != 1)
        return;
    if (str_eq(server, str_from(r->db->replica->id))) {
        while (head.p[0] == 'm' && rest.n > 0)
            take_own(r, take_word(&rest, '\n'));
        return;
    }
    if (head.p[0] == 'a')
        take_grown(r, rest);
    else if (head.p[0] == 'p' || head.p[0] == 'q')
        take_part(r, server, rest, head.p[0] == 'q');
    while (head.p[0] == 'm' && rest.n > 0)
        take_message(r, server, take_word(&rest, '\n'));
}
