/* The jsonl store on disk: the format, and what happens to damaged, foreign and huge files. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "rig.h"
#include "store/event/lines.h"

#define ID      "conv_0123456789abcdef"
#define FILE_ID "conv_0123456789abcdef.jsonl"
#define HEADER                                                                                     \
    "{\"id\":\"" ID "\",\"createdAt\":\"2026-03-25T10:30:00.000Z\",\"format\":\"events\","         \
    "\"ownerId\":\"usr_a\"}\n"

static int setup(void **state)
{
    struct rig *r = xcalloc(1, sizeof(*r));
    rig_init(r, "jsonl", NULL);
    *state = r;
    return 0;
}

static int teardown(void **state)
{
    rig_done(*state);
    free(*state);
    return 0;
}

TEST_WITH(format_on_disk, setup, teardown)
{
    struct rig *r = *state;
    assert_int_equal(rig_create(r, ID, "usr_a"), 0);
    assert_int_equal(rig_append(r, ID, "{\"ts\":\"x\",\"type\":\"user.message\",\"userId\":\"u\"}"),
                     0);
    assert_int_equal(rig_title(r, ID, "T", false), 0);
    str file = rig_slurp(r, FILE_ID), line;
    assert_true(str_split(&file, '\n', &line));
    struct json *v;
    assert_int_equal(json_parse(&r->arena, line, 0, &v, NULL), 0);
    static const char *const keys[] = {"id",      "createdAt",  "format",      "workspaceId",
                                       "ownerId", "visibility", "participants"};
    assert_int_equal(v->len, ARRAY_LEN(keys));
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        assert_str(v->members[i].key, keys[i]);
    assert_true(str_split(&file, '\n', &line));
    assert_str(line, "{\"ts\":\"x\",\"type\":\"user.message\",\"userId\":\"u\"}");
    assert_true(str_split(&file, '\n', &line));
    assert_true(str_ends(line, STR("\"type\":\"metadata.title\",\"title\":\"T\"}")));
    assert_int_equal(file.n, 0);
    struct stat st;
    assert_int_equal(stat(rig_path(r, FILE_ID), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(stat(r->conv_dir, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
}

TEST_WITH(torn_tail_is_moved_aside, setup, teardown)
{
    struct rig *r = *state;
    rig_spit(r, FILE_ID, "we",
             STR(HEADER "{\"ts\":\"1\",\"type\":\"a\"}\n{\"ts\":\"2\",\"type\":\"b\",\"te"));
    assert_int_equal(rig_get(r, ID), 0);
    assert_int_equal(r->conv->bad_lines, 0); /* not there yet, as far as a reader can know */
    assert_int_equal(rig_append(r, ID, "{\"ts\":\"3\",\"type\":\"c\"}"), 0);
    assert_str(rig_slurp(r, FILE_ID),
               HEADER "{\"ts\":\"1\",\"type\":\"a\"}\n{\"ts\":\"3\",\"type\":\"c\"}\n");
    assert_str(rig_slurp(r, FILE_ID ".torn"), "{\"ts\":\"2\",\"type\":\"b\",\"te\n");
    assert_non_null(strstr(r->logged, "unfinished line"));
}

TEST_WITH(nul_bytes_at_the_end_are_torn, setup, teardown)
{
    struct rig *r = *state;
    char bytes[600];
    size_t n = strlen(HEADER);
    memcpy(bytes, HEADER, n);
    memset(bytes + n, 0, sizeof(bytes) - n);
    rig_spit(r, FILE_ID, "we", str_make(bytes, sizeof(bytes)));
    assert_int_equal(rig_append(r, ID, "{\"ts\":\"3\",\"type\":\"c\"}"), 0);
    assert_str(rig_slurp(r, FILE_ID), HEADER "{\"ts\":\"3\",\"type\":\"c\"}\n");
}

