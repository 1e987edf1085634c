/* file_args.h - which tools take files and make files, as their definitions say (bundle_files.h).
 * Pure. */
#pragma once

#include "tools/tool.h"

#define FILE_ARGS_OUTBOX "ai.nimblebrain/outbox" /* in _meta of the definition, and of a call */

bool file_args_is(const struct json *schema); /* of a property: "x-nb-file" */
bool file_args_in(const struct json *schema); /* the same, or an array of such */
bool file_args_has_outbox(const struct tool *t);
/* Does this call exchange files? args may be NULL. */
bool file_args_needed(const struct tool *t, const struct json *args);
