/* /v1/views - opening a view, its state, its end.
 *
 *   POST: the conversation is found and its rules checked; the view watches it from here on
 *     call: in the run in progress (runtime_find_call), else in the log (call_search.h)
 *     tool: its source may still be starting: registry_await
 *     interface: kept (ui_pages_find), else read from its server (ui_read_start)
 *     answer
 *
 * At most one of these is in progress. The view ends when the client disconnects before the answer,
 * and the request is answered with 404 when the view ends before it. */
#include "api/views/view_open.h"

#include <assert.h>

#include "api/bodies.h"
#include "api/handlers.h"
#include "api/views/call_search.h"
#include "api/views/view_json.h"
#include "apps/ui_placement.h"
#include "apps/ui_resource.h"
#include "base/text/plain.h"
#include "bundle/bundle.h"
#include "tools/tool_selection.h"

#define START_WAIT_MS 30000 /* for a source that is starting */

struct open_in {
    str conversation_id, call_id, app, uri;
    int64_t position;
    bool is_apart;
};

struct view_opening {      /* in the request's arena */
    struct list_node node; /* in view->openings */
    struct app_view *view;
    struct http_req *req;
    struct open_in in;
    struct view_layout layout;
    struct call_search *search;
    struct registry_wait *wait;
    struct ui_read *read;
    bool is_state_only; /* GET: only the call is answered */
    bool was_active;    /* the run had the call when the search began */

    str name;    /* of the tool: public */
    str old_uri; /* of the interface, as the log has it */
    struct view_progress call;
};

static struct arena *mem(struct view_opening *o)
{
    return &o->req->arena;
}

/* ---- ends without an answer ---- */

/* From here on the request is answered, or has no client. */
static void leave_view(struct view_opening *o)
{
    call_search_cancel(o->search);
    if (o->wait)
        registry_await_cancel(o->wait);
    if (o->read)
        ui_read_cancel(o->read);
    o->search = NULL;
    o->wait = NULL;
    o->read = NULL;
    o->req->on_gone = NULL;
    list_del(&o->node);
}

void view_openings_end(struct app_view *v)
{
    LIST_EACH (o, &v->openings, struct view_opening, node) {
        leave_view(o);
        api_not_found(o->req, "view");
    }
}

static void on_opening_gone(struct http_req *r)
{
    struct view_opening *o = r->user;
    leave_view(o);
    if (!o->is_state_only)
        view_end(o->view);
}

static void refuse_opening(struct view_opening *o, int status, const char *code, const char *words)
{
    struct app_view *unused = o->is_state_only ? NULL : o->view;
    leave_view(o);
    http_reply_error(o->req, status, code, words, NULL); /* frees o */
    if (unused)
        view_end(unused);
}

/* ---- the answer ---- */

/* What was shown to whom, and what it may contact, so that it can be found out later. */
static void record_opening(struct view_opening *o, const struct ui_page *page)
{
    const struct app_view *v = o->view;
    struct logger *log = v->api->deps.log;
    if (!page)
        return;
    log_info(log, "views", "%s of %.*s shows %.*s of %.*s, sha256 %s", v->id,
             STR_ARG(actor_user(v->watcher.actor)), STR_ARG(v->uri), STR_ARG(v->source),
             page->sha256);
    log_debug(log, "views", "%s: %.*s", v->id,
              STR_ARG(ui_csp_header(mem(o), &v->csp, v->host_origin, v->is_apart)));
    for (size_t i = 0; i < page->meta.csp.dropped.len; i++)
        log_info(log, "views", "%.*s of %.*s wants \"%.*s\", which is refused", STR_ARG(v->uri),
                 STR_ARG(v->source), STR_ARG(plain_line(mem(o), page->meta.csp.dropped.items[i])));
}

/* page NULL: `why` and `message` say why. */
static void answer_opening(struct view_opening *o, const struct ui_page *page, enum ui_problem why,
                           str message)
{
    struct app_view *v = o->view;
    struct api_json j;
    if (page) {
        v->csp = ui_csp_copy(&v->arena, &page->meta.csp);
        v->permissions = page->meta.permissions;
    }
    record_opening(o, page);
    v->is_open = true;
    leave_view(o);
    api_json_begin(&j);
    view_write(&j.w, mem(o), v, &o->layout);
    view_write_page(&j.w, mem(o), page, why, message);
    view_write_progress(&j.w, v, &o->call);
    api_json_send(&j, o->req);
}

/* ---- the interface ---- */

static void on_page_read(void *ctx, struct ui_page *page, enum ui_problem why, str message)
{
    struct view_opening *o = ctx;
    o->read = NULL;
    answer_opening(o, page, why, message);
}

