/* entry_copy.h - copies of entries that outlive their settings, and comparison. Pure. */
#pragma once

#include "bundle/entry/entry.h"

struct bundle_entry bundle_entry_copy(struct arena *a, const struct bundle_entry *e); /* deep */

/* True when a running bundle need not be restarted when one entry replaces the other: they differ
 * only in what is shown (ui, trust score) or what nb itself enforces (protected). */
bool bundle_entry_runs_alike(const struct bundle_entry *x, const struct bundle_entry *y);
