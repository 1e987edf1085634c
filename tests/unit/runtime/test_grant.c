/* A turn in the directory of the sender's terminal. */
#include <sys/stat.h>

#include "support/rig.h"

/* The tool t__ping becomes a shell; `project` is a directory with a skill, outside the work
 * directory; `operator` owns nb's files. */
static struct tempdir project;
static struct actor *operator;

static int set_up(void **state)
{
    int r = rig_set_up(state);
    struct rig *rig = *state;
    operator= actor_new_operator(rig->directory, STR(RIG_WORKSPACE), STR("usr_ana"));
    rig_tools.tools[0].is_shell = true;
    registry_changed(rig->tools, &rig_tools.source);
    assert_int_equal(tempdir_make(&project), 0);
    return r;
}

static int tear_down(void **state)
{
    actor_unref(operator);
    (void)tempdir_drop(&project);
    return rig_tear_down(state);
}

#define IN_A_TERMINAL(name) TEST_WITH(name, set_up, tear_down)

static void add_skill(void)
{
    char path[128];
    struct err e = {0};
    snprintf(path, sizeof path, "%s/.agents/skills/local", project.path);
    assert_int_equal(file_make_dirs(path, &e), 0);
    snprintf(path, sizeof path, "%s/.agents/skills/local/SKILL.md", project.path);
    assert_int_equal(
        file_write_atomic(path,
                          STR("---\nname: local\ndescription: frobnicates\nmetadata:\n  "
                              "triggers: [frobnicate]\n---\nFrobnicate with care.\n"),
                          0600, &e),
        0);
}

static struct rig_turn *send_from(struct rig *r, const struct actor *who, const char *path,
                                  const char *id)
{
    struct dir_grant g;
    struct err e = {0};
    assert_int_equal(dir_grant_of(&r->arena, path, &g, &e), 0);
    struct turn_request req = {.actor = who,
                               .conversation_id = str_from(id),
                               .message = STR("frobnicate"),
                               .grant = g,
                               .when_busy = TURN_QUEUE};
    return rig_start(r, &req);
}

IN_A_TERMINAL(a_command_in_the_directory_is_asked_about_and_shows_where_it_would_run)
{
    struct rig *r = *state;
    model_calls("t__ping", "{\"cwd\":\"src\"}");
    struct rig_turn *t = send_from(r, operator, project.path, "");
    rig_until(r, t->is_over);
    assert_int_equal(t->stop, RUN_STOP_WAITING); /* without a grant the tool asks nobody */
    const struct json *calls = json_get(rig_last(r, t->conversation_id, "ask.opened"), "calls");
    str directory = json_get_string(json_at(calls, 0), "directory");
    assert_true(str_ends(directory, STR("/src")));
    assert_true(str_starts(directory, str_from(project.path)));
    assert_false(json_get_bool(json_at(calls, 0), "canRemember", true));
    assert_non_null(strstr(rig_model.seen[0].system, project.path));
}

/* Only the owner of nb's files may lend a directory; for others the grant is ignored. */
IN_A_TERMINAL(a_member_cannot_lend_a_directory)
{
    struct rig *r = *state;
    struct rig_turn *t = send_from(r, r->ben, project.path, "");
    rig_until(r, t->is_over);
    assert_int_equal(t->stop, RUN_STOP_COMPLETE);
    assert_null(strstr(rig_model.seen[0].system, project.path));
}

IN_A_TERMINAL(skills_of_the_directory_are_used)
{
    struct rig *r = *state;
    add_skill();
    struct rig_turn *t = send_from(r, operator, project.path, "");
    rig_until(r, t->is_over);
    assert_string_equal(t->skill, "local");
    assert_non_null(strstr(rig_model.seen[0].system, "Frobnicate with care."));
    t = rig_chat(r, operator, "", "frobnicate"); /* elsewhere */
    assert_string_equal(t->skill, "");
}

IN_A_TERMINAL(a_directory_that_was_replaced_is_refused)
{
    struct rig *r = *state;
    struct dir_grant g;
    struct err e = {0};
    assert_int_equal(dir_grant_of(&r->arena, project.path, &g, &e), 0);
    assert_int_equal(tempdir_drop(&project), 0);
    assert_int_equal(mkdir(project.path, 0700), 0);
    g.id = STR("another");
    struct turn_request req = {.actor = operator, .message = STR("hi"), .grant = g};
    struct rig_turn *t = rig_start(r, &req);
    rig_until(r, t->is_over);
    assert_true(t->is_refused);
    assert_int_equal(rig_store.kinds[RIG_CREATE].made, 0);
}

IN_A_TERMINAL(the_work_directory_of_nb_cannot_be_lent)
{
    struct rig *r = *state;
    struct rig_turn *t = send_from(r, operator, r->root, "");
    rig_until(r, t->is_over);
    assert_true(t->is_refused);
    assert_int_equal(t->why, TURN_FORBIDDEN);
}

/* The directory is part of the actor: it survives the question, also a restart. */
IN_A_TERMINAL(the_run_that_resumes_has_the_directory_again)
{
    struct rig *r = *state;
    add_skill();
    model_calls("t__ping", "{}");
    struct rig_turn *asked = send_from(r, operator, project.path, "");
    rig_until(r, asked->is_over);
    rig_restart(r);
    struct rig_turn *t = rig_answer(r, operator, asked, true);
    assert_int_equal(t->stop, RUN_STOP_COMPLETE);
    assert_string_equal(t->skill, "local");
    assert_non_null(strstr(rig_model.seen[1].system, project.path));
    const struct json *start = rig_last(r, t->conversation_id, "tool.start");
    assert_true(str_eq(json_get_string(start, "directory"), str_from(project.path)));
}

IN_A_TERMINAL(a_session_of_the_page_cannot_allow_commands_of_a_terminal)
{
    struct rig *r = *state;
    model_calls("t__ping", "{}");
    struct rig_turn *asked = send_from(r, operator, project.path, "");
    rig_until(r, asked->is_over);
    struct rig_turn *t = rig_answer(r, r->ana, asked, true);
    assert_int_equal(t->why, TURN_FORBIDDEN);
    assert_non_null(strstr(t->err.msg, "Answer in a terminal"));
    assert_int_equal(rig_answer(r, r->ana, asked, false)->stop, RUN_STOP_COMPLETE);
    assert_int_equal(rig_tools.started, 0);
}

/* Words of somebody else end the grant: commands run in the sandbox of the server again. */
IN_A_TERMINAL(a_message_of_somebody_else_ends_the_grant)
{
    struct rig *r = *state;
    struct rig_turn *t = send_from(r, operator, project.path, "");
    rig_until(r, t->is_over);
    rig_share(r, t->conversation_id, "usr_ben");
    rig_chat(r, r->ben, t->conversation_id, "and mine");
    struct rig_turn *mixed = send_from(r, operator, project.path, t->conversation_id);
    rig_until(r, mixed->is_over);
    assert_null(strstr(rig_model.seen[2].system, project.path));
}
