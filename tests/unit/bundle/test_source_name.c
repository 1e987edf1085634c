#include "bundle/entry/entry.h"
#include "unit/bundle/entry_rig.h"

static void reserved(const char *name)
{
    str ret;
    struct err e = {0};
    int r = bundle_server_name(&arena, str_from(name), &ret, &e);
    if (r != -EPERM)
        fail_msg("'%s' was not refused (%d)", name, r);
    assert_non_null(strstr(e.msg, "serverName"));
}

TEST(own_names_and_their_look_alikes_are_reserved)
{
    static const char *const NAMES[] = {"nb",
                                        "NB",
                                        "n-b",
                                        "n_b",
                                        "nb_",
                                        "-nb-",
                                        "nb__x",
                                        "nb--x",
                                        "nb-tools",
                                        "Nb.x",
                                        "\xef\xbd\x8e\xef\xbd\x82",
                                        "n\xe2\x80\x8b"
                                        "b",
                                        "conversations",
                                        "Conversations",
                                        "c0nversations",
                                        "conversatlons",
                                        "conversation",
                                        "conversations__list",
                                        "conversations--x",
                                        "con-versations",
                                        "conversatons",
                                        "c\xd0\xbenversations",
                                        "\xd1\x81onversations",
                                        "conversationss",
                                        "bash",
                                        "BASH",
                                        "b\xd0\xb0sh",
                                        "ba-sh",
                                        "bash__x",
                                        "skills",
                                        "skill",
                                        "Sk1lls",
                                        "skil1s",
                                        "files",
                                        "f1les"};
    for (size_t i = 0; i < ARRAY_LEN(NAMES); i++)
        reserved(NAMES[i]);
}

TEST(other_names_are_free)
{
    static const char *const NAMES[] = {"notebook", "nbx",    "bash-tools", "dash",
                                        "skillful", "hash",   "filing",     "conversations-of-x",
                                        "my-nb",    "numbers"};
    for (size_t i = 0; i < ARRAY_LEN(NAMES); i++) {
        str ret;
        struct err e = {0};
        if (bundle_server_name(&arena, str_from(NAMES[i]), &ret, &e) < 0)
            fail_msg("%s: %s", NAMES[i], e.msg);
    }
}

TEST(derived_names_give_way)
{
    is(good("{\"name\":\"@x/conversations\"}").server_name, "x-conversations");
    is(good("{\"name\":\"@Acme/NB\"}").server_name, "acme-nb");
    is(good("{\"path\":\"/opt/skills\"}").server_name, "local-skills");
    is(good("{\"command\":\"/usr/bin/conversations\"}").server_name, "command-conversations");
    is(good("{\"command\":\"/usr/bin/x\",\"serverName\":\"files\"}").server_name, "command-files");
    is(good("{\"url\":\"https://e.com\",\"serverName\":\"Files\"}").server_name, "remote-files");
    bad("{\"name\":\"@nb/conversations\"}", "reserved");
    bad("{\"name\":\"@x/y\",\"serverName\":\"conversations\"}", "serverName: 'conversations' is");
    bad("{\"url\":\"https://e.com\",\"serverName\":\"nb__x\"}", "reserved");
}

TEST(only_its_own_package_is_bash)
{
    is(good("{\"name\":\"@nimblebraininc/bash\"}").server_name, "bash");
    is(good("{\"name\":\"@nimblebraininc/bash\",\"serverName\":\"bash\"}").server_name, "bash");
    is(good("{\"name\":\"@evil/bash\"}").server_name, "evil-bash");
    bad("{\"name\":\"@evil/x\",\"serverName\":\"bash\"}", "reserved");
    bad("{\"command\":\"/bin/true\",\"serverName\":\"bash\"}", "reserved");
}

TESTS_SHARE(setup, teardown)
