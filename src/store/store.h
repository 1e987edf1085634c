/* store.h - conversations: append-only event logs, and everything derived from them.
 *
 * One struct store serves one workspace through one backend (jsonl, folder, memory, postgres); a
 * table of functions selects the backend. All calls are made on the loop thread and return
 * immediately. The result arrives in the callback on the loop thread, never before the call has
 * returned. The arguments of a callback are valid during the callback; err is NULL when the call
 * succeeded.
 *
 * An append completes when its lines are durable. Its events are published on the bus (topic
 * store_topic) right before its callback. Lines of one conversation keep their order.
 *
 * A position is an opaque number that grows along a log: the byte offset past the line in file
 * stores, an ordinal in the memory and postgres stores. 0 is the beginning. Positions are the event
 * ids of live streams.
 *
 *   event/    events and lines, values derived from them, text for searching, blobs, I/O
 *   log/      durable appends: appender, commit groups, the journal, recovery
 *   backend/  the interface of a backend, the life of one call, code that all backends share
 *   index/    the SQLite cache for lists and searches
 *   files/    the jsonl store, and code that the file stores share
 *   folder/   the folder store: chat.jsonl and notes.jsonl
 *   database/ connections to PostgreSQL, the tables of nb, the lock of the writer
 *   postgres/ the postgres store on them: group commit, reads, lists, searches
 *   replica/  several servers on one database: leases, live events, queued messages
 *   .         the calls (store_read.c, store_write.c), the memory store, checking and repairing
 *             logs, live reading (feed.h), statistics (stats.h) */
#pragma once

#include "base/err.h"
#include "base/json/json.h"
#include "base/json/json_decode.h"
#include "base/json/usage.h"
#include "bus/bus.h"
#include "loop/pool.h"
#include "store/links.h"
#include "store/marks.h"
#include "store/past.h"
#include "workspace/deed.h"
#include "workspace/roster/access.h"

struct database;
struct store;
struct store_op; /* a pending call; valid until its callback */

#define STORE_ID_MAX       80
#define STORE_LINE_MAX     (16u * 1024 * 1024) /* one event as given to append */
#define STORE_SPILL_BYTES  (64u * 1024)        /* larger results are stored as blobs */
#define STORE_PAGE_EVENTS  1000                /* defaults of store_read */
#define STORE_PAGE_BYTES   (8u * 1024 * 1024)
#define STORE_MONTH_LEN    7 /* of 2026-03 */
#define STORE_LIST_DEFAULT 20
#define STORE_LIST_MAX     1000

typedef uint64_t store_pos;

/* ^[a-z]+_[A-Za-z0-9_-]{1,64}$ - checked before an id touches any path or key. */
bool store_id_valid(str id);
/* Accepts the name of a folder of the folder store (conversation-<utc>-<thread>) as an id: returns
 * its thread. Any other text is returned unchanged. */
str store_id_meant(str typed);

/* ---- opening ---- */

enum store_durability { STORE_SYNC, STORE_INTERVAL, STORE_NONE };

struct store_env { /* shared by all stores of a process; must outlive them */
    struct loop *loop;
    struct logger *log;
    struct bus *bus;
    struct appender *appender; /* durable writes of file stores (appender.h) */
    struct pool *readers;      /* file reads, index queries */
    /* Cost of a model call in USD; returns false when the price is unknown. */
    bool (*price)(void *ctx, str model, const struct conv_usage *usage, double *ret_usd);
    void *price_ctx;
    struct audit *audit;       /* records the calls that have a doer; NULL = no audit */
    struct database *database; /* of stores of type postgres (postgres/database.h); NULL = none */
    /* What the indexes of file stores share (index/index.h); NULL = each has its own. */
    struct index_group *indexes;
};

struct store_conf {
    const char *type;      /* "jsonl", "folder", "memory", "postgres" */
    const char *dir;       /* jsonl: the directory of <id>.jsonl; folder: the storage root */
    const char *cache_dir; /* index.db; NULL = no index, scan instead */
    const char *workspace_id;
    const char *files_dir; /* files that people gave (attach/library.h); NULL = none */
    enum store_durability durability;
    bool integrity; /* hash-chain new events */
    bool read_only; /* never lock, repair or write: for a second process that only reads */
};

