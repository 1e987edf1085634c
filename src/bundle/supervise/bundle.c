#include <assert.h>
#include <errno.h>

#include "base/clock.h"
#include "base/text/hidden.h"
#include "bundle/entry/package_command.h"
#include "bundle/plan/bundle_want.h"
#include "bundle/supervise/bundle_impl.h"
#include "bundle/supervise/fault.h"
#include "workspace/secrets/credentials.h"

const char *bundle_state_name(enum bundle_state s)
{
    static const char *const NAMES[] = {"starting", "running", "crashed", "dead", "stopped"};
    return NAMES[s];
}

void bundle_changed(struct bundle *b, enum bundle_change what)
{
    const struct bundle_host *h = &b->set->conf.host;
    if (b->user_id.n > 0)
        people_changed(b, what);
    else if (h->changed && !b->is_removed)
        h->changed(h->ctx, b, what);
}

/* ---- notifications and requests of the server ---- */

static void on_bundle_ask(void *ctx, struct mcp_ask *a)
{
    struct bundle *b = ctx;
    const struct bundle_host *h = &b->set->conf.host;
    if (h->ask && !b->is_removed)
        h->ask(h->ctx, b, a);
    else
        mcp_ask_refuse(a, -32601, "This client cannot answer requests of a server.");
}

static void on_bundle_ask_gone(void *ctx, struct mcp_ask *a)
{
    struct bundle *b = ctx;
    const struct bundle_host *h = &b->set->conf.host;
    if (h->ask_gone)
        h->ask_gone(h->ctx, b, a);
}

static void on_bundle_notified(void *ctx, str method, const struct json *params)
{
    struct bundle *b = ctx;
    const struct bundle_host *h = &b->set->conf.host;
    if (h->notified && !b->is_removed && b->user_id.n == 0)
        h->notified(h->ctx, b, method, params);
    watch_notified(b, method, params);
}

static void on_bundle_stderr(void *ctx, str bytes)
{
    struct bundle *b = ctx;
    stderr_ring_add(&b->stderr_lines, bytes);
}

/* ---- creating and freeing ---- */

struct bundle *bundle_new(struct bundles *s, const struct bundle_entry *e)
{
    struct bundle *b = xcalloc(1, sizeof(*b));
    b->set = s;
    b->entry = bundle_entry_copy(&b->arena, e);
    b->rss_bytes = -1;
    b->facts.trust_score = -1;
    b->state = BUNDLE_STOPPED;
    b->host = (struct mcp_host){
        .capabilities = s->conf.capabilities,
        .ask = on_bundle_ask,
        .ask_gone = on_bundle_ask_gone,
        .notified = on_bundle_notified,
        .on_stderr = on_bundle_stderr,
        .ctx = b,
    };
    list_init(&b->node);
    list_init(&b->guests);
    list_init(&b->calls);
    list_init(&b->callers);
    stderr_ring_init(&b->stderr_lines, BUNDLE_LOG_BYTES_MAX);
    supervise_init(b);
    people_init(b);
    return b;
}

bool bundle_is_idle(const struct bundle *b)
{
    return !b->connections && !b->start && !b->pins.is_busy && !b->people_load.is_busy &&
           list_empty(&b->calls) && list_empty(&b->guests);
}

void bundle_free(struct bundle *b)
{
    assert(bundle_is_idle(b));
    supervise_done(b);
    people_done(b);
    bundle_keep_token(b, STR_NONE);
    stderr_ring_done(&b->stderr_lines);
    pins_done(b);
    struct arena *arenas[] = {&b->arena, &b->dial_arena, &b->facts.arena, &b->server.arena,
                              &b->tools.arena};
    for (size_t i = 0; i < ARRAY_LEN(arenas); i++)
        arena_done(arenas[i]);
    free(b);
}

void bundle_learn_server(struct bundle *b)
{
    const struct mcp_client *c = connections_main(b->connections);
    const struct json *info = mcp_server_info(c);
    struct server_facts *f = &b->server;
    arena_reset(&f->arena);
    b->era = mcp_era(c);
    f->version = arena_str(&f->arena, json_get_string(info, "version"));
    f->title = arena_str(&f->arena, json_get_string(info, "title"));
    f->description = arena_str(&f->arena, json_get_string(info, "description"));
    f->protocol_version = arena_str(&f->arena, mcp_version(c));
    f->instructions = arena_str(&f->arena, hidden_strip(&f->arena, mcp_instructions(c)));
    f->capabilities = json_clone(&f->arena, mcp_server_capabilities(c));
}

/* ---- its token ---- */

void bundle_keep_token(struct bundle *b, str token)
{
    if (b->token)
        explicit_bzero(b->token, strlen(b->token));
    free(b->token);
    b->token = token.n > 0 ? str_dup(token) : NULL;
}

const char *bundle_token_dir(const struct bundle *b, struct arena *a)
{
    const char *dir = b->set->conf.credentials_dir;
    return b->user_id.n > 0 ? credentials_people_dir(a, dir) : dir;
}

