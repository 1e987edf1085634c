/* focus.h - the app that the sender of a message has open. */
#pragma once

#include "runtime/runtime.h"

/* Call it right after turn_start. {serverName, appName?, appState?{state, summary?}}, copied; NULL
 * = no app is open. */
void turn_focus(struct message *m, const struct json *app_context);
