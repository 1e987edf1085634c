/* Prompts and tool lists: once per store, for as long as a log names them. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>

#include "base/bytes/hash.h"
#include "os/dir.h"
#include "rig.h"
#include "store/files/shared_blobs.h"

#define A "conv_aaaaaaaaaaaaaaaa"
#define B "conv_bbbbbbbbbbbbbbbb"

static char sha_of_prompt[SHA256_HEX_LEN + 1];
#define PROMPT STR("{\"stable\":\"You are nb.\",\"volatile\":\"Ana's secret\"}")

static atomic_int syncs;

static int count_sync(const struct store_io *io, int fd)
{
    atomic_fetch_add(&syncs, 1);
    return store_io_system.sync(io, fd);
}

static int count_sync_dir(const struct store_io *io, int fd)
{
    atomic_fetch_add(&syncs, 1);
    return store_io_system.sync_dir(io, fd);
}

static struct store_io counting;

static int setup(void **state)
{
    struct rig *r = xcalloc(1, sizeof(*r));
    sha256_hex(PROMPT, sha_of_prompt);
    counting = store_io_system;
    counting.sync = count_sync;
    counting.sync_dir = count_sync_dir;
    rig_init(r, "jsonl", &counting);
    *state = r;
    return 0;
}

static int teardown(void **state)
{
    rig_done(*state);
    free(*state);
    return 0;
}

static str sha(void)
{
    return str_from(sha_of_prompt);
}

static const char *file_of(struct rig *r)
{
    static char path[400];
    (void)snprintf(path, sizeof(path), "%s/blobs/%s", r->conv_dir, sha_of_prompt);
    return path;
}

static bool is_there(struct rig *r)
{
    return access(file_of(r), F_OK) == 0;
}

static int put(struct rig *r, const char *id)
{
    return RIG_CALL(r, store_put_shared(r->store, str_from(id), PROMPT, sha(), rig_on_blob, r));
}

static int get(struct rig *r, const char *id)
{
    return RIG_CALL(r, store_get_shared(r->store, str_from(id), sha(), rig_on_blob, r));
}

static void name(struct rig *r, const char *id)
{
    char line[256];
    (void)snprintf(line, sizeof(line), "{\"type\":\"llm.request\",\"system\":\"%s\"}",
                   sha_of_prompt);
    assert_int_equal(rig_append(r, id, line), 0);
}

/* A conversation whose log names the prompt. */
static void converse(struct rig *r, const char *id)
{
    assert_int_equal(rig_create(r, id, "usr_a"), 0);
    assert_int_equal(put(r, id), 0);
    assert_true(str_eq(r->blob, sha()));
    name(r, id);
    store_release_shared(r->store, sha());
}

TEST_WITH(two_conversations_have_one_file, setup, teardown)
{
    struct rig *r = *state;
    converse(r, A);
    int first = atomic_exchange(&syncs, 0);
    converse(r, B);
    assert_true(atomic_load(&syncs) < first); /* the second one writes no blob */
    assert_true(is_there(r));
    DIR_EACH (d, r->conv_dir)
        assert_null(strstr(d.name, ".blobs"));
    assert_int_equal(get(r, A), 0);
    assert_true(str_eq(r->blob, PROMPT));
    assert_int_equal(get(r, B), 0);
}

/* A hash from a client must not be enough to read the prompt of another conversation. */
TEST_WITH(it_is_not_a_blob_of_the_conversation, setup, teardown)
{
    struct rig *r = *state;
    converse(r, A);
    assert_int_equal(rig_create(r, B, "usr_b"), 0);
    assert_int_equal(RIG_CALL(r, store_get_blob(r->store, STR(B), sha(), rig_on_blob, r)), -ENOENT);
    assert_int_equal(RIG_CALL(r, store_get_blob(r->store, STR(A), sha(), rig_on_blob, r)), -ENOENT);
    char line[256];
    (void)snprintf(line, sizeof(line),
                   "{\"type\":\"tool.done\",\"result\":{\"$blob\":\"%s\",\"bytes\":9}}",
                   sha_of_prompt);
    assert_int_equal(rig_append(r, B, line), 0);
    assert_int_equal(rig_read(r, B, &(struct store_range){.with_blobs = true}), 0);
    assert_true(str_find(r->page.events[0].line, STR("secret"), 0) < 0);
}

TEST_WITH(the_layout_of_older_versions_is_read, setup, teardown)
{
    struct rig *r = *state;
    assert_int_equal(rig_create(r, A, "usr_a"), 0);
    assert_int_equal(RIG_CALL(r, store_put_blob(r->store, STR(A), PROMPT, rig_on_blob, r)), 0);
    name(r, A);
    assert_false(is_there(r));
    assert_int_equal(get(r, A), 0);
    assert_true(str_eq(r->blob, PROMPT));
}

