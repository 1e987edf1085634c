/* trouble.h - what the disk refuses to do for a store: logged, and known to those who watch over
 * the server (store_is_failing). A conversation that is not there, or a wrong question, is not
 * trouble. */
#pragma once

#include "store/backend/backend.h"

#define TROUBLE_LOG_MS 60000 /* between two lines in the log about the same */
#define TROUBLE_TRY_MS 2000  /* between two attempts to write (store_try_again) */

/* After the work of a call: a conversation that is missing because the directory of all of them is
 * missing is an error of another kind. Blocking; any thread. */
void trouble_check_dir(const struct store_conf *conf, struct err *e);
/* A call is over. Trouble ends when a call of the same kind succeeds. Loop thread. */
void trouble_note(struct store_op *op);