/* Does this type keep conversations in a directory (store_conf.dir)? False for unknown types. */
bool store_type_has_files(const char *type);
/* Is everything that servers share in store_env.database, not only conversations? */
bool store_type_is_shared(const char *type);

/* For a server that starts, before it opens the stores of its workspaces: is everything that they
 * share there, and may this process write? May block. */
int store_prepare(const struct store_env *env, const char *type, struct err *e);
int store_open(const struct store_env *env, const struct store_conf *conf, struct store **ret,
               struct err *e);
/* Waits for pending calls, flushes, unlocks, frees, then calls done. */
void store_close(struct store *s, loop_fn done, void *ctx);
const struct store_conf *store_conf(const struct store *s);
/* The disk rejected the latest call of some kind: it is full, read-only, or a directory is
 * missing. */
bool store_is_failing(const struct store *s);
/* The latest call of some kind could not reach the database (503). */
bool store_is_unreachable(const struct store *s);
/* If the store is failing, writes a small file and clears the failure when that succeeds; a
 * database is asked whether it fails or not. At most every 2 seconds. For health checks of a server
 * without other traffic. */
void store_try_again(struct store *s);

/* The bus topic of a conversation: "conv/<workspace>/<id>". */
str store_topic(struct arena *a, const struct store *s, str id);
/* The bus topic of the workspace: "space/<workspace>". The store publishes there, before it
 * publishes on the topic of the conversation,
 *   conversation.created, conversation.renamed, conversation.shared, conversation.deleted
 *     {conversationId, title, ownerId, visibility, participants, timestamp}
 *   conversation.hidden {conversationId, users}: these users are not participants any more
 * Other modules publish other events of the workspace there. */
str store_space_topic(struct arena *a, const struct store *s);
/* Publishes something that is not in the log on the topic of a conversation, or on that of the
 * workspace if conv_id is empty. data: one line of JSON. Returns true if a watcher is behind. */
bool store_publish(const struct store *s, str conv_id, str type, str data);

void store_op_cancel(struct store_op *op); /* no callback; the work may still be done */

/* ---- a conversation ---- */

struct conv {
    str id, workspace_id, created_at, updated_at;
    str title;   /* empty = none yet */
    str channel; /* tui, web, api, mcp ...; may be empty */
    str model;   /* pinned at creation; may be empty */
    str forked_from;
    const struct json *parent;   /* {conversationId, runId, toolCallId} or NULL */
    const struct json *metadata; /* caller's object from creation, or NULL */
    /* {of, at, rootAt}: a branch, hidden behind the conversation `of` of the same owner; NULL = not
     * a branch, or promoted (docs/log-format.md). */
    const struct json *branch;
    struct conv_acl acl;

    str preview, last_model;
    /* The end of the last run: its stop reason or "error"; "open" = the log has no end of the run,
     * which is active or was interrupted; empty = no run. */
    str last_run;
    int64_t message_count;
    struct past past; /* not in lists */
    struct conv_usage usage;
    double cost_usd;
    bool is_cost_known; /* false if the price of at least one call is unknown */
    store_pos end;
    int64_t bad_lines; /* skipped: not JSON, or not an event */
    bool is_hidden; /* child runs, requests of programs, branches: listed only with with_hidden */
    struct mark_state mark; /* in lists with marks_of */
    int64_t deleted_ms;     /* in lists of the trash */
};

struct store_event {
    store_pos pos; /* just past the line */
    str line;      /* one JSON object, no line feed */
};

/* ---- writing ---- */

struct conv_create {
    str id; /* empty: a new conv_<16 hex> */
    /* random_id made it. Any other id is refused (-EEXIST) also while the trash has it: its owner
     * could not restore that conversation any more. */
    bool is_fresh_id;
    str owner_id;
    str channel, model, forked_from;
    int64_t created_ms; /* 0 = now; imports and conversions keep the original time */
    const struct json *parent, *metadata, *branch;
    bool is_hidden;    /* not listed, and not announced; a child run always is */
    const str *events; /* appended in the same write as line 1 */
    size_t nevents;
};

typedef void (*store_conv_fn)(void *ctx, const struct err *err, const struct conv *conv);
typedef void (*store_append_fn)(void *ctx, const struct err *err, const store_pos *pos, size_t n);
typedef void (*store_done_fn)(void *ctx, const struct err *err);

