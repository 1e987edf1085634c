/* acp_call.h - how an editor shows a call of a tool: its kind, a title, the files it touches and
 * the changes it makes. All of it is derived from the name of the tool and the arguments that the
 * model wrote, so it is a description, never a decision. Pure. */
#pragma once

#include "base/json/json.h"

struct acp_call {
    str id, name;
    const struct json *input; /* NULL = not known yet */
};

#define ACP_LOCATIONS_MAX 64
#define ACP_TITLE_MAX     160           /* bytes */
#define ACP_OUTPUT_MAX    (256u * 1024) /* bytes of a result; the rest is left out */

str acp_call_title(struct arena *a, const struct acp_call *c);

/* Members of a ToolCall or ToolCallUpdate. `cwd` completes relative paths. */
void acp_call_write(struct json_writer *w, struct arena *a, const struct acp_call *c, str cwd);
/* The member `content`: the changes, then the text of the result, if any. */
void acp_call_write_content(struct json_writer *w, struct arena *a, const struct acp_call *c,
                            str cwd, str output);

/* The path of a file:// address of this machine, decoded; STR_NONE for everything else. */
str acp_file_path(struct arena *a, str uri);
