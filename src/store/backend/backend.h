/* backend.h - what a backend provides, and the life of one call. Private to store/.
 *
 *     store_x()                              loop thread: op_new, copy arguments, op_check
 *        |
 *        v
 *     ops->x(op), or op_run(op, work)        backend: loop thread, reader pool or appender
 *        |                                      fills op->out or op->err
 *        v
 *     op_done(op)  <-----------------+       loop thread, never inside store_x()
 *        |                           |
 *        +-- op->step set, no error: step(op), which starts more work and may set op->step
 *        |
 *        v
 *     deed_end, trouble_note         the audit record and the health of the store
 *     op->answer(op)                 the callback of the caller, unless cancelled
 *     free                           the last call of a closing store starts its close
 *
 * An op waits for exactly one thing at a time, so it needs no lock: a job (op_run), a log task, a
 * deferred call (op_done_later), a list of the backend (`wait`), or another store call. The code
 * that completes it calls op_done exactly once.
 *
 * Who may touch an op: the loop thread, except between pool_submit or appender_submit and their
 * `done`, when the pool thread owns everything but `node` and `is_cancelled`.
 *
 * The function members, in the order in which they are used: `work` runs on the reader pool;
 * `then` continues after the folder store has located the conversation; `step` continues after
 * success, is cleared before it is called, and calls op_done again; `answer` calls fn with the
 * result. store_op_cancel only suppresses `answer`: the work and its audit record remain. */
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
    bool is_inline; /* never blocks: op_run uses the loop thread */

    int (*open)(struct store *s, struct err *e); /* may set s->impl */
    void (*close)(struct store *s);              /* calls store_closed; no call is under way */

    /* Loop thread, called by op_start: calls then(op), after a refresh of the list of conversations
     * unless `id` is in it. NULL = there is no such list. */
    void (*locate)(struct store_op *op, str id, void (*then)(struct store_op *op));

    /* Loop thread; each calls op_done when it has finished. */
    void (*create)(struct store_op *op);
    void (*append)(struct store_op *op);
    void (*fork)(struct store_op *op);
    void (*remove)(struct store_op *op);
    void (*restore)(struct store_op *op);
    void (*put_blob)(struct store_op *op);
    void (*get_blob)(struct store_op *op);
    void (*open_blob)(struct store_op *op); /* NULL: it has no files */
    void (*get)(struct store_op *op);
    void (*read)(struct store_op *op);
    void (*list)(struct store_op *op);   /* NULL: scan_list reads every log */
    void (*search)(struct store_op *op); /* NULL: scan_search reads every log */

    /* Blocking, inside op_run: used by the calls that scan. */
    int (*scan)(struct store *s, str id, store_line_fn fn, void *ctx, struct err *e);
    int (*each_id)(struct store *s, store_id_fn fn, void *ctx, struct err *e);
};

extern const struct store_ops store_memory_ops, store_jsonl_ops, store_folder_ops;

struct store_trouble { /* trouble.c */
    void *kind;        /* of the call that failed; NULL = no trouble */
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

void store_closed(struct store *s); /* called by the backend when everything is flushed */

/* An event for the members of the workspace who may see a conversation. */
struct announcement {
    struct bus_audience audience;
    str data; /* empty: nothing is published, because the conversation is hidden from lists */
};

struct store_op {
    struct store *store;
    struct list_node node; /* in store.calls */
    struct list_node wait; /* in a queue of the backend */
    struct arena arena;
    struct err err;
    bool is_cancelled;
    bool is_sharing;   /* one at a time for a conversation: store_write.c */
    struct deed *deed; /* the audit record; ends with the call. NULL = not audited */
    struct deferred later;
    struct job job;
    void (*work)(struct store_op *op); /* op_run */
    void (*step)(struct store_op *op); /* continues after success; NULL = call `answer` */
    void (*answer)(struct store_op *op);
    union {
        store_conv_fn conv;
        store_append_fn append;
        store_done_fn done;
        store_blob_fn blob;
        store_file_fn file;
        store_page_fn page;
        store_list_fn list;
        store_search_fn search;
        store_notes_fn notes;
        integrity_fn integrity;
        repair_fn repair;
    } fn;
    void *ctx;