TEST_WITH(missing_line_feed, setup, teardown)
{
    struct rig *r = *state;
    rig_spit(r, FILE_ID, "we",
             STR(HEADER "{\"ts\":\"1\",\"type\":\"user.message\",\"content\":\"hi\"}"));
    assert_int_equal(rig_get(r, ID), 0);
    assert_str(r->conv->preview, "hi");
    store_pos end = r->conv->end;
    for (int backwards = 0; backwards < 2; backwards++) {
        struct store_range range = {.backwards = backwards};
        assert_int_equal(rig_read(r, ID, &range), 0);
        assert_int_equal(r->page.n, 1);
        assert_int_equal(r->page.events[0].pos, end);
        assert_true(r->page.reached_end && r->page.reached_start);
    }
    struct store_range after = {.after = end};
    assert_int_equal(rig_read(r, ID, &after), 0);
    assert_int_equal(r->page.n, 0);
    assert_false(r->page.is_beyond_end);
    assert_int_equal(rig_append(r, ID, "{\"ts\":\"2\",\"type\":\"b\"}"), 0);
    assert_int_equal(rig_read(r, ID, &after), 0); /* the position still means the same */
    assert_int_equal(r->page.n, 1);
    assert_str(r->page.events[0].line, "{\"ts\":\"2\",\"type\":\"b\"}");
}

TEST_WITH(bad_lines_in_the_middle, setup, teardown)
{
    struct rig *r = *state;
    char nul[] = HEADER "{\"ts\":\"1\",\"type\":\"a\"}\n{\"type\":\"x\n\n[1]\n#\n"
                        "{\"ts\":\"2\",\"type\":\"b\"}\n";
    nul[sizeof(HEADER) + 24] = 0;
    rig_spit(r, FILE_ID, "we", str_make(nul, sizeof(nul) - 1));
    assert_int_equal(rig_get(r, ID), 0);
    assert_int_equal(r->conv->bad_lines, 3); /* the empty line is nothing */
    for (int backwards = 0; backwards < 2; backwards++) {
        assert_int_equal(rig_read(r, ID, &(struct store_range){.backwards = backwards}), 0);
        assert_int_equal(r->page.n, 2);
        assert_str(r->page.events[1].line, "{\"ts\":\"2\",\"type\":\"b\"}");
    }
}

TEST_WITH(damaged_first_line, setup, teardown)
{
    struct rig *r = *state;
    static const char *const files[] = {
        "{\"id\":\"conv_x\",\"crea\n{\"ts\":\"2026-01-01\",\"type\":\"user.message\",\"content\":"
        "\"still here\"}\n",
        "\n{\"ts\":\"2026-01-01\",\"type\":\"user.message\",\"content\":\"still here\"}\n",
        "{\"ts\":\"2026-01-01\",\"type\":\"user.message\",\"content\":\"still here\"}\n",
    };
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        rig_spit(r, FILE_ID, "we", str_from(files[i]));
        assert_int_equal(rig_list(r, &(struct store_query){0}), 0);
        assert_int_equal(r->listing.n, 1);
        assert_str(r->listing.convs[0].id, ID);
        assert_str(r->listing.convs[0].preview, "still here");
        assert_true(r->listing.convs[0].acl.is_sealed);
        struct viewer v = {.user_id = STR("usr_a")};
        assert_int_equal(rig_list(r, &(struct store_query){.viewer = &v}), 0);
        assert_int_equal(r->listing.n, 0); /* an unknown owner opens nothing */
        assert_int_equal(rig_append(r, ID, "{\"type\":\"b\"}"), 0);
        assert_int_equal(rig_read(r, ID, &(struct store_range){0}), 0);
        assert_int_equal(r->page.n, 2);
        rig_reopen(r, "jsonl");
    }
    rig_spit(r, FILE_ID, "we", STR(""));
    assert_int_equal(rig_list(r, &(struct store_query){0}), 0);
    assert_int_equal(r->listing.n, 1);
    assert_int_equal(rig_append(r, ID, "{\"type\":\"b\"}"), 0);
    assert_int_equal(rig_read(r, ID, &(struct store_range){0}), 0);
    assert_int_equal(r->page.n, 1);
}

