/* app_trust.h - tools of a bundle that wait for approval, and what tools may do. */
#pragma once

#include "base/json/json.h"
#include "bundle/bundle.h"

/* "reads", "changes" (declared not to destroy), "destroys" or "undeclared". */
const char *api_tool_effect(const struct json *annotations);

/* "quarantined": [{name, why, detail, digest, changes, warnings}], and "instructionsChanged". */
void api_write_quarantine(struct json_writer *w, struct arena *a, struct bundle *b);