struct store_op *store_create(struct store *s, const struct conv_create *spec, store_conv_fn fn,
                              void *ctx); /* -EEXIST */

/* Events are JSON objects on one line with at least "type"; "ts" is added when missing.
 * Errors: -ENOENT no such conversation, -EBUSY locked by another process, -ENOSPC, -EIO. */
struct store_op *store_append(struct store *s, str id, const str *events, size_t n,
                              store_append_fn fn, void *ctx);

/* ---- which server works on a conversation ----
 *
 * With a database that several servers use, a server takes the lease of a conversation before it
 * begins a run there. A server that was stopped for too long loses its leases, and then none of the
 * appends that it makes under them is stored (-EOWNERDEAD). */
struct store_lease;
bool store_has_leases(const struct store *s); /* else no other server can exist */
/* -EBUSY: another server has it. */
typedef void (*store_lease_fn)(void *ctx, const struct err *err, struct store_lease *lease);
struct store_op *store_take_lease(struct store *s, str id, store_lease_fn fn, void *ctx);
void store_lease_watch(struct store_lease *l, loop_fn on_lost, void *ctx);
bool store_lease_is_lost(const struct store_lease *l);
void store_lease_release(struct store_lease *l); /* accepts NULL */

/* Another server has streams of this conversation open. */
bool store_is_watched_elsewhere(const struct store *s, str id);
/* For other servers: "cancel" the run, or the conversation is "removed". Nobody answers. */
void store_tell_others(struct store *s, str id, str order);

/* Like store_publish, but only to streams of other servers. */
void store_forward(struct store *s, str conv_id, str type, str data);

/* Documents of queued messages, in a store that several servers use: a message outlives its server.
 * All block, and may be called by any thread. */
bool store_keeps_queue(const struct store *s);
int store_queue_put(struct store *s, str id, str document, struct err *e); /* empty = remove it */
/* All messages of this server, to which it adds those of servers that are gone. */
int store_queue_take(struct store *s, struct arena *a, struct json_strs *ret, struct err *e);
/* Messages for a conversation that other servers have, as documents. Only with store_keeps_queue.
 */
typedef void (*store_queue_fn)(void *ctx, const struct err *err, const struct json_strs *documents);
struct store_op *store_read_queue(struct store *s, str id, store_queue_fn fn, void *ctx);

/* A key that all servers of the workspace have: `key` has 32 random bytes, which become the key if
 * there is none yet. Blocks. Only with store_has_leases. */
int store_shared_key(struct store *s, const char *name, uint8_t key[32], struct err *e);

/* What the model calls of an append have cost, and who pays for them (runtime/budget.h). */
struct store_spend {
    str user_id; /* empty = nobody in particular */
    double usd;  /* 0 = nothing */
};

struct store_terms {
    const struct store_lease *lease; /* NULL = none */
    struct store_spend spend;        /* counted if the lines are stored (store_read_spending) */
    bool has_end;                    /* only if the log ends at `end`; else -EBUSY */
    store_pos end;
};
struct store_op *store_append_if(struct store *s, str id, const struct store_terms *terms,
                                 const str *events, size_t n, store_append_fn fn, void *ctx);

/* A store that several servers use counts what they spend together. Any other store does not: the
 * one server counts. */
bool store_counts_spending(const struct store *s);
struct store_spending {
    int64_t since_ms; /* calls before this are in the logs only */
    const struct store_spend *rows;
    size_t n;
};
typedef void (*store_spending_fn)(void *ctx, const struct err *err, const struct store_spending *r);
struct store_op *store_read_spending(struct store *s, str month, store_spending_fn fn, void *ctx);
/* Logs were brought here from elsewhere: what was counted is dropped, and the calls up to now are
 * those of the logs. Blocks. */
int store_recount_spending(struct store *s, struct err *e);

struct store_op *store_set_title(struct store *s, str id, str title, store_conv_fn fn, void *ctx);
/* An automatic title, which never replaces a title. It is stored with "auto":true, so that a rename
 * wins even if it was written just before. `event`, if not empty, is appended with the title, or
 * alone if there is one already; `spend` is what it has cost. */
struct store_op *store_give_title(struct store *s, str id, str title, str event,
                                  const struct store_spend *spend, store_conv_fn fn, void *ctx);
