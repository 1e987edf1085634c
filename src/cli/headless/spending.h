/* spending.h - what the model calls of a command cost, for --max-cost.
 *
 * Prices are those of the server (GET /v1/models); each call is added when it has ended. Calls
 * whose price is not known cannot be limited, so the command does not start with such a model. */
#pragma once

#include "cli/session/client.h"

struct spending {
    struct arena arena;
    const struct json *models; /* with their prices */
    double limit, spent;       /* USD; limit below 0 = none */
};

void spending_init(struct spending *s);
void spending_done(struct spending *s);

/* Reads the prices. -EINVAL: that of the model is not known. Runs the loop. */
int spending_limit(struct spending *s, struct client *c, str model, double usd, struct err *e);
/* A model call has ended (llm.done). True: the limit is reached. */
bool spending_add(struct spending *s, const struct json *call);
