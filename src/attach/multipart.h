/* multipart.h - multipart/form-data (RFC 7578), read as it comes.
 *
 * Input is taken in pieces of any size; the data of a part is handed on as it comes, so that memory
 * does not depend on the size of a file. Strict: no preamble, line ends are CRLF, every part is
 * "form-data" with a name; ceilings for parts and headers. After an error the parser refuses
 * everything. Does no I/O. */
#pragma once

#include "base/buf.h"

#define MULTIPART_BOUNDARY_MAX 70u
#define MULTIPART_HEADERS_MAX  4096u /* of one part */
#define MULTIPART_PARTS_MAX    16u

/* Everything is borrowed for the call. False ends the parsing: multipart_feed returns -ECANCELED.
 */
struct multipart_events {
    bool (*on_part)(void *ctx, str name, str file_name, bool is_file);
    bool (*on_data)(void *ctx, str data);
    bool (*on_part_end)(void *ctx);
};

struct multipart {
    const struct multipart_events *ev;
    void *ctx;
    struct buf held;                            /* input that cannot be used yet */
    char delimiter[MULTIPART_BOUNDARY_MAX + 5]; /* CR LF - - boundary */
    size_t ndelimiter;
    unsigned state, parts;
    const char *problem; /* after -EINVAL */
};

/* The boundary of a Content-Type. False: it is not multipart/form-data with a valid boundary. */
bool multipart_boundary(str content_type, str *ret);

void multipart_init(struct multipart *m, str boundary, const struct multipart_events *ev,
                    void *ctx);
int multipart_feed(struct multipart *m, str piece); /* 0, -EINVAL, -ECANCELED */
bool multipart_is_done(const struct multipart *m);  /* the closing delimiter was read */
void multipart_done(struct multipart *m);
