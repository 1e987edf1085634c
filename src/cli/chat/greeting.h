/* greeting.h - texts of the interactive chat: at its start, when it continues an older
 * conversation, and at its end. They are printed with the view's next drawing. */
#pragma once

#include "cli/chat/chat.h"
#include "cli/chat/view.h"

/* Version, model, data directory, help; and the last messages of a continued conversation. */
void greeting_hello(struct chat *c, struct view *v);
/* The latest messages of the conversation that the session continues. Runs the loop. */
void greeting_resumed(struct chat *c, struct view *v);
void greeting_bye(struct chat *c, struct view *v); /* how to continue later */
