/* Messages to a busy conversation: they wait, steer, are changed, withdrawn and restored. */
#include <dirent.h>

#include "support/rig.h"

/* Every test begins with a conversation of ana whose model call is held; `busy` is its turn. */
struct scene {
    struct rig *rig;
    struct rig_turn *busy;
    const char *id; /* of the conversation */
};

static struct scene *scene;

static int set_up(void **state)
{
    int r = rig_set_up(state);
    struct rig *rig = *state;
    scene = ARENA_NEW(&rig->arena, struct scene);
    MODEL(.text = "first answer", .is_held = true);
    scene->rig = rig;
    scene->busy = rig_send(rig, rig->ana, "", "first");
    rig_until(rig, model_waiting() == 1);
    scene->id = scene->busy->conversation_id;
    return r;
}

#define IN_A_BUSY_CONVERSATION(name) TEST_WITH(name, set_up, rig_tear_down)

static struct rig_turn *queue_as(const struct actor *who, const char *message)
{
    struct rig_turn *t = rig_send(scene->rig, who, scene->id, message);
    rig_until(scene->rig, t->is_queued || t->is_over);
    return t;
}

static struct rig_turn *queue(const char *message)
{
    return queue_as(scene->rig->ana, message);
}

static void finish_first(void)
{
    model_release();
    rig_until(scene->rig, scene->busy->is_over);
}

static size_t files(void)
{
    char path[128];
    size_t n = 0;
    snprintf(path, sizeof path, "%s/queue", scene->rig->root);
    DIR *d = opendir(path);
    for (const struct dirent *e; d && (e = readdir(d)) != NULL;)
        n += e->d_name[0] != '.';
    if (d)
        closedir(d);
    return n;
}

/* "a b c": the messages that a client would be shown, the next one first. */
static const char *listed(void)
{
    struct arena *a = &scene->rig->arena;
    const struct json *list = queue_json(scene->rig->runtime, str_from(scene->id), a);
    str all = STR("");
    for (size_t i = 0; i < list->len; i++)
        all = arena_printf(a, "%.*s%s%.*s", STR_ARG(all), i > 0 ? " " : "",
                           STR_ARG(json_get_string(&list->items[i], "message")));
    return all.p;
}

static struct queue_ref ref_of(const struct rig_turn *t, const struct actor *by)
{
    return (struct queue_ref){str_from(scene->id), str_from(t->queued_id), actor_user(by), by};
}

static int edit(const struct rig_turn *t, const struct actor *by, const char *message)
{
    struct queue_file_op *op;
    struct queue_ref which = ref_of(t, by);
    struct err e = {0};
    return queue_edit(scene->rig->runtime, &which, str_from(message), NULL, NULL, &op, &e);
}

static int withdraw(const struct rig_turn *t, const struct actor *by)
{
    struct queue_file_op *op;
    struct queue_ref which = ref_of(t, by);
    struct err e = {0};
    return queue_withdraw(scene->rig->runtime, &which, actor_user(by), NULL, NULL, &op, &e);
}

/* ---- order ---- */

IN_A_BUSY_CONVERSATION(messages_are_sent_one_after_the_other_in_the_order_of_their_arrival)
{
    struct rig *r = *state;
    struct rig_turn *b = queue("b"), *c = queue("c");
    assert_true(b->is_queued && !b->is_started && !c->is_started);
    assert_string_equal(listed(), "b c");
    assert_int_equal(files(), 2);
    finish_first();
    rig_until(r, b->is_over && c->is_over);
    assert_int_equal(b->starts, 1);
    assert_string_equal(rig_model.seen[1].messages,
                        "user: first\nassistant: first answer\nuser: b\n");
    assert_non_null(strstr(rig_model.seen[2].messages, "user: b\nassistant: ok\nuser: c\n"));
    rig_settle(r);
    assert_int_equal(files(), 0);
    assert_string_equal(listed(), "");
}

/* The log names the message that it took, so that clients can replace the queued one. */
IN_A_BUSY_CONVERSATION(a_message_that_waited_has_its_queued_id_in_the_log)
{
    struct rig *r = *state;
    struct rig_turn *b = queue("b");
    rig_watch(r, scene->id);
    finish_first();
    rig_until(r, b->is_over);
    const struct json *m = rig_last(r, scene->id, "user.message");
    assert_true(str_eq(json_get_string(m, "queuedId"), str_from(b->queued_id)));
    assert_true(str_eq(json_get_string(rig_seen(r, "queue.removed"), "reason"), STR("taken")));
}

