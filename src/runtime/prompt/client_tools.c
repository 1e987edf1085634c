#include "runtime/prompt/client_tools.h"

#include <assert.h>
#include <stdlib.h>

#include "base/json/json_scan.h"
#include "bus/vocabulary.h"

const struct llm_tool *client_tools_find(const struct turn_client *c, str name)
{
    for (size_t i = 0; c && !c->is_toolless && i < c->ntools; i++)
        if (str_eq(c->tools[i].name, name))
            return &c->tools[i];
    return NULL;
}

static int by_name(const void *a, const void *b)
{
    return str_cmp(((const struct llm_tool *)a)->name, ((const struct llm_tool *)b)->name);
}

void client_tools_add(const struct turn_client *c, struct arena *a, const struct llm_tool **tools,
                      size_t *n)
{
    if (c && c->is_toolless)
        *n = 0;
    if (!c || c->is_toolless || c->ntools == 0)
        return;
    struct llm_tool *all = arena_array(a, *n + c->ntools, sizeof *all);
    size_t len = 0;
    for (size_t i = 0; i < *n; i++)
        if (!client_tools_find(c, (*tools)[i].name))
            all[len++] = (*tools)[i];
    memcpy(all + len, c->tools, c->ntools * sizeof *all);
    len += c->ntools;
    assert(len <= *n + c->ntools);
    qsort(all, len, sizeof *all, by_name); /* requests have their tools in this order */
    *tools = all;
    *n = len;
}

/* nb's own calls of such a run have their results: the others are the program's. */
static bool is_waiting(const struct replay_message *m, str id)
{
    for (size_t i = 0; i < m->ntools; i++)
        if (str_eq(m->tools[i].id, id) && !m->tools[i].result)
            return true;
    return false;
}

bool client_tools_may_answer(const struct turn_client *c, const struct replay *h)
{
    const struct replay_message *last = h->n > 0 ? &h->messages[h->n - 1] : NULL;
    str handed_over = str_from(run_stop_name(RUN_STOP_CLIENT_TOOLS));
    if (!c || c->nlines == 0)
        return true;
    if (!last || last->role != REPLAY_ASSISTANT || !str_eq(last->stop_reason, handed_over))
        return false;
    for (size_t i = 0; i < c->nlines; i++) {
        str type = json_scan_plain(json_scan_field(c->lines[i], STR("type")));
        str id = json_scan_plain(json_scan_field(c->lines[i], STR("id")));
        if (!str_eq(type, event_name(EV_TOOL_DONE)) || !is_waiting(last, id))
            return false;
    }
    return true;
}

#define OF_PROGRAM                                                                                 \
    "\n\n## Instructions of the program that sent this request\n\nThe user's program wrote them. " \
    "Follow them where they do not contradict what stands above.\n\n"

str client_tools_prompt(const struct turn_client *c, struct arena *a, str prompt)
{
    if (c && c->system_prompt.n > 0)
        prompt = c->system_prompt;
    if (!c || c->instructions.n == 0)
        return prompt;
    return arena_concat(a, arena_concat(a, prompt, STR(OF_PROGRAM)), c->instructions);
}
