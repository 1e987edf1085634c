/* preview.h - what a message would send to the model, without sending it.
 *
 * A preview is a turn that ends where its run would begin: conversation, access, skill,
 * prompt, tools and messages come from the same functions as a real one. Ask for it with
 * turn_request.on_preview. The older messages of a long conversation would be summarised
 * first; a preview only says so. */
#pragma once

#include "runtime/prompt/prompt.h"
#include "runtime/runtime.h"
#include "tools/tool_selection.h"

struct composed { /* what the model gets, and what it was made of */
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
