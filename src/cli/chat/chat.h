/* chat.h - shared by the modes of chat in a terminal. */
#pragma once

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
