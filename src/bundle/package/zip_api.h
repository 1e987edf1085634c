/* zip_api.h - libzip, loaded when the first archive is opened (see net/curl/curl_api.h for why).
 *
 * The library stays loaded for the life of the process. Any thread. */
#pragma once

#include <zip.h>

#include "base/err.h"

#define ZIP_API_FUNCTIONS(X)                                                                       \
    X(fdopen)                                                                                      \
    X(discard)                                                                                     \
    X(get_num_entries)                                                                             \
    X(stat_index)                                                                                  \
    X(file_get_external_attributes)                                                                \
    X(fopen_index)                                                                                 \
    X(fread)                                                                                       \
    X(fclose)                                                                                      \
    X(error_init_with_code)                                                                        \
    X(error_strerror)                                                                              \
    X(error_fini)

struct zip_api {
#define ZIP_API_MEMBER(name) typeof(zip_##name) *name;
    ZIP_API_FUNCTIONS(ZIP_API_MEMBER)
#undef ZIP_API_MEMBER
};

/* 0, or -ENOENT / -ENOSYS with a message that says what to install. */
int zip_api_load(struct zip_api *ret, struct err *e);