/* The calls with `by` are audited: the store records them with their result, also when they are
 * cancelled. NULL: nb itself makes the call, and it is not recorded.
 *
 * A change is applied to the state that the store reads for it, and changes of one conversation are
 * made one after the other: two that are asked for at the same time both take effect. The owner
 * always takes part, and is alone in a private conversation. */
enum sharing_visibility { SHARING_UNCHANGED, SHARING_SHARED, SHARING_PRIVATE };
enum sharing_role { SHARING_AS_BEFORE, SHARING_READ, SHARING_WRITE }; /* new people write */
struct sharing_change {
    enum sharing_visibility visibility;
    const struct json_strs *participants; /* instead of those who take part now; NULL = those */
    const struct json_strs *add, *remove; /* applied to these; NULL = nobody */
    const struct json_strs *readers;      /* participants who only read; NULL = those of now */
    enum sharing_role add_as; /* the role of `add`, also of those who take part already */
};
struct store_op *store_change_sharing(struct store *s, str id, const struct sharing_change *change,
                                      const struct doer *by, store_conv_fn fn, void *ctx);
struct store_op *store_add_note(struct store *s, str id, str author, str text, store_conv_fn fn,
                                void *ctx);

/* Copies raw events up to and including message number at_message (-1: all) into a new log, without
 * title and sharing. Messages are numbered from 1, as in conv.message_count: each user.message and
 * each run.done. branch: as in struct conv, or NULL. */
struct store_op *store_fork(struct store *s, str id, int64_t at_message, str new_owner,
                            const struct json *branch, store_conv_fn fn, void *ctx);
/* A branch becomes a conversation of its own, which is listed; sharing it does the same. Any other
 * conversation stays as it is. */
struct store_op *store_promote(struct store *s, str id, store_conv_fn fn, void *ctx);
/* Moves a conversation to the trash for 7 days, or (purge) deletes it immediately, also from the
 * trash. Live streams receive a message of type conversation.deleted, with position 0. -EBUSY as
 * for append.
 *
 * `viewer` needs the right CONV_MANAGE; NULL = the operator. The right is checked in the log
 * itself, in the same step that moves the log, so that nothing can change in between. For any other
 * viewer the conversation does not exist (-ENOENT). A refusal changes nothing, not even the
 * remaining days in the trash. The branches of a conversation go with it. */
struct store_op *store_delete(struct store *s, str id, bool purge, const struct viewer *viewer,
                              const struct doer *by, store_done_fn fn, void *ctx);
/* Called with every conversation that is about to be removed, branches too, after the right of the
 * viewer was checked: what is appended during this call goes with the log. fn NULL: nobody asks any
 * more. */
typedef void (*store_removal_fn)(void *ctx, const struct conv *conv);
void store_on_removal(struct store *s, store_removal_fn fn, void *ctx);
/* Called with the id of every conversation of which nothing is left: purged by somebody, or because
 * its time in the trash is over. Register it before the loop continues: a store that was opened
 * empties its trash. */
typedef void (*store_purge_fn)(void *ctx, str id);
void store_on_purge(struct store *s, store_purge_fn fn, void *ctx);
/* Of the conversations that were deleted under this id, restores the last that the viewer may
 * manage (as above), with the branches that were deleted with it. A branch whose conversation is
 * not there is promoted. -ENOENT not in the trash, -EEXIST the id is in use. */
struct store_op *store_restore(struct store *s, str id, const struct viewer *viewer,
                               const struct doer *by, store_conv_fn fn, void *ctx);

/* Conversations in the trash that the viewer may manage (as above), the last deleted first; of
 * those with the same id only the last. At most STORE_TRASH_MAX. */
#define STORE_TRASH_MAX 200u
struct store_listing;
typedef void (*store_list_fn)(void *ctx, const struct err *err, const struct store_listing *l);
struct store_op *store_list_trash(struct store *s, const struct viewer *viewer, store_list_fn fn,
                                  void *ctx);

/* ---- blobs: large results and prompts, named by their content, beside the log ----
 *
 * Members of a tool.done event above STORE_SPILL_BYTES are stored as
 * {"$blob":"<sha256>","bytes":n,"preview":"first text","parts":[...]}; the blob holds the JSON text
 * of the member. Streams and reads return this reference unless with_blobs is set. */

