/* escape.h - makes third-party text safe for a prompt; the only way into one.
 *
 * Descriptions, states, guides and skills are third-party text, and are put into containers like
 * <app-state>. Text that imitates a container tag could end its own container; here every such tag
 * loses its '<', however it is spelled: case, white space,
 * invisible characters, full-width letters. Invisible tag characters, which can carry text
 * that nobody sees, are dropped; broken UTF-8 is replaced. Everything is bounded.
 * Pure; any thread. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"

/* Every container that prompts use. Adding one here is enough to protect it. */
enum container {
    CONTAINER_APP_DESCRIPTION,
    CONTAINER_APP_STATE,
    CONTAINER_APP_GUIDE,
    CONTAINER_APP_INSTRUCTIONS,
    CONTAINER_APP_MESSAGE,
    CONTAINER_APP_CONTEXT,
    CONTAINER_SKILL,
    CONTAINER_WORKSPACE,
    CONTAINER_RUNTIME,
    CONTAINER_TRANSCRIPT,
    CONTAINER_SUMMARY,
    CONTAINER_LAYER,
    CONTAINER_FILE,
    CONTAINER_COUNT
};

const char *container_name(enum container c); /* "app-state" */

/* Several lines: control characters other than tabs and line ends, and direction overrides, become
 * spaces. Text
 * beyond max_bytes is cut at a character boundary and marked. */
str escape_block(struct arena *a, str text, size_t max_bytes);

/* One line: control characters, line separators and direction overrides become spaces, and white
 * space at both ends is removed. */
str escape_line(struct arena *a, str text, size_t max_bytes);

/* "<name>\n", the escaped text, "\n</name>". */
void escape_container(struct buf *out, enum container c, str text, size_t max_bytes);
/* The same with the name of the app that the text is from: <name app="...">. */
void escape_container_of(struct buf *out, enum container c, str app, str text, size_t max_bytes);