static void open_interface(struct view_opening *o)
{
    struct app_view *v = o->view;
    struct api_space *space = v->watcher.space;
    struct bundle *b = view_bundle(v);
    v->generation = b ? bundle_generation(b) : 0;
    if (!b || v->uri.n == 0) {
        answer_opening(o, NULL, b ? UI_MISSING : UI_UNAVAILABLE,
                       b ? STR("The tool has no interface.")
                         : STR("The app is not installed any more."));
        return;
    }
    str user_id = actor_sole_user(v->watcher.actor);
    bool is_own = bundle_is_per_person(b), is_placement = v->call_id.n == 0;
    struct ui_page *page =
        ui_pages_find(space->pages, v->source, is_own ? user_id : STR_NONE, v->uri, is_placement);
    if (page)
        answer_opening(o, page, UI_OK, STR_NONE);
    else
        o->read = ui_read_start(space->pages, b, user_id, v->uri, is_placement, on_page_read, o);
}

/* ---- the tool ---- */

/* The source that had the tool when it was called, if the tool is not there now. */
static void use_absent_tool(struct view_opening *o)
{
    struct app_view *v = o->view;
    struct registry *tools = v->watcher.space->tools;
    v->source = arena_str(&v->arena, registry_source_of(tools, o->name));
    v->uri = arena_str(&v->arena, o->old_uri);
    if (!tool_selection_allows_name(v->watcher.actor, o->name))
        refuse_opening(o, 403, NULL, "This token does not allow that tool.");
    else if (v->source.n == 0)
        answer_opening(o, NULL, UI_UNAVAILABLE, STR("The app is not installed any more."));
    else
        open_interface(o);
}

static void use_tool(void *ctx)
{
    struct view_opening *o = ctx;
    struct app_view *v = o->view;
    struct registry *tools = v->watcher.space->tools;
    const struct toolset_item *it =
        registry_find(tools, o->name, o->call.input, actor_is_admin(v->watcher.actor));
    bool is_coming;
    bool is_first = !o->wait;
    o->wait = NULL;
    (void)registry_absence(tools, mem(o), registry_source_of(tools, o->name), &is_coming);
    if (!it && is_coming && is_first) {
        o->wait =
            registry_await(tools, registry_source_of(tools, o->name), START_WAIT_MS, use_tool, o);
        return;
    }
    if (!it) {
        use_absent_tool(o);
        return;
    }
    if (!tool_selection_may_call(v->watcher.actor, false, it)) {
        refuse_opening(o, 403, NULL, "This token does not allow that tool.");
        return;
    }
    v->source = arena_str(&v->arena, it->source);
    v->tool = arena_str(&v->arena, it->tool->name);
    v->uri = arena_str(&v->arena, it->tool->ui_uri.n > 0 ? it->tool->ui_uri : o->old_uri);
    open_interface(o);
}

/* ---- the call ---- */

static void answer_state(struct view_opening *o)
{
    struct api_json j;
    leave_view(o);
    api_json_begin(&j);
    view_write_progress(&j.w, o->view, &o->call);
    api_json_send(&j, o->req);
}

static void have_call(struct view_opening *o)
{
    if (o->is_state_only)
        answer_state(o);
    else
        use_tool(o);
}

static enum view_state state_of_call(const struct stored_call *c, bool is_active)
{
    if (c->is_cancelled)
        return VIEW_CANCELLED;
    if (c->result)
        return VIEW_DONE;
    if (is_active)
        return VIEW_RUNNING;
    return c->is_asking ? VIEW_PREPARING : VIEW_CANCELLED;
}

static str first_text(const struct json *result)
{
    return json_get_string(json_at(json_get(result, "content"), 0), "text");
}

static void search_log(struct view_opening *o, bool is_active);

static void on_call_searched(void *ctx, const struct err *err, const struct stored_call *c)
{
    struct view_opening *o = ctx;
    struct app_view *v = o->view;
    struct run_call_state active;
    bool is_active =
        runtime_find_call(v->watcher.space->runtime, v->conversation_id, v->call_id, &active);
    o->search = NULL;
    if (!err && !c->result && o->was_active && !is_active) {
        search_log(o, false); /* what was read is older than the result, which is stored now */
        return;
    }
    if (err || c->name.n == 0) {
        refuse_opening(o, err ? 500 : 404, err ? "storage_error" : "call_not_found",
                       err ? "The conversation could not be read."
                           : "The conversation has no such tool call.");
        return;
    }
    o->call.state = state_of_call(c, is_active);
    o->name = c->name;
    o->old_uri = ui_is_address(c->uri) ? c->uri : STR_NONE; /* the log may be imported */
    o->call.input = c->input;
    o->call.result = c->result;
    if (o->call.state == VIEW_CANCELLED)
        o->call.reason =
            c->result ? first_text(c->result) : STR("The run ended before the tool had answered.");
    v->position = c->position;
    have_call(o);
}

static void search_log(struct view_opening *o, bool is_active)
{
    struct app_view *v = o->view;
    o->was_active = is_active;
    o->search = call_search_start(v->watcher.space->store, mem(o), v->conversation_id, v->call_id,
                                  v->position, on_call_searched, o);
}

/* The call of a run in progress may not be in the log yet. */
static void find_call(struct view_opening *o)
{
    struct app_view *v = o->view;
    struct run_call_state c;
    struct json *args;
    bool is_active =
        runtime_find_call(v->watcher.space->runtime, v->conversation_id, v->call_id, &c);
    if (!is_active || c.is_done) {
        search_log(o, is_active);
        return;
    }
    o->call.state = c.is_started ? VIEW_RUNNING : VIEW_PREPARING;
    o->name = arena_str(mem(o), c.name);
    if (c.args.n > 0 && json_parse(mem(o), c.args, JSON_COPY, &args, NULL) == 0)
        o->call.input = args;
    have_call(o);
}

