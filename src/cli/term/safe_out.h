/* safe_out.h - standard output that is safe to show in a terminal, whatever a command prints.
 *
 * Every byte of output passes this module, so that a careless command cannot print foreign control
 * characters. In JSON, C1 control characters, DEL and bidirectional marks are written as \uXXXX:
 * values stay the same. In text, all control characters except line feed and tab, and all
 * bidirectional marks, are removed; colours (ESC [ ... m) pass where nb itself uses them. */
#pragma once

#include <stdbool.h>

enum safe_kind { SAFE_TEXT, SAFE_COLOR, SAFE_JSON };

/* Replaces stdout by such a stream. A second call changes its kind. */
void safe_out_begin(enum safe_kind kind);
