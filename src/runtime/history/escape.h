/* escape.h - the one way third-party text gets into a prompt.
 *
 * Descriptions, states, guides and skills come from strangers and are put into containers
 * like <app-state>. Text that imitates the tags of any container could climb out of its
 * own; here every such tag loses its '<', however it is spelled: case, white space,
 * invisible characters, full-width letters. Invisible tag characters, which can carry text
 * that nobody sees, are dropped; broken UTF-8 is replaced. Everything is bounded.
 * Pure; any thread. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"

/* Every container that prompts use. A new one is added here and is guarded from then on. */
enum container {
    CONTAINER_APP_DESCRIPTION,
    CONTAINER_APP_STATE,
    CONTAINER_APP_GUIDE,
    CONTAINER_APP_INSTRUCTIONS,
    CONTAINER_SKILL,
    CONTAINER_WORKSPACE,
    CONTAINER_RUNTIME,
    CONTAINER_TRANSCRIPT,
    CONTAINER_SUMMARY,
    CONTAINER_LAYER,
    CONTAINER_COUNT
};

const char *container_name(enum container c); /* "app-state" */

/* Several lines: control characters other than tabs and line ends, and direction overrides, become
 * spaces. What exceeds max_bytes is cut at a character and marked. */
str escape_block(struct arena *a, str text, size_t max_bytes);

/* One line: control characters, line separators and direction overrides become spaces, and
 * white space at both ends goes. */
str escape_line(struct arena *a, str text, size_t max_bytes);

/* "<name>\n", the escaped text, "\n</name>". */
void escape_container(struct buf *out, enum container c, str text, size_t max_bytes);
