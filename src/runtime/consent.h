/* consent.h - the tools that somebody allowed for good.
 *
 * Kept in permissions.json of the work directory, apart from the settings: what is taken out of
 * those is not allowed any more. Read once at the start; a pool thread writes it anew as a
 * whole. A settings' deny still wins. Loop thread. */
#pragma once

#include "base/log.h"
#include "loop/pool.h"
#include "tools/surface.h"

#define CONSENTS_MAX 1000

struct consents {
    struct pool *pool;
    struct logger *log;
    const char *path; /* NULL = forgotten at the end */
    struct arena arena;
    struct json_strs tools; /* globs, if somebody wrote them into the file */
    struct list_node waiting, served;
    bool is_writing;
    char *text; /* the job's */
    struct err err;
    struct job job;
};

struct consent_save { /* embedded in whoever waits */
    struct list_node node;
    loop_fn fn;
    void *ctx;
    bool has_failed; /* set when fn is called */
};

void consents_init(struct consents *c, struct pool *pool, struct logger *log);
/* Reads the file, if there is one; blocking. `path` is copied. */
int consents_load(struct consents *c, const char *path, struct err *e);
void consents_done(struct consents *c); /* nothing may be under way */

bool consents_has(const struct consents *c, str tool);
/* False: there are too many; the tool is asked for again. */
bool consents_add(struct consents *c, str tool);
bool consents_remove(struct consents *c, str tool); /* false: it is not among them */
/* Calls fn when all that was added and removed is durable, or cannot be, which is logged; never
 * before it returns. */
void consents_save(struct consents *c, struct consent_save *s, loop_fn fn, void *ctx);
