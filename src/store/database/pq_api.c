#include "store/database/pq_api.h"

#include <dlfcn.h>
#include <errno.h>

#define LIBRARY "libpq.so.5"
#define PACKAGE "libpq5"

struct pq_symbol {
    const char *name;
    size_t offset;
};

static const struct pq_symbol SYMBOLS[] = {
#define SYMBOL(name) {"PQ" #name, offsetof(struct pq_api, name)},
    PQ_API_FUNCTIONS(SYMBOL)
#undef SYMBOL
};

int pq_api_load(struct pq_api *ret, struct err *e)
{
    struct pq_api api;
    /* NODELETE: OpenSSL, which comes with it, registers exit handlers and cannot be unloaded. */
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library)
        return err_set(e, -ENOENT,
                       "store.type \"postgres\" needs %s, which cannot be loaded (%s); install the "
                       "package %s",
                       LIBRARY, dlerror(), PACKAGE);
    for (size_t i = 0; i < ARRAY_LEN(SYMBOLS); i++) {
        void *address = dlsym(library, SYMBOLS[i].name);
        if (!address)
            return err_set(e, -ENOSYS,
                           "%s has no function %s; install version 14 or newer of the package %s",
                           LIBRARY, SYMBOLS[i].name, PACKAGE);
        memcpy((char *)&api + SYMBOLS[i].offset, &address, sizeof address);
    }
    *ret = api;
    return 0;
}
