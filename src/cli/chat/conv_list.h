/* conv_list.h - the conversations of a person, to choose one of them. */
#pragma once

#include "cli/panel/picker.h"
#include "cli/session/client.h"

/* The latest ones first, with title, age and number of messages. Runs the loop. */
int conv_list_fill(struct client *c, struct picker *p, struct err *e);
