/* convert.h - all conversations of one store into another: jsonl to folder, and back.
 *
 * Works through the interface of the stores, so any two will do. Ids, times, events, notes,
 * sharing, lineage and blobs are kept; positions are the target's own, and a hash chain is
 * computed anew when the target has one. What the target already holds is left alone and
 * counted. The source is only read. What could not be taken over (lines that are no events,
 * missing blobs) is named in the report. Loop thread. */
#pragma once

#include "store/store.h"

#define CONVERT_LOSSES_MAX 100

struct convert_report {
    int64_t total; /* conversations in the source; -1 until it is known */
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

/* err: the first thing that stopped the work; single conversations that failed are losses. */
typedef void (*convert_done_fn)(void *ctx, const struct err *err, const struct convert_report *r);

struct convert;

struct convert *convert_run(const struct convert_spec *spec, convert_done_fn fn, void *ctx);
/* No callback afterwards. What is whole stays; the conversation under way is taken back. */
void convert_cancel(struct convert *c);