static void on_sealed_news(void *ctx, struct bus_msg *m)
{
    const struct viewer member = {.user_id = STR("usr_b")}, admin = {.is_workspace_admin = true};
    assert_non_null(m->audience);
    assert_str(m->audience->conversation_id, ID);
    assert_false(access_allows(&member, &m->audience->acl, CONV_VIEW));
    assert_true(access_allows(&admin, &m->audience->acl, CONV_VIEW));
    ++*(int *)ctx;
}

TEST_WITH(news_of_a_log_with_a_damaged_first_line_is_for_admins_only, setup, teardown)
{
    struct rig *r = *state;
    struct arena a;
    int news = 0;
    arena_init(&a);
    rig_spit(r, FILE_ID, "we", STR("{\"id\":\"conv_x\",\"crea\n{\"ts\":\"1\",\"type\":\"a\"}\n"));
    struct bus_sub *sub =
        bus_subscribe(r->env.bus, store_space_topic(&a, r->store), on_sealed_news, &news);
    assert_int_equal(
        RIG_CALL(r, rig_set_sharing(r->store, STR(ID), false, NULL, NULL, rig_on_conv, r)), 0);
    assert_int_equal(RIG_CALL(r, store_set_title(r->store, STR(ID), STR("t"), rig_on_conv, r)), 0);
    assert_int_equal(news, 2);
    bus_unsubscribe(sub);
    arena_done(&a);
}

TEST_WITH(old_formats, setup, teardown)
{
    struct rig *r = *state;
    rig_spit(
        r, FILE_ID, "we",
        STR("{\"id\":\"" ID "\",\"createdAt\":\"2025-01-01T00:00:00Z\",\"title\":\"Old\","
            "\"totalInputTokens\":99}\n"
            "{\"role\":\"user\",\"content\":\"hello\",\"timestamp\":\"2025-01-02T00:00:00Z\"}\n"
            "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"hi\"}],\"ts\":"
            "\"2025-01-03T00:00:00Z\",\"metadata\":{\"inputTokens\":7,\"outputTokens\":2,"
            "\"model\":\"known\"}}\n"
            "{\"ts\":\"2025-01-04T00:00:00Z\",\"type\":\"user.message\",\"content\":\"new\"}\n"));
    assert_int_equal(rig_get(r, ID), 0);
    assert_str(r->conv->title, "Old");
    assert_str(r->conv->preview, "hello");
    assert_str(r->conv->created_at, "2025-01-01T00:00:00.000Z");
    assert_str(r->conv->updated_at, "2025-01-04T00:00:00.000Z");
    assert_int_equal(r->conv->message_count, 3);
    assert_int_equal(r->conv->usage.input_tokens, 7);
    assert_str(r->conv->last_model, "known");
    assert_int_equal(r->conv->bad_lines, 0);
    struct viewer anyone = {.user_id = STR("usr_z")};
    assert_true(access_allows(&anyone, &r->conv->acl, CONV_SEND));
    assert_int_equal(rig_read(r, ID, &(struct store_range){0}), 0);
    assert_int_equal(r->page.n, 3);
    assert_int_equal(rig_search(r, "hi", NULL), 0);
    assert_int_equal(r->hits.n, 1);
}

