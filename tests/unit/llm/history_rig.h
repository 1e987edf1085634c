/* history_rig.h - histories as short JSON, for tables of cases.
 *
 *   [["u", {"text": "hi"}], ["a", {"use": "id", "name": "f", "args": "{}"}],
 *    ["u", {"result": "id", "error": true, "parts": [{"text": "no"}]},
 *          {"image": "image/png"}],
 *    ["a", {"opaque": {...}, "provider": "p", "model": "m"}]]
 *
 * Everything lives in the arena. */
#pragma once

#include "llm/llm.h"
#include "support/unit.h"

static inline struct json *rig_json(struct arena *a, const char *text)
{
    struct json *v = NULL;
    struct err e = {0};
    if (json_parse(a, str_from(text), 0, &v, &e) < 0)
        fail_msg("the test's own JSON is broken: %s\n%s", e.msg, text);
    return v;
}

static inline struct llm_block rig_block_of(struct arena *a, const struct json *j)
{
    struct llm_block b = {.type = LLM_TEXT, .text = json_get_string(j, "text")};
    if (json_get(j, "image")) {
        b.type = LLM_IMAGE;
        b.mime = json_get_string(j, "image");
        b.data = json_string(json_get(j, "data"), STR("iVBORw0KGgo="));
    } else if (json_get(j, "pdf")) { /* with its text */
        b.type = LLM_DOCUMENT;
        b.mime = STR("application/pdf");
        b.data = json_get_string(j, "pdf");
        b.name = STR("a.pdf");
    } else if (json_get(j, "use")) {
        b.type = LLM_TOOL_USE;
        b.id = json_get_string(j, "use");
        b.name = json_string(json_get(j, "name"), STR("f"));
        b.args = json_string(json_get(j, "args"), STR("{}"));
        b.args_error = json_get(j, "bad") ? "not valid JSON" : NULL;
    } else if (json_get(j, "result")) {
        const struct json *parts = json_get(j, "parts");
        struct llm_block *list = arena_array(a, 8, sizeof *list);
        b.type = LLM_TOOL_RESULT;
        b.id = json_get_string(j, "result");
        b.is_error = json_get_bool(j, "error", false);
        for (size_t i = 0; parts && i < parts->len; i++)
            list[b.nparts++] = rig_block_of(a, &parts->items[i]);
        b.parts = list;
    } else if (json_get(j, "opaque")) {
        b.type = LLM_OPAQUE;
        b.json = json_get(j, "opaque");
        b.provider = json_string(json_get(j, "provider"), STR("p"));
        b.model = json_string(json_get(j, "model"), STR("m"));
    }
    return b;
}

static inline struct llm_message *rig_history(struct arena *a, const char *text, size_t *ret_n)
{
    const struct json *list = rig_json(a, text);
    struct llm_message *out = arena_array(a, list->len + 1, sizeof *out);
    for (size_t i = 0; i < list->len; i++) {
        const struct json *m = &list->items[i];
        struct llm_block *blocks = arena_array(a, m->len, sizeof *blocks);
        for (size_t k = 1; k < m->len; k++)
            blocks[k - 1] = rig_block_of(a, &m->items[k]);
        bool is_user = str_eq(m->items[0].s, STR("u"));
        out[i] = (struct llm_message){is_user ? LLM_USER : LLM_ASSISTANT, blocks, m->len - 1};
    }
    *ret_n = list->len;
    return out;
}
