/* client_tools.h - the part of a program in the model's input: its tools and its instructions.
 *
 * A program that speaks the protocol of a model (struct turn_client) may bring tools that it
 * executes itself. The model sees them beside those of the workspace. All functions accept NULL: no
 * program. Pure. */
#pragma once

#include "runtime/history/replay.h"
#include "runtime/runtime.h"

const struct llm_tool *client_tools_find(const struct turn_client *c, str name); /* or NULL */
/* Adds its tools to a list that is sorted by name; replaces those of the same name. */
void client_tools_add(const struct turn_client *c, struct arena *a, const struct llm_tool **tools,
                      size_t *n);
/* Whether its events are results of calls that the last run handed over to it. Otherwise a program
 * could answer in the name of a tool of the workspace, whose call was interrupted. */
bool client_tools_may_answer(const struct turn_client *c, const struct replay *h);
/* The system prompt, with its instructions at the end. */
str client_tools_prompt(const struct turn_client *c, struct arena *a, str prompt);
