/* apps.h - the bundle that a request is about. */
#pragma once

#include "api/api.h"

struct bundle;

/* The bundle that the path names, or NULL: the request was answered. */
struct bundle *api_apps_find(struct http_req *r);
/* Whether the caller may change bundles. False: the request was answered. */
bool api_apps_may_change(struct http_req *r);
