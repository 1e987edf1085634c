/* entry_copy.h - entries kept beyond their settings, and told apart. Pure. */
#pragma once

#include "bundle/entry/entry.h"

struct bundle_entry bundle_entry_copy(struct arena *a, const struct bundle_entry *e); /* deep */

/* A running bundle need not be restarted when the one entry becomes the other: they differ in
 * nothing but what is shown (ui, trust score) or asked of nb itself (protected). */
bool bundle_entry_runs_alike(const struct bundle_entry *x, const struct bundle_entry *y);
