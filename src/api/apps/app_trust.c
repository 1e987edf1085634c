/* POST /v1/apps/:name/approve - an admin accepts tools that are quarantined. */
#include "api/apps/app_trust.h"

#include <errno.h>

#include "api/apps/apps.h"
#include "api/bodies.h"
#include "api/exchange.h"
#include "api/handlers.h"
#include "base/text/hidden.h"

#define APPROVALS_MAX 10000

const char *api_tool_effect(const struct json *annotations)
{
    const struct json *destroys = json_get(annotations, "destructiveHint");
    if (json_get_bool(annotations, "readOnlyHint", false))
        return "reads";
    if (!json_is(destroys, JSON_BOOL))
        return "undeclared";
    return destroys->boolean ? "destroys" : "changes";
}

/* ---- showing ---- */

static void write_changes(struct json_writer *w, struct arena *a, const struct json *before,
                          const struct json *now)
{
    struct pin_change *all = arena_array(a, PIN_CHANGES_MAX, sizeof *all);
    size_t n = pin_diff(a, before, now, all);
    jw_karray(w, "changes");
    for (size_t i = 0; i < n; i++) {
        jw_object(w);
        jw_kstr(w, "field", all[i].field);
        jw_kstr_or_null(w, "before", all[i].before);
        jw_kstr_or_null(w, "after", all[i].after);
        jw_end(w);
    }
    jw_end(w);
}

static void write_held(struct json_writer *w, struct arena *a, const struct held_tool *h)
{
    jw_object(w);
    jw_kstr(w, "name", h->name);
    if (hidden_in(h->name))
        jw_kstr(w, "shownName", hidden_show(a, h->name));
    jw_kstr(w, "why", str_from(pin_why_name(h->why)));
    jw_kstr(w, "detail", h->detail);
    jw_kstr(w, "digest", str_from(h->digest));
    write_changes(w, a, h->before, h->now);
    api_write_strs(w, "warnings", pin_warnings(a, h->now));
    jw_end(w);
}

static void write_instructions(struct json_writer *w, struct arena *a, struct bundle *b)
{
    char digest[SHA256_HEX_LEN + 1];
    str now = bundle_instructions_now(b);
    sha256_hex(now, digest);
    jw_kobject(w, "instructionsChanged");
    jw_kstr(w, "digest", str_from(digest));
    jw_kstr(w, "before", hidden_show(a, bundle_instructions_before(b)));
    jw_kstr(w, "after", hidden_show(a, now));
    api_write_strs(w, "warnings", pin_text_warnings(a, now));
    jw_end(w);
}

void api_write_quarantine(struct json_writer *w, struct arena *a, struct bundle *b)
{
    size_t n;
    const struct held_tool *held = bundle_held_tools(b, &n);
    jw_karray(w, "quarantined");
    for (size_t i = 0; i < n; i++)
        write_held(w, a, &held[i]);
    jw_end(w);
    if (bundle_instructions_held(b))
        write_instructions(w, a, b);
}

/* ---- approving ---- */

struct approval_body {
    const struct json *tools; /* {"name": "digest"} */
    str instructions;         /* digest, or empty */
};

const struct json_field API_APPROVAL_FIELDS[] = {
    {"tools", JF_JSON_OBJECT, offsetof(struct approval_body, tools), 0, NULL, 0,
     "Tools to accept, by name, each with the digest that was shown.", "{string}"},
    {"instructions", JF_STR, offsetof(struct approval_body, instructions), 0, NULL, 0,
     "The digest of the instructions to accept."},
    {0}};

static int approve(struct http_req *r, struct bundle *b, const struct approval_body *body,
                   struct err *e)
{
    size_t n = body->tools ? body->tools->len : 0;
    struct bundle_approval *all = arena_array(&r->arena, n, sizeof *all);
    char digest[SHA256_HEX_LEN + 1];
    if (n > APPROVALS_MAX || (n == 0 && body->instructions.n == 0))
        return err_set(e, -EINVAL,
                       "tools: send {\"name\": \"digest\"} for each tool, as GET /v1/apps/:name "
                       "shows them");
    for (size_t i = 0; i < n; i++)
        all[i] = (struct bundle_approval){body->tools->members[i].key,
                                          json_string(&body->tools->members[i].value, STR_NONE)};
    sha256_hex(bundle_instructions_now(b), digest);
    if (body->instructions.n > 0 && !str_eq(body->instructions, str_from(digest)))
        return err_set(e, -EBUSY, "the instructions have changed since they were shown");
    return bundle_approve(b, all, n, body->instructions.n > 0, e);
}

void api_apps_approve(void *ctx, struct http_req *r)
{
    struct approval_body body = {0};
    struct err e = {0};
    struct api_json j;
    if (!api_apps_may_change(r))
        return;
    struct bundle *b = api_apps_find(r);
    if (!b || !api_decode_body(r, API_APPROVAL_FIELDS, &body))
        return;
    if (approve(r, b, &body, &e) < 0) {
        api_fail(r, FROM_APPROVAL, &e);
        return;
    }
    api_json_begin(&j);
    jw_kstr(&j.w, "name", bundle_info(b)->name);
    jw_kint(&j.w, "toolCount", (int64_t)bundle_info(b)->ntools);
    jw_kint(&j.w, "quarantinedCount", (int64_t)bundle_info(b)->nheld);
    api_write_quarantine(&j.w, &r->arena, b);
    api_json_send(&j, r);
}
