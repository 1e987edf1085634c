#include "bundle/launch.h"

#include "cli/cli.h"

/* Started by nb itself for every bundle; not shown in the list of commands. */
static int run_launch(struct cli *cli, const void *options, int argc, char **argv)
{
    struct arena a;
    struct launch_spec spec;
    struct err e = {0};
    if (argc < 2)
        return cli_usage_error("launch: nothing to start");
    argv[argc] = NULL; /* "--" has left a place behind the operands */
    arena_init(&a);
    int rc = launch_spec_decode(&a, str_from(argv[0]), &spec, &e);
    int code = rc < 0 ? cli_fail(&e) : launch_run(&a, &spec, argv + 1);
    arena_done(&a);
    return code;
}

const struct command CMD_LAUNCH = {
    .name = "launch",
    .usage = "launch SPEC -- PROGRAM [ARGS]",
    .run = run_launch,
};