IN_A_BUSY_CONVERSATION(a_client_that_does_not_want_to_wait_is_refused)
{
    struct rig *r = *state;
    struct turn_request req = {
        .actor = r->ana, .conversation_id = str_from(scene->id), .message = STR("now")};
    struct rig_turn *t = rig_start(r, &req);
    rig_until(r, t->is_over);
    assert_int_equal(t->why, TURN_BUSY);
    assert_string_equal(listed(), "");
    finish_first();
}

IN_A_BUSY_CONVERSATION(other_conversations_do_not_wait)
{
    struct rig *r = *state;
    assert_int_equal(rig_chat(r, r->ana, "", "elsewhere")->stop, RUN_STOP_COMPLETE);
    assert_false(scene->busy->is_over);
    finish_first();
}

/* Cancelling the run does not cancel the messages behind it. */
IN_A_BUSY_CONVERSATION(a_queued_message_is_sent_after_a_cancelled_run)
{
    struct rig *r = *state;
    struct rig_turn *b = queue("b");
    runtime_cancel(r->runtime, str_from(scene->id));
    rig_until(r, b->is_over);
    assert_int_equal(scene->busy->stop, RUN_STOP_CANCELLED);
    assert_int_equal(b->stop, RUN_STOP_COMPLETE);
}

/* ---- ceilings and failures ---- */

IN_A_BUSY_CONVERSATION(so_many_messages_may_wait_and_no_more)
{
    struct rig *r = *state;
    struct rig_turn *first = NULL;
    for (int i = 0; i < TURN_QUEUE_MAX; i++) {
        struct rig_turn *t = queue("b");
        assert_true(t->is_queued);
        first = first ? first : t;
    }
    struct rig_turn *t = queue("one too many");
    assert_int_equal(t->why, TURN_BUSY);
    assert_int_equal(withdraw(first, r->ana), 0);
    assert_true(queue("in its place")->is_queued);
    rig_stop_runtime(r);
}

/* A new watcher gets all of them. */
IN_A_BUSY_CONVERSATION(all_queued_messages_together_are_no_longer_than_one_may_be)
{
    struct rig *r = *state;
    char *half = xcalloc(1, TURN_MESSAGE_MAX / 2 + 2);
    memset(half, 'x', TURN_MESSAGE_MAX / 2 + 1);
    struct rig_turn *b = queue(half);
    assert_true(b->is_queued);
    assert_int_equal(queue(half)->why, TURN_BUSY);
    assert_int_equal(edit(b, r->ana, "short"), 0);
    assert_true(queue(half)->is_queued);
    free(half);
    rig_stop_runtime(r);
}

IN_A_BUSY_CONVERSATION(a_message_whose_file_cannot_be_written_is_refused)
{
    struct rig *r = *state;
    char path[128];
    snprintf(path, sizeof path, "%s/queue", r->root);
    assert_int_equal(file_write_atomic(path, STR("not a directory"), 0600, NULL), 0);
    struct rig_turn *t = queue("b");
    assert_int_equal(t->why, TURN_FAILED);
    assert_string_equal(listed(), "");
    finish_first();
}

/* The one behind a message that fails gets its turn. */
IN_A_BUSY_CONVERSATION(a_refused_message_lets_the_next_one_pass)
{
    struct rig *r = *state;
    struct rig_turn *b = queue("b"), *c = queue("c");
    store_fault_once(RIG_APPEND, "user.message", -ENOSPC);
    finish_first();
    rig_until(r, c->is_over);
    assert_int_equal(b->why, TURN_FAILED);
    assert_int_equal(c->stop, RUN_STOP_COMPLETE);
    assert_null(strstr(rig_model.seen[1].messages, "user: b"));
}

/* ---- changing and withdrawing ---- */

IN_A_BUSY_CONVERSATION(an_edited_message_is_sent_as_it_was_edited_last)
{
    struct rig *r = *state;
    struct rig_turn *b = queue("b");
    rig_watch(r, scene->id);
    assert_int_equal(edit(b, r->ana, "better"), 0);
    assert_int_equal(edit(b, r->ana, "best"), 0);
    assert_true(str_eq(json_get_string(rig_seen(r, "queue.changed"), "message"), STR("best")));
    finish_first();
    rig_until(r, b->is_over);
    assert_non_null(strstr(rig_model.seen[1].messages, "user: best\n"));
}