TEST_WITH(strange_files, setup, teardown)
{
    struct rig *r = *state;
    assert_int_equal(rig_create(r, "conv_good", "usr_a"), 0);
    assert_int_equal(mkdir(rig_path(r, FILE_ID), 0700), 0);
    rig_spit(r, "conv_bad name.jsonl", "we", STR("x\n"));
    rig_spit(r, "notes.txt", "we", STR("x\n"));
    assert_int_equal(rig_list(r, &(struct store_query){0}), 0);
    assert_int_equal(r->listing.n, 1);
    assert_int_equal(rig_get(r, ID), -EISDIR);
    assert_int_equal(rig_append(r, ID, "{\"type\":\"a\"}"), -EISDIR);
    assert_int_equal(rig_create(r, ID, "usr_a"), -EEXIST);
    assert_int_equal(mkfifo(rig_path(r, "conv_fifo.jsonl"), 0600), 0);
    assert_int_equal(rig_append(r, "conv_fifo", "{\"type\":\"a\"}"), -EISDIR);
    assert_int_equal(rig_get(r, "conv_fifo"), -EISDIR);
}

TEST_WITH(changed_under_our_hands, setup, teardown)
{
    struct rig *r = *state;
    assert_int_equal(rig_create(r, ID, "usr_a"), 0);
    assert_int_equal(rig_append(r, ID, "{\"ts\":\"1\",\"type\":\"a\"}"), 0);
    /* somebody else appends half a line */
    rig_spit(r, FILE_ID, "ae", STR("{\"ts\":\"2\",\"type\":\"fo"));
    assert_int_equal(rig_append(r, ID, "{\"ts\":\"3\",\"type\":\"b\"}"), 0);
    assert_true(str_ends(rig_slurp(r, FILE_ID), STR("\"a\"}\n{\"ts\":\"3\",\"type\":\"b\"}\n")));
    /* replaced */
    rig_spit(r, "new", "we", STR(HEADER));
    assert_int_equal(rename(rig_path(r, "new"), rig_path(r, FILE_ID)), 0);
    assert_int_equal(rig_append(r, ID, "{\"ts\":\"4\",\"type\":\"c\"}"), 0);
    assert_str(rig_slurp(r, FILE_ID), HEADER "{\"ts\":\"4\",\"type\":\"c\"}\n");
    assert_int_equal(rig_get(r, ID), 0);
    assert_str(r->conv->created_at, "2026-03-25T10:30:00.000Z");
    /* removed */
    assert_int_equal(unlink(rig_path(r, FILE_ID)), 0);
    assert_int_equal(rig_append(r, ID, "{\"ts\":\"5\",\"type\":\"d\"}"), -ENOENT);
    assert_int_equal(rig_get(r, ID), -ENOENT);
    assert_int_equal(rig_create(r, ID, "usr_a"), 0);
}

/* While a log is in use its state and its last lines are in memory; the file has the say. */
TEST_WITH(in_use_and_gone, setup, teardown)
{
    struct rig *r = *state;
    assert_int_equal(rig_create(r, ID, "usr_a"), 0);
    assert_int_equal(rig_get(r, ID), 0);
    struct store_range since = {.after = r->conv->end};
    assert_int_equal(rig_append(r, ID, "{\"ts\":\"1\",\"type\":\"user.message\"}"), 0);
    assert_int_equal(rig_title(r, ID, "T", false), 0);
    assert_int_equal(rig_get(r, ID), 0);
    assert_int_equal(r->conv->message_count, 1);
    assert_str(r->conv->title, "T");
    store_pos end = r->conv->end;
    assert_int_equal(rig_read(r, ID, &since), 0);
    assert_int_equal(r->page.n, 2);
    assert_str(r->page.events[0].line, "{\"ts\":\"1\",\"type\":\"user.message\"}");
    assert_int_equal(r->page.events[1].pos, end);
    rig_spit(r, FILE_ID, "ae", STR("{\"ts\":\"2\",\"type\":\"user.message\"}\n"));
    assert_int_equal(rig_append(r, ID, "{\"ts\":\"3\",\"type\":\"user.message\"}"), 0);
    assert_int_equal(rig_get(r, ID), 0);
    assert_int_equal(r->conv->message_count, 3);
    assert_int_equal(rig_read(r, ID, &since), 0);
    assert_int_equal(r->page.n, 4);
    assert_int_equal(unlink(rig_path(r, FILE_ID)), 0);
    assert_int_equal(rig_read(r, ID, &since), -ENOENT);
    assert_int_equal(rig_get(r, ID), -ENOENT);
}

