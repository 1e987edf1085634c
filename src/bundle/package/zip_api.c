#include "bundle/package/zip_api.h"

#include <dlfcn.h>
#include <errno.h>

/* The functions that are used are the same in both: Debian 13 has the first, Debian 12 and Ubuntu
 * 24.04 the second. */
static const char *const LIBRARIES[] = {"libzip.so.5", "libzip.so.4"};
#define LIBRARY "libzip.so.5 or libzip.so.4"
#define PACKAGE "libzip5 or libzip4"

struct zip_symbol {
    const char *name;
    size_t offset;
};

static const struct zip_symbol SYMBOLS[] = {
#define SYMBOL(name) {"zip_" #name, offsetof(struct zip_api, name)},
    ZIP_API_FUNCTIONS(SYMBOL)
#undef SYMBOL
};

int zip_api_load(struct zip_api *ret, struct err *e)
{
    struct zip_api api;
    void *library = NULL;
    for (size_t i = 0; !library && i < ARRAY_LEN(LIBRARIES); i++)
        library = dlopen(LIBRARIES[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library)
        return err_set(e, -ENOENT,
                       "bundle archives need %s, which cannot be loaded (%s); install the package "
                       "%s",
                       LIBRARY, dlerror(), PACKAGE);
    for (size_t i = 0; i < ARRAY_LEN(SYMBOLS); i++) {
        void *address = dlsym(library, SYMBOLS[i].name);
        if (!address)
            return err_set(e, -ENOSYS, "%s has no function %s; install a newer %s", LIBRARY,
                           SYMBOLS[i].name, PACKAGE);
        memcpy((char *)&api + SYMBOLS[i].offset, &address, sizeof address);
    }
    *ret = api;
    return 0;
}
