/* people.c - a server where each person signs in with an account of their own.
 *
 *   face   the bundle that everybody sees: name, tools, pins, state. It has no connection.
 *   own    a bundle of one person, known only to this file: a connection with that person's
 *          token, with the same states as any other (supervise.c), created by the first call
 *
 * A request names its person, and is sent over that person's connection or not at all. There are at
 * most BUNDLE_PEOPLE_MAX connections; one that was not used for BUNDLE_PERSON_IDLE_MS closes. Tools
 * are pinned once for all; the face lists those that any connection has shown, after a restart
 * those that are pinned. A person can call a tool only if their own connection has shown it. */
#include <assert.h>
#include <errno.h>

#include "base/clock.h"
#include "base/map.h"
#include "bundle/supervise/bundle_impl.h"
#include "workspace/secrets/credentials.h"

struct person {
    struct list_node node; /* in bundle.people, the most recently used at the end */
    struct bundle *face;
    char *user_id;
    bool has_token;     /* a token is stored, and was not refused */
    bool wants_rights;  /* a call was refused that a new sign-in can allow */
    struct bundle *own; /* or NULL */
    struct timer idle;
};

bool bundle_is_per_person(const struct bundle *b)
{
    return b->entry.oauth.is_per_person;
}

bool people_is_face(const struct bundle *b)
{
    return b->entry.oauth.is_per_person && b->user_id.n == 0;
}

struct bundle *people_face(struct bundle *b)
{
    return b->face ? b->face : b;
}

/* ---- records ---- */

static struct person *find_person(const struct bundle *face, str user_id)
{
    LIST_EACH (p, &face->people, struct person, node)
        if (str_eq(str_from(p->user_id), user_id))
            return p;
    return NULL;
}

static void on_idle(void *ctx);

static struct person *find_or_add(struct bundle *face, str user_id)
{
    struct person *p = find_person(face, user_id);
    if (p)
        return p;
    p = xcalloc(1, sizeof(*p));
    p->face = face;
    p->user_id = str_dup(user_id);
    timer_init(&p->idle, face->set->conf.loop, on_idle, p);
    list_push(&face->people, &p->node);
    return p;
}

static void person_free(struct person *p)
{
    assert(!p->own);
    timer_stop(&p->idle);
    list_del(&p->node);
    free(p->user_id);
    free(p);
}

/* Closes the connection; it still answers the requests in progress. */
static void close_own(struct person *p, const char *reason)
{
    struct bundle *own = p->own;
    if (!own)
        return;
    p->own = NULL;
    timer_stop(&p->idle);
    own->face = NULL;
    supervise_stop(own, reason);
    own->is_removed = true;
    list_push(&own->set->leaving, &own->node);
    defer_start(own->set->conf.loop, &own->set->sweep);
}

static bool is_down(const struct bundle *own)
{
    return own->state == BUNDLE_STOPPED || own->state == BUNDLE_DEAD;
}

static uint64_t idle_ms(const struct bundle *face)
{
    uint64_t ms = face->set->conf.times.person_idle_ms;
    return ms ? ms : BUNDLE_PERSON_IDLE_MS;
}

/* Also called soon after a failed connection: the next call tries again. */
static void on_idle(void *ctx)
{
    struct person *p = ctx;
    if (p->own && !list_empty(&p->own->calls)) {
        timer_start(&p->idle, idle_ms(p->face));
        return;
    }
    close_own(p, "the connection is not in use");
    if (!p->has_token && !p->wants_rights)
        person_free(p);
}

/* ---- stored accounts ---- */

static void list_work(struct job *j) /* pool thread */
{
    struct people_load *l = CONTAINER_OF(j, struct people_load, job);
    l->ids = arena_array(&l->arena, BUNDLE_ACCOUNTS_MAX, sizeof(str));
    l->n = credentials_people(&l->arena, l->dir, l->server_name, BUNDLE_ACCOUNTS_MAX, l->ids);
}

static void forget_work(struct job *j) /* pool thread */
{
    struct people_load *l = CONTAINER_OF(j, struct people_load, job);
    credentials_forget_people(l->dir, l->server_name);
}

static void people_submit(struct bundle *face, void (*work)(struct job *j),
                          void (*done)(struct job *j))
{
    struct people_load *l = &face->people_load;
    assert(!l->is_busy); /* the job reads l->arena */
    arena_reset(&l->arena);
    l->dir = face->set->conf.credentials_dir;
    l->server_name = arena_str(&l->arena, face->entry.server_name);
    l->is_busy = true;
    pool_run(face->set->conf.pool, &l->job, work, done);
}

