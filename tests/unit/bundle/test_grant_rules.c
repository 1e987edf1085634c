#include <errno.h>

#include "bundle/plan/grant_rules.h"
#include "sandbox_rig.h"

static int check(const char *path)
{
    struct err e = {0};
    return grant_rules_check(str_from(path), at("home"), at("work"), &e);
}

TEST_WITH(projects_and_the_home_may_be_lent, rig_open, rig_close)
{
    assert_int_equal(check(at("app")), 0);
    assert_int_equal(check(at("home")), 0);
    assert_int_equal(check(at("home/notes")), 0);
}

TEST_WITH(more_than_a_project_is_refused, rig_open, rig_close)
{
    static const char *const WRONG[] = {"/", "/etc", "/usr/share", "/proc", "/dev", "/tmp"};
    for (size_t i = 0; i < ARRAY_LEN(WRONG); i++)
        assert_int_equal(check(WRONG[i]), -EACCES);
    assert_int_equal(check(rig.root), -EACCES);
}

TEST_WITH(the_work_directory_and_places_for_keys_are_refused, rig_open, rig_close)
{
    assert_int_equal(check(at("work")), -EACCES);
    assert_int_equal(check(at("work/data/me")), -EACCES);
    assert_int_equal(check(at("home/.ssh")), -EACCES);
    assert_int_equal(check(at("home/.config/gh")), -EACCES);
    make_file("other/.ssh/id", "", 0600);
    assert_int_equal(check(at("other")), -EACCES); /* somebody's home */
}

TEST_WITH(homes_that_are_reached_by_a_link_count_as_well, rig_open, rig_close)
{
    struct err e = {0};
    assert_int_equal(symlink("home", at("people")), 0);
    assert_int_equal(symlink("work", at("nb")), 0);
    const char *home = at("people"), *work = at("nb");
    assert_int_equal(grant_rules_check(str_from(at("home/.ssh")), home, work, &e), -EACCES);
    assert_int_equal(grant_rules_check(str_from(at("work")), home, work, &e), -EACCES);
    assert_int_equal(grant_rules_check(str_from(at("home")), home, work, &e), 0);
}
