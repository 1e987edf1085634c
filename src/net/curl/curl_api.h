/* curl_api.h - libcurl, loaded when it is first needed.
 *
 * Linked in, libcurl and its dependencies cost every start some milliseconds and megabytes, also
 * for commands that send no requests. So its functions are called through this table. The library
 * stays loaded for the life of the process. */
#pragma once

/* The type-checking macros of curl.h work on the function names, not on a table. */
#define CURL_DISABLE_TYPECHECK 1
#include <curl/curl.h>

#include "base/err.h"

#define CURL_API_FUNCTIONS(X)                                                                      \
    X(global_init)                                                                                 \
    X(global_cleanup)                                                                              \
    X(version_info)                                                                                \
    X(easy_init)                                                                                   \
    X(easy_cleanup)                                                                                \
    X(easy_setopt)                                                                                 \
    X(easy_getinfo)                                                                                \
    X(easy_pause)                                                                                  \
    X(easy_strerror)                                                                               \
    X(multi_init)                                                                                  \
    X(multi_cleanup)                                                                               \
    X(multi_setopt)                                                                                \
    X(multi_add_handle)                                                                            \
    X(multi_remove_handle)                                                                         \
    X(multi_socket_action)                                                                         \
    X(multi_info_read)

struct curl_api {
#define CURL_API_MEMBER(name) typeof(curl_##name) *name;
    CURL_API_FUNCTIONS(CURL_API_MEMBER)
#undef CURL_API_MEMBER
};

/* Loads and initialises the library: 0, or -ENOENT / -ENOSYS with a message that says what
 * to install. Each success is balanced by curl_api_unload. */
int curl_api_load(struct curl_api *ret, struct err *e);
void curl_api_unload(const struct curl_api *api);
