/* watch_dir.c - one inotify descriptor for all directories of a loop.
 *
 * libuv has the same (uv_fs_event), but also reports every single write, so that a log in a watched
 * directory would wake the loop with each of its lines. The number of descriptors of a user is
 * limited (128), so all watches share one. */
#include <errno.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/statfs.h>
#include <unistd.h>
#include <uv.h>

#include "loop/internal.h"
#include "loop/watch.h"

#define WATCHED                                                                                    \
    (IN_CLOSE_WRITE | IN_CREATE | IN_ATTRIB | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE |            \
     IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)
#define GONE         (IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED | IN_UNMOUNT | IN_Q_OVERFLOW)
#define EVENTS_BYTES 4096

struct dir_notifier { /* while there are watches; then until its handle is closed */
    struct loop *loop;
    int fd;
    uv_poll_t poll;
    struct list_node watches;
};

struct dir_watch {
    struct list_node node;
    struct dir_notifier *notifier;
    int id; /* watches of one directory share it */
    bool is_due;
    dir_watch_fn fn;
    void *ctx;
};

/* A callback may stop any watch, so each step begins at the front. */
static struct dir_watch *take_due(struct dir_notifier *n)
{
    LIST_EACH (w, &n->watches, struct dir_watch, node) {
        if (w->is_due) {
            w->is_due = false;
            return w;
        }
    }
    return NULL;
}

static void deliver(struct dir_notifier *n, const struct inotify_event *e)
{
    struct dir_watch *due;
    bool is_gone = (e->mask & GONE) != 0;
    if (e->len == 0 && !is_gone)
        return; /* the attributes of the directory itself */
    LIST_EACH (w, &n->watches, struct dir_watch, node)
        w->is_due = w->id == e->wd || (e->mask & IN_Q_OVERFLOW);
    while ((due = take_due(n)) != NULL)
        due->fn(due->ctx, is_gone ? NULL : e->name);
}

static void on_dir_events(uv_poll_t *poll, int status, int events)
{
    struct dir_notifier *n = poll->data;
    _Alignas(struct inotify_event) char bytes[EVENTS_BYTES];
    ssize_t got = read(n->fd, bytes, sizeof bytes);
    for (ssize_t at = 0; at < got;) {
        const struct inotify_event *e = (const struct inotify_event *)(bytes + at);
        at += (ssize_t)(sizeof *e + e->len);
        deliver(n, e);
    }
}

static struct dir_notifier *notifier_get(struct loop *l)
{
    if (l->dirs)
        return l->dirs;
    int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (fd < 0)
        return NULL;
    struct dir_notifier *n = xcalloc(1, sizeof *n);
    n->loop = l;
    n->fd = fd;
    list_init(&n->watches);
    int r = uv_poll_init(&l->uv, &n->poll, fd);
    if (r < 0) {
        close(fd);
        free(n);
        errno = -r;
        return NULL;
    }
    n->poll.data = n;
    uv_poll_start(&n->poll, UV_READABLE, on_dir_events);
    l->dirs = n;
    return n;
}

static void on_notifier_closed(uv_handle_t *h)
{
    free(h->data);
}

static void notifier_drop(struct dir_notifier *n)
{
    if (!list_empty(&n->watches))
        return;
    n->loop->dirs = NULL;
    uv_close((uv_handle_t *)&n->poll, on_notifier_closed);
    close(n->fd);
}

/* FUSE is among them: it carries the shared directories of virtual machines. */
static bool is_shared(const char *dir)
{
    static const unsigned long SHARED[] = {
        NFS_SUPER_MAGIC, SMB_SUPER_MAGIC,  SMB2_SUPER_MAGIC, CIFS_SUPER_MAGIC,
        V9FS_MAGIC,      CEPH_SUPER_MAGIC, AFS_SUPER_MAGIC,  FUSE_SUPER_MAGIC,
    };
    struct statfs st;
    if (statfs(dir, &st) < 0)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(SHARED); i++) {
        if ((unsigned long)st.f_type == SHARED[i])
            return true;
    }
    return false;
}

int dir_watch_start(struct loop *l, const char *dir, dir_watch_fn fn, void *ctx,
                    struct dir_watch **ret)
{
    if (is_shared(dir))
        return -EOPNOTSUPP;
    struct dir_notifier *n = notifier_get(l);
    if (!n)
        return -errno;
    int id = inotify_add_watch(n->fd, dir, WATCHED);
    if (id < 0) {
        int code = errno;
        notifier_drop(n);
        return -code;
    }
    struct dir_watch *w = xcalloc(1, sizeof *w);
    *w = (struct dir_watch){.notifier = n, .id = id, .fn = fn, .ctx = ctx};
    list_push(&n->watches, &w->node);
    *ret = w;
    return 0;
}

static bool is_id_used(const struct dir_notifier *n, int id)
{
    LIST_EACH (w, &n->watches, struct dir_watch, node)
        if (w->id == id)
            return true;
    return false;
}

void dir_watch_stop(struct dir_watch *w)
{
    if (!w)
        return;
    struct dir_notifier *n = w->notifier;
    list_del(&w->node);
    if (!is_id_used(n, w->id))
        (void)inotify_rm_watch(n->fd,
                               w->id); /* the kernel has removed it if the directory is gone */
    free(w);
    notifier_drop(n);
}
