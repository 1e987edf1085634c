/* describe.h - what the document of the API (/v1/openapi.json) says about each route.
 *
 * One file per group of routes (describe_*.c) has a section: rows of operations, and the models
 * that their answers consist of. Methods, paths, rights and limits come from the table of routes;
 * the members of a body come from the table that its handler decodes with (struct json_field);
 * events from the vocabulary. Handlers cannot leave these tables: exchange.c refuses a body table
 * or a query parameter that the row of the route does not name. Constant data; any thread. */
#pragma once

#include "base/json/json_decode.h"
#include "http/router.h"

/* A member of a model, a parameter of the query or a header. A '?' at the end of the name of a
 * member: it may be absent. */
struct api_member {
    const char *name;
    const char *shape; /* the notation of shape.h */
    const char *about; /* NULL: the name says it */
};

struct api_model { /* an object that answers contain */
    const char *name;
    const char *about;
    const struct api_member *members; /* ends with {0} */
};

struct api_reply {
    int status;
    const char *type;  /* NULL: no body */
    const char *shape; /* NULL: bytes */
    const char *about; /* NULL: that of the model */
};

enum {                             /* flags of an operation */
       API_BODY_OTHER_KEYS = 1,    /* keys that are not in the table are ignored, not refused */
       API_BODY_MAY_BE_ABSENT = 2, /* the request works without a body */
       API_BODY_IS_FILE = 4,       /* bytes, or a form with one file */
       API_SENDS_CONVERSATION = 8, /* a stream with the events of a conversation, */
       API_SENDS_SPACE = 16,       /* of a workspace, */
       API_SENDS_CHAT = 32,        /* of the answer to one message */
       API_BODY_IS_BYTES = 64,     /* bytes, without a form */
};

#define API_ANSWERS_MAX 4

struct api_operation {
    const char *method, *pattern; /* of the row in routes.c */
    const char *id;               /* operationId: a verb and a noun, unique */
    const char *summary;          /* begins with a verb */
    struct api_reply answers[API_ANSWERS_MAX];
    const char *about; /* what the summary does not say, or NULL */
    unsigned flags;
    const struct json_field *body; /* the table that the handler decodes with */
    const char *body_shape;        /* for a body without a table */
    const struct api_member *query, *headers;
    const char *errors;      /* statuses besides the usual ones: "409 507" */
    const char *error_shape; /* the form of all errors, where it is not "Error" */
};

struct api_section {
    const char *tag, *about;
    const struct api_operation *operations; /* ends with {0} */
    const struct api_model *models;         /* ends with {0}, or NULL */
};

/* ---- for the tables ---- */

#define JSON_OF(shape)                                                                             \
    {                                                                                              \
        {                                                                                          \
            200, "application/json", shape, NULL                                                   \
        }                                                                                          \
    }
#define MEMBERS(...)                                                                               \
    (const struct api_member[])                                                                    \
    {                                                                                              \
        __VA_ARGS__,                                                                               \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }

extern const struct api_section DESCRIBE_SIGN_IN, DESCRIBE_PEOPLE, DESCRIBE_WORKSPACES,
    DESCRIBE_APPS, DESCRIBE_TOOLS, DESCRIBE_MODELS, DESCRIBE_SKILLS, DESCRIBE_CHAT, DESCRIBE_COMPAT,
    DESCRIBE_CONVERSATIONS, DESCRIBE_FILES, DESCRIBE_EVENTS, DESCRIBE_VIEWS, DESCRIBE_MCP,
    DESCRIBE_SERVER;

const struct api_section *const *describe_sections(size_t *ret_n);
/* NULL: nobody has described it, which a unit test reports. */
const struct api_operation *describe_find(const struct route *route);

/* The sentence about a model, or NULL. */
const char *describe_model(const char *name);

/* Whether a handler of the route may decode a body with this table, or read this parameter of the
 * query. True for routes that are not described. */
bool describe_has_body(const struct route *route, const struct json_field *fields);
bool describe_has_query(const struct route *route, const char *name);
