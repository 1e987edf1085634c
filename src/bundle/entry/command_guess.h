/* command_guess.h - what a command line will probably ask of its sandbox, by its letters alone.
 *
 * Guesses for the people who write entries, before anything is run. Pure; any thread. */
#pragma once

#include "bundle/entry/entry.h"

/* npx, uvx and their like fetch the program they run. */
bool command_fetches(str command);

/* Paths among its arguments that its sandbox does not show. The first operand is the program or
 * the script, which is shown anyway. */
struct json_strs command_unseen_paths(struct arena *a, const struct bundle_entry *b);
