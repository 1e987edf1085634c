/* store_convert.h - nb store convert, a command of the group in store_cmd.c. */
#pragma once

#include "cli/command.h"

extern const struct command STORE_CONVERT;
