/* tools_text.c - the list of tools as it stands in requests: kept between calls, and found in the
 * errors of servers. */
#include <ctype.h>

#include "base/json/json_scan.h"
#include "llm/call/llm_impl.h"
#include "llm/call/outline.h"

str tools_text_get(const struct tools_text *t, const struct provider *p, str key)
{
    bool is_known = key.n > 0 && t->provider == p && str_eq(key, str_from(t->key));
    return is_known ? buf_str(&t->json) : STR_NONE;
}

void tools_text_keep(struct tools_text *t, const struct provider *p, str key, str body)
{
    str tools =
        key.n > 0 && key.n <= TOOLS_KEY_MAX ? json_scan_field(body, STR("tools")) : STR_NONE;
    if (tools.n == 0)
        return;
    buf_done(&t->json);
    buf_init(&t->json, LLM_BODY_MAX);
    (void)buf_add_str(&t->json, tools);
    memcpy(t->key, key.p, key.n);
    t->key[key.n] = '\0';
    t->provider = p;
    t->sum = outline_sum(tools);
}

/* "tools.3.custom.input_schema: ...", "tools[3].function.parameters" or
 * "tools[0].function_declarations[3].parameters": one tool that the server refuses must not make
 * all others unusable. */
bool tools_text_names_bad(str text, size_t *ret_index)
{
    uint64_t index;
    static const str LISTS[] = {STR_INIT("function_declarations"), STR_INIT("functionDeclarations"),
                                STR_INIT("tools")};
    ptrdiff_t at = -1;
    size_t list = 0;
    while (list < ARRAY_LEN(LISTS) && (at = str_find(text, LISTS[list], 0)) < 0)
        list++;
    if (at < 0)
        return false;
    str rest = str_skip(text, (size_t)at + LISTS[list].n);
    if (rest.n == 0 || (rest.p[0] != '.' && rest.p[0] != '['))
        return false;
    rest = str_skip(rest, 1);
    size_t digits = 0;
    while (digits < rest.n && isdigit((unsigned char)rest.p[digits]))
        digits++;
    if (parse_u64(str_slice(rest, 0, digits), &index) < 0)
        return false;
    *ret_index = (size_t)index;
    return true;
}
