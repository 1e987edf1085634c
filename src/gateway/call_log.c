#include "gateway/call_log.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/json/json.h"
#include "base/utf8.h"
#include "loop/timer.h"
#include "os/file.h"

struct call_log {
    struct loop *loop;
    struct pool *pool;
    struct logger *log;
    char *path;
    struct buf filling, writing;
    struct timer flush;
    struct job job;
    bool is_writing, is_dir_made;
    bool is_closed;   /* freed by its owner: the last write frees it */
    int status;       /* result of the last write; 0 or -errno */
    uint64_t dropped; /* lines that did not fit into the buffer */
    int64_t stamp_ms; /* calls of the same millisecond share their time stamp */
    char stamp[CLOCK_ISO_LEN + 1];
};

/* ---- writing: on the pool, or on the loop thread when the log is closed ---- */

static void rotate(const char *path)
{
    char from[4096], to[4096];
    for (int i = CALL_LOG_FILES - 1; i > 0; i--) {
        snprintf(to, sizeof to, "%s.%d", path, i);
        if (i == 1)
            snprintf(from, sizeof from, "%s", path);
        else
            snprintf(from, sizeof from, "%s.%d", path, i - 1);
        (void)rename(from, to);
    }
}

static int make_dir(const char *path)
{
    str file = str_from(path);
    ptrdiff_t slash = str_rfind_char(file, '/');
    if (slash <= 0)
        return 0;
    char *dir = str_dup(str_slice(file, 0, (size_t)slash));
    int r = file_make_dirs(dir, NULL);
    free(dir);
    return r;
}

static void write_out(struct call_log *a)
{
    struct stat st;
    if (!a->is_dir_made && make_dir(a->path) == 0)
        a->is_dir_made = true;
    if (stat(a->path, &st) == 0 && st.st_size > (off_t)CALL_LOG_FILE_MAX)
        rotate(a->path);
    int fd = open(a->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        a->status = -errno;
        return;
    }
    a->status = file_write_all(fd, buf_str(&a->writing));
    if (close(fd) < 0 && a->status == 0)
        a->status = -errno;
}

static void on_work(struct job *j)
{
    write_out(CONTAINER_OF(j, struct call_log, job));
}

static void call_log_end(struct call_log *a)
{
    assert(a->is_closed && !a->is_writing);
    buf_done(&a->writing);
    a->writing = a->filling;
    if (a->writing.n > 0)
        write_out(a);
    buf_done(&a->writing);
    free(a->path);
    free(a);
}

static void on_call_log_written(struct job *j)
{
    struct call_log *a = CONTAINER_OF(j, struct call_log, job);
    assert(a->is_writing);
    a->is_writing = false;
    if (a->status < 0)
        log_warn(a->log, "audit", "cannot write %s: %s", a->path, err_reason(a->status));
    if (a->dropped > 0)
        log_warn(a->log, "audit", "%llu calls are missing from %s", (unsigned long long)a->dropped,
                 a->path);
    a->dropped = 0;
    buf_recycle(&a->writing, CALL_LOG_SPARE_BYTES);
    if (a->is_closed)
        call_log_end(a);
    else if (a->filling.n > 0)
        timer_start(&a->flush, CALL_LOG_FLUSH_MS);
}

static void on_flush(void *audit)
{
    struct call_log *a = audit;
    assert(!a->is_writing && a->writing.n == 0 && a->filling.n > 0);
    struct buf full = a->filling;
    a->filling = a->writing;
    a->writing = full;
    a->is_writing = true;
    pool_run(a->pool, &a->job, on_work, on_call_log_written);
}

/* ---- collecting lines ---- */

struct call_log *call_log_new(struct loop *l, struct pool *p, struct logger *log, const char *path)
{
    struct call_log *a = xcalloc(1, sizeof *a);
    a->loop = l;
    a->pool = p;
    a->log = log;
    a->path = str_dup(str_from(path));
    buf_init(&a->filling, CALL_LOG_BUFFER_MAX);
    buf_init(&a->writing, CALL_LOG_BUFFER_MAX);
    timer_init(&a->flush, l, on_flush, a);
    return a;
}

static str stamp_now(struct call_log *a)
{
    int64_t now = clock_now_ms();
    if (now != a->stamp_ms || a->stamp[0] == 0) {
        clock_iso(now, a->stamp);
        a->stamp_ms = now;
    }
    return str_make(a->stamp, CLOCK_ISO_LEN);
}

/* Writes milliseconds with as many decimals as they need. */
static void write_ms(struct json_writer *w, uint64_t us)
{
    unsigned part = (unsigned)(us % 1000);
    char decimals[] = {'.', (char)('0' + part / 100), (char)('0' + part / 10 % 10),
                       (char)('0' + part % 10)};
    size_t n = sizeof decimals;
    while (n > 1 && decimals[n - 1] == '0')
        n--;
    jw_int(w, (int64_t)(us / 1000));
    if (n > 1)
        buf_add_str(w->out, str_make(decimals, n));
}

void call_log_add(struct call_log *a, const struct call_log_entry *e)
{
    struct json_writer w;
    size_t before = a->filling.n;
    jw_init(&w, &a->filling);
    jw_object(&w);
    jw_kstr(&w, "ts", stamp_now(a));
    jw_kstr(&w, "user", e->user_id);
    jw_kstr(&w, "workspace", e->workspace_id);
    if (e->client.n > 0)
        jw_kstr(&w, "client", utf8_truncate(e->client, CALL_LOG_CLIENT_MAX));
    jw_kstr(&w, "tool", e->tool);
    jw_key(&w, "ms");
    write_ms(&w, e->took_us);
    jw_kstr(&w, "outcome", str_from(e->outcome));
    jw_end(&w);
    buf_add_char(&a->filling, '\n');
    if (buf_failed(&a->filling)) {
        a->filling.failed = false;
        buf_truncate(&a->filling, before);
        a->dropped++;
    }
    if (!a->is_writing && !timer_active(&a->flush))
        timer_start(&a->flush, CALL_LOG_FLUSH_MS);
}

void call_log_free(struct call_log *a)
{
    if (!a)
        return;
    assert(!a->is_closed);
    timer_stop(&a->flush);
    a->is_closed = true;
    if (!a->is_writing) /* otherwise a pool thread still uses it */
        call_log_end(a);
}