TEST_WITH(one_writer_at_a_time, setup, teardown)
{
    struct rig *r = *state;
    assert_int_equal(rig_create(r, ID, "usr_a"), 0);
    rig_close_store(r);
    int fds[2], back[2];
    char c;
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(pipe(back), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        int fd = open(rig_path(r, FILE_ID), O_RDWR);
        bool ok = flock(fd, LOCK_EX | LOCK_NB) == 0 && write(fds[1], "x", 1) == 1 &&
                  read(back[0], &c, 1) == 1;
        _exit(!ok);
    }
    assert_int_equal(read(fds[0], &c, 1), 1);
    rig_open_store(r, "jsonl");
    assert_int_equal(rig_append(r, ID, "{\"type\":\"a\"}"), -EBUSY);
    char expected[64];
    (void)snprintf(expected, sizeof(expected), "pid %d", (int)pid);
    assert_non_null(strstr(r->err.msg, expected));
    assert_int_equal(rig_delete(r, ID, false), -EBUSY);
    assert_int_equal(rig_get(r, ID), 0); /* reading needs no lock */
    assert_int_equal(write(back[1], "x", 1), 1);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(rig_append(r, ID, "{\"type\":\"a\"}"), 0);
    int fd = open(rig_path(r, FILE_ID), O_RDWR | O_CLOEXEC);
    assert_true(flock(fd, LOCK_EX | LOCK_NB) < 0); /* we hold it now */
    rig_close_store(r);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    close(fd);
    for (int i = 0; i < 2; i++) {
        close(fds[i]);
        close(back[i]);
    }
}

TEST_WITH(many_logs_few_descriptors, setup, teardown)
{
    struct rig *r = *state;
    enum { CONVS = APPENDER_OPEN_MAX + 200 };
    struct rlimit old, tight = {.rlim_cur = APPENDER_OPEN_MAX + 60};
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    tight.rlim_max = old.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
    char id[32];
    for (int i = 0; i < CONVS; i++) {
        (void)snprintf(id, sizeof(id), "conv_%d", i);
        assert_int_equal(rig_create(r, id, "usr_a"), 0);
    }
    for (int i = 0; i < CONVS; i += 50) {
        (void)snprintf(id, sizeof(id), "conv_%d", i);
        assert_int_equal(rig_append(r, id, "{\"type\":\"a\"}"), 0);
    }
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
}

TEST_WITH(spilled_result_on_disk, setup, teardown)
{
    struct rig *r = *state;
    struct buf b;
    buf_init(&b, 1u << 20);
    buf_add_lit(&b, "{\"ts\":\"1\",\"type\":\"tool.done\",\"id\":\"t\",\"result\":\"");
    for (unsigned i = 0; i < STORE_SPILL_BYTES; i++)
        buf_add_char(&b, 'y');
    buf_add_lit(&b, "\"}");
    assert_int_equal(rig_create(r, ID, "usr_a"), 0);
    assert_int_equal(rig_append(r, ID, buf_cstr(&b)), 0);
    assert_int_equal(rig_read(r, ID, &(struct store_range){0}), 0);
    struct json *v;
    assert_int_equal(json_parse(&r->arena, r->page.events[0].line, 0, &v, NULL), 0);
    const struct json *result = json_get(v, "result");
    assert_int_equal(json_get_int(result, "bytes", 0), STORE_SPILL_BYTES + 2);
    assert_int_equal(json_get_string(result, "preview").n, 1024);
    char name[160];
    (void)snprintf(name, sizeof(name), ID ".blobs/%.*s", STR_ARG(json_get_string(result, "$blob")));
    assert_int_equal(rig_slurp(r, name).n, STORE_SPILL_BYTES + 2);
    /* a damaged or lost blob leaves the reference */
    rig_spit(r, name, "we", STR("\"short\""));
    assert_int_equal(rig_read(r, ID, &(struct store_range){.with_blobs = true}), 0);
    assert_true(str_find(r->page.events[0].line, STR("$blob"), 0) > 0);
    assert_int_equal(unlink(rig_path(r, name)), 0);
    assert_int_equal(rig_read(r, ID, &(struct store_range){.with_blobs = true}), 0);
    assert_true(str_find(r->page.events[0].line, STR("$blob"), 0) > 0);
    buf_done(&b);
}