str bundle_token_slug(const struct bundle *b, struct arena *a)
{
    return b->user_id.n > 0 ? credentials_person_slug(a, b->entry.server_name, b->user_id)
                            : entry_credentials(a, &b->entry);
}

str bundle_sign_in_advice(const struct bundle *b, struct arena *a)
{
    if (bundle_is_per_person(b))
        return arena_printf(a,
                            "the person who asks has to sign in with an account of their own, on "
                            "the page (Apps, %.*s, Sign in) or with: nb bundle auth %.*s",
                            STR_ARG(b->entry.server_name), STR_ARG(b->entry.server_name));
    return arena_printf(a, "an admin has to sign in, on the page or with: nb bundle auth %.*s",
                        STR_ARG(b->entry.server_name));
}

/* ---- information for other floors ---- */

/* Shows only the program of a command, or the package that npx or uvx runs, because people put
 * tokens into arguments. */
static str package_of(const struct bundle_entry *e)
{
    struct package_command c;
    switch (e->kind) {
    case BUNDLE_NAMED:
    case BUNDLE_BUILT_IN:
        return e->name;
    case BUNDLE_LOCAL:
        return e->path;
    case BUNDLE_REMOTE: { /* the query may contain a key */
        ptrdiff_t query = str_find_char(e->url, '?');
        return query < 0 ? e->url : str_slice(e->url, 0, (size_t)query);
    }
    case BUNDLE_COMMAND:
        break;
    }
    return package_command_parse(e->command, &e->args, &c) ? c.name : e->command;
}

static str either(str first, str second)
{
    return first.n > 0 ? first : second;
}

/* Without a usable token a person has to sign in, no matter how the attempt failed. */
bool bundle_wants_sign_in(const struct bundle *b, int code)
{
    return b->entry.oauth.is_on && (code == -ENOKEY || code == -EACCES || code == -EKEYREJECTED);
}

static int state_code(const struct bundle *b)
{
    return bundle_wants_sign_in(b, b->reason_code) ? -EKEYREJECTED : b->reason_code;
}

const struct bundle_info *bundle_info(struct bundle *b)
{
    bool is_running = b->state == BUNDLE_RUNNING;
    const struct bundle_entry *e = &b->entry;
    str package = package_of(e);
    bool is_program = e->kind == BUNDLE_COMMAND && str_eq(package, e->command);
    b->info = (struct bundle_info){
        .name = e->server_name,
        .kind = e->kind,
        .state = b->state,
        .reason = str_from(b->reason),
        .fault = str_from(fault_of_state(b->state, state_code(b), b->reason)),
        .version = either(b->facts.version, b->server.version),
        .description = either(b->facts.description, b->server.description),
        .author = b->facts.author,
        .title = either(b->facts.title, b->server.title),
        .package = package,
        .is_path = e->kind == BUNDLE_LOCAL || is_program,
        .uptime_ms = is_running ? (int64_t)(clock_mono_ms() - b->running_since_ms) : -1,
        .rss_bytes = is_running ? b->rss_bytes : -1,
        .restarts = b->restarts,
        .failures = b->failures,
        .pid = b->is_ready ? mcp_pid(connections_main(b->connections)) : 0,
        .ntools = b->tools.n,
        .nheld = b->tools.nheld + bundle_instructions_held(b),
        .trust_score = e->trust_score >= 0 ? e->trust_score : b->facts.trust_score,
        .is_protected = e->is_protected,
        .needs_sign_in = e->oauth.is_on && (b->lacks_token || b->wants_rights),
        .sandbox = b->facts.sandbox,
        .era = b->era,
        .protocol_version = b->server.protocol_version,
        .ui = e->ui ? e->ui : b->facts.ui,
        .is_upjack = b->facts.is_upjack,
    };
    return &b->info;
}

const struct bundle_entry *bundle_entry(const struct bundle *b)
{
    return &b->entry;
}

bool bundle_dirs(const struct bundle *b, struct arena *a, struct bundle_dirs *ret)
{
    const char *root = b->set->conf.data_dir;
    if (b->entry.kind == BUNDLE_REMOTE || b->entry.kind == BUNDLE_BUILT_IN)
        return false;
    *ret = (struct bundle_dirs){bundle_data_dir(a, &b->entry, root),
                                bundle_inbox_dir(a, &b->entry, root)};
    return true;
}

str bundle_logs(const struct bundle *b, struct arena *a)
{
    return arena_str(a, stderr_ring_text(&b->stderr_lines));
}

const struct json *bundle_server_capabilities(const struct bundle *b)
{
    return b->state == BUNDLE_RUNNING ? b->server.capabilities : NULL;
}

enum mcp_era bundle_era(const struct bundle *b)
{
    return b->era;
}

unsigned bundle_generation(const struct bundle *b)
{
    return b->generation;
}

str bundle_instructions(const struct bundle *b)
{
    return bundle_instructions_held(b) ? STR_NONE : b->server.instructions;
}

str bundle_instructions_now(const struct bundle *b)
{
    return b->server.instructions;
}

str bundle_instructions_before(const struct bundle *b)
{
    return json_get_string(b->pins.doc, "instructions");
}

