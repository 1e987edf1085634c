#include <errno.h>

#include "bundle/sandbox/sandbox_rules.h"
#include "sandbox_rig.h"

static struct sandbox_rules rules;
static struct err err;

static struct sandbox_want want_of(void)
{
    static const char *const ARGV[] = {"cat", NULL}, *const ENV[] = {"PATH=/usr/bin", NULL};
    static const struct bundle_sandbox NONE;
    return (struct sandbox_want){
        .declared = &NONE,
        .argv = ARGV,
        .env = ENV,
        .data_dir = at("work/data/me"),
        .work_dir = at("work"),
        .home_dir = at("home"),
        .own_program = "/opt/nb",
    };
}

static bool in(const struct path_list *l, const char *name)
{
    for (size_t i = 0; i < l->n; i++) {
        if (strcmp(l->at[i], at(name)) == 0)
            return true;
    }
    return false;
}

static int make(const struct sandbox_want *w)
{
    err = (struct err){0};
    return sandbox_rules_make(&rig.arena, w, &rules, &err);
}

TEST_WITH(bash_in_a_terminal, rig_open, rig_close)
{
    struct sandbox_want w = want_of();
    make_dirs(at("home/project"));
    w.reads_home = true;
    w.project_dir = w.cwd = at("home/project");
    assert_int_equal(make(&w), 0);
    assert_true(in(&rules.read, "home") && in(&rules.write, "home/project"));
    assert_true(in(&rules.hide, "home/.ssh") && in(&rules.hide, "home/.config/gh"));
    assert_false(rules.network);
}

/* A home that may be written is a home whose start-up files may be written. */
TEST_WITH(the_home_itself_is_no_project, rig_open, rig_close)
{
    struct sandbox_want w = want_of();
    const char *const dirs[] = {at("home"), rig.root, "/", at("work"), at("home/.ssh")};
    for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
        w.reads_home = true;
        w.project_dir = w.cwd = dirs[i];
        assert_int_equal(make(&w), 0);
        assert_int_equal(rules.write.n, 0);
        assert_true(strcmp(rules.cwd, i == 0 || i == 4 ? dirs[i] : at("work/data/me")) == 0);
    }
}

TEST_WITH(secrets_are_hidden_where_they_really_are, rig_open, rig_close)
{
    str read[] = {str_from(at("alias"))};
    struct bundle_sandbox s = {.read = {read, 1}};
    struct sandbox_want w = want_of();
    make_file("home/dotfiles/netrc", "", 0600);
    assert_int_equal(symlink("dotfiles/netrc", at("home/.netrc")), 0);
    assert_int_equal(symlink("home", at("alias")), 0);
    w.declared = &s;
    assert_int_equal(make(&w), 0);
    assert_true(in(&rules.hide, "alias/.ssh") && in(&rules.hide, "alias/dotfiles/netrc"));
    assert_false(in(&rules.hide, "alias/.netrc")); /* a link into nothing is left */
}

TEST_WITH(the_work_directory_by_another_name, rig_open, rig_close)
{
    str read[] = {str_from(at("alias"))};
    struct bundle_sandbox s = {.read = {read, 1}};
    struct sandbox_want w = want_of();
    assert_int_equal(symlink("work/data/other", at("alias")), 0);
    w.declared = &s;
    assert_int_equal(make(&w), -EINVAL);
    assert_non_null(strstr(err.msg, "own work directory"));
}

TEST_WITH(the_working_directory_can_be_read, rig_open, rig_close)
{
    struct sandbox_want w = want_of();
    w.cwd = at("app");
    assert_int_equal(make(&w), 0);
    assert_true(in(&rules.read, "app"));
    w.cwd = at("home");
    assert_int_equal(make(&w), -EINVAL);
    assert_non_null(strstr(err.msg, "shows the home directory"));
    w.cwd = at("work/data/other");
    assert_int_equal(make(&w), -EINVAL);
}

TEST_WITH(a_package_is_read_and_must_be_one, rig_open, rig_close)
{
    struct sandbox_want w = want_of();
    w.package_dir = at("app");
    w.cwd = at("app/dist");
    assert_int_equal(make(&w), 0);
    assert_true(in(&rules.own_read, "app"));
    assert_int_equal(rules.read.n, 0);
    w.package_dir = rig.root;
    assert_int_equal(make(&w), -EINVAL);
    assert_non_null(strstr(err.msg, "a directory of its own"));
}

TEST_WITH(chosen_paths_are_read_only, rig_open, rig_close)
{
    struct sandbox_want w = want_of();
    str chosen[] = {str_from(at("home/notes"))};
    w.chosen = (struct json_strs){chosen, 1};
    assert_int_equal(make(&w), 0);
    assert_true(in(&rules.read, "home/notes"));
    assert_int_equal(rules.write.n, 0);
}

TEST_WITH(secrets_and_homes_cannot_be_chosen, rig_open, rig_close)
{
    const char *const paths[] = {"home", "home/.ssh", "home/.ssh/id", "home/link", "work", ""};
    struct sandbox_want w = want_of();
    assert_int_equal(symlink(".ssh", at("home/link")), 0);
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        str chosen[] = {str_from(*paths[i] ? at(paths[i]) : rig.root)};
        w.chosen = (struct json_strs){chosen, 1};
        assert_int_equal(make(&w), -EINVAL);
    }
}

