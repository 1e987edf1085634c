/* tasks.h - the methods of tasks; ids and owners are in upstream/task_ids.h. */
#pragma once

#include "gateway/request.h"

void gw_tasks_route(struct gw_request *q); /* get, update, cancel, result */
void gw_tasks_list(struct gw_request *q);
