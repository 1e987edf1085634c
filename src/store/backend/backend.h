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

#include <pthread.h>

#include "attach/file_place.h"
#include "store/backend/unreadable.h"
#include "store/event/derive.h"
#include "store/integrity.h"
#include "store/log/appender.h"
#include "store/others.h"
#include "store/repair.h"
#include "workspace/documents.h"

/* Called with each line of a log, line 1 included; false stops the scan. */
typedef bool (*store_line_fn)(void *ctx, str line, store_pos end);
typedef bool (*store_id_fn)(void *ctx, str id); /* false: no more ids */

struct store_ops {
    const char *type;
    bool is_inline; /* never blocks: op_run uses the loop thread */
    bool has_files; /* one log is one file, which can be verified and repaired */
    bool is_shared; /* in env->database, where several servers can use it */

    int (*prepare)(const struct store_env *env, struct err *e); /* of store_prepare; or NULL */
    int (*open)(struct store *s, struct err *e);                /* may set s->impl */
    void (*close)(struct store *s); /* calls store_closed; no call is under way */

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
    /* Blobs that several logs name. take_shared: is it there already? Then it is held, until
     * release_shared. NULL: nothing is shared, and nothing is held. */
    bool (*take_shared)(struct store_op *op);
    void (*put_shared)(struct store_op *op);
    void (*get_shared)(struct store_op *op);
    void (*release_shared)(struct store *s, str sha256);
    void (*get)(struct store_op *op);
    void (*read)(struct store_op *op);
    void (*list)(struct store_op *op);         /* NULL: scan_list reads every log */
    void (*search)(struct store_op *op);       /* NULL: scan_search reads every log */
    void (*take_lease)(struct store_op *op);   /* out.lease */
    bool (*has_leases)(const struct store *s); /* NULL: no */
    /* Publishes to streams of all servers; NULL: there is only this one. */
    void (*publish)(struct store *s, struct bus_msg *msg);
    /* A feed has read up to here, and gets what is published from now on. Returns the number of an
     * echo: events of runs on other servers that arrive before it may be older than lines that the
     * feed has read (bus_msg.heard). NULL: there is only this server. */
    uint64_t (*feed_live)(struct store *s, str id, store_pos at);
    bool (*is_watched_elsewhere)(const struct store *s, str id);
    void (*tell)(struct store *s, str id, str order); /* store_tell_others */
    struct store_ask *(*ask)(struct store *s, str id, str question, store_reply_fn fn, void *ctx);
    void (*reply)(struct store *s, str ask_id, str reply);
    /* To the streams of other servers only. */
    void (*forward)(struct store *s, const struct bus_msg *msg);
    /* Queued messages; blocking. NULL: they are files (runtime/queue_files.h). */
    int (*queue_put)(struct store *s, str id, str document, struct err *e);
    int (*queue_take)(struct store *s, struct arena *a, struct json_strs *ret, struct err *e);
    void (*read_queue)(struct store_op *op); /* out.queue */
    int (*shared_key)(struct store *s, const char *name, uint8_t key[32], struct err *e);
    /* What appends have cost (op->spend): both blocking. NULL: it is not counted. read_spending:
     * of the month in.text.text, out.spending. */
    void (*read_spending)(struct store_op *op);
    int (*recount_spending)(struct store *s, struct err *e);

    /* Blocking, inside op_run: used by the calls that scan. */
    int (*scan)(struct store *s, str id, store_line_fn fn, void *ctx, struct err *e);
    int (*each_id)(struct store *s, store_id_fn fn, void *ctx, struct err *e);
    /* A descriptor of a blob of the conversation, or -errno. NULL: it has no files. */
    int (*blob_fd)(struct store *s, struct arena *a, str id, str sha256);
    /* Can the store be used? Fills op->err. NULL: writes a small file (trouble.c). */
    void (*probe)(struct store_op *op);
    /* Both for ledger.c; NULL: nothing is kept. ledger_page: complete lines from `after` on. */
    int (*ledger_add)(struct store *s, str lines, struct err *e);
    int (*ledger_page)(struct store *s, uint64_t after, struct arena *a, str *ret, struct err *e);
    void (*list_trash)(struct store_op *op); /* blocking, inside op_run: out.listing */
    /* The document of a person (store_marks.c), and that of links (links.c). person_read:
     * empty = there is none. person_change: changes of one document are made one after the other,
     * whichever server makes them. */
    int (*person_read)(struct store *s, str user_id, struct arena *a, str *ret, struct err *e);
    int (*person_change)(struct store *s, str user_id, document_edit_fn edit, void *ctx,
                         struct err *e);
    /* Makes person_read work for a store that is not open, with env and conf alone; false, or NULL:
     * it cannot. */
    bool (*peek)(struct store *s);
    /* To the streams of this person on other servers; NULL: there are none. */
    void (*tell_person)(struct store *s, str user_id, str type, str data);
};

extern const struct store_ops store_memory_ops, store_jsonl_ops, store_folder_ops,
    store_postgres_ops;

const struct store_ops *store_backend(const char *type); /* NULL: there is no such type */
#define LINKS_DOCUMENT "links"                           /* of person_read; not the id of a user */

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
    struct pool *readers; /* of op_run; a backend may set one of its own */
    struct unreadable unreadable;
    struct store_trouble trouble;
    struct file_table *file_table; /* store_share_files; or NULL */
    store_removal_fn on_removal;
    void *on_removal_ctx;
    store_purge_fn on_purge;
    void *on_purge_ctx;
    pthread_mutex_t marking; /* file stores: held while the document of a person is changed */
};

