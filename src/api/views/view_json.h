/* view_json.h - a view as the page gets it. */
#pragma once

#include "api/views/views.h"
#include "apps/ui_resource.h"

enum view_state { VIEW_PREPARING, VIEW_RUNNING, VIEW_DONE, VIEW_CANCELLED };

struct view_progress { /* how far the tool call of a view is; a placement is done */
    enum view_state state;
    const struct json *input, *result; /* or NULL */
    str reason;                        /* VIEW_CANCELLED: why */
};

/* Each writes members of an object. */
void view_write(struct json_writer *w, struct arena *a, const struct app_view *v,
                const struct view_layout *l);
/* page NULL: `why` and `message` say why. */
void view_write_page(struct json_writer *w, struct arena *a, const struct ui_page *page,
                     enum ui_problem why, str message);
void view_write_progress(struct json_writer *w, const struct app_view *v,
                         const struct view_progress *p);
