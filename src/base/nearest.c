#include "base/nearest.h"

static char fold_ascii(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

static size_t min(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Rows of the usual table: rows[0] is the one being filled, the others came before it. */
size_t edit_distance(str a, str b)
{
    size_t table[3][NEAREST_WORD_MAX + 1];
    size_t *rows[3] = {table[0], table[1], table[2]};

    a = str_slice(a, 0, NEAREST_WORD_MAX);
    b = str_slice(b, 0, NEAREST_WORD_MAX);
    for (size_t j = 0; j <= b.n; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a.n; i++) {
        size_t *oldest = rows[2];
        rows[2] = rows[1];
        rows[1] = rows[0];
        rows[0] = oldest;
        rows[0][0] = i;
        for (size_t j = 1; j <= b.n; j++) {
            char x = fold_ascii(a.p[i - 1]), y = fold_ascii(b.p[j - 1]);
            size_t d = min(min(rows[1][j], rows[0][j - 1]) + 1, rows[1][j - 1] + (x != y));
            bool is_swap =
                i > 1 && j > 1 && x == fold_ascii(b.p[j - 2]) && y == fold_ascii(a.p[i - 2]);
            rows[0][j] = is_swap ? min(d, rows[2][j - 2] + 1) : d;
        }
    }
    return rows[0][b.n];
}

size_t edit_distance_allowed(str wanted)
{
    return wanted.n / 3 < 2 ? 2 : wanted.n / 3;
}

struct nearest nearest_to(str wanted)
{
    /* Two changes of a word of one or two letters leave nothing of it. */
    size_t allowed = min(edit_distance_allowed(wanted), wanted.n / 2);
    return (struct nearest){.wanted = wanted, .distance = allowed + 1};
}

void nearest_offer(struct nearest *n, const char *word)
{
    size_t distance = edit_distance(n->wanted, str_from(word));
    if (distance >= n->distance)
        return;
    n->best = word;
    n->distance = distance;
}

void nearest_hint(struct err *e, const char *best)
{
    size_t n = strlen(e->msg);
    if (best)
        snprintf(e->msg + n, sizeof(e->msg) - n, "; did you mean '%s'?", best);
}
