#include "tools/suggest.h"

#include <assert.h>

#include "base/nearest.h"

/* Distances start above every containment score. */
#define SCORE_CONTAINED 0
#define SCORE_CONTAINS  1
#define SCORE_DISTANCE  2
#define SCORE_NONE      SIZE_MAX
#define CONTAINED_MIN   3 /* shorter fragments are in nearly every name */

static size_t score_one(str candidate, str wanted)
{
    if (wanted.n >= CONTAINED_MIN && str_find_nocase(candidate, wanted) >= 0)
        return SCORE_CONTAINED;
    if (candidate.n >= CONTAINED_MIN && str_find_nocase(wanted, candidate) >= 0)
        return SCORE_CONTAINS;
    size_t allowed = edit_distance_allowed(wanted);
    size_t apart = candidate.n > wanted.n ? candidate.n - wanted.n : wanted.n - candidate.n;
    if (apart > allowed)
        return SCORE_NONE;
    size_t distance = edit_distance(candidate, wanted);
    return distance <= allowed ? SCORE_DISTANCE + distance : SCORE_NONE;
}

/* Compares with the whole name and with the part after the source: models often leave out or invent
 * the source. */
static size_t score(const struct toolset_item *it, str wanted)
{
    ptrdiff_t sep = str_find(wanted, STR("__"), 0);
    str bare = sep < 0 ? wanted : str_skip(wanted, (size_t)sep + 2);
    size_t whole = score_one(it->name, wanted);
    size_t part = bare.n ? score_one(it->tool->name, bare) : SCORE_NONE;
    return whole < part ? whole : part;
}

size_t suggest_tools(const struct toolset *t, str wanted, bool is_admin,
                     const struct toolset_item *out[SUGGEST_MAX])
{
    size_t scores[SUGGEST_MAX], n = 0;

    wanted = str_slice(wanted, 0, TOOL_NAME_MAX);
    if (wanted.n == 0)
        return 0;
    for (size_t i = 0; i < t->len; i++) {
        const struct toolset_item *it = &t->items[i];
        if (it->tool->is_internal || (it->tool->is_admin_only && !is_admin))
            continue;
        size_t s = score(it, wanted), at = n;
        while (at > 0 && scores[at - 1] > s) /* equal scores stay in name order */
            at--;
        if (s == SCORE_NONE || at >= SUGGEST_MAX)
            continue;
        size_t moved = (n < SUGGEST_MAX ? n : SUGGEST_MAX - 1) - at;
        memmove(&out[at + 1], &out[at], moved * sizeof(out[0]));
        memmove(&scores[at + 1], &scores[at], moved * sizeof(scores[0]));
        out[at] = it;
        scores[at] = s;
        n += n < SUGGEST_MAX;
    }
    assert(n <= SUGGEST_MAX);
    return n;
}
