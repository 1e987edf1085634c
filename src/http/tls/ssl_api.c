#include "http/tls/ssl_api.h"

#include <dlfcn.h>
#include <errno.h>

#include "base/buf.h"

#define LIBRARY "libssl.so.3"

static const struct {
    const char *name;
    size_t offset;
} SYMBOLS[] = {
#define SYMBOL(name) {#name, offsetof(struct ssl_api, name)},
    SSL_API_FUNCTIONS(SYMBOL)
#undef SYMBOL
};

int ssl_api_load(struct ssl_api *ret, struct err *e)
{
    /* NODELETE: OpenSSL registers exit handlers and cannot be unloaded. */
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library)
        return err_set(
            e, -ENOENT,
            "http.tls needs %s, which cannot be loaded (%s); install the package libssl3", LIBRARY,
            dlerror());
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < ARRAY_LEN(SYMBOLS); i++) {
        void *address = dlsym(library, SYMBOLS[i].name);
        if (!address)
            rc = err_set(e, -ENOSYS, "%s has no function %s; install OpenSSL 3.0 or newer", LIBRARY,
                         SYMBOLS[i].name);
        memcpy((char *)ret + SYMBOLS[i].offset, &address, sizeof address);
    }
    dlclose(library);
    return rc;
}