IN_A_BUSY_CONVERSATION(only_its_sender_edits_a_message_and_only_with_words_that_can_be_sent)
{
    struct rig *r = *state;
    rig_share(r, scene->id, "usr_ben");
    struct rig_turn *b = queue("b");
    assert_int_equal(edit(b, r->ben, "mine now"), -ENOENT);
    assert_int_equal(edit(b, r->ana, "  "), -EINVAL);
    struct rig_turn unknown = {.queued_id = "msg_0123456789abcdef"};
    assert_int_equal(edit(&unknown, r->ana, "x"), -ENOENT);
    assert_string_equal(listed(), "b");
    rig_stop_runtime(r);
}

IN_A_BUSY_CONVERSATION(a_token_with_fewer_tools_cannot_change_the_words_of_a_wider_message)
{
    struct rig *r = *state;
    str glob = STR("t__ping");
    struct actor *narrow = actor_narrow(r->ana, FILTER_TOKEN, (struct json_strs){&glob, 1});
    struct rig_turn *b = queue("b"), *own = queue_as(narrow, "c");
    assert_int_equal(edit(b, narrow, "drop everything"), -EPERM);
    assert_int_equal(edit(own, narrow, "mine"), 0);
    assert_int_equal(edit(own, r->ana, "hers"), 0);
    assert_string_equal(listed(), "b hers");
    actor_unref(narrow);
    rig_stop_runtime(r);
}

IN_A_BUSY_CONVERSATION(a_withdrawn_message_is_not_sent_and_its_file_is_gone)
{
    struct rig *r = *state;
    struct rig_turn *b = queue("b"), *c = queue("c");
    rig_watch(r, scene->id);
    assert_int_equal(withdraw(b, r->ana), 0);
    assert_true(b->is_refused);
    assert_int_equal(b->why, TURN_WITHDRAWN);
    const struct json *removed = rig_seen(r, "queue.removed");
    assert_true(str_eq(json_get_string(removed, "reason"), STR("withdrawn")));
    assert_true(str_eq(json_get_string(removed, "userId"), STR("usr_ana")));
    assert_int_equal(withdraw(b, r->ana), -ENOENT);
    finish_first();
    rig_until(r, c->is_over);
    assert_null(strstr(rig_model.seen[1].messages, "user: b"));
    rig_settle(r);
    assert_int_equal(files(), 0);
}

/* The answer "too late" differs from "never heard of it". */
IN_A_BUSY_CONVERSATION(a_message_that_the_agent_has_taken_cannot_be_changed)
{
    struct rig *r = *state;
    struct rig_turn *b = queue("b");
    MODEL(.is_held = true);
    finish_first();
    rig_until(r, b->is_started);
    assert_int_equal(edit(b, r->ana, "late"), -EALREADY);
    assert_int_equal(withdraw(b, r->ana), -EALREADY);
    rig_until(r, model_waiting() == 1);
    model_release();
    rig_until(r, b->is_over);
}

/* ---- losing access ---- */

IN_A_BUSY_CONVERSATION(a_message_does_not_outlive_the_membership_of_its_sender)
{
    struct rig *r = *state;
    rig_share(r, scene->id, "usr_ben");
    struct rig_turn *b = queue_as(r->ben, "b"), *c = queue("c");
    rig_remove_member(r, "usr_ben");
    finish_first();
    rig_until(r, c->is_over);
    assert_true(b->is_refused);
    assert_int_equal(b->why, TURN_NOT_FOUND);
    assert_null(strstr(rig_model.seen[1].messages, "user: b"));
}

IN_A_BUSY_CONVERSATION(queued_messages_of_a_user_are_withdrawn_with_the_runs)
{
    struct rig *r = *state;
    rig_share(r, scene->id, "usr_ben");
    struct rig_turn *b = queue_as(r->ben, "b"), *c = queue("c");
    runtime_cancel_user(r->runtime, STR("usr_ben"));
    assert_int_equal(b->why, TURN_WITHDRAWN);
    assert_string_equal(listed(), "c");
    assert_false(scene->busy->is_over);
    finish_first();
    rig_until(r, c->is_over);
}

IN_A_BUSY_CONVERSATION(a_message_that_is_cancelled_before_it_is_queued_is_withdrawn)
{
    struct rig *r = *state;
    store_hold(RIG_GET);
    struct rig_turn *t = rig_send(r, r->ana, scene->id, "b");
    rig_until(r, rig_store.nheld == 1);
    turn_cancel(t->turn);
    store_go();
    rig_until(r, t->is_over);
    assert_int_equal(t->why, TURN_WITHDRAWN);
    assert_false(t->is_queued);
    finish_first();
    rig_settle(r);
    assert_int_equal(files(), 0);
}

