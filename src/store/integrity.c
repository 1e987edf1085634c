#include "store/integrity.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "store/event/lines.h"
#include "store/files/files.h"
#include "store/log/log_file.h"

#define HASH_KEY STR(",\"h\":\"")

enum { SUFFIX_LEN = 6 + SHA256_HEX_LEN + 2 }; /* ,"h":"<64 hex>"} */

static bool is_hex(str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (!((s.p[i] >= '0' && s.p[i] <= '9') || (s.p[i] >= 'a' && s.p[i] <= 'f')))
            return false;
    }
    return true;
}

/* The hash at the end of a line, or STR_NONE. */
static str hash_of(str line)
{
    if (line.n <= SUFFIX_LEN + 1 || !str_ends(line, STR("\"}")))
        return STR_NONE;
    str tail = str_skip(line, line.n - SUFFIX_LEN);
    str hash = str_slice(tail, HASH_KEY.n, HASH_KEY.n + SHA256_HEX_LEN);
    return str_starts(tail, HASH_KEY) && is_hex(hash) ? hash : STR_NONE;
}

bool chain_split(str line, str *ret_body, str *ret_hash, struct arena *a)
{
    *ret_hash = hash_of(line);
    *ret_body = line;
    if (!ret_hash->n)
        return false;
    *ret_body = arena_concat(a, str_slice(line, 0, line.n - SUFFIX_LEN), STR("}"));
    return true;
}

/* SHA-256 of the head followed by the body. */
static void advance(char head[SHA256_HEX_LEN + 1], struct arena *a, str body)
{
    sha256_hex(arena_concat(a, str_make(head, SHA256_HEX_LEN), body), head);
}

void chain_init(struct chain *c, int fd, off_t size)
{
    *c = (struct chain){.fd = fd, .size = size};
}

void chain_start(struct chain *c, str first_line)
{
    *c = (struct chain){.fd = -1, .is_on = true, .is_known = true};
    sha256_hex(str_slice(first_line, 0, first_line.n - 1), c->head);
}

/* The chain continues with the hash of the last line, or begins with the hash of its text. */
int chain_resume(struct chain *c, bool wanted)
{
    if (c->is_known)
        return 0;
    char tail[SUFFIX_LEN + 3]; /* the suffix, the bytes before it, and the line feed */
    size_t n = c->size < (off_t)sizeof(tail) ? (size_t)c->size : sizeof(tail);
    ssize_t got = pread(c->fd, tail, n, c->size - (off_t)n);
    if (got != (ssize_t)n)
        return got < 0 ? -errno : -EIO;
    str hash = n ? hash_of(str_make(tail, n - 1)) : STR_NONE;
    c->is_known = true;
    c->is_on = hash.n || wanted;
    if (hash.n)
        memcpy(c->head, hash.p, SHA256_HEX_LEN);
    if (hash.n || !wanted)
        return 0;
    struct lines_back lines;
    struct line line;
    lines_back_init(&lines, c->fd, c->size);
    int r = lines_back_next(&lines, &line);
    if (r >= 0)
        sha256_hex(r > 0 ? line.text : STR_NONE, c->head);
    lines_back_done(&lines);
    return r < 0 ? r : 0;
}

void chain_seal(struct chain *c, struct arena *a, str *line)
{
    str body, hash;
    bool had_hash = chain_split(str_slice(*line, 0, line->n - 1), &body, &hash, a);
    if (c->is_on) {
        advance(c->head, a, body);
        *line = arena_printf(a, "%.*s,\"h\":\"%s\"}\n", STR_ARG(str_slice(body, 0, body.n - 1)),
                             c->head);
    } else if (had_hash) {
        *line = arena_concat(a, body, STR("\n"));
    }
}

/* ---- verifying ---- */

struct verifier {
    struct integrity_report *report;
    char head[SHA256_HEX_LEN + 1];
    struct arena scratch;
};

static bool chain_broken(struct verifier *v, const char *reason)
{
    struct integrity_report *r = v->report;
    r->is_broken = true;
    r->bad_line = r->lines;
    (void)snprintf(r->reason, sizeof(r->reason), "%s", reason);
    return false;
}

