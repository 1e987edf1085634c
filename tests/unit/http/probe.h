/* probe.h - one request of the test's own making against one handler of the test's own. */
#pragma once

#include "rig.h"

typedef void (*probe_handler)(struct http_req *r);

static inline void probe_on_request(void *ctx, struct http_req *r)
{
    (*(probe_handler *)ctx)(r);
}

/* Sends the request, reads the reply, ends the server. The caller frees the reply. */
static inline void probe(probe_handler handler, str request, struct reply *ret)
{
    struct rig rig;
    struct http_handlers h = {.on_request = probe_on_request, .ctx = &handler};
    rig_make(&rig, NULL, &h);
    rig_listen(&rig);
    rig_run(&rig);
    int fd = rig_connect(&rig);
    send_str(fd, request);
    read_reply(fd, ret, str_starts(request, STR("HEAD ")));
    close(fd);
    rig_stop(&rig);
}
