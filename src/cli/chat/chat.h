/* chat.h - shared by the modes of chat in a terminal. */
#pragma once

#include "cli/cli.h"
#include "cli/session/session.h"
#include "cli/view/view.h"

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

/* The same without a screen, line by line (--plain). */
int plain_run(struct chat *c);

/* Gives the files of the project and those that the message names. False: one of them was refused,
 * and nothing is to be sent. Runs the loop. */
bool chat_attach(struct chat *c, struct view *v, str message);

/* Texts of the interactive chat: at its start, when it continues an older conversation, and at its
 * end. They are printed with the view's next drawing.
 * Version, model, data directory, help; and the last messages of a continued conversation. */
void greeting_hello(struct chat *c, struct view *v);
/* The latest messages of the conversation that the session continues. Runs the loop. */
void greeting_resumed(struct chat *c, struct view *v);
void greeting_bye(struct chat *c, struct view *v); /* how to continue later */
