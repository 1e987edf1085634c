/* export_elsewhere.h - the document of a conversation, as the server of --server writes it. */
#pragma once

#include "cli/conversations/conversations.h"

/* path: the route and its query. Runs the loop. A document that ends early is an error. */
int export_elsewhere(struct cmd *x, str path, FILE *out, struct err *e);
