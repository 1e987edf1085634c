/* slash.h - the commands of the interactive conversation: /help, /new, /resume ... */
#pragma once

#include "cli/chat/chat.h"
#include "cli/chat/view.h"

struct slash {
    struct chat *chat;
    struct view *view;
    bool is_quitting; /* /quit was given */
};

extern const char *const SLASH_WORDS[]; /* their names, ended by NULL */

/* Runs the command that the message is; false when it is none. May run the loop. */
bool slash_run(struct slash *s, str message);
