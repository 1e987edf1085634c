/* preview.h - what a page shows of a file instead of its bytes: `?thumb=1` a small version,
 * `?pages=1` the pages of a PDF, `?page=N` one of them as a picture, `?words=N` what is written on
 * it. Access is that of the file: the handlers open it first. */
#pragma once

#include "api/api.h"
#include "attach/library.h"
#include "media/media.h"

struct file_preview {
    enum preview_kind { PREVIEW_NONE, PREVIEW_PICTURE, PREVIEW_PAGES, PREVIEW_WORDS } kind;
    struct media_want want; /* of words: the page */
};

/* Which one the request asks for. False: 400 was sent. */
bool preview_query(struct http_req *r, struct file_preview *ret);
/* Answers the request. Takes over fd, the bytes of the file. */
void preview_reply(struct api *api, struct http_req *r, const struct file_preview *preview,
                   const struct attached *file, str sha256, int fd);
