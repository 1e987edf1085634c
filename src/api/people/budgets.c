/* /v1/budgets - what may be spent on models in a month.
 *
 * Everybody sees their own budget, and whether that of the workspace is nearly used up; amounts of
 * the workspace and the limits of other people are for its admins, who set them. */
#include "api/bodies.h"
#include "api/exchange.h"
#include "api/handlers.h"
#include "runtime/budget.h"

struct budget_get {
    struct http_req *req;
    struct budget_wait wait;
};

static void on_get_gone(struct http_req *r)
{
    struct budget_get *g = r->user;
    budgets_forget(&g->wait);
}

static void reply_budgets(struct http_req *r)
{
    struct api_json j;
    api_json_begin(&j);
    budgets_write(api_space(r)->budgets, api_user(r), api_is_admin(r), &j.w);
    api_json_send(&j, r);
}

static void on_spending_known(void *ctx)
{
    struct budget_get *g = ctx;
    reply_budgets(g->req);
}

void api_budgets_get(void *ctx, struct http_req *r)
{
    struct budget_get *g = ARENA_NEW(&r->arena, struct budget_get);
    g->req = r;
    r->user = g;
    r->on_gone = on_get_gone;
    budgets_fresh(api_space(r)->budgets, &g->wait, on_spending_known, g);
}

struct budget_put {
    struct http_req *req;
    struct doc_change *change;
};

static void on_budget_gone(struct http_req *r)
{
    struct budget_put *p = r->user;
    doc_change_forget(p->change);
}

static void on_budget_changed(void *ctx, const struct err *err)
{
    struct budget_put *p = ctx;
    if (err)
        api_fail(p->req, FROM_CHANGE, err);
    else
        reply_budgets(p->req);
}

#define AMOUNT "number|null"

const struct json_field API_BUDGET_FIELDS[] = {
    {"workspaceUsd", JF_JSON, offsetof(struct budget_edit, workspace), 0, NULL, 0,
     "For all members together; null: no limit; absent: as before.", AMOUNT},
    {"personUsd", JF_JSON, offsetof(struct budget_edit, person), 0, NULL, 0,
     "For each member; likewise.", AMOUNT},
    {"people", JF_JSON_OBJECT, offsetof(struct budget_edit, people), 0, NULL, 0,
     "For single people, by their ids; null: as for each member.", "{number|null}"},
    {0}};

void api_budgets_set(void *ctx, struct http_req *r)
{
    struct budget_edit edit = {0};
    if (!api_decode_body(r, API_BUDGET_FIELDS, &edit))
        return;
    for (size_t i = 0; edit.people && i < edit.people->len; i++)
        if (!user_id_ok(edit.people->members[i].key)) {
            api_bad_request(r, "people: expected ids of people");
            return;
        }
    struct budgets *b = api_space(r)->budgets;
    if (!b) {
        api_forbidden(r, "This workspace is opened for reading only.");
        return;
    }
    struct budget_put *p = ARENA_NEW(&r->arena, struct budget_put);
    p->req = r;
    r->user = p;
    r->on_gone = on_budget_gone;
    p->change = budgets_change(b, &edit, on_budget_changed, p);
}
