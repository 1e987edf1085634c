/* Any bytes as the settings file. What is taken is within its limits; what is not, is explained. */
#include <assert.h>
#include <sys/mman.h>
#include <unistd.h>

#include "config/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *no_environment(void *ctx, const char *name)
{
    return strcmp(name, "HOME") == 0 ? "/nowhere" : NULL;
}

static void check(const struct config *c)
{
    assert(c->http.port >= 0 && c->http.port <= 65535);
    assert(c->limits.max_iterations >= 1 && c->limits.max_iterations <= CONFIG_ITERATIONS_MAX);
    assert(c->limits.max_input_tokens > 0 && c->limits.max_output_tokens > 0);
    assert(c->mcp.max_sessions > 0 && c->mcp.max_connections > 0);
    assert(c->work_dir[0] == '/' && c->store.type && c->store.durability && c->http.host);
    for (size_t i = 0; i < c->warnings.len; i++)
        assert(c->warnings.items[i].n > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    struct config c;
    struct err e = {0};
    int fd = memfd_create("settings", MFD_CLOEXEC);
    assert(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    struct config_flags flags = CONFIG_FLAGS_NONE;
    flags.config_path = path;
    if (config_load(&c, &flags, no_environment, NULL, &e) < 0) {
        assert(e.msg[0]);
    } else {
        check(&c);
        config_done(&c);
    }
    close(fd);
    return 0;
}
