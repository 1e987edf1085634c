/* nb resume - the chat, which begins with the choice of a conversation. */
#include "cli/command.h"

static int run_resume(struct cmd *x)
{
    str words = cmd_words(x, 0);
    if (!x->cli->is_tty_in || !x->cli->is_tty_out)
        return cmd_usage(x, "needs a terminal; nb --resume ID -p TEXT does not");
    x->cli->chat.first = arena_printf(&x->arena, "/resume %.*s", STR_ARG(words)).p;
    return cli_chat(x->cli);
}

const struct command CMD_RESUME = {
    .name = "resume",
    .operands = "[WORDS...]",
    .summary = "continue a conversation that you choose",
    .help = "Opens the chat with a list of conversations; typing searches it. WORDS: continue the "
            "only conversation that has them in its title, or the one with that id.\n",
    .needs = WORKS_ELSEWHERE,
    .run = run_resume,
};