static void know_pinned_tools(struct bundle *face)
{
    struct arena a;
    arena_init(&a);
    struct json *list = pins_as_tools(face, &a);
    if (list && face->tools.n + face->tools.nheld == 0)
        watch_take_tools(face, list);
    arena_done(&a);
}

static void become_open(struct bundle *face)
{
    bool is_known = !face->people_load.is_busy && face->pins.is_loaded;
    if (!people_is_face(face) || face->state != BUNDLE_STARTING || !is_known)
        return;
    know_pinned_tools(face);
    face->running_since_ms = clock_mono_ms();
    supervise_state(face, BUNDLE_RUNNING, "");
    bundle_dispatch_later(face);
}

static void on_forgotten(struct job *j)
{
    struct bundle *face = CONTAINER_OF(j, struct bundle, people_load.job);
    face->people_load.is_busy = false;
    defer_start(face->set->conf.loop, &face->set->sweep);
}

static void on_people_listed(struct job *j)
{
    struct bundle *face = CONTAINER_OF(j, struct bundle, people_load.job);
    struct people_load *l = &face->people_load;
    l->is_busy = false;
    if (face->is_removed) {
        people_forget(face);
    } else {
        for (size_t i = 0; i < l->n; i++)
            find_or_add(face, l->ids[i])->has_token = true;
        become_open(face);
    }
    defer_start(face->set->conf.loop, &face->set->sweep);
}

/* ---- states of a face ---- */

void people_init(struct bundle *b)
{
    list_init(&b->people);
    arena_init(&b->people_load.arena);
}

void people_done(struct bundle *b)
{
    while (!list_empty(&b->people))
        person_free(LIST_ENTRY(b->people.next, struct person, node));
    arena_done(&b->people_load.arena);
}

void people_open(struct bundle *face)
{
    struct err e = {0};
    if (bundle_entry_check_url(&face->entry, face->set->conf.allow_insecure_remotes, &e) < 0) {
        e.code = -EINVAL; /* a sign-in would not help */
        supervise_failed(face, &e, false);
        return;
    }
    if (!face->people_load.is_busy)
        people_submit(face, list_work, on_people_listed);
}

void people_close(struct bundle *face)
{
    LIST_EACH (p, &face->people, struct person, node) {
        close_own(p, "the server is stopped");
        person_free(p);
    }
}

void people_forget(struct bundle *face)
{
    if (bundle_is_per_person(face) && !face->people_load.is_busy && !face->set->is_stopping)
        people_submit(face, forget_work, on_forgotten);
}

static void each_own(struct bundle *face, void (*fn)(struct bundle *own))
{
    LIST_EACH (p, &face->people, struct person, node)
        if (p->own)
            fn(p->own);
}

void people_pins_loaded(struct bundle *face)
{
    become_open(face);
    each_own(face, watch_pins_loaded);
}

void people_judge_again(struct bundle *face)
{
    each_own(face, watch_judge_again);
}

/* ---- events of a connection ---- */

/* The tools of this list, then those that other connections have shown before. */
static void merge_tools(struct bundle *face, const struct json *list)
{
    struct arena a;
    struct map names;
    arena_init(&a);
    map_init(&names);
    struct json *all = json_new(&a, JSON_ARRAY);
    const struct json *const LISTS[] = {list, face->tools.list};
    for (size_t i = 0; i < ARRAY_LEN(LISTS); i++) {
        for (size_t k = 0; LISTS[i] && k < LISTS[i]->len && all->len < MCP_LIST_MAX; k++) {
            const struct json *tool = json_at(LISTS[i], k);
            str name = json_get_string(tool, "name");
            if (i > 0 && map_get(&names, name))
                continue;
            map_put(&names, name, all);
            json_push(&a, all, *tool);
        }
    }
    watch_take_tools(face, all);
    map_done(&names);
    arena_done(&a);
}

/* Facts about the server; not its instructions, which may be about one person. */
static void learn_server(struct bundle *face, const struct bundle *own)
{
    struct server_facts *f = &face->server;
    arena_reset(&f->arena);
    face->era = own->era;
    f->version = arena_str(&f->arena, own->server.version);
    f->title = arena_str(&f->arena, own->server.title);
    f->description = arena_str(&f->arena, own->server.description);
    f->protocol_version = arena_str(&f->arena, own->server.protocol_version);
}

static void set_needs(struct person *p, bool has_token, bool wants_rights)
{
    if (p->has_token == has_token && p->wants_rights == wants_rights)
        return;
    p->has_token = has_token;
    p->wants_rights = wants_rights;
    bundle_changed(p->face, BUNDLE_STATE); /* so that pages ask again */
}

