/* GET /v1/skills, POST /v1/skills/match - the skills of the agent, and which one a message
 * selects. */
#include "api/apps/skills.h"

#include <assert.h>

#include "api/bodies.h"
#include "api/exchange.h"
#include "api/handlers.h"
#include "tools/tool_selection.h"

/* Skill files are read again before each response, as before a turn. */
struct skills_request {
    struct runtime *runtime;
    struct http_req *req; /* NULL = the client disconnected */
    struct skill_check check;
    void (*reply)(struct skills_request *q, const struct skills *s);
    struct arena arena;
    str message;
};

static void on_fresh(void *ctx)
{
    struct skills_request *q = ctx;
    if (q->req)
        q->reply(q, skills_for(runtime_skills(q->runtime), actor_user(api_actor(q->req))));
    arena_done(&q->arena);
    free(q);
}

static void on_skills_gone(struct http_req *r)
{
    struct skills_request *q = r->user;
    q->req = NULL;
}

static void skills_start(struct http_req *r, str message,
                         void (*reply)(struct skills_request *q, const struct skills *s))
{
    struct skills_request *q = xcalloc(1, sizeof *q);
    arena_init(&q->arena);
    q->runtime = api_space(r)->runtime;
    q->req = r;
    q->reply = reply;
    q->message = arena_str(&q->arena, message);
    assert(!r->user && !r->on_gone);
    r->user = q;
    r->on_gone = on_skills_gone;
    runtime_reload_skills(q->runtime, &q->check, on_fresh, q);
}

/* ---- the list ---- */

/* Paths and problems of files are shown to admins only. */
static void write_skill(struct json_writer *w, const struct skill *s, bool is_admin)
{
    jw_object(w);
    jw_kstr(w, "name", s->name);
    jw_kstr(w, "description", s->description);
    jw_kstr(w, "version", s->version);
    jw_kstr(w, "type", str_from(skill_type_name(s->type)));
    jw_kint(w, "priority", s->priority);
    jw_kstr(w, "source", str_from(skill_origin_name(s->origin)));
    if (is_admin && s->origin != SKILL_PERSONAL)
        jw_kstr(w, "path", s->path);
    api_write_strs(w, "allowedTools", s->allowed_tools);
    api_write_strs(w, "requiresBundles", s->requires_bundles);
    api_write_strs(w, "triggers", s->triggers);
    api_write_strs(w, "keywords", s->keywords);
    api_write_strs(w, "tags", s->tags);
    jw_kstr(w, "category", s->category);
    jw_kstr(w, "author", s->author);
    jw_kstr(w, "body", s->body);
    jw_end(w);
}

static void write_problem(struct json_writer *w, const struct skill_problem *p)
{
    jw_object(w);
    jw_kstr(w, "severity", p->severity == SKILL_ERROR ? STR("error") : STR("warning"));
    jw_kstr(w, "path", p->path);
    jw_kint(w, "line", p->line);
    jw_kstr(w, "message", p->message);
    jw_end(w);
}

/* A skill for tools that the token does not allow is hidden, like the tools. */
static bool is_of_use(const struct http_req *r, const struct skill *s)
{
    for (size_t i = 0; i < s->allowed_tools.len; i++)
        if (tool_selection_allows_name(api_actor(r), s->allowed_tools.items[i]))
            return true;
    return s->allowed_tools.len == 0;
}

static void reply_list(struct skills_request *q, const struct skills *s)
{
    const struct skill_problems *problems = skills_problems(runtime_skills(q->runtime));
    bool is_admin = api_is_admin(q->req);
    struct api_json j;
    api_json_begin(&j);
    jw_karray(&j.w, "skills");
    for (size_t i = 0; i < skills_len(s); i++)
        if (is_of_use(q->req, skills_at(s, i)))
            write_skill(&j.w, skills_at(s, i), is_admin);
    jw_end(&j.w);
    jw_karray(&j.w, "problems");
    for (size_t i = 0; is_admin && i < problems->len; i++)
        write_problem(&j.w, &problems->items[i]);
    jw_end(&j.w);
    api_json_send(&j, q->req);
}

void api_skills_list(void *ctx, struct http_req *r)
{
    skills_start(r, STR_NONE, reply_list);
}

/* ---- matching a message ---- */

void api_write_match(struct json_writer *w, const struct skill_match *m)
{
    static const char *const PHASES[] = {
        [SKILL_NO_MATCH] = NULL, [SKILL_BY_TRIGGER] = "trigger", [SKILL_BY_KEYWORDS] = "keywords"};
    jw_object(w);
    jw_kstr_or_null(w, "skill", m->skill ? m->skill->name : STR_NONE);
    jw_kcstr(w, "phase", PHASES[m->phase]);
    jw_kint(w, "keywordsNeeded", SKILL_KEYWORDS_MIN);
    jw_karray(w, "candidates");
    for (size_t i = 0; i < m->n_hits; i++) {
        jw_object(w);
        jw_kstr(w, "skill", m->hits[i].skill->name);
        jw_kstr_or_null(w, "trigger", m->hits[i].trigger);
        api_write_strs(w, "keywords", m->hits[i].keywords);
        jw_end(w);
    }
    jw_end(w);
    jw_end(w);
}

static void reply_match(struct skills_request *q, const struct skills *s)
{
    struct skill_match m = skills_match(s, &q->arena, q->message);
    struct api_json j;
    api_json_value(&j);
    api_write_match(&j.w, &m);
    api_json_send(&j, q->req);
}

struct match_body {
    str message;
};

const struct json_field API_MATCH_FIELDS[] = {{"message", JF_STR,
                                               offsetof(struct match_body, message), JF_REQUIRED,
                                               NULL, 0, "The message to find a skill for."},
                                              {0}};

void api_skills_match(void *ctx, struct http_req *r)
{
    struct match_body in = {0};
    if (api_decode_body(r, API_MATCH_FIELDS, &in))
        skills_start(r, str_slice(in.message, 0, SKILL_MESSAGE_MAX), reply_match);
}
