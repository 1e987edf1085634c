#include "bundle/sandbox/launch.h"

#include "cli/command.h"
#include "net/child.h"

/* nb starts this for every bundle; it is hidden from the list of commands. The operand only helps
 * people who read process lists; the specification is read from a descriptor. */
static int run_launch(struct cmd *x)
{
    struct launch_spec spec;
    struct err e = {0};
    if (launch_spec_read(&x->arena, CHILD_MESSAGE_FD, &spec, &e) == 0)
        return launch_run(&x->arena, &spec);
    err_prefix(&e, "launch: nb starts this command itself");
    return cli_fail(&e);
}

const struct command CMD_LAUNCH = {
    .name = "launch",
    .operands = "[PROGRAM...]",
    .needs = WRITES_PROTOCOL,
    .run = run_launch,
};
