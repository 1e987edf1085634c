/* logins.h - the servers that nb login knows, with their tokens: a file of the work directory that
 * only its owner can read. Blocking. */
#pragma once

#include "base/json/json.h"
#include "config/config.h"

#define LOGINS_FILE "logins.json" /* below the work directory; never in a backup */
#define LOGINS_MAX  64

struct login {
    str url; /* as remote_url writes it */
    str token;
    str workspace; /* for commands that name none; empty = none */
};

struct logins {
    struct login items[LOGINS_MAX];
    size_t n;
};

/* In the arena. A file that others can read is refused (-EPERM); without a file there are none. */
int logins_read(struct arena *a, struct config *c, struct logins *ret, struct err *e);
const struct login *logins_find(const struct logins *all, str url); /* or NULL */
/* Replaces the login of that address. */
int logins_put(struct config *c, const struct login *login, struct err *e);
int logins_remove(struct config *c, str url, struct err *e); /* -ENOENT */
