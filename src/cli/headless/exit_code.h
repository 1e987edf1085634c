/* exit_code.h - how an answer ended, as the exit code of nb -p and of pipes. Pure. */
#pragma once

#include "base/str.h"

enum {               /* documented in docs/terminal.md; never renumbered. 0, 1 and 2 are in cli.h */
       EXIT_CUT = 3, /* the limit of steps, tokens or length ended the answer */
       EXIT_REFUSED = 4,  /* the model declined */
       EXIT_PROVIDER = 5, /* the model service failed, or refused the request */
       EXIT_SERVER = 6,   /* no connection to the server of nb, or it was lost */
       EXIT_SCHEMA = 7,   /* the answer does not fit --output-schema */
       EXIT_COST = 8,     /* --max-cost is used up */
       EXIT_TIME = 9,     /* --timeout has passed */
       EXIT_INTERRUPTED = 130,
};

int exit_code_of_stop(str stop_reason); /* of a report */
int exit_code_of_error(str error);      /* the code of an error event */
/* A session that could not be opened; code: -errno. */
int exit_code_of_opening(bool is_elsewhere, int code);
