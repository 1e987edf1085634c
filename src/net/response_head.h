/* response_head.h - status and headers of a response, collected line by line.
 *
 * Takes the header lines as libcurl delivers them: interim 1xx heads come first and are
 * dropped, trailers may follow the body and are ignored. Names become lower-case. Bounded. */
#pragma once

#include "base/arena.h"
#include "net/fetch.h"

#define RESPONSE_HEAD_MAX    (256u * 1024) /* bytes of all lines of one head */
#define RESPONSE_HEADERS_MAX 256

struct response_head {
    struct arena mem;
    struct fetch_header *headers; /* RESPONSE_HEADERS_MAX of them, in mem */
    size_t n, bytes;
    int status;
    bool is_final; /* the final head is complete */
};

void response_head_init(struct response_head *h);
void response_head_done(struct response_head *h);

/* One line with its line end; the empty line ends a head. Returns 1 when this line completed
 * the final head, 0 otherwise, -EMSGSIZE beyond a ceiling. */
int response_head_add(struct response_head *h, str line);

/* The value of the first header of that (lower-case) name, or STR_NONE. */
str response_head_get(const struct response_head *h, const char *name);
