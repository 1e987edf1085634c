/* A program of poppler in the sandbox of bundles: no network, none of the user's files, no files
 * that it could write. It reads the PDF from its standard input. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "bundle/sandbox/sandbox.h"
#include "media/media_impl.h"

#define CPU_SECONDS  10
#define MEMORY_BYTES (1024LL * 1024 * 1024)

/* What the machine offers is tried with the first PDF, not with every page. */
struct pdf_sandbox {
    pthread_mutex_t lock;
    bool is_known;
    struct sandbox_offer offer;
};

struct pdf_sandbox *pdf_sandbox_new(void)
{
    struct pdf_sandbox *s = xcalloc(1, sizeof *s);
    pthread_mutex_init(&s->lock, NULL);
    return s;
}

void pdf_sandbox_free(struct pdf_sandbox *s)
{
    pthread_mutex_destroy(&s->lock);
    free(s);
}

static void take_offer(struct pdf_sandbox *s, struct sandbox_offer *ret)
{
    pthread_mutex_lock(&s->lock);
    if (!s->is_known)
        sandbox_look(&s->offer);
    s->is_known = true;
    *ret = s->offer;
    pthread_mutex_unlock(&s->lock);
}

/* The launcher failed: bubblewrap or the kernel's settings may have changed since. */
static void forget_offer(struct pdf_sandbox *s)
{
    pthread_mutex_lock(&s->lock);
    s->is_known = false;
    pthread_mutex_unlock(&s->lock);
}

static int no_tool(struct err *e, const char *tool, const char *why)
{
    return err_set(e, -ENOSYS,
                   "nb reads PDFs with %s, which cannot be used here: %s. Install the package "
                   "poppler-utils (Debian: apt-get install poppler-utils)",
                   tool, why);
}

static bool is_launcher_code(int code)
{
    return code == 125 || code == 127;
}

static int explain_pdf(const char *tool, const struct media_output *o, struct err *e)
{
    if (is_launcher_code(o->exit_code))
        return no_tool(e, tool, "its sandbox cannot be made");
    if (o->is_late || o->exit_code < 0 || o->exit_code > 128) /* 128 and a signal, by bubblewrap */
        return err_set(e, -EINVAL, "it took too long, or too much memory, to read");
    if (str_find(o->err, STR("Incorrect password"), 0) >= 0 || o->exit_code == 3)
        return err_set(e, -EINVAL, "it is protected by a password");
    if (str_find(o->err, STR("Wrong page range"), 0) >= 0)
        return err_set(e, -ENOENT, "it has no such page");
    return err_set(e, -EINVAL, "it is broken or incomplete");
}

static int plan_tool(struct arena *a, const struct media *m, const char *const *argv,
                     const char *dir, struct sandbox_plan *ret, struct err *e)
{
    const char *path = getenv("PATH");
    const char *const env[] = {
        arena_printf(a, "PATH=%s", path ? path : "/usr/local/bin:/usr/bin:/bin").p,
        "LC_ALL=C.UTF-8", NULL};
    static const struct bundle_sandbox NOTHING;
    struct sandbox_offer *offer = ARENA_NEW(a, struct sandbox_offer);
    struct err why = {0};
    take_offer(m->pdf_sandbox, offer);
    const struct sandbox_want want = {
        .offer = offer,
        .declared = &NOTHING,
        .argv = argv,
        .env = env,
        .data_dir = dir,
        .work_dir = m->conf.work_dir,
        .home_dir = m->conf.home_dir,
        .own_program = m->conf.program,
        .memory_bytes = MEMORY_BYTES,
        .cpu_seconds = CPU_SECONDS,
    };
    return sandbox_plan(a, &want, ret, &why) < 0 ? no_tool(e, argv[0], why.msg) : 0;
}

static int run_plan(struct arena *a, const struct media *m, const struct pdf_job *job,
                    const struct sandbox_plan *plan, struct media_output *ret, struct err *e)
{
    const struct media_job child = {
        .spec = {.argv = plan->argv, .cwd = plan->cwd, .message = plan->message},
        .in = job->in,
        .out = job->out,
        .out_max = job->out_max,
        .timeout_ms = job->timeout_ms,
        .is_stopping = &m->is_stopping,
        .is_cancelled = job->is_cancelled};
    int rc = media_child_run(a, &child, ret, e);
    if (rc < 0)
        return rc;
    if (is_launcher_code(ret->exit_code))
        forget_offer(m->pdf_sandbox);
    bool is_done = ret->is_too_long || (ret->exit_code == 0 && !ret->is_late);
    return is_done ? 0 : explain_pdf(job->argv[0], ret, e);
}

/* Every sandbox has a directory of its own; this one stays empty. */
int media_pdf_run(struct arena *a, const struct media *m, const struct pdf_job *job,
                  struct media_output *ret, struct err *e)
{
    char dir[] = "/tmp/nb-pdf-XXXXXX";
    struct sandbox_plan plan;
    if (!mkdtemp(dir))
        return err_set(e, -errno, "cannot make a directory below /tmp: %s", err_reason(-errno));
    int rc = plan_tool(a, m, job->argv, dir, &plan, e);
    if (rc == 0)
        rc = run_plan(a, m, job, &plan, ret, e);
    (void)rmdir(dir);
    return rc;
}