typedef void (*store_blob_fn)(void *ctx, const struct err *err, str sha256_or_bytes);
/* Durable before the callback; the callback gets the hex sha256. */
struct store_op *store_put_blob(struct store *s, str id, str bytes, store_blob_fn fn, void *ctx);
/* The conversation `from` has the same blob: both refer to one copy of its bytes, if the store can
 * do that. Empty = none is known. -ESTALE: it has not, any more, and nothing was stored. */
struct store_op *store_put_blob_from(struct store *s, str id, str bytes, str from, store_blob_fn fn,
                                     void *ctx);
struct store_op *store_get_blob(struct store *s, str id, str sha256, store_blob_fn fn, void *ctx);

/* Prompts and tool lists, which many conversations have in common: the jsonl store keeps each once.
 * The store holds a blob until it is released, once for every callback without an error, and after
 * that for as long as a log names it. sha256: of the bytes. */
struct store_op *store_put_shared(struct store *s, str id, str bytes, str sha256, store_blob_fn fn,
                                  void *ctx);
void store_release_shared(struct store *s, str sha256);
/* Also finds what the conversation has as a blob of its own. A caller that knows a hash gets
 * the bytes, whichever conversation they are from: never for a hash that a client has sent. */
struct store_op *store_get_shared(struct store *s, str id, str sha256, store_blob_fn fn, void *ctx);

/* A file of the conversation, that one of its messages names. -ENOENT. */
typedef void (*store_file_fn)(void *ctx, const struct err *err, int fd,
                              const char *mime); /* fd: of the callee, who closes it */
struct store_op *store_open_file(struct store *s, str id, str sha256, store_file_fn fn, void *ctx);

/* The files that messages and tools of the conversation name, each once, the latest first; at most
 * STORE_FILES_MAX. */
#define STORE_FILES_MAX 1000u
struct attached;
typedef void (*store_files_fn)(void *ctx, const struct err *err, const struct attached *files,
                               size_t n);
struct store_op *store_list_files(struct store *s, str id, store_files_fn fn, void *ctx);

/* Searches the text of files. The caller names them and has checked that they may be seen. */
struct store_file_query {
    str conv_id; /* whose files are the first `nconv` of the list; the others are in files_dir */
    const struct attached *files;
    size_t n, nconv;
    str text; /* words, "phrases", prefix*: all of them within one piece of about 4 KiB */
    size_t limit;
};

struct store_file_hit {
    const struct attached *file; /* of the query */
    uint64_t offset;             /* of the piece, in bytes */
    str snippet;                 /* as in struct store_hit */
};

struct store_file_hits {
    const struct store_file_hit *hits;
    size_t n;
    bool is_partial; /* time has run out; what was read is kept in the index */
};

typedef void (*store_file_hits_fn)(void *ctx, const struct err *err,
                                   const struct store_file_hits *h);
struct store_op *store_search_files(struct store *s, const struct store_file_query *q,
                                    store_file_hits_fn fn, void *ctx);

/* ---- reading ---- */

/* -ENOENT. A child run (conv.parent) has the access that its parent has at this moment. */
struct store_op *store_get(struct store *s, str id, store_conv_fn fn, void *ctx);

/* What becomes of a line that a reading has come to. */
enum store_choice {
    STORE_SKIP,
    STORE_TAKE,       /* as it is in the log */
    STORE_TAKE_WHOLE, /* as with_blobs and with_files say */
    STORE_STOP,       /* neither this line nor those behind it */
};

struct store_range {
    store_pos after;   /* forwards: events past this position */
    store_pos before;  /* backwards: events up to and including this position; 0 = the end */
    bool backwards;    /* the page is still in log order */
    size_t max_events; /* 0 = 1,000 */
    size_t max_bytes;  /* 0 = 8 MiB; at least one event is always returned */
    bool with_blobs;   /* put spilled results back into their events */
    bool with_files;   /* put files into the messages that name them (event/blobs.h) */
    /* Instead of max_events: is asked about every line in the order of the reading, also line 1 and
     * lines that are not events. On a reader thread; until the callback choose_ctx is its own. */
    enum store_choice (*choose)(void *ctx, str line);
    void *choose_ctx;
};

struct store_page {
    const struct store_event *events;
    size_t n;
    store_pos start; /* just before the first event: the `before` of the previous page; with
                      * `choose` before the first line that was looked at */
    store_pos end;   /* backwards: where the reading began */
    bool reached_start, reached_end;
    bool is_beyond_end; /* `after` is past the end: the log was truncated or replaced */
};

