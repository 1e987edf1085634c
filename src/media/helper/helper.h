/* helper.h - `nb media`: the process that decodes pictures of other people.
 *
 * Reads a file from stdin, writes it to stdout as a new JPEG or PNG, or as sixels for a terminal,
 * that has pixels and nothing else, and one line to stderr: "image/png WIDTH HEIGHT", or the reason
 * why not. Before it looks further than the first bytes it limits its memory and time and gives up
 * every system call that opens a file, a socket or a process (confine_to_pipes): a decoder that is
 * taken over has the picture and two pipes. nb starts one for each picture (media.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MEDIA_INPUT_MAX (64u * 1024 * 1024)

enum media_exit { /* of the process */
                  MEDIA_DONE = 0,
                  MEDIA_BROKEN = 10,
                  MEDIA_TOO_LARGE,
                  MEDIA_NO_LIBRARY,
                  MEDIA_NO_SANDBOX,
};

#define MEDIA_AS_SIXELS "sixel" /* the operand behind SIDE and BYTES */
/* What sixels begin and end with; between them are only printable characters. */
#define SIXEL_BEGIN "\x1bP0;1;0q\"1;1;"
#define SIXEL_END   "\x1b\\"

/* No side of the result is longer than `side`, the file not longer than `bytes`. */
int media_helper_run(uint32_t side, size_t bytes, bool as_sixels);