void people_changed(struct bundle *own, enum bundle_change what)
{
    struct person *p = own->face ? find_person(own->face, own->user_id) : NULL;
    if (!p)
        return;
    if (what == BUNDLE_TOOLS && own->tools.list)
        merge_tools(p->face, own->tools.list);
    if (what != BUNDLE_STATE)
        return;
    if (own->state == BUNDLE_RUNNING) {
        learn_server(p->face, own);
        set_needs(p, true, false);
    } else if (is_down(own)) {
        if (own->lacks_token)
            set_needs(p, false, p->wants_rights);
        timer_start(&p->idle, 0);
    }
}

void people_wants_rights(struct bundle *own)
{
    struct person *p = own->face ? find_person(own->face, own->user_id) : NULL;
    if (p)
        set_needs(p, p->has_token, true);
}

/* ---- requests ---- */

static struct bundle *open_own(struct person *p)
{
    struct bundle *own = bundle_new(p->face->set, &p->face->entry);
    own->face = p->face;
    own->user_id = arena_str(&own->arena, str_from(p->user_id));
    own->era = p->face->era;
    p->own = own;
    supervise_start(own);
    return own;
}

/* Number of connections; *ret: the idle connection that was not used for the longest time. */
static size_t count_open(const struct bundle *face, struct person **ret)
{
    size_t n = 0;
    *ret = NULL;
    LIST_EACH (p, &face->people, struct person, node) {
        n += p->own != NULL;
        if (p->own && list_empty(&p->own->calls) && !*ret)
            *ret = p;
    }
    return n;
}

static int make_room_for_person(struct bundle *face, struct err *e)
{
    struct person *oldest;
    if (count_open(face, &oldest) < BUNDLE_PEOPLE_MAX)
        return 0;
    if (!oldest)
        return err_set(e, -EBUSY, "%.*s is in use by %d people; try again in a moment",
                       STR_ARG(face->entry.server_name), BUNDLE_PEOPLE_MAX);
    close_own(oldest, "the connection is needed for another person");
    return 0;
}

static int check_person(const struct bundle *face, str user_id, struct err *e)
{
    struct arena a;
    if (face->state == BUNDLE_STOPPED)
        return err_set(e, -ENOTCONN, "%.*s is stopped", STR_ARG(face->entry.server_name));
    if (user_id.n == 0)
        return err_set(e, -EXDEV, "%.*s is used with the account of one person",
                       STR_ARG(face->entry.server_name));
    arena_init(&a);
    bool is_id = credentials_person_slug(&a, face->entry.server_name, user_id).n > 0;
    arena_done(&a);
    return is_id ? 0 : err_set(e, -ENOKEY, "this person cannot have an account");
}

/* The person's connection, opened when there is none; NULL with the reason. */
static struct bundle *take_own(struct bundle *face, str user_id, struct err *e)
{
    if (check_person(face, user_id, e) < 0)
        return NULL;
    struct person *p = find_person(face, user_id);
    bool has_own = p && p->own && !is_down(p->own);
    if (!has_own && make_room_for_person(face, e) < 0)
        return NULL;
    p = find_or_add(face, user_id);
    if (!has_own)
        close_own(p, "the connection is reopened");
    list_del(&p->node);
    list_push(&face->people, &p->node);
    timer_start(&p->idle, idle_ms(face));
    return p->own ? p->own : open_own(p);
}

struct bundle_call *bundle_request_as(struct bundle *b, str user_id, const struct mcp_request *req,
                                      const struct mcp_call_events *ev, void *ctx)
{
    struct err e = {0};
    if (!people_is_face(b))
        return bundle_request(b, req, ev, ctx);
    struct bundle *own = take_own(b, user_id, &e);
    return own ? bundle_request(own, req, ev, ctx) : bundle_request_refused(b, &e, ev, ctx);
}

/* ---- accounts ---- */

bool bundle_needs_sign_in(struct bundle *b, str user_id)
{
    if (!people_is_face(b))
        return bundle_info(b)->needs_sign_in;
    const struct person *p = find_person(b, user_id);
    return !p || !p->has_token || p->wants_rights;
}

void bundle_account_changed(struct bundle *b, str user_id, bool is_signed_in)
{
    if (!people_is_face(b))
        return;
    struct person *p = find_or_add(b, user_id);
    close_own(p, "the account was changed");
    set_needs(p, is_signed_in, false);
    if (is_signed_in && b->state == BUNDLE_RUNNING) {
        struct err e = {0};
        (void)take_own(b, user_id, &e); /* to list its tools */
    } else {
        timer_start(&p->idle, 0);
    }
}

void bundles_forget_person(struct bundles *s, str user_id)
{
    for (size_t i = 0; i < s->n; i++) {
        struct person *p = people_is_face(s->items[i]) ? find_person(s->items[i], user_id) : NULL;
        if (!p)
            continue;
        close_own(p, "the person has left the workspace");
        person_free(p);
    }
}