typedef void (*store_page_fn)(void *ctx, const struct err *err, const struct store_page *page);
struct store_op *store_read(struct store *s, str id, const struct store_range *range,
                            store_page_fn fn, void *ctx);

enum store_sort { STORE_BY_UPDATED, STORE_BY_CREATED };

/* While many logs are read for the first time, a list or search that takes a part is answered with
 * the conversations that are known so far, the latest ones first. total 0: nothing is missing. */
struct store_counting {
    size_t done, total; /* logs of the store */
};

enum store_only { STORE_ANY, STORE_YES, STORE_NO };

struct store_query {
    const struct viewer *viewer; /* only conversations that the viewer may see; NULL = all */
    /* The person whose marks (marks.h) are returned with the conversations and used by these
     * filters; empty = no marks. */
    str marks_of;
    enum store_only pinned, archived, unread;
    enum store_only own; /* whose owner marks_of is */
    enum store_only shared;
    const struct marks *marks;    /* set by the store */
    size_t limit;                 /* 0 = 20, at most 1,000 */
    str cursor;                   /* next_cursor of the previous page; survives deletions */
    str search;                   /* substring of title and preview, case folded */
    const struct json_strs *only; /* only these ids, sorted; NULL = all */
    str branches_of;              /* only the branches of this conversation; with with_hidden */
    enum store_sort sort;
    bool with_hidden;
    bool takes_part; /* answer soon, even if `counting` says that some are missing */
};

struct store_listing {
    const struct conv *convs;
    size_t n;
    str next_cursor; /* empty at the end */
    int64_t total;   /* before paging */
    /* Conversations that are missing because their log cannot be read: path and reason of each. */
    const str *unreadable;
    size_t nunreadable;
    struct store_counting counting;
};

struct store_op *store_list(struct store *s, const struct store_query *q, store_list_fn fn,
                            void *ctx);

/* ---- what a person keeps about a conversation: never in its log ---- */

typedef void (*store_mark_fn)(void *ctx, const struct err *err, const struct mark_state *state);
/* `c` was just read, and the person may see it. change NULL: only returns the state. -E2BIG: see
 * marks_apply. */
struct store_op *store_mark(struct store *s, str user_id, const struct conv *c,
                            const struct mark_change *change, store_mark_fn fn, void *ctx);

/* ---- links for people without an account ---- */

typedef void (*store_links_fn)(void *ctx, const struct err *err, const struct share_links *links);
/* All links, expired ones too, after the change; NULL: only returns them. Errors of links_apply. */
struct store_op *store_links(struct store *s, const struct link_change *change, store_links_fn fn,
                             void *ctx);
/* The same of a workspace whose store may not be open, without opening it: requests of strangers
 * ask this. A store in memory has none. */
struct links_peek;
struct links_peek *store_peek_links(const struct store_env *env, const struct store_conf *conf,
                                    store_links_fn fn, void *ctx);
void store_peek_cancel(struct links_peek *p); /* no callback; accepts NULL */

struct store_search_query {
    const struct viewer *viewer;
    str text;    /* words, "phrases", prefix*, from: tool: in:title before: after: */
    str conv_id; /* empty = all */
    size_t limit;
    bool by_relevance; /* else newest first */
    bool takes_part;   /* as in store_query */
};

struct store_hit {
    str conv_id, title, ts, role; /* role: user, assistant, tool, title, note */
    store_pos pos;
    str snippet; /* the matched text is between U+0001 and U+0002 */
};

struct store_hits {
    const struct store_hit *hits;
    size_t n;
    int64_t total;   /* -1 = not counted */
    bool is_partial; /* the time limit ended the search early, or logs are still being counted */
    struct store_counting counting;
};

typedef void (*store_search_fn)(void *ctx, const struct err *err, const struct store_hits *h);
struct store_op *store_search(struct store *s, const struct store_search_query *q,
                              store_search_fn fn, void *ctx);

struct store_note {
    str ts, author, text;
};
typedef void (*store_notes_fn)(void *ctx, const struct err *err, const struct store_note *notes,
                               size_t n);
struct store_op *store_notes(struct store *s, str id, store_notes_fn fn, void *ctx);
