/* import_impl.h - the parts of an importer. Private to import*.c. */
#pragma once

#include "store/event/lines.h"
#include "transfer/import_talk.h"

/* Reads the values of a JSON array one by one from a file of any size. A file with a single object
 * is treated as an array of one value. */
struct elements {
    int fd;
    off_t at;          /* of the next byte to read */
    struct buf window; /* begins with the current element */
    size_t used;       /* bytes of the window that the last returned element occupies */
    bool has_begun, is_single, has_ended;
};

void elements_init(struct elements *e, int fd);
void elements_done(struct elements *e);
/* 1 and the next value (valid until the next call), 0 at the end, -EINVAL when the file is not an
 * array of objects, -EFBIG for a value that is too large (it is skipped), or -errno. */
int elements_next(struct elements *e, str *ret);

/* import_is_x: is this conversation of an export in the format x? import_x: passes it to the talk
 * and fills conv, whose strings point into v or into the arena. */
bool import_is_chatgpt(const struct json *v);
void import_chatgpt(struct talk *t, struct arena *a, const struct json *v,
                    struct conv_create *conv);
bool import_is_claude(const struct json *v);
void import_claude(struct talk *t, struct arena *a, const struct json *v, struct conv_create *conv);

/* Session files of Claude Code, line by line. */
struct code_session {
    str id; /* in the arena given to import_code_line */
    str cwd;
    str title; /* the last one */
};
bool import_is_code(const struct json *line);
void import_code_line(struct code_session *s, struct talk *t, struct arena *a,
                      const struct json *line);

/* conv_<16 hex> for a foreign id: the same every time. */
str import_id(struct arena *a, const char *kind, str foreign_id);
/* {"importedFrom":kind,"sourceId":id} */
struct json *import_metadata(struct arena *a, const char *kind, str foreign_id);
