/* document.h - the whole API as an OpenAPI 3.1 document, written from the tables. */
#pragma once

#include "base/buf.h"
#include "base/str.h"

#define API_DOCUMENT_MAX (4u * 1024 * 1024)

/* `base`: the path in front of the routes where a proxy serves nb ("/nb"), or empty. */
void document_write(struct buf *out, str base);
