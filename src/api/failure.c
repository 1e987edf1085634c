#include "api/failure.h"

#include <assert.h>
#include <errno.h>

#define FROM_ANY      0x3ffu
#define FROM_BUNDLES  (FROM_INSTALL | FROM_UNINSTALL)
#define RETRY_STORE_S STR("5") /* seconds until a database may be back */
#define OTHER         0        /* every code that is not in the table for this origin */

/* code NULL: the one that belongs to the status (400 bad_request, 404 not_found, ...). */
static const struct {
    unsigned from;
    int err, status;
    const char *code;
} FAILURES[] = {
    {FROM_STORE | FROM_AUTH | FROM_CHANGE | FROM_BUNDLES | FROM_SKILL, -EINVAL, 400, NULL},
    {FROM_STORE, -E2BIG, 400, NULL},
    {FROM_SKILL, -EPERM, 400, NULL},
    {FROM_AUTH | FROM_CHANGE, -ENOTSUP, 400, "not_configured"},
    {FROM_APPROVAL, OTHER, 400, NULL},
    {FROM_INPUT, OTHER, 400, "invalid_input"},
    {FROM_AUTH, -EACCES, 401, NULL},
    {FROM_AUTH | FROM_CHANGE, -ESTALE, 403, NULL},
    {FROM_AUTH | FROM_BUNDLES | FROM_APPROVAL | FROM_INPUT, -EPERM, 403, NULL},
    {FROM_ANY, -ENOENT, 404, NULL},
    {FROM_STORE | FROM_CHANGE | FROM_SKILL, -EEXIST, 409, "already_exists"},
    {FROM_INSTALL, -EACCES, 400, "address_not_allowed"},
    {FROM_BUNDLES, -EEXIST, 409, "already_installed"},
    {FROM_BUNDLES, -ENOSPC, 409, "too_many_bundles"},
    {FROM_CHANGE, -EPERM, 409, NULL},
    {FROM_MODEL, OTHER, 409, NULL},
    {FROM_STORE, -EBUSY, 409, "conversation_busy"},
    {FROM_APPROVAL, -EBUSY, 409, "changed_meanwhile"},
    {FROM_FILES, -EBUSY, 409, "upload_busy"},
    {FROM_FILES, -ESTALE, 409, "wrong_offset"},
    {FROM_FILES, -EUSERS, 429, "too_many_uploads"},
    {FROM_FILES, -EAGAIN, 503, NULL},
    {FROM_FILES, -EINVAL, 400, "file_unusable"},
    {FROM_FILES, -EFBIG, 413, "file_too_large"},
    {FROM_FILES, -ENOSYS, 501, "not_installed"},
    {FROM_AUTH, -EBUSY, 429, NULL},
    {FROM_CHANGE, -EBUSY, 503, NULL},
    {FROM_AUTH, -EHOSTUNREACH, 503, "provider_unavailable"},
    {FROM_STORE | FROM_FILES, -EHOSTUNREACH, 503, "storage_unavailable"},
    {FROM_STORE, -EOWNERDEAD, 503, "storage_unavailable"}, /* another server has taken over */
    {FROM_AUTH | FROM_CHANGE, -ENOTCONN, 503, "storage_unavailable"},
    {FROM_STORE | FROM_FILES, -ENOSPC, 507, "storage_full"},
    {FROM_FILES, -EDQUOT, 507, "quota_reached"},
    {FROM_STORE | FROM_CHANGE | FROM_FILES, OTHER, 500, "storage_error"},
    {FROM_INSTALL, OTHER, 500, "install_failed"},
    {FROM_UNINSTALL, OTHER, 500, "uninstall_failed"},
    {FROM_AUTH | FROM_SKILL, OTHER, 500, NULL},
};

