/* preview.h - the model request of a message, without sending it.
 *
 * A preview is a turn that ends where its run would begin: conversation, access, skill,
 * prompt, tools
 * and messages come from the same functions as in a real turn. Request one with
 * turn_request.on_preview. A real turn would first summarise the older messages of a long
 * conversation; a preview only reports this (is_compaction_due). */
#pragma once

#include "runtime/prompt/prompt.h"
#include "runtime/runtime.h"
#include "tools/tool_selection.h"

struct composed { /* the model's input, and its parts */
    struct tool_selection selection;
    struct prompt prompt;
    struct run_input input;
};

struct preview {         /* borrowed for the callback */
    str conversation_id; /* empty = a new one */
    str model;           /* "provider:model" */
    struct skill_match match;
    const struct composed *parts;
    size_t prompt_tokens, tool_tokens, message_tokens; /* estimates */
    str request;                                       /* the body that would be sent */
    bool is_compaction_due;
};

size_t preview_tool_tokens(struct arena *a, const struct llm_tool *tool); /* an estimate */
