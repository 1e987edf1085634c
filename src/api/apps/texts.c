/* /v1/instructions, /v1/prompts - what people write for the agent in advance.
 *
 * Texts of the workspace reach every member's runs, so only its admins write them. Nobody reads or
 * writes the texts of another person, admins neither. */
#include "workspace/texts.h"

#include <assert.h>
#include <errno.h>

#include "api/bodies.h"
#include "api/exchange.h"
#include "api/handlers.h"

/* ---- reading ---- */

void api_instructions_get(void *ctx, struct http_req *r)
{
    const struct texts *t = api_space(r)->texts;
    struct api_json j;
    api_json_begin(&j);
    jw_key(&j.w, "personal");
    texts_write_instructions(t, api_user(r), &j.w);
    jw_key(&j.w, "workspace");
    texts_write_instructions(t, STR_NONE, &j.w);
    jw_kint(&j.w, "maxBytes", TEXTS_INSTRUCTIONS_MAX);
    jw_kbool(&j.w, "mayEditWorkspace", api_is_admin(r));
    api_json_send(&j, r);
}

void api_prompts_list(void *ctx, struct http_req *r)
{
    const struct texts *t = api_space(r)->texts;
    struct api_json j;
    api_json_begin(&j);
    jw_karray(&j.w, "prompts");
    texts_write_prompts(t, api_user(r), &j.w);
    texts_write_prompts(t, STR_NONE, &j.w);
    jw_end(&j.w);
    jw_kbool(&j.w, "mayEditWorkspace", api_is_admin(r));
    api_json_send(&j, r);
}

/* ---- writing ---- */

struct text_put {
    struct http_req *req;
    struct doc_change *change;
};

static void on_text_gone(struct http_req *r)
{
    struct text_put *p = r->user;
    doc_change_forget(p->change);
}

static void on_text_changed(void *ctx, const struct err *err)
{
    struct text_put *p = ctx;
    if (err)
        api_fail(p->req, FROM_CHANGE, err);
    else
        api_reply_ok(p->req);
}

static void change_text(struct http_req *r, struct text_edit edit)
{
    struct texts *t = api_space(r)->texts;
    struct err e = {0};
    if (!t) {
        err_set(&e, -EROFS, "This workspace is opened for reading only.");
        api_fail(r, FROM_CHANGE, &e);
        return;
    }
    struct text_put *p = ARENA_NEW(&r->arena, struct text_put);
    p->req = r;
    assert(!r->user && !r->on_gone);
    r->user = p;
    r->on_gone = on_text_gone;
    edit.by = api_user(r);
    p->change = texts_change(t, &edit, on_text_changed, p);
}

struct instructions_body {
    str text;
};

const struct json_field API_INSTRUCTIONS_FIELDS[] = {
    {"text", JF_STR, offsetof(struct instructions_body, text), JF_REQUIRED, NULL, 0,
     "Up to 8,000 bytes; empty: there are none any more."},
    {0}};

static void put_instructions(struct http_req *r, str owner)
{
    struct instructions_body in = {0};
    if (api_decode_body(r, API_INSTRUCTIONS_FIELDS, &in))
        change_text(r, (struct text_edit){.owner = owner, .text = in.text});
}

void api_instructions_put(void *ctx, struct http_req *r)
{
    put_instructions(r, STR_NONE);
}

void api_instructions_put_personal(void *ctx, struct http_req *r)
{
    put_instructions(r, api_user(r));
}

struct saved_prompt_body {
    str description, text;
};

const struct json_field API_SAVED_PROMPT_FIELDS[] = {
    {"text", JF_STR, offsetof(struct saved_prompt_body, text), JF_REQUIRED, NULL, 0,
     "Up to 16 KiB. {{name}} is a variable."},
    {"description", JF_STR, offsetof(struct saved_prompt_body, description), JF_NULLABLE, NULL, 0,
     "One line for lists."},
    {0}};

static void put_prompt(struct http_req *r, str owner)
{
    struct saved_prompt_body in = {0};
    if (!api_decode_body(r, API_SAVED_PROMPT_FIELDS, &in))
        return;
    if (str_trim(in.text).n == 0)
        api_bad_request(r, "text: must not be empty");
    else
        change_text(r, (struct text_edit){.owner = owner,
                                          .name = r->params[0],
                                          .description = in.description,
                                          .text = in.text});
}

void api_prompts_put(void *ctx, struct http_req *r)
{
    put_prompt(r, STR_NONE);
}

void api_prompts_put_personal(void *ctx, struct http_req *r)
{
    put_prompt(r, api_user(r));
}

void api_prompts_delete(void *ctx, struct http_req *r)
{
    change_text(r, (struct text_edit){.name = r->params[0]});
}

void api_prompts_delete_personal(void *ctx, struct http_req *r)
{
    change_text(r, (struct text_edit){.owner = api_user(r), .name = r->params[0]});
}
