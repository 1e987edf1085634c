/* operation.h - one route in the document of the API. */
#pragma once

#include "api/describe/describe.h"
#include "base/json/json.h"

/* The path with parameters as OpenAPI writes them: "/v1/users/{user}". In the arena. */
str operation_path(struct arena *a, const struct route *route);
void operation_write(struct json_writer *w, const struct route *route,
                     const struct api_section *section, const struct api_operation *op);

/* components.responses: the errors that operations refer to. */
void operation_write_errors(struct json_writer *w);
/* components.parameters: the workspace of a request. */
void operation_write_shared(struct json_writer *w);
