/* backend.h - what a backend provides, and the life of one call. Private to store/.
 *
 * A public function makes a store_op, copies what it was given into the op's arena and hands
 * it to the backend. The backend fills `out` (or `err`) and calls op_done on the loop thread,
 * after the public call has returned. If the call has a further step, it follows; otherwise
 * the caller gets the answer and the op is freed. Steps run on the loop thread. */
#pragma once

#include "store/event/derive.h"
#include "store/integrity.h"
#include "store/log/appender.h"
#include "store/repair.h"
#include "store/unreadable.h"

/* Called with each line of a log, line 1 included; false stops the scan. */
typedef bool (*store_line_fn)(void *ctx, str line, store_pos end);
typedef void (*store_id_fn)(void *ctx, str id);

struct store_ops {
    const char *type;
    bool is_inline; /* never blocks: op_run stays on the loop thread */

    int (*open)(struct store *s, struct err *e); /* may set s->impl */
    void (*close)(struct store *s);              /* ends in store_closed; no call is under way */

    /* Loop thread; each ends in op_done. */
    void (*create)(struct store_op *op);
    void (*append)(struct store_op *op);
    void (*fork)(struct store_op *op);
    void (*remove)(struct store_op *op);
    void (*restore)(struct store_op *op);
    void (*put_blob)(struct store_op *op);
    void (*get_blob)(struct store_op *op);
    void (*get)(struct store_op *op);
    void (*read)(struct store_op *op);
    void (*list)(struct store_op *op);   /* NULL: by scanning everything */
    void (*search)(struct store_op *op); /* NULL: by scanning everything */

    /* Blocking, inside op_run: what the scanning calls are made of. */
    int (*scan)(struct store *s, str id, store_line_fn fn, void *ctx, struct err *e);
    int (*each_id)(struct store *s, store_id_fn fn, void *ctx, struct err *e);
};

extern const struct store_ops store_memory_ops, store_jsonl_ops, store_folder_ops;

struct store_trouble { /* trouble.h */
    void *kind;        /* of the call that met it; NULL = there is none */
    int code;
    uint64_t logged_ms, tried_ms;
};

struct store {
    const struct store_ops *ops;
    const struct store_env *env;
    struct store_conf conf; /* strings are owned */
    void *impl;
    struct list_node calls;
    loop_fn on_closed;
    void *on_closed_ctx;
    struct deferred closing;
    bool is_closing;
    struct unreadable unreadable;
    struct store_trouble trouble;
};

void store_closed(struct store *s); /* by the backend, once everything is flushed */

struct store_op {
    struct store *store;
    struct list_node node; /* in store.calls */
    struct list_node wait; /* in a queue of the backend */
    struct arena arena;
    struct err err;
    bool is_cancelled;
    struct deed *deed; /* ends with the call; NULL = it is not audited */
    struct deferred later;
    struct job job;
    void (*work)(struct store_op *op); /* op_run */
    void (*step)(struct store_op *op); /* what follows success; NULL = the answer */
    void (*answer)(struct store_op *op);
    union {
        store_conv_fn conv;
        store_append_fn append;
        store_done_fn done;
        store_blob_fn blob;
        store_page_fn page;
        store_list_fn list;
        store_search_fn search;
        store_notes_fn notes;
        integrity_fn integrity;
        repair_fn repair;
    } fn;
    void *ctx;

    str id;
    union {                        /* what was asked */
        struct conv_create create; /* create, fork */
        struct store_range range;
        struct store_query query;
        struct store_search_query search;
        bool is_purge;
        struct {
            str text, author;
            bool only_if_unset;
        } text;
        struct {
            bool is_shared, keeps_participants;
            struct json_strs participants; /* given, then as written */
        } sharing;
        str blob; /* bytes, or the sha256 */
    } in;
    struct viewer viewer; /* a copy, for query, search, remove and restore */
    bool has_viewer;      /* remove, restore: else it is the operator */
    int64_t at_message;   /* fork */
    unsigned parents;     /* get: how many children led here */
    int64_t trashed_ms;   /* remove: which one of the trash is being purged */
    str announcement;     /* remove: what to say of it, while that can be read */
    str *lines;           /* create, append: given, then as stored (with line feeds) */
    size_t nlines;
    store_pos *pos; /* past each line */

    struct { /* the answer */
        struct conv *conv;
        struct store_page page;
        struct store_listing listing;
        struct store_hits hits;
        struct store_note *notes;
        size_t nnotes;
        str blob;
        const struct integrity_report *integrity;
        struct repairing *repairing; /* repair.c */
    } out;

    struct log_task task; /* file stores */
    const char *path;
    uint64_t limit; /* file stores: acknowledged length, UINT64_MAX = what is there */
    void (*then)(struct store_op *op); /* folder: once it is known where the conversation is */
};

struct store_op *op_new(struct store *s, str id, void (*answer)(struct store_op *op), void *ctx);
void op_done(struct store_op *op);       /* loop thread, not inside the public call */
void op_done_later(struct store_op *op); /* at the next turn: safe inside the public call */
/* Runs work(op) where it may block (a reader thread), then op_done. */
void op_run(struct store_op *op, void (*work)(struct store_op *op));

/* Refuses what no backend should see. True: the call goes on. */
bool op_check(struct store_op *op, bool is_write);
/* Copies who asks; NULL is the operator. */
const struct viewer *op_set_viewer(struct store_op *op, const struct viewer *v);
/* May they delete, purge or restore a conversation with this access? */
bool op_may_manage(const struct store_op *op, const struct conv_acl *acl);
const struct err *op_err(const struct store_op *op); /* NULL = none */
void answer_conv(struct store_op *op);
void answer_blob(struct store_op *op);
void then_get(struct store_op *op); /* a step */

/* ---- announce.c: what the whole workspace may want to know ---- */
str announce_line(struct arena *a, const struct conv *c, const struct conv_acl *acl, str title);
void announce(struct store_op *op, str type, str line);
/* Tells that those who took part before and do not now have lost it. */
void announce_hidden(struct store_op *op, const struct conv_acl *before,
                     const struct conv_acl *after);

/* Shared by the backends. */
void scan_list(struct store_op *op);   /* blocking; out.listing */
void scan_search(struct store_op *op); /* blocking; out.hits */
void scan_notes(struct store_op *op);  /* blocking; out.notes */

/* Line 1 of a new conversation, with its line feed (jsonl, memory). */
str header_line(struct arena *a, const struct store *s, str id, const struct conv_create *spec,
                int64_t now_ms);

/* Which lines of a log go into a fork. */
struct fork_filter {
    int64_t at_message; /* -1 = all */
    int64_t seen;
};
enum fork_verdict { FORK_SKIP, FORK_COPY, FORK_COPY_LAST, FORK_STOP };
enum fork_verdict fork_line(struct fork_filter *f, str line); /* not for line 1 */
