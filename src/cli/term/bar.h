/* bar.h - a number between 0 and 1 as a bar of block characters. Pure. */
#pragma once

#include "base/str.h"

#define BAR_COLUMNS   20
#define BAR_BYTES_MAX (BAR_COLUMNS * 3 + 1)

/* In eighths of a column; any value above 0 is visible. */
void bar_text(char out[BAR_BYTES_MAX], double share);
