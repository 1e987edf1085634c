#include "cli/session/session_log.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "store/folder/folder.h"

static void put_time(struct arena *a, struct json *v, const char *key, int64_t ms)
{
    char iso[CLOCK_ISO_LEN + 1];
    clock_iso(ms, iso);
    json_set(a, v, str_from(key), json_of_str(arena_str(a, str_from(iso))));
}

/* exit_code < 0: it still runs, or it was killed. */
static int write_state(const struct session_log *s, int exit_code, struct err *e)
{
    struct arena a;
    arena_init(&a);
    struct json *v = json_new(&a, JSON_OBJECT);
    json_set(&a, v, STR("client"), json_of_str(str_from(s->client)));
    json_set(&a, v, STR("version"), json_of_str(STR(NB_VERSION)));
    json_set(&a, v, STR("pid"), json_of_int(getpid()));
    put_time(&a, v, "startedAt", s->began_ms);
    if (exit_code >= 0) {
        put_time(&a, v, "endedAt", clock_now_ms());
        json_set(&a, v, STR("exitCode"), json_of_int(exit_code));
    }
    int r = folder_state_write(s->root, "session", v, e);
    arena_done(&a);
    return r;
}

void session_log_begin(struct session_log *s, struct config *c, const char *client)
{
    struct err e = {0};
    *s = (struct session_log){.fd = -1, .client = client, .began_ms = clock_now_ms()};
    if (strcmp(c->store.type, "folder") != 0)
        return;
    s->root = c->store.dir ? c->store.dir : config_path(c, "storage");
    if (folder_session_open(s->root, s->began_ms, &s->fd, &e) < 0 || write_state(s, -1, &e) < 0)
        fprintf(stderr, "nb: warning: %s\n", e.msg);
}

void session_log_end(struct session_log *s, int exit_code)
{
    if (s->fd < 0)
        return;
    (void)write_state(s, exit_code, NULL);
    close(s->fd);
    s->fd = -1;
}