static size_t find_failure(enum api_origin from, int err)
{
    size_t found = ARRAY_LEN(FAILURES);
    for (size_t i = 0; i < ARRAY_LEN(FAILURES); i++) {
        if ((FAILURES[i].from & from) && FAILURES[i].err == err)
            return i;
        if ((FAILURES[i].from & from) && FAILURES[i].err == OTHER)
            found = i;
    }
    assert(found < ARRAY_LEN(FAILURES)); /* every origin has a row for other codes */
    return found;
}

void api_fail(struct http_req *r, enum api_origin from, const struct err *err)
{
    assert(err->code < 0);
    size_t i = find_failure(from, err->code);
    int status = FAILURES[i].status;
    if (status == 404 && (from == FROM_STORE || from == FROM_SKILL)) { /* err names a file */
        api_not_found(r, from == FROM_STORE ? "conversation" : "skill");
        return;
    }
    if (status == 401)
        http_add_header(r, "WWW-Authenticate", STR("Bearer"));
    if (status == 429)
        http_add_header(r, "Retry-After", STR("60"));
    bool is_store = from == FROM_STORE || (from == FROM_FILES && err->code == -EHOSTUNREACH);
    if (status == 503 && (is_store || err->code == -ENOTCONN))
        http_add_header(r, "Retry-After", RETRY_STORE_S);
    bool is_internal = from == FROM_AUTH && status == 500;
    http_reply_error(r, status, FAILURES[i].code, is_internal ? "Internal error." : err->msg, NULL);
}

/* ---- turns ---- */

static const struct {
    int status;
    const char *code;
} REFUSALS[] = {
    [TURN_NOT_FOUND] = {404, "not_found"},          [TURN_FORBIDDEN] = {403, "forbidden"},
    [TURN_BUSY] = {409, "run_in_progress"},         [TURN_BAD_REQUEST] = {400, "bad_request"},
    [TURN_NO_QUESTION] = {409, "no_open_question"}, [TURN_FAILED] = {500, "storage_error"},
    [TURN_WITHDRAWN] = {409, "withdrawn"},          [TURN_STOPPING] = {503, "stopping"},
    [TURN_OVER_BUDGET] = {402, "budget_exceeded"},
};

const char *api_refusal_code(enum turn_refusal why)
{
    assert((size_t)why < ARRAY_LEN(REFUSALS) && REFUSALS[why].code);
    return REFUSALS[why].code;
}

/* The database was not reached, or another server has taken over meanwhile. */
static bool is_passing(const struct err *err)
{
    return err->code == -EHOSTUNREACH || err->code == -EOWNERDEAD;
}

void api_turn_refused(struct http_req *r, enum turn_refusal why, const struct err *err)
{
    if (why == TURN_FAILED && is_passing(err)) { /* the message was not stored */
        api_fail(r, FROM_STORE, err);
        return;
    }
    http_reply_error(r, REFUSALS[why].status, api_refusal_code(why), err->msg, NULL);
}

static int run_status(const struct run_result *run)
{
    if (strcmp(run->error_type, "context_too_long") == 0)
        return 413;
    if (strcmp(run->error_type, "budget_exceeded") == 0)
        return 402;
    if (strcmp(run->error_type, "storage_error") == 0 && is_passing(&run->err))
        return 503;
    return str_starts(str_from(run->error_type), STR("provider_")) ? 502 : 500;
}

void api_run_failed(struct http_req *r, const struct run_result *run, const struct json *details)
{
    int status = run_status(run);
    assert(run->stop == RUN_STOP_ERROR);
    if (status == 503)
        http_add_header(r, "Retry-After", RETRY_STORE_S);
    http_reply_error(r, status, run->error_type, run->err.msg, details);
}

/* ---- messages of the API itself ---- */

bool api_bad_request(struct http_req *r, const char *message)
{
    http_reply_error(r, 400, NULL, message, NULL);
    return false;
}

bool api_forbidden(struct http_req *r, const char *message)
{
    http_reply_error(r, 403, NULL, message, NULL);
    return false;
}

bool api_not_found(struct http_req *r, const char *what)
{
    http_reply_error(r, 404, NULL, arena_printf(&r->arena, "No such %s.", what).p, NULL);
    return false;
}