/* ---- steering ---- */

IN_A_BUSY_CONVERSATION(a_steering_message_joins_the_next_step_of_the_run)
{
    struct rig *r = *state;
    finish_first();
    model_from_here();
    model_calls("t__slow", "{}");
    struct rig_turn *run = rig_send(r, r->ana, scene->id, "work");
    rig_until(r, rig_tools.started == 1);
    struct rig_turn *s = rig_steer(r, r->ana, scene->id, "faster");
    rig_until(r, s->is_started);
    assert_string_equal(s->run_id, run->run_id);
    assert_int_equal(edit(s, r->ana, "much faster"), 0);
    tools_release();
    rig_until(r, run->is_over && s->is_over);
    assert_non_null(strstr(rig_model.seen[2].messages, "[result of c1 pong]\nuser: much faster\n"));
    assert_int_equal(s->starts, 1);
    assert_int_equal(s->stop, RUN_STOP_COMPLETE);
    assert_int_equal(edit(s, r->ana, "late"), -EALREADY);
}

/* The run ended before it read the message: the message gets a run of its own. */
IN_A_BUSY_CONVERSATION(a_steering_message_that_came_too_late_is_sent_afterwards)
{
    struct rig *r = *state;
    struct rig_turn *s = rig_steer(r, r->ana, scene->id, "faster");
    rig_until(r, s->is_started);
    finish_first();
    rig_until(r, s->is_over);
    assert_int_equal(s->starts, 1); /* announced with the first run, not a second time */
    assert_string_not_equal(s->run_id, scene->busy->run_id);
    assert_non_null(strstr(rig_model.seen[1].messages, "user: faster\n"));
}

/* Someone else's words in the middle of a run take away what that person may not do. */
IN_A_BUSY_CONVERSATION(a_steering_message_narrows_the_rights_of_the_run)
{
    struct rig *r = *state;
    rig_share(r, scene->id, "usr_ben");
    finish_first();
    model_from_here();
    model_calls("t__slow", "{}");
    model_calls("t__slow", "{\"n\":2}");
    struct rig_turn *run = rig_send(r, r->ana, scene->id, "work");
    rig_until(r, rig_tools.started == 1);
    assert_true(actor_is_admin(turn_actor(rig_tools.host)));
    struct rig_turn *s = rig_steer(r, r->ben, scene->id, "and this");
    rig_until(r, s->is_started);
    tools_release();
    rig_until(r, rig_tools.started == 2);
    assert_false(actor_is_admin(turn_actor(rig_tools.host)));
    tools_release();
    rig_until(r, run->is_over && s->is_over);
}

/* ---- restarts ---- */

IN_A_BUSY_CONVERSATION(queued_messages_are_sent_after_a_restart_in_their_order)
{
    struct rig *r = *state;
    struct rig_turn *b = queue("b");
    queue("c");
    rig_restart(r);
    assert_int_equal(b->why, TURN_STOPPING);
    assert_non_null(strstr(b->err.msg, "stays queued"));
    assert_string_equal(listed(), "b c");
    size_t calls = rig_model.nseen;
    queue_release(r->runtime);
    rig_settle(r);
    assert_int_equal(rig_model.nseen, calls + 2);
    assert_non_null(strstr(rig_model.seen[calls].messages, "user: b\n"));
    assert_non_null(strstr(rig_model.seen[calls + 1].messages, "user: c\n"));
    assert_int_equal(files(), 0);
}

/* The tools are not there yet: nothing is sent, but everything can be changed. */
IN_A_BUSY_CONVERSATION(restored_messages_wait_for_the_release_and_can_be_changed)
{
    struct rig *r = *state;
    struct rig_turn *b = queue("b"), *c = queue("c");
    rig_restart(r);
    size_t calls = rig_model.nseen;
    assert_int_equal(withdraw(b, r->ana), 0);
    assert_int_equal(edit(c, r->ana, "changed"), 0);
    assert_string_equal(listed(), "changed");
    struct rig_turn *late = queue("d");
    assert_true(late->is_queued);
    assert_int_equal(rig_model.nseen, calls);
    queue_release(r->runtime);
    rig_until(r, late->is_over);
    assert_non_null(strstr(rig_model.seen[calls].messages, "user: changed\n"));
}

