#include "api/views/view_json.h"

#include "api/views/view_rpc.h"
#include "base/text/plain.h"
#include "bundle/bundle.h"

static void write_csp(struct json_writer *w, const struct ui_csp *csp)
{
    jw_kobject(w, "csp");
    api_write_strs(w, "connectDomains", csp->connect);
    api_write_strs(w, "resourceDomains", csp->resource);
    api_write_strs(w, "frameDomains", csp->frame);
    api_write_strs(w, "baseUriDomains", csp->base_uri);
    jw_end(w);
}

static void write_resource(struct json_writer *w, struct arena *a, const struct ui_page *page)
{
    jw_kobject(w, "resource");
    jw_kstr(w, "uri", page->uri);
    jw_kstr(w, "html", page->html);
    write_csp(w, &page->meta.csp);
    ui_write_permissions(w, "permissions", page->meta.permissions);
    jw_key(w, "prefersBorder");
    if (page->meta.border == UI_BORDER_ANY)
        jw_null(w);
    else
        jw_bool(w, page->meta.border == UI_BORDER_SHOWN);
    jw_karray(w, "dropped");
    for (size_t i = 0; i < page->meta.csp.dropped.len; i++)
        jw_str(w, plain_line(a, page->meta.csp.dropped.items[i]));
    jw_end(w);
    jw_kstr(w, "sha256", str_from(page->sha256));
    jw_end(w);
}

void view_write_page(struct json_writer *w, struct arena *a, const struct ui_page *page,
                     enum ui_problem why, str message)
{
    if (page) {
        write_resource(w, a, page);
        jw_key(w, "problem");
        jw_null(w);
        return;
    }
    jw_key(w, "resource");
    jw_null(w);
    jw_kobject(w, "problem");
    jw_kcstr(w, "code", ui_problem_code(why));
    jw_kstr(w, "message", plain_line(a, message));
    jw_end(w);
}

static void write_sandbox(struct json_writer *w, struct arena *a, const struct app_view *v,
                          const struct view_layout *l)
{
    jw_kobject(w, "sandbox");
    jw_kstr(w, "url", arena_printf(a, "%.*s/sandbox/%s", STR_ARG(l->base), v->id));
    jw_kstr(w, "origin", l->is_apart ? l->origin : STR("null"));
    jw_kbool(w, "isApart", l->is_apart);
    jw_end(w);
}

static void write_kinds(struct json_writer *w, const char *key, const char *const *kinds)
{
    jw_kobject(w, key);
    for (; *kinds; kinds++) {
        jw_kobject(w, *kinds);
        jw_end(w);
    }
    jw_end(w);
}

/* What is done for the interface, here and in the page. */
static void write_capabilities(struct json_writer *w, const struct app_view *v)
{
    static const char *const ALWAYS[] = {"openLinks", "downloadFile", "serverTools",
                                         "serverResources", "logging"};
    static const char *const MESSAGE[] = {"text", NULL};
    static const char *const CONTEXT[] = {"text", "structuredContent", NULL};
    jw_kobject(w, "hostCapabilities");
    for (size_t i = 0; i < ARRAY_LEN(ALWAYS); i++) {
        jw_kobject(w, ALWAYS[i]);
        jw_end(w);
    }
    if (v->conversation_id.n > 0) {
        write_kinds(w, "message", MESSAGE);
        write_kinds(w, "updateModelContext", CONTEXT);
        jw_kobject(w, "sampling");
        jw_end(w);
    }
    if (view_has_tasks(v)) {
        jw_key(w, "tasks");
        jw_raw(w, STR("{\"cancel\":{},\"requests\":{\"tools\":{\"call\":{}}}}"));
    }
    jw_kobject(w, "sandbox");
    ui_write_permissions(w, "permissions", v->permissions);
    write_csp(w, &v->csp);
    jw_end(w);
    jw_end(w);
}

void view_write(struct json_writer *w, struct arena *a, const struct app_view *v,
                const struct view_layout *l)
{
    struct bundle *b = view_bundle(v);
    str title = b ? bundle_info(b)->title : STR_NONE;
    jw_kcstr(w, "viewId", v->id);
    jw_kstr(w, "app", v->source);
    jw_kstr(w, "title", plain_line(a, title.n > 0 ? title : v->source));
    jw_kstr_or_null(w, "conversationId", v->conversation_id);
    jw_kstr_or_null(w, "callId", v->call_id);
    jw_kval(w, "tool", b && v->tool.n > 0 ? bundle_find_tool(b, v->tool) : NULL);
    write_sandbox(w, a, v, l);
    jw_kobject(w, "hostInfo");
    jw_kstr(w, "name", v->api->deps.config->apps.host_name);
    jw_kcstr(w, "version", NB_VERSION);
    jw_end(w);
    write_capabilities(w, v);
}

void view_write_progress(struct json_writer *w, const struct app_view *v,
                         const struct view_progress *p)
{
    static const char *const STATES[] = {[VIEW_PREPARING] = "preparing",
                                         [VIEW_RUNNING] = "running",
                                         [VIEW_DONE] = "done",
                                         [VIEW_CANCELLED] = "cancelled"};
    bool is_placement = v->call_id.n == 0;
    jw_kcstr(w, "state", STATES[p->state]);
    jw_key(w, "arguments");
    if (json_is(p->input, JSON_OBJECT))
        jw_value(w, p->input);
    else if (is_placement || p->state == VIEW_PREPARING)
        jw_null(w);
    else
        jw_raw(w, STR("{}"));
    jw_kval(w, "result", p->state == VIEW_DONE ? p->result : NULL);
    jw_kstr(w, "reason", p->reason);
}
