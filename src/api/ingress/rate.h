/* rate.h - limits how often one person may make expensive requests.
 *
 * Fixed windows of one minute, the same for everybody, each counting from zero. The table contains
 * only people who sent requests in the current window. Several servers count together
 * (auth/session/shared_rate.h). Loop thread only. */
#pragma once

#include "base/map.h"

enum rate_kind { RATE_CHAT, RATE_TOOLS, RATE_MCP, RATE_WORKSPACES, RATE_SHARED, RATE_KINDS };

#define RATE_WINDOW_MS 60000
/* beyond this number of people in a minute, the rest share one count */
#define RATE_PEOPLE_MAX 100000

struct rates {
    struct map people; /* user id -> uint32_t[RATE_KINDS] */
    int64_t window;
    struct shared_rate *shared; /* NULL: there is one server */
};

void rates_init(struct rates *r);
void rates_done(struct rates *r);

/* Counts one request. 0, or the seconds to wait when `limit` (0 = none) is reached. */
int rates_take(struct rates *r, str user_id, enum rate_kind kind, int64_t limit, int64_t now_ms);
