/* compat_error.c - errors in the form of each service. The codes are those of the rest of the API.
 */
#include "api/compat/compat_error.h"

#include "api/routes.h"

static const struct {
    int status;
    const char *openai, *anthropic;
} TYPES[] = {
    {400, "invalid_request_error", "invalid_request_error"},
    {401, "authentication_error", "authentication_error"},
    {403, "permission_error", "permission_error"},
    {404, "invalid_request_error", "not_found_error"},
    {409, "invalid_request_error", "invalid_request_error"},
    {413, "invalid_request_error", "request_too_large"},
    {429, "rate_limit_error", "rate_limit_error"},
    {502, "server_error", "api_error"},
    {503, "server_error", "overloaded_error"},
};

static size_t row_of_status(int status)
{
    for (size_t i = 0; i < ARRAY_LEN(TYPES); i++)
        if (TYPES[i].status == status)
            return i;
    return status < 500 ? 0 : ARRAY_LEN(TYPES) - 2;
}

void compat_error_openai(struct json_writer *w, int status, const char *code, str message)
{
    jw_object(w);
    jw_kobject(w, "error");
    jw_kstr(w, "message", message);
    jw_kcstr(w, "type", TYPES[row_of_status(status)].openai);
    jw_kcstr(w, "param", NULL);
    jw_kcstr(w, "code", code);
    jw_end(w);
    jw_end(w);
}

void compat_error_anthropic(struct json_writer *w, int status, const char *code, str message)
{
    jw_object(w);
    jw_kcstr(w, "type", "error");
    jw_kobject(w, "error");
    jw_kcstr(w, "type", TYPES[row_of_status(status)].anthropic);
    jw_kstr(w, "message", message);
    jw_kcstr(w, "code", code);
    jw_end(w);
    jw_end(w);
}

compat_write_error *compat_error_form(unsigned route_flags)
{
    if (route_flags & API_OPENAI)
        return compat_error_openai;
    return route_flags & API_ANTHROPIC ? compat_error_anthropic : NULL;
}
