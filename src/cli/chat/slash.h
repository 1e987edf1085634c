/* slash.h - the commands of the interactive chat: /help, /new, /resume ... */
#pragma once

#include "cli/chat/chat.h"
#include "cli/chat/view.h"

struct slash {
    struct chat *chat;
    struct view *view;
    bool is_quitting; /* /quit was given */
};

extern const char *const SLASH_WORDS[]; /* their names, followed by NULL */

/* Runs the message if it is a command; false if it is not. May run the loop. */
bool slash_run(struct slash *s, str message);
