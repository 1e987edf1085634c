/* skill.h - the commands of `nb skill` that are not in skill.c. */
#pragma once

#include "cli/command.h"

extern const struct command SKILL_WRITE, SKILL_DELETE;
