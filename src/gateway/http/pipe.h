/* pipe.h - one client with one input and one output, in either era: `nb mcp serve`, and the two
 * halves of the oldest transport (sse_old.c). */
#pragma once

#include "gateway/session.h"

void gw_pipe_send(struct gateway_pipe *p, str message);
void gw_pipe_session_ended(struct gateway_pipe *p);
/* The output of the oldest transport: the pipe ends together with it. */
void gw_pipe_attach(struct gateway_pipe *p, struct gw_stream *s);
/* opens a session if there is none */
const struct gw_session *gw_pipe_session(struct gateway_pipe *p);
/* Handles one message whose caller was authenticated after the pipe was opened. */
void gw_pipe_take(struct gateway_pipe *p, const struct gateway_caller *who, str message);
