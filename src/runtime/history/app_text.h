/* app_text.h - what interfaces of apps add to a user's message, as models get it.
 *
 * An interface may write a message in the user's name, and may say what it shows. Both are
 * third-party text: they are put into containers with the name of the app (escape.h) and are
 * bounded. A message without such parts is its own text, byte by byte. Pure. */
#pragma once

#include "runtime/history/replay.h"

/* The text of a user's message with everything that apps added. */
str app_text_of(struct arena *a, const struct replay_message *m);

/* The message alone, without what views showed; text beyond max_bytes is cut. */
str app_text_short(struct arena *a, const struct replay_message *m, size_t max_bytes);