/* ---- POST /v1/views ---- */

const struct json_field API_VIEW_FIELDS[] = {
    {"conversationId", JF_STR, offsetof(struct open_in, conversation_id), JF_NULLABLE, NULL, 0,
     "The conversation of the call whose interface is opened."},
    {"callId", JF_STR, offsetof(struct open_in, call_id), JF_NULLABLE, NULL, 0, "The call."},
    {"position", JF_INT, offsetof(struct open_in, position), JF_NULLABLE, NULL, 0,
     "Where the call is in the log, as the history says; finds it sooner."},
    {"isApart", JF_BOOL, offsetof(struct open_in, is_apart), JF_NULLABLE, NULL, 0,
     "The interface is shown outside of the conversation."},
    {"app", JF_STR, offsetof(struct open_in, app), JF_NULLABLE, NULL, 0,
     "Instead of a call: the app,"},
    {"uri", JF_STR, offsetof(struct open_in, uri), JF_NULLABLE, NULL, 0,
     "and the address of its placement."},
    {0}};

static void begin_opening(struct view_opening *o, struct app_view *v, struct http_req *r)
{
    o->view = v;
    o->req = r;
    list_push(&v->openings, &o->node);
    r->user = o;
    r->on_gone = on_opening_gone;
}

static struct app_view *begin_view(struct view_opening *o, struct api *api, struct http_req *r)
{
    struct app_view *v = view_new(api, r);
    begin_opening(o, v, r);
    v->host_origin = arena_str(&v->arena, o->layout.page_origin);
    v->is_apart = o->layout.is_apart;
    return v;
}

static void open_call(struct api_wait *w, const struct conv *c)
{
    struct view_opening *o = w->data;
    struct app_view *v = begin_view(o, w->api, w->req);
    v->conversation_id = arena_str(&v->arena, c->id);
    v->call_id = arena_str(&v->arena, o->in.call_id);
    v->position = o->in.position > 0 ? (store_pos)o->in.position : 0;
    view_enter(v, c);
    find_call(o);
}

/* The placement that the request names, or the first one; NULL: the app has none such. */
static const struct ui_placement *find_placement(struct http_req *r, const struct open_in *in)
{
    struct bundles *all = api_space(r)->bundles;
    struct bundle *b = all ? bundles_find(all, in->app) : NULL;
    const struct bundle_info *info = b ? bundle_info(b) : NULL;
    const struct ui_placement *found;
    if (!info || !tool_selection_may_use_source(api_actor(r), in->app))
        return NULL;
    size_t n = ui_placements_read(&r->arena, info->ui, info->name, &found);
    for (size_t i = 0; i < n; i++)
        if (in->uri.n == 0 || str_eq(found[i].uri, in->uri))
            return &found[i];
    return NULL;
}

static void open_placement(struct api *api, struct http_req *r, struct view_opening *o)
{
    const struct ui_placement *p = find_placement(r, &o->in);
    if (!p) {
        http_reply_error(r, 404, "placement_not_found", "The app has no such placement.", NULL);
        return;
    }
    struct app_view *v = begin_view(o, api, r);
    v->source = arena_str(&v->arena, o->in.app);
    v->uri = arena_str(&v->arena, p->uri);
    o->call.state = VIEW_DONE;
    open_interface(o);
}

#define CALL_ID_MAX 256

void api_views_open(void *ctx, struct http_req *r)
{
    struct view_opening *o = ARENA_NEW(&r->arena, struct view_opening);
    o->in.is_apart = true;
    if (!api_decode_body(r, API_VIEW_FIELDS, &o->in))
        return;
    o->layout = view_layout(ctx, r, !o->in.is_apart);
    if (o->in.app.n > 0 && o->in.conversation_id.n == 0) {
        open_placement(ctx, r, o);
        return;
    }
    if (o->in.conversation_id.n == 0 || o->in.call_id.n == 0 || o->in.call_id.n > CALL_ID_MAX) {
        api_bad_request(r, "expected conversationId and callId, or app");
        return;
    }
    api_find_conv_named(ctx, r, store_id_meant(o->in.conversation_id), o, open_call);
}

/* ---- GET and DELETE /v1/views/:view ---- */

void api_views_get(void *ctx, struct http_req *r)
{
    struct app_view *v = view_of_request(ctx, r);
    if (!v)
        return;
    struct view_opening *o = ARENA_NEW(&r->arena, struct view_opening);
    o->is_state_only = true;
    begin_opening(o, v, r);
    o->call.state = VIEW_DONE;
    if (v->call_id.n > 0)
        find_call(o);
    else
        answer_state(o);
}

void api_views_close(void *ctx, struct http_req *r)
{
    struct app_view *v = view_of_request(ctx, r);
    if (!v)
        return;
    view_end(v);
    api_reply_ok(r);
}
