/* method.h - the table of methods. */
#pragma once

#include "gateway/request.h"

/* Runs the method of the request, or replies that there is no such method in its era. */
void gw_method_run(struct gw_request *q);
