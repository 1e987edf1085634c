/* view_impl.h - parts of a view: view.c has the answer, view_folds.c what is shown folded. */
#pragma once

#include "cli/view/view.h"

void view_set_apart(struct view *v, enum view_part part); /* before printing a part of this kind */

/* The changes that a call makes, until it ends. */
void view_note_change(struct view *v, const struct json *call);
/* A call has ended: its line, its number, its changes. */
void view_end_call(struct view *v, const struct json *d);
void view_add_thoughts(struct view *v, str text);
void view_end_thoughts(struct view *v); /* prints how long, with its number */
