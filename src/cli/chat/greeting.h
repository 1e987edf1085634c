/* greeting.h - what the interactive conversation says by itself: at its beginning, when it goes
 * on with an older one, and at its end. It is printed with the view's next drawing. */
#pragma once

#include "cli/chat/chat.h"
#include "cli/chat/view.h"

/* Version, model, where the data lives, where help is; and where the conversation stood. */
void greeting_hello(struct chat *c, struct view *v);
/* The latest messages of the conversation that the session goes on with. Runs the loop. */
void greeting_resumed(struct chat *c, struct view *v);
void greeting_bye(struct chat *c, struct view *v); /* how to come back */
