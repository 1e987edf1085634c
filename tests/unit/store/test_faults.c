/* Every call that a durable write depends on is made to fail, each index in turn, with each
 * kind of failure. Whatever happens: nothing acknowledged is lost, nothing appears twice,
 * nothing that was refused is half there, and a restart finds a usable log. */
#include <errno.h>
#include <stdatomic.h>

#include "base/bytes/hash.h"
#include "rig.h"
#include "store/log/journal.h"

#define ID    "conv_0123456789abcdef"
#define OTHER "conv_fedcba9876543210"
#define EARLY "ABCDEFGH"

static const char *backend; /* of the test under way */
static const char *early;   /* what it appends first: enough to have a journal for the rest */

struct faulty {
    struct store_io io;
    atomic_int calls;
    int fail_at;   /* the index of the call that fails; -1 = none */
    int code;      /* what it returns */
    bool is_short; /* writev: half of it is written first */
};

/* True when this call is the one to fail. */
static bool strikes(const struct store_io *io)
{
    struct faulty *f = io->ctx;
    return atomic_fetch_add(&f->calls, 1) == f->fail_at;
}

static int code_of(const struct store_io *io)
{
    return ((struct faulty *)io->ctx)->code;
}

#define FAULTY(name, params, args)                                                                 \
    static int bad_##name params                                                                   \
    {                                                                                              \
        return strikes(io) ? code_of(io) : store_io_system.name args;                              \
    }

FAULTY(open, (const struct store_io *io, const char *path, int flags, mode_t mode),
       (io, path, flags, mode))
FAULTY(sync, (const struct store_io *io, int fd), (io, fd))
FAULTY(sync_dir, (const struct store_io *io, int fd), (io, fd))
FAULTY(truncate, (const struct store_io *io, int fd, off_t size), (io, fd, size))
FAULTY(rename, (const struct store_io *io, const char *a, const char *b), (io, a, b))
FAULTY(link, (const struct store_io *io, const char *a, const char *b), (io, a, b))
FAULTY(unlink, (const struct store_io *io, const char *path), (io, path))
FAULTY(mkdir, (const struct store_io *io, const char *path, mode_t mode), (io, path, mode))

static ssize_t bad_writev(const struct store_io *io, int fd, const struct iovec *iov, int n)
{
    struct faulty *f = io->ctx;
    if (!strikes(io))
        return store_io_system.writev(io, fd, iov, n);
    if (f->is_short && iov->iov_len > 1) { /* the disk takes half, then is full */
        struct iovec half = {.iov_base = iov->iov_base, .iov_len = iov->iov_len / 2};
        f->fail_at = atomic_load(&f->calls);
        f->is_short = false;
        return store_io_system.writev(io, fd, &half, 1);
    }
    return f->code;
}

static ssize_t bad_pwrite(const struct store_io *io, int fd, str bytes, off_t at)
{
    struct faulty *f = io->ctx;
    if (!strikes(io))
        return store_io_system.pwrite(io, fd, bytes, at);
    if (f->is_short && bytes.n > 1) {
        f->fail_at = atomic_load(&f->calls);
        f->is_short = false;
        return store_io_system.pwrite(io, fd, str_slice(bytes, 0, bytes.n / 2), at);
    }
    return f->code;
}

static const struct store_io FAULTY_IO = {
    .open = bad_open,
    .writev = bad_writev,
    .pwrite = bad_pwrite,
    .sync = bad_sync,
    .sync_dir = bad_sync_dir,
    .truncate = bad_truncate,
    .rename = bad_rename,
    .link = bad_link,
    .unlink = bad_unlink,
    .mkdir = bad_mkdir,
};

/* What the caller was told. */
struct told {
    bool created, deleted, restored, forked;
    char fork_id[STORE_ID_MAX + 1];
    char acked[32];   /* one letter per acknowledged event, in order */
    char refused[32]; /* and per refused one */
    char blob[65];
    bool shared; /* an event that names the shared blob was acknowledged */
};

#define SHARED STR("shared")

static void add_letter(char *word, char letter)
{
    size_t n = strlen(word);
    word[n] = letter;
    word[n + 1] = 0;
}

