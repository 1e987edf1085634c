/* impl.h - code that parsing and loading of skills share. */
#pragma once

#include "skill/skill.h"

/* When the list is full, its last entry says so, and further problems are dropped. */
void skill_problem_add(struct arena *a, struct skill_problems *list, enum skill_severity severity,
                       str path, unsigned line, const char *fmt, ...)
    __attribute__((format(printf, 6, 7)));

/* Skills embedded in the program; generated from skills/ by skills/embed.py. */
struct skill_embedded {
    str path;
    enum skill_origin origin;
    str text;
};
extern const struct skill_embedded skills_embedded[];
extern const size_t skills_embedded_len;