/* Compared with the file name, this detects a log that was copied or a folder that was renamed. */
static void note_named_id(struct verifier *v, str line)
{
    struct json *doc;
    if (json_parse(&v->scratch, line, 0, &doc, NULL) < 0)
        return;
    str id = json_get_string(doc, json_get(doc, "threadId") ? "threadId" : "id");
    if (store_id_valid(id))
        (void)snprintf(v->report->named_id, sizeof v->report->named_id, "%.*s", STR_ARG(id));
}

static bool verify_line(struct verifier *v, str line)
{
    struct integrity_report *r = v->report;
    str body, hash;
    arena_reset(&v->scratch);
    if (r->lines++ == 0)
        note_named_id(v, line);
    if (!chain_split(line, &body, &hash, &v->scratch)) {
        if (r->is_chained)
            return chain_broken(v, "it has no hash, although the lines before it have one");
        r->uncovered += r->lines > 1;
        sha256_hex(line, v->head);
        return true;
    }
    char expected[SHA256_HEX_LEN + 1];
    memcpy(expected, v->head, sizeof(expected));
    advance(expected, &v->scratch, body);
    if (!str_eq(hash, str_from(expected)))
        return chain_broken(v, "it was changed, or a line before it was removed, added or changed");
    if (!r->is_chained && r->uncovered > 0)
        r->uncovered--; /* the text of the line before the chain is covered */
    r->is_chained = true;
    memcpy(v->head, expected, sizeof(expected));
    return true;
}

static int verify_fd(int fd, off_t size, struct verifier *v)
{
    struct lines lines;
    struct line line;
    int r;
    bool goes_on = true;
    lines_init(&lines, fd, 0, size);
    while (goes_on && (r = lines_next(&lines, &line)) > 0)
        goes_on = lines.overlong ? chain_broken(v, "it is longer than the line limit")
                                 : verify_line(v, line.text);
    /* The process that has the log open may be writing that line now. */
    if (goes_on && r == 0 && lines.at < size && log_file_writer(fd) == 0)
        v->report->torn_bytes = (int64_t)(size - lines.at);
    if (v->report->torn_bytes > 0 && v->report->is_chained) {
        v->report->lines++;
        goes_on = chain_broken(v, "it is incomplete");
    }
    lines_done(&lines);
    return goes_on ? r : 0;
}

int integrity_verify_file(const char *path, struct integrity_report *ret, struct err *e)
{
    off_t size;
    *ret = (struct integrity_report){0};
    int fd = file_store_open_log(path, UINT64_MAX, &size, e);
    if (fd < 0)
        return fd;
    struct verifier v = {.report = ret};
    arena_init(&v.scratch);
    int r = verify_fd(fd, size, &v);
    arena_done(&v.scratch);
    close(fd);
    memcpy(ret->head, v.head, sizeof(v.head));
    return r < 0 ? err_errno(e, r, "cannot read", path) : 0;
}

/* ---- of a conversation ---- */

/* Reads the log itself, because the index may describe older bytes. */
static void read_lines(struct store_op *op, struct integrity_report *report)
{
    struct derive d;
    derive_init(&d, op->store->env);
    if (op->store->ops->scan(op->store, op->id, derive_scanned, &d, &op->err) == 0) {
        report->bad_lines = d.conv.bad_lines;
        report->lacks_header = !d.has_header || d.conv.acl.is_sealed;
    }
    derive_done(&d);
}

static void verify_work(struct store_op *op)
{
    struct integrity_report *report = ARENA_NEW(&op->arena, struct integrity_report);
    op->out.integrity = report;
    if (integrity_verify_file(op->path, report, &op->err) == 0)
        read_lines(op, report);
}

static void answer_verify(struct store_op *op)
{
    op->fn.integrity(op->ctx, op_err(op), op->err.code ? NULL : op->out.integrity);
}

static void verify_located(struct store_op *op)
{
    if (files_locate(op, op->id))
        op_run(op, verify_work);
    else
        op_done_later(op);
}

struct store_op *store_verify(struct store *s, str id, integrity_fn fn, void *ctx)
{
    struct store_op *op = op_new(s, id, answer_verify, ctx);
    op->fn.integrity = fn;
    op->step = verify_located;
    if (!op_check(op, false))
        return op;
    if (!s->ops->has_files) {
        op->step = NULL;
        err_set(&op->err, -ENOTSUP, "a %s store has no files to verify", s->ops->type);
        op_done_later(op);
    } else {
        then_get(op);
    }
    return op;
}