const struct held_tool *bundle_held_tools(const struct bundle *b, size_t *ret_n)
{
    *ret_n = b->tools.nheld;
    return b->tools.held;
}

const struct json *bundle_find_tool(const struct bundle *b, str name)
{
    for (size_t i = 0; i < b->tools.n; i++)
        if (str_eq(json_get_string(b->tools.items[i], "name"), name))
            return b->tools.items[i];
    return NULL;
}

/* For a server where each person signs in. */
static str failure_of_person(struct bundle *b, struct arena *a, const struct err *err)
{
    str name = b->entry.server_name;
    if (err->code == -EXDEV)
        return arena_printf(a,
                            "%.*s is used with the account of one person, but several people wrote "
                            "in this conversation; ask for it in a conversation of your own",
                            STR_ARG(name));
    if (err->code == -EBUSY)
        return arena_printf(a, "%.*s is in use by too many people; try again in a moment",
                            STR_ARG(name));
    if (bundle_wants_sign_in(b, err->code))
        return arena_printf(a, "%.*s needs a sign-in for this: %.*s", STR_ARG(name),
                            STR_ARG(bundle_sign_in_advice(b, a)));
    return STR_NONE;
}

str bundle_failure(struct bundle *b, struct arena *a, const struct err *err)
{
    const struct bundle_info *i = bundle_info(b);
    str of_person = bundle_is_per_person(b) ? failure_of_person(b, a, err) : STR_NONE;
    if (of_person.n > 0)
        return of_person;
    bool is_down = i->state == BUNDLE_DEAD || i->state == BUNDLE_STOPPED;
    if (is_down && bundle_wants_sign_in(b, b->reason_code))
        return arena_printf(a, "%.*s is %s: %.*s", STR_ARG(i->name), bundle_state_name(i->state),
                            STR_ARG(bundle_sign_in_advice(b, a)));
    if (bundle_wants_sign_in(b, err->code))
        return arena_printf(a, "%.*s requires more rights for this call: %.*s", STR_ARG(i->name),
                            STR_ARG(bundle_sign_in_advice(b, a)));
    if (is_down)
        return arena_printf(a, "%.*s is %s: %.*s", STR_ARG(i->name), bundle_state_name(i->state),
                            STR_ARG(i->fault));
    return arena_printf(a, "%.*s %s", STR_ARG(i->name), fault_of_request(err->code));
}

bool bundle_is_waiting(const struct bundle *b)
{
    return b->is_waiting;
}

const struct json *const *bundle_tools(const struct bundle *b, size_t *ret_n)
{
    *ret_n = b->tools.n;
    return b->tools.items;
}

const struct json *const *bundle_raw_tools(const struct bundle *b, size_t *ret_n)
{
    *ret_n = b->tools.n;
    return b->tools.raw;
}

void bundle_start(struct bundle *b)
{
    if (b->state == BUNDLE_DEAD || b->state == BUNDLE_STOPPED || b->state == BUNDLE_CRASHED)
        supervise_start(b);
}

void bundle_stop(struct bundle *b)
{
    supervise_stop(b, "stopped by a user");
}

void bundle_restart(struct bundle *b)
{
    supervise_restart(b);
}

/* ---- private connections ---- */

struct guest {
    struct list_node node;
    struct bundle *bundle;
    struct connections *connections;
    struct mcp_client_events ev;
    void *ctx;
};

static void guest_free(struct guest *g)
{
    struct bundles *s = g->bundle->set;
    list_del(&g->node);
    free(g);
    defer_start(s->conf.loop, &s->sweep);
}

static void on_guest_ready(void *ctx)
{
    struct guest *g = ctx;
    if (g->ev.ready)
        g->ev.ready(g->ctx);
}

static void on_guest_closed(void *ctx, const struct err *err)
{
    struct guest g = *(struct guest *)ctx;
    guest_free(ctx);
    g.ev.closed(g.ctx, err);
}

struct connections *bundle_connect(struct bundle *b, const struct mcp_host *host,
                                   const struct mcp_client_events *ev, void *ctx)
{
    static const struct mcp_client_events EVENTS = {on_guest_ready, on_guest_closed};
    if (b->state != BUNDLE_RUNNING || !b->is_ready)
        return NULL;
    struct guest *g = xcalloc(1, sizeof(*g));
    *g = (struct guest){.bundle = b, .ev = *ev, .ctx = ctx};
    list_push(&b->guests, &g->node);
    struct mcp_dial dial = b->dial;
    dial.era = b->era;
    g->connections =
        connections_open(b->set->conf.loop, b->set->conf.fetcher, &dial, host, &EVENTS, g);
    return g->connections;
}

void bundle_disconnect(struct bundle *b, struct connections *p)
{
    LIST_EACH (g, &b->guests, struct guest, node) {
        if (g->connections != p)
            continue;
        connections_abort(p);
        guest_free(g);
    }
}

void bundle_close_guests(struct bundle *b)
{
    LIST_FOREACH (node, &b->guests)
        connections_close(LIST_ENTRY(node, struct guest, node)->connections, 0);
}