/* The server ended between the append and the removal of the file. */
IN_A_BUSY_CONVERSATION(a_message_that_is_in_the_log_is_not_sent_twice)
{
    struct rig *r = *state;
    struct rig_turn *b = queue("b");
    char line[256];
    snprintf(line, sizeof line,
             "{\"type\":\"user.message\",\"userId\":\"usr_ana\",\"queuedId\":\"%s\",\"content\":["
             "{\"type\":\"text\",\"text\":\"b\"}]}",
             b->queued_id);
    rig_restart(r);
    rig_append(r, scene->id, line);
    size_t calls = rig_model.nseen;
    queue_release(r->runtime);
    rig_settle(r);
    assert_int_equal(rig_model.nseen, calls);
    assert_int_equal(files(), 0);
}

/* The cause may be temporary, and there is no client who could send it again. */
IN_A_BUSY_CONVERSATION(a_restored_message_that_is_refused_keeps_its_file)
{
    struct rig *r = *state;
    queue("b");
    rig_restart(r);
    store_fault(RIG_READ, NULL, -EIO);
    queue_release(r->runtime);
    rig_settle(r);
    store_fault(RIG_READ, NULL, 0);
    assert_int_equal(files(), 1);
    rig_restart(r);
    assert_string_equal(listed(), "b");
}

static void on_deleted(void *ctx, const struct err *err)
{
    assert_null(err);
    rig_set_true(ctx);
}

/* The end of the run would otherwise start the next message while the log moves to the trash. */
IN_A_BUSY_CONVERSATION(messages_that_wait_for_a_conversation_that_is_deleted_are_refused)
{
    struct rig *r = *state;
    bool is_deleted = false;
    struct rig_turn *b = queue("b"), *c = queue("c");
    store_delete(r->store, str_from(scene->id), false, NULL, NULL, on_deleted, &is_deleted);
    rig_until(r, is_deleted && scene->busy->is_over && b->is_over && c->is_over);
    assert_int_equal(b->why, TURN_NOT_FOUND);
    assert_int_equal(c->why, TURN_NOT_FOUND);
    assert_string_equal(b->err.msg,
                        "The conversation is being deleted."); /* not by a turn of its own */
    assert_string_equal(c->err.msg, "The conversation is being deleted.");
    rig_settle(r);
    assert_int_equal(rig_model.nseen, 1);
    assert_int_equal(files(), 0);
}

IN_A_BUSY_CONVERSATION(a_message_of_a_member_who_left_is_not_restored_into_the_conversation)
{
    struct rig *r = *state;
    rig_share(r, scene->id, "usr_ben");
    queue_as(r->ben, "b");
    rig_restart(r);
    rig_remove_member(r, "usr_ben");
    size_t calls = rig_model.nseen;
    queue_release(r->runtime);
    rig_settle(r);
    assert_int_equal(rig_model.nseen, calls);
    assert_int_equal(files(), 0);
}

/* The rights of the sender are stored with the message. */
IN_A_BUSY_CONVERSATION(a_restored_message_has_the_limits_that_it_was_sent_with)
{
    struct rig *r = *state;
    str glob = STR("t__read");
    struct turn_request req = {
        .actor = r->ana,
        .conversation_id = str_from(scene->id),
        .message = STR("narrow"),
        .allowed_tools = {&glob, 1},
        .when_busy = TURN_QUEUE,
    };
    struct rig_turn *t = rig_start(r, &req);
    rig_until(r, t->is_queued);
    rig_restart(r);
    model_from_here();
    queue_release(r->runtime);
    rig_settle(r);
    assert_string_equal(rig_model.seen[rig_model.nseen - 1].tools, "t__read");
}

IN_A_BUSY_CONVERSATION(a_restored_message_of_an_interface_stays_one)
{
    struct rig *r = *state;
    struct view_context context = {STR("notes"), STR("c1"), STR("3 notes")};
    struct turn_request req = {
        .actor = r->ana,
        .conversation_id = str_from(scene->id),
        .message = STR("Add milk"),
        .app = STR("notes"),
        .contexts = &context,
        .ncontexts = 1,
        .when_busy = TURN_QUEUE,
    };
    struct rig_turn *t = rig_start(r, &req);
    rig_until(r, t->is_queued);
    rig_restart(r);
    model_from_here();
    queue_release(r->runtime);
    rig_settle(r);
    const char *told = rig_model.seen[rig_model.nseen - 1].messages;
    assert_non_null(strstr(told, "<app-message app=\"notes\">\nAdd milk\n"));
    assert_non_null(strstr(told, "<app-context app=\"notes\">\n3 notes\n"));
    const struct json *event = rig_last(r, scene->id, "user.message");
    assert_true(str_eq(json_get_string(event, "app"), STR("notes")));
}
