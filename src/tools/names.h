/* names.h - the public names of tools: "<source>__<tool>".
 *
 * Model providers accept at most 64 characters of [A-Za-z0-9_-], while MCP servers use any
 * characters. Others become '_'; a name that is too long, or that would clash with another name,
 * is cut and ends in a hash of source and tool. The same source and tool always give the same
 * name. The toolset (toolset.h) resolves shortened names. Pure; any thread. */
#pragma once

#include "tools/tool.h"

#define TOOL_NAME_HASH_LEN 8

/* Writes the public name and a NUL; returns its length. */
size_t tool_name_make(str source, str tool, char out[TOOL_NAME_MAX + 1]);

/* The variant that cannot clash: always ends in "_<hash>". */
size_t tool_name_make_hashed(str source, str tool, char out[TOOL_NAME_MAX + 1]);

/* True when the public name spells source and tool exactly as they are. */
bool tool_name_is_exact(str source, str tool);

/* The name of a source has 1 to TOOL_NAME_MAX characters of [A-Za-z0-9_-]. */
bool tool_source_name_valid(str source);

/* Splits "a__b__c" by the longest of the known sources ("a__b" wins over "a"). Returns false
 * when no known source fits. The parts point into `name`. */
bool tool_name_split(str name, const str *sources, size_t n_sources, str *ret_source,
                     str *ret_tool);

bool tool_name_is_system(str name); /* "nb__..." */
