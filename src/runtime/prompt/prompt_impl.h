/* prompt_impl.h - a prompt while it is composed, shared by prompt.c and prompt_apps.c only. */
#pragma once

#include "base/buf.h"
#include "runtime/history/escape.h"
#include "runtime/prompt/prompt.h"

#define PROMPT_BY_ADMINS "the admins of this workspace"
#define PROMPT_BY_PERSON "the person this run acts for"

struct prompt_composing {
    struct arena *a;
    const struct prompt_input *in;
    struct prompt *out;
    size_t max_layers;
    struct buf text; /* of the current layer */
};

/* Ends the current layer; a layer without text is left out. */
void prompt_end_layer(struct prompt_composing *c, int number, const char *name, str author,
                      bool is_volatile);
void prompt_add_line(struct prompt_composing *c, str text); /* third-party text as one line */
str prompt_settings_author(const struct prompt_composing *c);

void prompt_add_apps(struct prompt_composing *c); /* layer 3 */