TEST_WITH(fork_links_blobs, setup, teardown)
{
    struct rig *r = *state;
    assert_int_equal(rig_create(r, ID, "usr_a"), 0);
    assert_int_equal(RIG_CALL(r, store_put_blob(r->store, STR(ID), STR("b"), rig_on_blob, r)), 0);
    char path[400];
    (void)snprintf(path, sizeof(path), "%s/" ID ".blobs/%.*s", r->conv_dir, STR_ARG(r->blob));
    assert_int_equal(rig_fork(r, ID, -1, "usr_a"), 0);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_nlink, 2);
}

static void on_purge(void *ctx, str id)
{
    assert_str(id, ID);
    ++*(int *)ctx;
}

TEST_WITH(trash_expires, setup, teardown)
{
    struct rig *r = *state;
    assert_int_equal(rig_create(r, ID, "usr_a"), 0);
    assert_int_equal(rig_create(r, "conv_young", "usr_a"), 0);
    assert_int_equal(rig_delete(r, "conv_young", false), 0);
    char old[128];
    (void)snprintf(old, sizeof(old), "trash/%lld-" FILE_ID,
                   (long long)(clock_now_ms() - 8LL * 24 * 3600 * 1000));
    assert_int_equal(rename(rig_path(r, FILE_ID), rig_path(r, old)), 0);
    int told = 0;
    rig_reopen(r, "jsonl");
    store_on_purge(r->store, on_purge, &told);
    rig_reopen(r, "jsonl"); /* closing waits for the sweep */
    assert_int_equal(told, 1);
    assert_int_equal(rig_restore(r, ID), -ENOENT);
    assert_int_equal(rig_restore(r, "conv_young"), 0);
}

TEST_WITH(lines_too_long_to_hold, setup, teardown)
{
    struct rig *r = *state;
    struct buf b;
    buf_init(&b, 64u << 20);
    buf_add_lit(&b, HEADER "{\"ts\":\"1\",\"type\":\"a\",\"x\":\"");
    assert_int_equal(buf_reserve(&b, LINES_MAX_BYTES), 0);
    for (int i = 0; i < LINES_MAX_BYTES; i++)
        b.p[b.n++] = 'x';
    buf_add_lit(&b, "\"}\n{\"ts\":\"2\",\"type\":\"b\"}\n");
    rig_spit(r, FILE_ID, "we", buf_str(&b));
    buf_done(&b);
    for (int backwards = 0; backwards < 2; backwards++) {
        assert_int_equal(rig_read(r, ID, &(struct store_range){.backwards = backwards}), 0);
        assert_int_equal(r->page.n, 1);
        assert_str(r->page.events[0].line, "{\"ts\":\"2\",\"type\":\"b\"}");
        assert_true(r->page.reached_start && r->page.reached_end);
    }
    assert_int_equal(rig_get(r, ID), 0);
    assert_int_equal(r->conv->bad_lines, 1);
    assert_int_equal(rig_append(r, ID, "{\"type\":\"c\"}"), 0);
}