    str id;
    union {                        /* the arguments, copied */
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
            struct sharing_change change; /* its lists are copies */
            bool is_shared, keeps_participants;
            struct json_strs participants; /* as written */
        } sharing;
        str blob; /* bytes, or the sha256 */
    } in;
    struct viewer viewer; /* a copy, for query, search, remove and restore */
    bool has_viewer;      /* remove, restore: false = the operator */
    int64_t at_message;   /* fork */
    unsigned parents;     /* get: how many child runs led to this parent */
    int64_t trashed_ms;   /* remove: the deletion time of the log in the trash being purged */
    struct announcement announcement; /* remove: made while the log can be read */
    str *lines; /* create, append: as passed in, then as stored (with line feeds) */
    size_t nlines;
    store_pos *pos; /* past each line */

    struct { /* the result */
        struct conv *conv;
        struct store_page page;
        struct store_listing listing;
        struct store_hits hits;
        struct store_note *notes;
        size_t nnotes;
        str blob;
        struct {
            int fd;
            bool is_open; /* and nobody has taken it over */
            const char *mime;
        } file;
        const struct integrity_report *integrity;
        struct repairing *repairing; /* repair.c */
    } out;

    struct log_task task; /* file stores */
    const char *path;
    uint64_t limit; /* file stores: acknowledged length; UINT64_MAX = up to the end of the file */
    void (*then)(struct store_op *op); /* folder: continues when the conversation is located */
};

struct store_op *op_new(struct store *s, str id, void (*answer)(struct store_op *op), void *ctx);
void op_done(struct store_op *op);       /* loop thread, not inside the public call */
void op_done_later(struct store_op *op); /* calls op_done in the next loop turn */
/* Calls one of store_ops, when the backend has located the conversation. */
void op_start(struct store_op *op, void (*fn)(struct store_op *op));
/* Runs work(op) where it may block (on a reader thread), then calls op_done. */
void op_run(struct store_op *op, void (*work)(struct store_op *op));

/* Rejects invalid ids, and writes to a read-only store. True: continue; false: op_done follows. */
bool op_check(struct store_op *op, bool is_write);
/* Copies the viewer; NULL is the operator. */
const struct viewer *op_set_viewer(struct store_op *op, const struct viewer *v);
/* May the viewer delete, purge or restore a conversation with this access? */
bool op_may_manage(const struct store_op *op, const struct conv_acl *acl);
const struct err *op_err(const struct store_op *op); /* NULL = none */
void answer_conv(struct store_op *op);
void answer_blob(struct store_op *op);
void then_get(struct store_op *op); /* a step: reads the conversation into out.conv */
/* The next change of sharing that waits for op, which has ended. */
void sharing_next(struct store *s, str id);

/* ---- announce.c: events for the whole workspace ---- */
struct announcement announcement_of(struct arena *a, const struct conv *c,
                                    const struct conv_acl *acl, str title);
void announce(struct store_op *op, enum event_type type, const struct announcement *n);
/* For users who were participants before and are not any more, the conversation looks deleted. */
void announce_lost(struct store_op *op, const struct conv_acl *before,
                   const struct conv_acl *after);

/* Shared by the backends. */
void scan_list(struct store_op *op);   /* blocking; out.listing */
void scan_search(struct store_op *op); /* blocking; out.hits */
void scan_notes(struct store_op *op);  /* blocking; out.notes */

/* Line 1 of a new conversation, with its line feed (jsonl, memory). */
str header_line(struct arena *a, const struct store *s, str id, const struct conv_create *spec,
                int64_t now_ms);

/* Decides which lines of a log are copied into a fork. */
struct fork_filter {
    int64_t at_message; /* -1 = all */
    int64_t seen;
};
enum fork_verdict { FORK_SKIP, FORK_COPY, FORK_COPY_LAST, FORK_STOP };
enum fork_verdict fork_line(struct fork_filter *f, str line); /* not for line 1 */

/* After the work of a call: turns -ENOENT of a conversation into -EIO when the directory of all
 * conversations is missing. Blocking; any thread. */
void trouble_check_dir(const struct store_conf *conf, struct err *e);
/* Records the result of a call. Trouble ends when a call of the same kind succeeds. Loop thread. */
void trouble_note(struct store_op *op);

/* The usage of deleted conversations (ledger.c). Both are blocking, for op_run. A full disk must
 * not prevent deleting, so a ledger that cannot be written is only a warning. */
void ledger_keep(struct store_op *op);
void ledger_read(struct store_op *op); /* op->out.blob */
