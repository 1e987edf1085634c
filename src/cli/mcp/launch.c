#include "bundle/sandbox/launch.h"

#include "cli/cli.h"
#include "net/child.h"

/* nb starts this for every bundle; it is hidden from the list of commands. The operand only helps
 * people who read process lists; the specification is read from a descriptor. */
static int run_launch(struct cli *cli, const void *options, int argc, char **argv)
{
    struct arena a;
    struct launch_spec spec;
    struct err e = {0};
    arena_init(&a);
    int rc = launch_spec_read(&a, CHILD_MESSAGE_FD, &spec, &e);
    if (rc < 0)
        err_prefix(&e, "launch: nb starts this command itself");
    int code = rc < 0 ? cli_fail(&e) : launch_run(&a, &spec);
    arena_done(&a);
    return code;
}

const struct command CMD_LAUNCH = {
    .name = "launch",
    .usage = "launch PROGRAM",
    .run = run_launch,
};
