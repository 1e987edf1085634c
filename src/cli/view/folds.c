#include "cli/view/folds.h"

#include <stdlib.h>

#include "base/utf8.h"

static void drop_oldest(struct folds *f)
{
    f->bytes -= f->items[0].n;
    free(f->items[0].title);
    free(f->items[0].text);
    memmove(f->items, f->items + 1, --f->n * sizeof f->items[0]);
}

void folds_done(struct folds *f)
{
    while (f->n > 0)
        drop_oldest(f);
}

size_t folds_add(struct folds *f, str title, str text, bool is_diff)
{
    str kept = utf8_truncate(text, FOLD_BYTES_MAX);
    while (f->n == FOLDS_MAX || (f->n > 0 && f->bytes + kept.n > FOLDS_BYTES_MAX))
        drop_oldest(f);
    f->items[f->n++] = (struct fold){.number = ++f->last,
                                     .is_diff = is_diff,
                                     .title = str_dup(title),
                                     .text = str_dup(kept),
                                     .n = kept.n,
                                     .left_out = text.n - kept.n};
    f->bytes += kept.n;
    return f->last;
}

const struct fold *folds_find(const struct folds *f, size_t number)
{
    for (size_t i = 0; i < f->n; i++)
        if (f->items[i].number == number)
            return &f->items[i];
    return number == 0 && f->n > 0 ? &f->items[f->n - 1] : NULL;
}