/* The command line of a package is the package's own wish. */
TEST_WITH(arguments_of_a_package_show_nothing, rig_open, rig_close)
{
    struct sandbox_want w = want_of();
    const char *const files[] = {"home/.ssh/id", "home/notes/list", "work/data/other/x"};
    w.package_dir = at("app");
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        w.argv = (const char *const[]){"cat", at(files[i]), NULL};
        assert_int_equal(make(&w), 0);
        assert_int_equal(rules.program_files.n + rules.read.n + rules.write.n, 0);
        assert_int_equal(rules.own_read.n, 1);
        w.argv = (const char *const[]){at(files[i]), NULL};
        chmod(at(files[i]), 0755);
        assert_int_equal(make(&w), -EINVAL);
        assert_non_null(strstr(err.msg, "not a file of the package"));
    }
}

TEST_WITH(a_package_does_not_choose_where_programs_are_found, rig_open, rig_close)
{
    struct sandbox_want w = want_of();
    const char *const env[] = {arena_printf(&rig.arena, "PATH=%s", at("home/node/bin")).p, NULL};
    w.package_dir = at("app");
    w.env = env;
    w.argv = (const char *const[]){"cat", NULL};
    assert_int_equal(make(&w), 0);
    assert_int_equal(rules.program_files.n, 0);
    make_file("app/run", "#!/bin/sh\n", 0755);
    const char *head = arena_printf(&rig.arena, "#!%s\n", at("home/node/bin/node")).p;
    make_file("app/far", head, 0755);
    const char *const programs[] = {"app/run", "app/far"};
    for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
        w.argv = (const char *const[]){at(programs[i]), NULL};
        assert_int_equal(make(&w), 0);
        assert_int_equal(rules.program_files.n, 0);
    }
}

TEST_WITH(a_package_is_not_in_the_work_directory, rig_open, rig_close)
{
    struct sandbox_want w = want_of();
    make_file("work/apps/p/x", "", 0644);
    w.packages_dir = at("work/apps");
    w.package_dir = at("work/apps/p");
    assert_int_equal(make(&w), 0);
    w.package_dir = at("work/data/other");
    assert_int_equal(make(&w), -EINVAL);
}

/* The first operand of a person's command is shown, but neither keys nor nb's own data. */
TEST_WITH(scripts_in_hidden_places_are_refused, rig_open, rig_close)
{
    struct sandbox_want w = want_of();
    const char *const files[] = {"home/.ssh/id", "work/data/other/x", "work/settings.json"};
    make_file("work/settings.json", "{}", 0600);
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        w.argv = (const char *const[]){"cat", at(files[i]), NULL};
        assert_int_equal(make(&w), -EINVAL);
    }
    make_file("home/.ssh/package.json", "{}", 0600);
    make_file("home/package.json", "{}", 0600);
    w.argv = (const char *const[]){"cat", at("home/notes/list"), NULL};
    assert_int_equal(make(&w), 0);
    assert_true(in(&rules.program_files, "home/notes"));
}

/* Hidden is stronger than the files of a program. */
TEST_WITH(secrets_beside_a_script_stay_hidden, rig_open, rig_close)
{
    struct sandbox_want w = want_of();
    make_file("home/.config/sub/package.json", "{}", 0644);
    make_file("home/.config/sub/run.js", "", 0644);
    w.argv = (const char *const[]){"cat", at("home/.config/sub/run.js"), NULL};
    assert_int_equal(make(&w), 0);
    assert_true(in(&rules.program_files, "home/.config/sub"));
    w.package_dir = at("home/.config");
    w.argv = (const char *const[]){"cat", NULL};
    assert_int_equal(make(&w), 0);
    assert_true(in(&rules.hide, "home/.config/gh"));
}

/* What it may write it may also replace by a link, and be started again. */
TEST_WITH(declared_paths_do_not_lead_through_its_own_links, rig_open, rig_close)
{
    str read[] = {str_from(at("home/notes/sub/deep"))}, write[] = {str_from(at("home/notes"))};
    struct bundle_sandbox s = {.read = {read, 1}, .write = {write, 1}};
    struct sandbox_want w = want_of();
    w.declared = &s;
    make_dirs(at("home/notes/sub/deep"));
    assert_int_equal(make(&w), 0);
    assert_int_equal(rmdir(at("home/notes/sub/deep")), 0);
    assert_int_equal(symlink("../../.ssh", at("home/notes/sub/deep")), 0);
    assert_int_equal(make(&w), -EINVAL);
    assert_non_null(strstr(err.msg, at("home/.ssh")));
}

TEST_WITH(a_program_behind_its_own_link_must_be_declared, rig_open, rig_close)
{
    str write[] = {str_from(at("app"))}, read[] = {str_from(at("home/node"))};
    struct bundle_sandbox s = {.write = {write, 1}};
    struct sandbox_want w = want_of();
    w.declared = &s;
    w.argv = (const char *const[]){at("app/node"), NULL};
    assert_int_equal(symlink(at("home/node/bin/node"), at("app/node")), 0);
    assert_int_equal(make(&w), -EINVAL);
    assert_non_null(strstr(err.msg, "declare its installation"));
    s.read = (struct json_strs){read, 1};
    assert_int_equal(make(&w), 0);
}

/* A project whose node_modules is a link: nothing can be mounted below it by that name. */
TEST_WITH(what_is_behind_a_link_is_shown_where_it_is, rig_open, rig_close)
{
    struct sandbox_want w = want_of();
    make_file("shared/node/bin/node", "", 0755);
    make_file("shared/node/lib/x", "", 0644);
    assert_int_equal(symlink(at("shared"), at("app/node_modules")), 0);
    w.argv = (const char *const[]){at("app/node_modules/node/bin/node"), "server.js", NULL};
    w.cwd = at("app");
    make_file("app/server.js", "", 0644);
    assert_int_equal(make(&w), 0);
    assert_true(in(&rules.program_files, "shared/node"));
    assert_false(in(&rules.program_files, "app/node_modules/node"));
}
