#include "bundle/confine/path_list.h"
#include "sandbox_rig.h"

static bool meets(const char *path, const char *dir)
{
    struct path_list dirs = {0};
    path_list_add(&rig.arena, &dirs, str_from(at(dir)));
    return path_meets_link_in(&rig.arena, str_from(at(path)), &dirs);
}

TEST_WITH(a_link_belongs_to_the_directory_it_lies_in, rig_open, rig_close)
{
    assert_int_equal(symlink("../home/.ssh", at("app/keys")), 0);
    assert_int_equal(symlink(at("app"), at("alias")), 0);
    assert_true(meets("app/keys", "app") && meets("app/keys/id", "app"));
    assert_true(meets("alias/keys/id", "app") && meets("app/keys", "alias"));
    assert_false(meets("alias/package.json", "app")); /* the link is not in app */
    assert_false(meets("app/keys/id", "home"));
    assert_false(meets("app/dist/deep/index.js", "app"));
}

TEST_WITH(links_without_end_count_as_met, rig_open, rig_close)
{
    assert_int_equal(symlink("b", at("home/a")), 0);
    assert_int_equal(symlink("a", at("home/b")), 0);
    assert_true(meets("home/a", "app"));
}

TEST_WITH(odd_names_are_only_names, rig_open, rig_close)
{
    make_file("app/~/x", "", 0644);
    assert_int_equal(symlink("~/./../~/x", at("app/odd")), 0);
    assert_true(meets("app/odd", "app"));
    assert_false(meets("app/odd", "app/~"));
}

TEST_WITH(leaving_by_a_link, rig_open, rig_close)
{
    assert_int_equal(symlink("../home", at("app/out")), 0);
    assert_int_equal(symlink("app", at("alias")), 0);
    str app = str_from(at("app")), alias = str_from(at("alias"));
    assert_true(path_leaves_by_link(&rig.arena, str_from(at("app/out/notes")), app));
    assert_true(path_leaves_by_link(&rig.arena, str_from(at("alias/out/notes")), alias));
    assert_false(path_leaves_by_link(&rig.arena, str_from(at("alias/dist/deep")), alias));
}
