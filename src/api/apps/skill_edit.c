/* PUT and DELETE /v1/skills/workspace/:name, /v1/skills/personal/:name - writing skills.
 *
 * Skills of the workspace are part of every member's prompts, so only its admins write them.
 * Personal skills are used only in the runs of the person who wrote them. */
#include <errno.h>

#include "api/exchange.h"
#include "api/handlers.h"
#include "api/trail.h"
#include "runtime/skill_change.h"
#include "skill/edit.h"

struct skill_put {
    struct http_req *req;
    struct skill_change *change;
    bool is_personal, is_deletion;
};

static void on_skill_edit_gone(struct http_req *r)
{
    struct skill_put *p = r->user;
    skill_change_forget(p->change);
}

static void on_skill_edit_changed(void *ctx, const struct err *err)
{
    struct skill_put *p = ctx;
    struct http_req *r = p->req;
    struct api_json j;
    if (err) {
        api_fail(r, FROM_SKILL, err);
        return;
    }
    api_json_begin(&j);
    jw_kstr(&j.w, "name", r->params[0]);
    jw_kstr(&j.w, "scope", p->is_personal ? STR("personal") : STR("workspace"));
    jw_kbool(&j.w, "deleted", p->is_deletion);
    api_json_send(&j, r);
}

static void skill_edit_change(struct api *api, struct http_req *r, bool is_personal, str text)
{
    struct skill_put *p = ARENA_NEW(&r->arena, struct skill_put);
    struct skill_change_spec spec = {
        .name = r->params[0],
        .owner = is_personal ? actor_user(api_actor(r)) : STR_NONE,
        .text = text,
        .by = trail_doer(api, r),
    };
    *p = (struct skill_put){.req = r, .is_personal = is_personal, .is_deletion = text.n == 0};
    r->user = p;
    r->on_gone = on_skill_edit_gone;
    p->change = skill_change_start(api_space(r)->runtime, &spec, on_skill_edit_changed, p);
}

/* A personal skill never replaces a skill of the workspace. */
static int check_personal(const struct http_req *r, struct err *e)
{
    struct skills *common = runtime_skills(api_space(r)->runtime);
    const struct skills *mine = skills_for(common, actor_user(api_actor(r)));
    size_t n = 0;
    for (size_t i = 0; i < skills_len(mine); i++)
        n += skills_at(mine, i)->origin == SKILL_PERSONAL;
    if (skills_find(common, r->params[0]))
        return err_set(e, -EEXIST,
                       "A skill of the workspace already has this name. Choose a different name.");
    if (n >= SKILL_PERSONAL_MAX && !skills_find(mine, r->params[0]))
        return err_set(e, -EEXIST,
                       "You already have %d personal skills, which is the limit. Delete one first.",
                       SKILL_PERSONAL_MAX);
    return 0;
}

static void skill_edit_put(struct api *api, struct http_req *r, bool is_personal)
{
    struct json *body;
    struct skill_draft d = {0};
    struct err e = {0};
    str warning;
    int code = json_parse(&r->arena, r->body, JSON_COPY | JSON_UNIQUE, &body, &e);
    if (code == 0 && body->type != JSON_OBJECT)
        code = err_set(&e, -EINVAL, "The body must be a JSON object.");
    if (code == 0)
        code = skill_draft_from_json(&r->arena, r->params[0], body, &d, &e);
    if (code == 0)
        code = skill_draft_check(&d, &warning, &e);
    if (code < 0)
        api_bad_request(r, e.msg);
    else if (is_personal && check_personal(r, &e) < 0)
        api_fail(r, FROM_SKILL, &e);
    else
        skill_edit_change(api, r, is_personal, skill_draft_render(&r->arena, &d));
}

void api_skills_put(void *ctx, struct http_req *r)
{
    skill_edit_put(ctx, r, false);
}

void api_skills_delete(void *ctx, struct http_req *r)
{
    skill_edit_change(ctx, r, false, STR_NONE);
}

void api_skills_put_personal(void *ctx, struct http_req *r)
{
    skill_edit_put(ctx, r, true);
}

void api_skills_delete_personal(void *ctx, struct http_req *r)
{
    skill_edit_change(ctx, r, true, STR_NONE);
}