static void append_letter(struct rig *r, struct told *t, char letter)
{
    char line[96];
    (void)snprintf(line, sizeof(line), "{\"type\":\"letter\",\"x\":\"%c\"}", letter);
    add_letter(rig_append(r, ID, line) == 0 ? t->acked : t->refused, letter);
}

static void append_large(struct rig *r, struct told *t, char letter)
{
    struct buf b;
    buf_init(&b, 1u << 20);
    buf_printf(&b, "{\"type\":\"tool.done\",\"x\":\"%c\",\"result\":\"", letter);
    for (unsigned i = 0; i < STORE_SPILL_BYTES; i++)
        buf_add_char(&b, letter);
    buf_add_lit(&b, "\"}");
    add_letter(rig_append(r, ID, buf_cstr(&b)) == 0 ? t->acked : t->refused, letter);
    buf_done(&b);
}

/* The prompt of a run: put, named, released; and the purge of another log that names it. */
static void share(struct rig *r, struct told *t)
{
    char hex[SHA256_HEX_LEN + 1], line[160];
    sha256_hex(SHARED, hex);
    (void)snprintf(line, sizeof(line), "{\"type\":\"llm.request\",\"x\":\"d\",\"system\":\"%s\"}",
                   hex);
    if (RIG_CALL(r, store_put_shared(r->store, STR(ID), SHARED, str_from(hex), rig_on_blob, r)) < 0)
        return;
    t->shared = rig_append(r, ID, line) == 0;
    add_letter(t->shared ? t->acked : t->refused, 'd');
    if (rig_create(r, OTHER, "usr_b") == 0) {
        (void)rig_append(r, OTHER, line);
        (void)rig_delete(r, OTHER, true);
    }
    store_release_shared(r->store, str_from(hex));
}

static void play(struct rig *r, struct told *t)
{
    t->created = rig_create(r, ID, "usr_a") == 0;
    for (const char *letter = early; *letter; letter++)
        append_letter(r, t, *letter);
    append_letter(r, t, 'a');
    append_large(r, t, 'b');
    append_letter(r, t, 'c');
    if (RIG_CALL(r, store_put_blob(r->store, STR(ID), STR("blob"), rig_on_blob, r)) == 0)
        memcpy(t->blob, r->blob.p, 65);
    t->forked = rig_fork(r, ID, -1, "usr_b") == 0;
    if (t->forked)
        (void)snprintf(t->fork_id, sizeof(t->fork_id), "%.*s", STR_ARG(r->conv->id));
    share(r, t);
    t->deleted = rig_delete(r, ID, false) == 0;
    t->restored = rig_restore(r, ID) == 0;
    append_letter(r, t, 'e');
}

static void letters(struct rig *r, const char *id, char *word)
{
    assert_int_equal(rig_read(r, id, &(struct store_range){.with_blobs = true}), 0);
    word[0] = 0;
    for (size_t i = 0; i < r->page.n; i++) {
        struct json *v;
        assert_int_equal(json_parse(&r->arena, r->page.events[i].line, 0, &v, NULL), 0);
        add_letter(word, json_get_string(v, "x").p[0]);
        if (str_eq(json_get_string(v, "type"), STR("tool.done")))
            assert_int_equal(json_get_string(v, "result").n, STORE_SPILL_BYTES);
    }
}

/* Refused events may be there (a sync that failed after the write), acknowledged ones must. */
static void check_letters(const char *found, const struct told *t, const char *where)
{
    size_t acked = 0;
    char last = 0;
    for (const char *p = found; *p; p++) {
        if (*p <= last)
            fail_msg("%s: \"%s\" is out of order or double", where, found);
        last = *p;
        if (t->acked[acked] == *p)
            acked++;
        else if (!strchr(t->refused, *p))
            fail_msg("%s: \"%s\" has what was never sent", where, found);
    }
    if (t->acked[acked])
        fail_msg("%s: acknowledged \"%s\", found only \"%s\"", where, t->acked, found);
}