TEST_WITH(the_last_purge_leaves_no_bytes, setup, teardown)
{
    struct rig *r = *state;
    converse(r, A);
    converse(r, B);
    assert_int_equal(rig_delete(r, A, true), 0);
    assert_int_equal(get(r, B), 0);
    assert_int_equal(rig_delete(r, B, true), 0);
    assert_false(is_there(r));
    char dir[400];
    (void)snprintf(dir, sizeof(dir), "%s/blobs", r->conv_dir);
    DIR_EACH (d, dir)
        fail_msg("%s is left", d.name);
    converse(r, A); /* and it can be put again */
    assert_int_equal(get(r, A), 0);
}

TEST_WITH(the_trash_counts, setup, teardown)
{
    struct rig *r = *state;
    converse(r, A);
    converse(r, B);
    assert_int_equal(rig_delete(r, A, false), 0);
    assert_int_equal(rig_delete(r, B, true), 0);
    assert_true(is_there(r));
    assert_int_equal(rig_restore(r, A), 0);
    assert_int_equal(get(r, A), 0);
    assert_int_equal(rig_delete(r, A, false), 0);
    assert_int_equal(rig_delete(r, A, true), 0); /* from the trash */
    assert_false(is_there(r));
}

TEST_WITH(a_fork_names_it_too, setup, teardown)
{
    struct rig *r = *state;
    converse(r, A);
    assert_int_equal(rig_fork(r, A, -1, "usr_a"), 0);
    char fork[STORE_ID_MAX + 1];
    (void)snprintf(fork, sizeof(fork), "%.*s", STR_ARG(r->conv->id));
    assert_int_equal(rig_delete(r, A, true), 0);
    assert_int_equal(get(r, fork), 0);
    assert_int_equal(rig_delete(r, fork, true), 0);
    assert_false(is_there(r));
}

/* A run has put its prompt; its log names it only when the model has answered. */
TEST_WITH(what_is_held_is_not_collected, setup, teardown)
{
    struct rig *r = *state;
    converse(r, A);
    assert_int_equal(rig_create(r, B, "usr_b"), 0);
    assert_int_equal(put(r, B), 0);
    assert_int_equal(rig_delete(r, A, true), 0);
    assert_true(is_there(r));
    name(r, B);
    store_release_shared(r->store, sha());
    assert_int_equal(get(r, B), 0);
}

/* The power went between the removal of the log and that of the blob. */
TEST_WITH(an_interrupted_purge_is_finished_at_the_next_start, setup, teardown)
{
    struct rig *r = *state;
    char path[500];
    converse(r, A);
    (void)snprintf(path, sizeof(path), "%s/blobs/collect_0123456789abcdef", r->conv_dir);
    close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    rig_reopen(r, "jsonl");
    while (access(path, F_OK) == 0)
        assert_int_equal(rig_get(r, A), 0);
    assert_true(is_there(r)); /* named: it stays */
    rig_close_store(r);
    close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    (void)snprintf(path, sizeof(path), "%s/" A ".jsonl", r->conv_dir);
    assert_int_equal(unlink(path), 0);
    rig_open_store(r, "jsonl");
    while (is_there(r))
        assert_int_equal(rig_get(r, A), -ENOENT);
}

static void overwrite(const char *path, const char *text)
{
    FILE *f = fopen(path, "we");
    assert_true(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

TEST_WITH(a_damaged_one_is_written_again, setup, teardown)
{
    struct rig *r = *state;
    converse(r, A);
    overwrite(file_of(r), "{\"stable\":\"You are nb.\",\"volatile\":\"Ana's sEcret\"}");
    assert_int_equal(get(r, A), -EIO);
    rig_reopen(r, "jsonl");
    converse(r, B);
    assert_int_equal(get(r, A), 0);
}

TEST_WITH(a_store_that_syncs_nothing_syncs_no_blobs, setup, teardown)
{
    struct rig *r = *state;
    struct store_conf conf = {
        .type = "jsonl", .dir = r->conv_dir, .workspace_id = "ws_test", .durability = STORE_NONE};
    rig_close_store(r);
    assert_int_equal(store_open(&r->env, &conf, &r->store, NULL), 0);
    assert_int_equal(rig_create(r, A, "usr_a"), 0);
    atomic_store(&syncs, 0);
    assert_int_equal(put(r, A), 0);
    name(r, A);
    store_release_shared(r->store, sha());
    assert_int_equal(RIG_CALL(r, store_put_blob(r->store, STR(A), PROMPT, rig_on_blob, r)), 0);
    assert_int_equal(atomic_load(&syncs), 0);
}

/* More than are remembered: those that nobody holds are read again. */
TEST_WITH(what_is_remembered_has_a_ceiling, setup, teardown)
{
    struct rig *r = *state;
    converse(r, A);
    for (int i = 0; i < SHARED_KNOWN_MAX + 8; i++) {
        char text[32], hex[SHA256_HEX_LEN + 1];
        (void)snprintf(text, sizeof(text), "prompt %d", i);
        sha256_hex(str_from(text), hex);
        assert_int_equal(RIG_CALL(r, store_put_shared(r->store, STR(A), str_from(text),
                                                      str_from(hex), rig_on_blob, r)),
                         0);
        store_release_shared(r->store, str_from(hex));
    }
    converse(r, B);
    assert_int_equal(get(r, B), 0);
}
