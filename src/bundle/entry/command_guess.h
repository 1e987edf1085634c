/* command_guess.h - guesses from the text of a command line what it needs of its sandbox.
 *
 * Hints for the people who write entries, before anything is run. Pure; any thread. */
#pragma once

#include "bundle/entry/entry.h"

/* npx, uvx and similar programs download the program that they run. */
bool command_fetches(str command);

/* Paths among its arguments that its sandbox does not show. The first operand is the program or the
 * script, which is always shown. */
struct json_strs command_unseen_paths(struct arena *a, const struct bundle_entry *b);
