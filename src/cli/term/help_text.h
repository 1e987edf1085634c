/* help_text.h - help pages in lines of at most HELP_WIDTH columns.
 *
 * The texts of commands are written without line breaks; this module wraps them. Pure, except for
 * the stream. */
#pragma once

#include <stdio.h>

#include "base/str.h"

#define HELP_WIDTH 79

/* "  left      text"; further lines of the text are aligned below the first. */
void help_print_row(FILE *out, const char *left, const char *text);
/* Paragraphs. Consecutive lines are joined and wrapped; a line that begins with a blank is an
 * example and stays unchanged. */
void help_print_text(FILE *out, const char *text);
/* "Usage: nb words", wrapped below the words. */
void help_print_usage(FILE *out, const char *words);
