/* trouble.h - failures of the disk: they are logged, and health checks see them
 * (store_is_failing). A missing conversation or an invalid argument is not trouble. */
#pragma once

#include "store/backend/backend.h"

#define TROUBLE_LOG_MS 60000 /* between two log messages about the same error */
#define TROUBLE_TRY_MS 2000  /* between two attempts to write (store_try_again) */

/* After the work of a call: turns -ENOENT of a conversation into -EIO when the directory of all
 * conversations is missing. Blocking; any thread. */
void trouble_check_dir(const struct store_conf *conf, struct err *e);
/* Records the result of a call. Trouble ends when a call of the same kind succeeds. Loop thread. */
void trouble_note(struct store_op *op);
