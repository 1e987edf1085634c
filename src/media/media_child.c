#include "media/media_child.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "net/child_exec.h"
#include "os/file.h"

#define ERR_BYTES_MAX 2048
#define LOOK_MS       100 /* between two looks at is_stopping */

enum { PIECE_BYTES = 64 * 1024 };

struct media_pipes {
    const struct media_job *job;
    struct child_process p;
    struct buf out, err;
    char piece[PIECE_BYTES]; /* of the input */
    size_t at, n;
    off_t offset;
};

static void pipe_close(int *fd)
{
    file_close(*fd);
    *fd = -1;
}

static void feed_input(struct media_pipes *m)
{
    if (m->at == m->n) {
        ssize_t n = pread(m->job->in, m->piece, sizeof m->piece, m->offset);
        m->at = 0;
        m->n = n > 0 ? (size_t)n : 0;
        m->offset += (off_t)m->n;
    }
    ssize_t n = m->n > 0 ? write(m->p.in, m->piece + m->at, m->n - m->at) : 0;
    if (n > 0)
        m->at += (size_t)n;
    else if (m->n == 0 || errno != EAGAIN) /* all of it was written, or nobody reads */
        pipe_close(&m->p.in);
}

static size_t take_output(int *fd, struct buf *to, int file)
{
    char piece[16 * 1024];
    ssize_t n = read(*fd, piece, sizeof piece);
    if (n <= 0)
        pipe_close(fd);
    else if (file > 0 ? file_write_all(file, str_make(piece, (size_t)n)) < 0
                      : buf_add(to, piece, (size_t)n) < 0)
        return SIZE_MAX;
    return n > 0 ? (size_t)n : 0;
}

static bool is_unwanted(const struct media_job *job)
{
    return atomic_load(job->is_stopping) || (job->is_cancelled && atomic_load(job->is_cancelled));
}

/* Until both outputs and the program have ended. */
static void pump(struct media_pipes *m, struct media_output *ret)
{
    uint64_t end = clock_mono_ms() + m->job->timeout_ms;
    bool has_ended = false;
    while (m->p.out >= 0 || m->p.err >= 0 || !has_ended) {
        bool is_open = m->p.out >= 0 || m->p.err >= 0;
        struct pollfd fds[] = {{m->p.in, POLLOUT, 0},
                               {m->p.out, POLLIN, 0},
                               {m->p.err, POLLIN, 0},
                               {is_open ? -1 : m->p.pidfd, POLLIN, 0}};
        (void)poll(fds, ARRAY_LEN(fds), LOOK_MS);
        has_ended = fds[3].revents != 0;
        if (fds[0].revents)
            feed_input(m);
        size_t n = fds[1].revents ? take_output(&m->p.out, &m->out, m->job->out) : 0;
        if (fds[2].revents)
            (void)take_output(&m->p.err, &m->err, 0);
        ret->is_late = clock_mono_ms() >= end || is_unwanted(m->job);
        ret->is_too_long = n > m->job->out_max - ret->nout;
        ret->nout += ret->is_too_long ? 0 : n;
        if (ret->is_late || ret->is_too_long)
            return;
    }
}

int media_child_run(struct arena *a, const struct media_job *job, struct media_output *ret,
                    struct err *e)
{
    struct media_pipes *m = xcalloc(1, sizeof *m);
    int status = 0;
    assert(job->in >= 0 && job->timeout_ms > 0);
    *ret = (struct media_output){0};
    m->job = job;
    buf_init(&m->out, job->out_max);
    buf_init(&m->err, ERR_BYTES_MAX);
    int rc = child_exec(&job->spec, &m->p, e);
    if (rc == 0) {
        (void)fcntl(m->p.in, F_SETFL, O_NONBLOCK);
        pump(m, ret);
        (void)kill(-m->p.pid, SIGKILL); /* unless it has ended: it did too much */
        while (waitpid(m->p.pid, &status, 0) < 0 && errno == EINTR)
            ;
        file_close(m->p.in);
        file_close(m->p.out);
        file_close(m->p.err);
        file_close(m->p.pidfd);
    }
    ret->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    ret->out = buf_keep(&m->out, a);
    ret->err = buf_keep(&m->err, a);
    free(m);
    return rc;
}
