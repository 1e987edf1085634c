#include <errno.h>

#include "base/clock.h"
#include "store/postgres/pg_batch.h"
#include "store/postgres/pg_store.h"

enum { SEPARATOR = 0x1f }; /* between people in a column */

str pg_column_text(struct arena *a, str s)
{
    if (s.n == 0 || (!memchr(s.p, 0, s.n) && !memchr(s.p, SEPARATOR, s.n)))
        return s;
    char *copy = arena_cstr(a, s);
    for (size_t i = 0; i < s.n; i++)
        if (copy[i] == 0 || copy[i] == SEPARATOR)
            copy[i] = ' ';
    return str_make(copy, s.n);
}

void pg_create(struct store_op *op)
{
    op->lines[0] = header_line(&op->arena, op->store, op->id, &op->in.create, clock_now_ms());
    if (op->lines[0].n > 0) {
        op->task.kind = LOG_CREATE;
        pg_batch_submit(op);
        return;
    }
    err_set(&op->err, -E2BIG, "the metadata of a new conversation is too large");
    op_done_later(op);
}

void pg_append(struct store_op *op)
{
    op->task.kind = LOG_APPEND;
    pg_batch_submit(op);
}

void pg_put_blob(struct store_op *op)
{
    op->task.kind = LOG_RUN;
    op->nlines = 0;
    pg_batch_submit(op);
}
