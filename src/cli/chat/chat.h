/* chat.h - shared by the modes of chat in a terminal. */
#pragma once

#include "cli/chat/view.h"
#include "cli/cli.h"
#include "cli/session/session.h"

struct chat {
    struct cli *cli;
    struct config *config;
    struct loop *loop;
    struct chat_session *session;
    bool is_interrupted;
    bool has_env_model; /* models.named comes from NB_MODEL: for new conversations only */
};

/* The interactive chat: reads lines, shows answers as they stream, until Ctrl-D. */
int repl_run(struct chat *c);

/* Texts of the interactive chat: at its start, when it continues an older conversation, and at its
 * end. They are printed with the view's next drawing.
 * Version, model, data directory, help; and the last messages of a continued conversation. */
void greeting_hello(struct chat *c, struct view *v);
/* The latest messages of the conversation that the session continues. Runs the loop. */
void greeting_resumed(struct chat *c, struct view *v);
void greeting_bye(struct chat *c, struct view *v); /* how to continue later */

struct slash { /* the commands of the interactive chat: /help, /new, /resume ... */
    struct chat *chat;
    struct view *view;
    bool is_quitting; /* /quit was given */
};

extern const char *const SLASH_WORDS[]; /* their names, followed by NULL */

/* Runs the message if it is a command; false if it is not. May run the loop. */
bool slash_run(struct slash *s, str message);
