#include "base/schema/schema_regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <assert.h>
#include <pcre2.h>

#define MATCH_LIMIT    10000
#define HEAP_LIMIT_KIB 1024

static pcre2_code *compile(str pattern)
{
    const uint32_t options = PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C | PCRE2_DOLLAR_ENDONLY |
                             PCRE2_ALT_BSUX | PCRE2_MATCH_UNSET_BACKREF | PCRE2_ALLOW_EMPTY_CLASS;
    int error;
    PCRE2_SIZE where;

    if (pattern.n > REGEX_PATTERN_MAX)
        return NULL;
    pcre2_compile_context *ctx = pcre2_compile_context_create(NULL);
    if (!ctx)
        return NULL;
    pcre2_set_compile_extra_options(ctx, PCRE2_EXTRA_ALT_BSUX);
    pcre2_code *code = pcre2_compile((PCRE2_SPTR)(pattern.p ? pattern.p : ""), pattern.n, options,
                                     &error, &where, ctx);
    pcre2_compile_context_free(ctx);
    return code;
}

static const struct regex_slot *lookup(struct regex_cache *c, str pattern)
{
    for (unsigned i = 0; i < c->n; i++)
        if (str_eq(c->slots[i].pattern, pattern))
            return &c->slots[i];

    struct regex_slot *slot = &c->slots[c->next];
    c->next = (c->next + 1) % REGEX_CACHE_LEN;
    if (c->n < REGEX_CACHE_LEN)
        c->n++;
    else
        pcre2_code_free(slot->code);
    assert(c->n <= REGEX_CACHE_LEN && slot < &c->slots[c->n]);
    *slot = (struct regex_slot){.pattern = pattern, .code = compile(pattern)};
    return slot;
}

static int search(const pcre2_code *code, str s)
{
    pcre2_match_data *data = pcre2_match_data_create(1, NULL);
    pcre2_match_context *ctx = pcre2_match_context_create(NULL);
    int rc = PCRE2_ERROR_NOMEMORY;

    if (data && ctx) {
        pcre2_set_match_limit(ctx, MATCH_LIMIT);
        pcre2_set_heap_limit(ctx, HEAP_LIMIT_KIB);
        rc = pcre2_match(code, (PCRE2_SPTR)(s.p ? s.p : ""), s.n, 0, 0, data, ctx);
    }
    pcre2_match_context_free(ctx);
    pcre2_match_data_free(data);
    return rc;
}

enum regex_answer regex_search(struct regex_cache *c, str pattern, str s, bool *ret_exhausted)
{
    const struct regex_slot *slot = lookup(c, pattern);
    if (!slot->code)
        return REGEX_UNKNOWN;
    int rc = search(slot->code, s);
    if (rc >= 0)
        return REGEX_YES;
    if (rc == PCRE2_ERROR_NOMATCH)
        return REGEX_NO;
    *ret_exhausted = true;
    return REGEX_UNKNOWN;
}

void regex_cache_done(struct regex_cache *c)
{
    for (unsigned i = 0; i < c->n; i++)
        pcre2_code_free(c->slots[i].code);
    *c = (struct regex_cache){0};
}
