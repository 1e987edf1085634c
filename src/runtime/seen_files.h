/* seen_files.h - the files that somebody can see: the one answer for tools, bundles and /mcp.
 *
 * Which files these are follows from the actor, as everything else does: the files of one
 * conversation that all people behind the actor may view (is_of_run), those of its project, if all
 * of them see that, and the files that the one person behind it has given. An actor with several
 * people sees nobody's own files: the words of one of them would read the files of another. For the
 * same reason a file of a project counts only if it is from somebody whose rights limit the actor,
 * or from an admin (project_author_counts). Loop thread; callbacks never come before the call has
 * returned. */
#pragma once

#include "attach/attach.h"
#include "runtime/runtime.h"

struct seen_files;

/* The latest first: files of the conversation, then of its project, then the person's own. */
struct file_set {
    struct attached *items;
    size_t n, nconv, nproject;
    str conv_id; /* whose the first nconv are */
};

/* err: -ENOENT, there is no such conversation, or the actor may not view it. The set lives until
 * seen_files_free. */
typedef void (*seen_files_fn)(void *ctx, const struct err *err, const struct file_set *set);
/* conv_id: may be empty. A delegated run has the files of the run that started it. is_of_run: it is
 * the conversation of the run that asks. The model has read that one, so the others behind
 * the actor, as the author of the instructions of a project, need not see it. */
struct seen_files *seen_files_start(struct runtime *rt, const struct actor *actor, str conv_id,
                                    bool is_of_run, seen_files_fn fn, void *ctx);

/* The file that is meant by an id, an address (nb://files/...) or a name; of several with one name
 * the latest. NULL: none. */
const struct attached *file_set_find(const struct file_set *set, str wanted);

typedef void (*seen_open_fn)(void *ctx, const struct err *err, int fd); /* fd: of the callee */
/* Opens a file of the set, one at a time. err: it is not there any more. */
void seen_files_open(struct seen_files *s, const struct attached *file, seen_open_fn fn, void *ctx);

void seen_files_free(struct seen_files *s); /* no callback follows; accepts NULL */
