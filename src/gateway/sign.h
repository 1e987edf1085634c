/* sign.h - texts that clients store for the gateway, signed: "<mac over body and context>.<body>".
 *
 * The context (user, workspace, request) is not in the text. A text that another user presents, or
 * that is used for another request, therefore does not pass the check. The key is random in each
 * process: no text is valid after a restart. */
#pragma once

#include "base/arena.h"

struct gateway;

str gw_sign_text(struct gateway *g, struct arena *a, str body, str context);
/* True: *ret_body is the part of `text` that was signed. */
bool gw_sign_check(struct gateway *g, str text, str context, str *ret_body);
