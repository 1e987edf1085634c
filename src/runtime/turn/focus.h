/* focus.h - the app in front of the person who sends a message. */
#pragma once

#include "runtime/runtime.h"

/* Right behind turn_start: {serverName, appName?, appState?{state, summary?}}, copied; NULL = none
 * is open. */
void turn_focus(struct turn *t, const struct json *app_context);
