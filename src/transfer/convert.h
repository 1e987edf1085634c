/* convert.h - copies all conversations of one store into another: jsonl to postgres, and back.
 *
 * It uses only the interface of the stores, so any two stores work. Ids, times, events, notes,
 * sharing, lineage and blobs are kept; the target assigns new positions, and computes a new hash
 * chain if it has one. Each copy is compared with its original (compare.h). A conversation that the
 * target already has is compared too: if it is the beginning of the original, because a conversion
 * was interrupted, it is copied again; otherwise it is not changed, and is counted.
 * The source is only read. Data that cannot be converted (lines that are not events, missing blobs)
 * is listed in the report. Loop thread. */
#pragma once

#include "store/store.h"

#define CONVERT_LOSSES_MAX 100

struct convert_report {
    int64_t total; /* conversations in the source; -1 = not known yet */
    int64_t converted, existing, failed;
    int64_t events, blobs;
    int64_t lost;
    str losses[CONVERT_LOSSES_MAX]; /* "id: what" */
    size_t nlosses;
};

struct convert_spec {
    struct store *from, *to;
    str id; /* empty = all */
    /* May be NULL. Called after every conversation. */
    void (*progress)(void *ctx, const struct convert_report *r);
};

/* err: the error that stopped the conversion; conversations that failed alone are losses. */
typedef void (*convert_done_fn)(void *ctx, const struct err *err, const struct convert_report *r);

struct convert;

struct convert *convert_run(const struct convert_spec *spec, convert_done_fn fn, void *ctx);
