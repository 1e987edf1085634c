/* help_text.h - help pages in lines of at most HELP_WIDTH columns.
 *
 * The texts of commands are written without regard to line length; here they are wrapped. Pure, but
 * for the stream. */
#pragma once

#include <stdio.h>

#include "base/str.h"

#define HELP_WIDTH 79

/* "  left      text", the further lines of the text below its first one. */
void help_print_row(FILE *out, const char *left, const char *text);
/* Paragraphs. Lines that follow each other are joined and wrapped; a line that begins with a blank
 * is an example and stays as it is. */
void help_print_text(FILE *out, const char *text);
/* "Usage: nb words", wrapped below the words. */
void help_print_usage(FILE *out, const char *words);
