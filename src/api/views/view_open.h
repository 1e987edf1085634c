/* view_open.h - opening a view. */
#pragma once

#include "api/views/views.h"

/* The view ends: requests that open it, or read its state, are answered with 404. */
void view_openings_end(struct app_view *v);
