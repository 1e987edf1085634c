/* picture.h - pictures inside a terminal, where the terminal is known to show them: the protocols
 * of kitty and of iTerm2, and sixels. Everything that is written is composed here from checked
 * bytes: the base64 of a file whose type and size are known from its own head, or sixels that the
 * media helper has made, which contain nothing else that a terminal would obey. Pure. */
#pragma once

#include "base/buf.h"

#define PICTURE_BYTES_MAX  (4u * 1024 * 1024)
#define PICTURE_PIXELS_MAX (32u * 1000 * 1000) /* a terminal decodes it: no bombs */
#define PICTURE_OUT_MAX    (2u * PICTURE_BYTES_MAX)

enum picture_protocol { PICTURE_NONE, PICTURE_KITTY, PICTURE_ITERM, PICTURE_SIXEL };

/* From the environment: terminals say who they are. Never inside tmux and screen, which drop the
 * sequences or show them as text. `get` is getenv, or a test's own. */
enum picture_protocol picture_protocol(char *(*get)(const char *name));
/* Whether a terminal that is none of those may be asked for sixels (term.h). */
bool picture_may_ask(char *(*get)(const char *name));

/* Adds what shows the picture in at most `columns` columns, with a line feed. False: it is too
 * large, not a picture, or of a type that the protocol does not take; nothing was added. */
bool picture_add(struct buf *out, enum picture_protocol p, str bytes, size_t columns);
/* The same for sixels: `side` is the longest side for them in pixels. Whether a file may be given
 * to the helper that makes them, and whether what came back is added. */
uint32_t picture_side(size_t columns);
bool picture_is_drawable(str bytes);
bool picture_add_sixels(struct buf *out, str sixels);
