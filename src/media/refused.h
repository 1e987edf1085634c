/* refused.h - pictures and pages that could not be drawn lately, by the hash of the bytes of their
 * file.
 *
 * A page asks for the preview of a broken picture each time it shows it, and for a page of a PDF
 * that cannot be drawn. Each attempt is a process that reads up to MEDIA_INPUT_MAX bytes, so the
 * answer is remembered for REFUSED_MS; after that a library may have been installed or updated.
 * Loop thread. */
#pragma once

#include "base/bytes/hash.h"
#include "base/err.h"

#define REFUSED_MAX ((size_t)128) /* the oldest makes room for a new one */
#define REFUSED_MS  (10u * 60 * 1000)

struct refused_picture {
    char sha256[SHA256_HEX_LEN + 1];
    uint32_t page; /* of a PDF; 0: the preview of the file */
    int code;
    char why[256];
    uint64_t until_ms; /* 0: empty */
};

struct refused {
    struct refused_picture items[REFUSED_MAX];
    size_t next;
};

/* Remembers errors that the bytes themselves cause; others may pass. */
void refused_note(struct refused *r, str sha256, uint32_t page, const struct err *e);
/* Returns the code and sets the message, or 0. */
int refused_find(const struct refused *r, str sha256, uint32_t page, struct err *e);
