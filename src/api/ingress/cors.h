/* cors.h - which responses scripts of other origins may read: for origins named in the settings
 * only. */
#pragma once

#include "api/ingress/guard.h"

/* Adds the headers of CORS to the response. True: the request only asked what is allowed, and has
 * its response. */
bool cors_answers(struct http_req *r, const struct guard_rules *rules);