/* With a fresh process's eyes: another appender, the system's own calls. */
static void check(struct rig *r, struct told *t, const char *where)
{
    char found[64];
    rig_close_store(r);
    appender_free(r->appender);
    r->appender = appender_new(r->loop, 2);
    r->env.appender = r->appender;
    rig_open_store(r, backend);
    if (rig_get(r, ID) == -ENOENT) {
        if (t->created && rig_restore(r, ID) < 0)
            fail_msg("%s: the conversation is lost: %s", where, r->err.msg);
        if (!t->created)
            return;
    }
    letters(r, ID, found);
    check_letters(found, t, where);
    if (t->blob[0] &&
        (RIG_CALL(r, store_get_blob(r->store, STR(ID), str_from(t->blob), rig_on_blob, r)) < 0 ||
         !str_eq(r->blob, STR("blob"))))
        fail_msg("%s: a blob is lost", where);
    char hex[SHA256_HEX_LEN + 1];
    sha256_hex(SHARED, hex);
    if (t->shared &&
        RIG_CALL(r, store_get_shared(r->store, STR(ID), str_from(hex), rig_on_blob, r)) < 0)
        fail_msg("%s: a shared blob is lost", where);
    if (rig_append(r, ID, "{\"type\":\"letter\",\"x\":\"z\"}") < 0)
        fail_msg("%s: cannot write afterwards: %s", where, r->err.msg);
    letters(r, ID, found);
    if (found[strlen(found) - 1] != 'z')
        fail_msg("%s: the last event is missing", where);
    if (t->forked) {
        letters(r, t->fork_id, found);
        assert_true(strspn(found, EARLY "abc") == strlen(found));
    }
}

static void init(struct rig *r, const char *type, const struct store_io *io)
{
    struct appender_conf conf = {.threads = 4, .io = io};
    if (*early) {
        conf.journal_after = 1;
        conf.journal_bytes = 4 * JOURNAL_BLOCK;
    }
    rig_init_with(r, type, &conf);
}

static int count_calls(void)
{
    struct faulty f = {.io = FAULTY_IO, .fail_at = -1};
    struct rig *r = xcalloc(1, sizeof(*r));
    struct told t = {0};
    f.io.ctx = &f;
    init(r, backend, &f.io);
    play(r, &t);
    assert_true(t.created && t.deleted && t.restored && t.forked);
    assert_true(strncmp(t.acked, early, strlen(early)) == 0);
    assert_string_equal(t.acked + strlen(early), "abcde");
    int n = atomic_load(&f.calls);
    check(r, &t, "without a fault");
    rig_done(r);
    free(r);
    return n;
}

static const struct {
    const char *name;
    int code;
    bool is_short;
} KINDS[] = {{"EIO", -EIO, false}, {"ENOSPC", -ENOSPC, false}, {"half a write", -ENOSPC, true}};

static void every_call_fails_once(void)
{
    int ncalls = count_calls(), tried = 0;
    for (size_t k = 0; k < ARRAY_LEN(KINDS); k++) {
        for (int at = 0; at < ncalls; at++, tried++) {
            struct faulty f = {.io = FAULTY_IO,
                               .fail_at = -1,
                               .code = KINDS[k].code,
                               .is_short = KINDS[k].is_short};
            struct rig *r = xcalloc(1, sizeof(*r));
            struct told t = {0};
            char where[64];
            (void)snprintf(where, sizeof(where), "%s at call %d", KINDS[k].name, at);
            f.io.ctx = &f;
            init(r, NULL, &f.io);
            f.fail_at = at;
            struct store_conf conf = {
                .type = backend, .dir = r->conv_dir, .workspace_id = "ws_test"};
            if (store_open(&r->env, &conf, &r->store, NULL) == 0) {
                play(r, &t);
                f.fail_at = -1;
                check(r, &t, where);
            }
            rig_done(r);
            free(r);
        }
    }
    print_message("%s: %d calls, %d faults tried\n", backend, ncalls, tried);
    assert_true(ncalls > 40);
}

TEST(jsonl)
{
    backend = "jsonl";
    early = "";
    every_call_fails_once();
}

TEST(jsonl_with_a_journal)
{
    backend = "jsonl";
    early = EARLY;
    every_call_fails_once();
}

TEST(folder)
{
    backend = "folder";
    early = "";
    every_call_fails_once();
}