struct file_place store_file_place(const struct store *s); /* dir NULL: there are no files */
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
    bool is_shared_put;
    bool is_sharing;   /* one at a time for a conversation: store_write.c */
    bool is_listed;    /* the sync job of the index has filled out.listing */
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
        store_files_fn files;
        store_file_hits_fn file_hits;
        store_page_fn page;
        store_list_fn list;
        store_search_fn search;
        store_notes_fn notes;
        store_lease_fn lease;
        store_mark_fn mark;
        store_links_fn links;
        store_spending_fn spending;
        store_queue_fn queue;
        integrity_fn integrity;
        repair_fn repair;
    } fn;
    void *ctx;

    str id;
    int64_t lease_epoch; /* append: of the lease that it is made under; 0 = none */
    /* append: the end that the caller has read; the call fails with -EBUSY if there is more */
    store_pos at_end;
    bool has_at_end;
    struct store_spend spend; /* of what is appended */
    bool may_wait;            /* append: nobody waits for it (log_task.may_wait) */
    unsigned tries;           /* of a change that was made again, because of a concurrent one */
    union {                   /* the arguments, copied */
        struct conv_create create; /* create, fork */
        struct store_range range;
        struct store_query query;
        struct store_search_query search;
        struct store_file_query file_query;
        bool is_purge;
        struct {
            str text, author;
            str event; /* beside an automatic title */
            bool only_if_unset;
        } text;
        struct {
            struct sharing_change change; /* its lists are copies */
            bool is_shared, keeps_participants;
            struct json_strs participants, readers; /* as written */
        } sharing;
        str blob; /* bytes, or the sha256 */
        struct {
            str user_id;
            struct conv conv; /* id, updated_at, message_count */
            struct mark_change change;
        } mark;
        struct {
            struct link_change change;
            struct share_link add; /* what change.add points to */
            bool has_change;
        } link;
    } in;
    struct viewer viewer; /* a copy, for query, search, remove and restore */
    bool has_viewer;      /* remove, restore: false = the operator */
    int64_t at_message;   /* fork */
    str blob_from; /* put_blob: a conversation that has the same blob; empty = none is known */
    str branch_of; /* restore: only a branch of this conversation; empty = any */
    struct json_strs branches; /* remove, restore: those that go or come with it */
    size_t nbranches;          /* of them, done */
    bool is_back;              /* remove: it was taken out of the trash to be purged */
    bool is_last;              /* remove: nothing is taken out of the trash any more */
    unsigned parents;          /* get: how many child runs led to this parent */
    int64_t trashed_ms;        /* remove: the deletion time of the log in the trash being purged */
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
        struct mark_state mark;
        struct share_links links;
        struct json_strs purged; /* of a sweep of the trash; purged_cap is their room */
        size_t purged_cap;
        str blob;
        struct {
            int fd;
            bool is_open; /* and nobody has taken it over */
            const char *mime;
        } file;
        struct attached *files;
        size_t nfiles;
        struct store_file_hits file_hits;
        const struct integrity_report *integrity;
        struct repairing *repairing; /* repair.c */
        struct store_lease *lease;
        struct store_spending spending;
        struct json_strs queue;
    } out;

    struct log_task task;                  /* file stores */
    void (*submitted)(struct log_task *t); /* its `done` */
    bool is_dir_change;                    /* the task may change the directory of the logs */
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
/* May the viewer delete, purge or restore this conversation, and is it one that op is for? */
bool op_may_manage(const struct store_op *op, const struct conv *c);
const struct err *op_err(const struct store_op *op); /* NULL = none */
void answer_conv(struct store_op *op);
void answer_blob(struct store_op *op);
void then_get(struct store_op *op); /* a step: reads the conversation into out.conv */
/* After a change of sharing has failed: true if it is made again, with the state of now. */
bool sharing_again(struct store_op *op);
/* To the streams of the topic, on all servers. */
void publish_everywhere(const struct store *s, struct bus_msg *msg);
/* -1: it is lost. */
int64_t store_lease_epoch(const struct store_lease *l);
#define STORE_LEASE_LOST                                                                           \
    "this server was not heard of for too long: another server has taken over the conversation"
/* A step: the conversation is new in lists; it was created, forked, promoted or restored. */
void op_appeared(struct store_op *op);
/* Loop thread: nothing is left of this conversation; of those that a sweep has purged. Their links
 * go too: an import may make a conversation with the same id again. */
void tell_purge(struct store *s, str id);
void tell_swept(const struct store_op *op);
void links_forget(struct store *s, struct json_strs conv_ids); /* links.c */
/* For a sweep, on its thread. */
void note_swept(struct store_op *op, str id);
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
/* The ledger of a store of files: ledger_add and ledger_page of struct store_ops. */
int ledger_file_add(struct store *s, str lines, struct err *e);
int ledger_file_page(struct store *s, uint64_t after, struct arena *a, str *ret, struct err *e);
/* The documents of people in a store of files, and a step of lists: in.query.marks. Blocking. */
bool person_file_peek(struct store *s);
int person_file_read(struct store *s, str user_id, struct arena *a, str *ret, struct err *e);
int person_file_change(struct store *s, str user_id, document_edit_fn edit, void *ctx,
                       struct err *e);
void marks_load(struct store_op *op);
#define LEDGER_PAGE (1024u * 1024) /* bytes of one page */
