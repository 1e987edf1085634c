/* attach.h - files that people give to the agent: the files of one workspace, from the loop thread.
 *
 * The work on disk (library.h) is done by a pool; results come as callbacks on the loop thread,
 * never before the call has returned. People see here only what they have given themselves; a file
 * that a message names belongs to its conversation. The id of a project stands for a person where
 * files of the project are meant; the caller has checked who may do that.
 *
 *   sniff.h      what a file is, from its bytes
 *   file_name.h  names as people see them
 *   multipart.h  forms with files
 *   library.h    the files on disk; file_table.h: of several servers; file_place.h: either
 *   upload.h     a file that is coming in
 *   partial.h    one that comes in several requests, on disk; resume.h for the loop thread */
#pragma once

#include "attach/file_place.h"
#include "loop/pool.h"

struct attach;
struct attach_op; /* a pending call; valid until its callback */

struct attach_conf {
    const char *dir; /* created with the first file */
    uint64_t max_bytes, quota_bytes;
    struct file_table *table; /* of several servers; NULL: files are in `dir` only */
    const char *workspace_id; /* in the table */
};

struct attach *attach_new(struct loop *l, struct pool *pool, const struct attach_conf *conf);
/* Uploads have ended; calls may still be in progress, and their callbacks still come. */
void attach_close(struct attach *a);
const struct attach_conf *attach_conf(const struct attach *a);
/* Valid as long as it is held. */
const struct file_place *attach_place(const struct attach *a);
/* A conversation was purged: what only it had goes soon. Accepts NULL. */
void attach_sweep(struct attach *a);
/* For work that adds to the library: it stays until the release, and what was added counts. */
void attach_hold(struct attach *a);
void attach_release(struct attach *a);
void attach_count(struct attach *a, int64_t bytes); /* added to the library, or removed */
/* Pictures of pages do not count as files. They have room of their own; without it they are made
 * again each time. */
#define ATTACH_PAGES_MAX (256u * 1024 * 1024)
bool attach_may_keep_page(const struct attach *a);
void attach_count_pages(struct attach *a, uint64_t bytes);

typedef void (*attach_list_fn)(void *ctx, const struct err *err, const struct attached *files,
                               size_t n);
struct attach_op *attach_list(struct attach *a, str user_id, attach_list_fn fn, void *ctx);
/* The files with these ids, in their order; -ENOENT if one of them is not there. */
struct attach_op *attach_find(struct attach *a, str user_id, const str *ids, size_t n,
                              attach_list_fn fn, void *ctx);

typedef void (*attach_open_fn)(void *ctx, const struct err *err, const struct attached *file,
                               int fd); /* fd: of the callee, who closes it */
struct attach_op *attach_open(struct attach *a, str user_id, str id, attach_open_fn fn, void *ctx);

typedef void (*attach_done_fn)(void *ctx, const struct err *err);
/* fn may be NULL here and below: nobody waits. */
struct attach_op *attach_remove(struct attach *a, str user_id, str id, attach_done_fn fn,
                                void *ctx);
/* A file that a person has given becomes one of a project, too: one file, or an error. */
struct attach_op *attach_share(struct attach *a, str user_id, str id, str project_id,
                               attach_list_fn fn, void *ctx);
/* library_mark_named: from now on the file stays only for others who have it. Nobody waits. */
void attach_mark_named(struct attach *a, str user_id, str id);
/* All files of a project, which ends. */
struct attach_op *attach_remove_all(struct attach *a, str project_id, attach_done_fn fn, void *ctx);

void attach_cancel(struct attach_op *op); /* no callback; accepts NULL */
