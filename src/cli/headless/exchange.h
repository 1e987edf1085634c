/* exchange.h - one message and its answer, printed without a screen: text, a report, or events.
 *
 * Results go to stdout, everything else to stderr. The cause of the end is the exit code.
 * Loop thread only. */
#pragma once

#include "cli/headless/answer_schema.h"
#include "cli/headless/spending.h"
#include "cli/session/session.h"

struct exchange_limits { /* of the whole command */
    struct spending spending;
    struct answer_schema schema; /* schema.schema NULL: any answer is good */
    uint64_t end_ms;             /* of the monotonic clock; 0 = no limit */
};

/* Of the options; an exit code after saying what is wrong. Runs the loop. */
int exchange_limits_open(struct exchange_limits *l, const struct chat_options *o,
                         struct chat_session *s);
void exchange_limits_done(struct exchange_limits *l);

/* Sends the text and waits for the end of the answer; the exit code. */
int exchange_run(const struct cli *cli, struct loop *loop, struct chat_session *s,
                 struct exchange_limits *limits, str text);
