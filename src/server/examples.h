/* examples.h - the example apps that come with nb (examples/). */
#pragma once

#include "base/arena.h"

/* The directory that holds them: beside the sources that this program was built from, or where it
 * was installed. NULL = they are not here. Reads the file system; in the arena. */
const char *examples_find(struct arena *a);
