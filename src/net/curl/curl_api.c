#include "net/curl/curl_api.h"

#include <dlfcn.h>
#include <errno.h>

#define LIBRARY "libcurl.so.4"

/* The oldest release with CURLOPT_PROTOCOLS_STR. */
#define VERSION_MIN      0x075500
#define VERSION_MIN_TEXT "7.85"

struct symbol {
    const char *name;
    size_t offset;
};

static const struct symbol SYMBOLS[] = {
#define SYMBOL(name) {"curl_" #name, offsetof(struct curl_api, name)},
    CURL_API_FUNCTIONS(SYMBOL)
#undef SYMBOL
};

static int find_symbols(void *library, struct curl_api *api, struct err *e)
{
    for (size_t i = 0; i < ARRAY_LEN(SYMBOLS); i++) {
        void *address = dlsym(library, SYMBOLS[i].name);
        if (!address)
            return err_set(e, -ENOSYS,
                           "%s has no function %s; install libcurl " VERSION_MIN_TEXT
                           " or newer (package libcurl4)",
                           LIBRARY, SYMBOLS[i].name);
        memcpy((char *)api + SYMBOLS[i].offset, &address, sizeof(address));
    }
    return 0;
}

int curl_api_load(struct curl_api *ret, struct err *e)
{
    /* NODELETE: OpenSSL, which comes with it, registers exit handlers and cannot be unloaded. */
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library)
        return err_set(e, -ENOENT,
                       "HTTP needs %s, which cannot be loaded (%s); install the package libcurl4",
                       LIBRARY, dlerror());
    struct curl_api api;
    int rc = find_symbols(library, &api, e);
    dlclose(library);
    if (rc < 0)
        return rc;
    if (api.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return err_set(e, -ENOSYS, "%s cannot be initialised", LIBRARY);
    const curl_version_info_data *version = api.version_info(CURLVERSION_NOW);
    if (version->version_num < VERSION_MIN) {
        api.global_cleanup();
        return err_set(e, -ENOSYS, "%s is version %s; install " VERSION_MIN_TEXT " or newer",
                       LIBRARY, version->version);
    }
    *ret = api;
    return 0;
}

void curl_api_unload(const struct curl_api *api)
{
    api->global_cleanup();
}
