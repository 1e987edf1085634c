/* chat.h - what the ways of chatting in a terminal share. */
#pragma once

#include "cli/cli.h"
#include "cli/session/session.h"

struct chat {
    struct cli *cli;
    struct config *config;
    struct loop *loop;
    struct session *session;
    bool is_interrupted;
    bool has_env_model; /* models.named is of NB_MODEL: for new conversations only */
};

/* The interactive conversation: reads lines, shows answers as they stream, until Ctrl-D. */
int repl_run(struct chat *c);
