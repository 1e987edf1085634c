/* nb man - prints the manual pages, or writes all of them. */
#include "cli/manual/manual.h"
#include "cli/manual/roff.h"
#include "os/file.h"

typedef int (*page_take)(struct cmd *x, const char *page, int section, str text);

/* Gives every page to `take`; an exit code other than EXIT_DONE ends it. */
static int each_page(struct cmd *x, page_take take)
{
    struct buf b;
    int code;
    buf_init(&b, ROFF_PAGE_MAX);
    man_add_command(&b, NULL);
    code = take(x, "nb", 1, buf_str(&b));
    for (const struct command *const *c = COMMANDS; *c && code == EXIT_DONE; c++) {
        if (!(*c)->summary)
            continue;
        buf_clear(&b);
        man_add_command(&b, *c);
        code = take(x, arena_printf(&x->arena, "nb-%s", (*c)->name).p, 1, buf_str(&b));
    }
    if (code == EXIT_DONE) {
        buf_clear(&b);
        man_add_settings(&b);
        code = take(x, "nimblebrain.json", 5, buf_str(&b));
    }
    if (code == EXIT_DONE) {
        buf_clear(&b);
        man_add_log(&b);
        code = take(x, "nb-log", 5, buf_str(&b));
    }
    buf_done(&b);
    return code;
}

static int write_page(struct cmd *x, const char *page, int section, str text)
{
    struct err e = {0};
    const char *dir = arena_printf(&x->arena, "%s/man%d", cmd_opt(x, "dir"), section).p;
    const char *path = arena_printf(&x->arena, "%s/%s.%d", dir, page, section).p;
    if (file_make_dirs(dir, &e) < 0 || file_write_atomic(path, text, 0644, &e) < 0)
        return cli_fail(&e);
    return EXIT_DONE;
}

static int print_page(struct cmd *x, const char *page, int section, str text)
{
    const char *wanted = x->argv[0];
    if (strcmp(page, wanted) != 0 && strcmp(arena_printf(&x->arena, "nb-%s", wanted).p, page) != 0)
        return EXIT_DONE;
    fwrite(text.p, 1, text.n, stdout);
    return EXIT_FAILED; /* found: look no further */
}

static int run_man(struct cmd *x)
{
    if (cmd_opt(x, "dir"))
        return each_page(x, write_page);
    if (x->argc == 0)
        return cmd_usage(x, "expected PAGE or --dir DIR");
    if (each_page(x, print_page) == EXIT_FAILED)
        return EXIT_DONE;
    return cli_failed("no manual page '%s'", x->argv[0]);
}

const struct command CMD_MAN = {
    .name = "man",
    .operands = "[PAGE]",
    .help = "Prints a manual page in the format of man(7), or writes all of them into man1 and "
            "man5 of a directory.\n"
            "\n"
            "  nb man bundle | man -l -\n",
    .args = (const struct arg[]){{"dir", 0, ARG_STRING, "DIR", "write all pages below DIR"}, {0}},
    .needs = WRITES_PROTOCOL,
    .run = run_man,
};
