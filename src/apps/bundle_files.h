/* bundle_files.h - files for one call of a bundle's tool, and files from it.
 *
 * In: a property of the tool's input schema with "x-nb-file": true, or an array of such, takes
 * files. The caller names them (an id or a name, as files__read); the server gets the path of a
 * copy that only exists during the call, and that its sandbox lets it read but not write. Names are
 * looked up with the rights of the call (runtime/seen_files.h). An interface cannot name files:
 * nobody has read its words.
 *
 * Out: a tool whose definition has "_meta": {"ai.nimblebrain/outbox": true} gets the path of an
 * empty directory, _meta["ai.nimblebrain/outbox"] of the call. When the call has succeeded, the
 * files in it become files of the person it acts for, and of the conversation (tool_result.files).
 *
 *   {data}/.inbox/<bundle>/<call>-<n>/<name>    in
 *   {data}/<bundle>/outbox/<call>/<name>        out; counted in the bundle's diskMb
 *
 * Everything in the outbox is hostile: only regular files directly in it are taken, through
 * descriptors that do not follow links, and within the limits below. */
#pragma once

#include "apps/bundle_impl.h"
#include "apps/file_args.h"

#define BUNDLE_FILES_MAX      16u                  /* of one call, in each direction */
#define BUNDLE_FILES_IN_BYTES (256u * 1024 * 1024) /* together */

struct bundle_files;

/* err: why the call cannot be made. args, meta: for the call, in the arena of `call`; meta may be
 * NULL. */
typedef void (*bundle_files_fn)(void *ctx, const struct err *err, const struct json *args,
                                const struct json *meta);
struct bundle_files *bundle_files_start(struct bundle_source *s, const struct tool *t,
                                        struct tool_call *call, bundle_files_fn fn, void *ctx);
/* Adds the files of the outbox to the result, and a note about those that were not kept. */
typedef void (*bundle_files_kept_fn)(void *ctx);
void bundle_files_collect(struct bundle_files *f, struct tool_result *res, bundle_files_kept_fn fn,
                          void *ctx);
/* Removes both directories. No callback follows. Accepts NULL. */
void bundle_files_end(struct bundle_files *f);