TEST_WITH(an_event_larger_than_the_limit, setup, teardown)
{
    struct rig *r = *state;
    assert_int_equal(rig_create(r, ID, "usr_a"), 0);
    char *big = xcalloc(1, STORE_LINE_MAX + 100);
    (void)snprintf(big, 64, "{\"type\":\"a\",\"x\":\"");
    size_t n = strlen(big);
    memset(big + n, 'x', STORE_LINE_MAX);
    (void)snprintf(big + n + STORE_LINE_MAX, 8, "\"}");
    assert_int_equal(rig_append(r, ID, big), -E2BIG);
    free(big);
    assert_int_equal(rig_append(r, ID, "{\"type\":\"c\"}"), 0);
}

/* It does not look like a store without conversations. */
TEST_WITH(a_missing_directory_is_trouble, setup, teardown)
{
    struct rig *r = *state;
    char away[4096];
    assert_int_equal(rig_create(r, ID, "usr_a"), 0);
    assert_int_equal(rig_get(r, "conv_none"), -ENOENT);
    assert_false(store_is_failing(r->store));
    (void)snprintf(away, sizeof away, "%s.away", r->conv_dir);
    assert_int_equal(rename(r->conv_dir, away), 0);
    assert_int_equal(rig_get(r, "conv_none"), -EIO);
    assert_true(store_is_failing(r->store));
    assert_int_equal(rig_create(r, "conv_other", "usr_a"), -EIO);
    assert_int_equal(rig_list(r, &(struct store_query){0}), -EIO);
    assert_int_equal(rename(away, r->conv_dir), 0);
    assert_int_equal(rig_list(r, &(struct store_query){0}), 0);
    assert_int_equal(rig_get(r, ID), 0);
    assert_false(store_is_failing(r->store));
}

/* On a real file system of 256 kB, in a mount namespace of its own. */
static int fill_the_disk(struct rig *r)
{
    rig_init(r, NULL, NULL);
    if (mkdir(r->conv_dir, 0700) < 0 ||
        mount("tmpfs", r->conv_dir, "tmpfs", 0, "size=256k,mode=0700") < 0)
        return 77;
    rig_open_store(r, "jsonl");
    assert_int_equal(rig_create(r, ID, "usr_a"), 0);
    char event[8192];
    int n = snprintf(event, sizeof(event), "{\"type\":\"fill\",\"x\":\"");
    memset(event + n, 'x', 7000);
    (void)snprintf(event + n + 7000, 8, "\"}");
    size_t acked = 0;
    while (rig_append(r, ID, event) == 0)
        acked++;
    assert_int_equal(r->err.code, -ENOSPC);
    assert_non_null(strstr(r->err.msg, "pace left"));
    assert_true(acked > 20 && acked < 40);
    assert_int_equal(rig_create(r, "conv_other", "usr_a"), -ENOSPC);
    assert_int_equal(rig_get(r, "conv_other"), -ENOENT); /* nothing half made */
    assert_int_equal(rig_read(r, ID, &(struct store_range){0}), 0);
    assert_int_equal(r->page.n, acked);
    str file = rig_slurp(r, FILE_ID);
    assert_int_equal(file.p[file.n - 1], '\n'); /* no half line either */
    assert_int_equal(mount("tmpfs", r->conv_dir, "tmpfs", MS_REMOUNT, "size=1m"), 0);
    assert_true(store_is_failing(r->store));
    assert_int_equal(rig_append(r, ID, event), 0); /* with free space, appends work again */
    assert_int_equal(rig_create(r, "conv_other", "usr_a"), 0);
    assert_false(store_is_failing(r->store));
    assert_int_equal(rig_delete(r, ID, true), 0);
    rig_close_store(r);
    assert_int_equal(umount(r->conv_dir), 0);
    rig_done(r);
    return 0;
}

TEST(full_disk)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        int flags = CLONE_NEWNS | (geteuid() ? CLONE_NEWUSER : 0);
        if (unshare(flags) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
            _exit(77);
        struct rig *r = xcalloc(1, sizeof(*r));
        _exit(fill_the_disk(r));
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(status, 0);
}
