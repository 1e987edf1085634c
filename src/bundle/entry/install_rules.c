#include "bundle/entry/install_rules.h"

#include <errno.h>

#include "base/text/glob.h"
#include "bundle/entry/entry.h"

/* Keys that only name, show or limit a bundle. Every other key is for owners. */
static const char *const HARMLESS[] = {"name",     "version",    "url", "serverName",
                                       "disabled", "trustScore", "ui",  "transport",
                                       "memoryMb", "diskMb"};

/* Only on the machine itself: these run a program of the caller's choice, open the sandbox or pass
 * on variables of nb. */
static const char *const ON_MACHINE[] = {"command",    "args",       "cwd",
                                         "sandbox",    "allowedEnv", "allowPrivate",
                                         "userConfig", "tools",      "pinned"};

enum install_rights install_key_rights(str key)
{
    if (STR_INDEX(key, HARMLESS) >= 0)
        return INSTALL_AS_ADMIN;
    return STR_INDEX(key, ON_MACHINE) >= 0 ? INSTALL_ON_MACHINE : INSTALL_AS_OWNER;
}

static int refuse_key(str key, enum install_rights needed, struct err *e)
{
    if (needed == INSTALL_ON_MACHINE)
        return err_set(e, -EPERM,
                       "'%.*s' can be set only on the machine itself: nb bundle add, or "
                       "nimblebrain.json.",
                       STR_ARG(key));
    return err_set(e, -EPERM, "'%.*s' can be set only by an owner of the server.", STR_ARG(key));
}

static bool is_install_allowed(str source, const struct json_strs *allowed)
{
    for (size_t i = 0; i < allowed->len; i++) {
        if (glob_match(allowed->items[i], source))
            return true;
    }
    return false;
}

static int check_source(const struct json *entry, const struct json_strs *allowed, struct err *e)
{
    static const char *const SOURCES[] = {"name", "url"};
    for (size_t i = 0; i < ARRAY_LEN(SOURCES); i++) {
        const struct json *v = json_get(entry, SOURCES[i]);
        if (v && !is_install_allowed(json_string(v, STR_NONE), allowed))
            return err_set(e, -EPERM,
                           "The settings of this server do not allow '%.*s' (allowInstall). Ask "
                           "the owner of the server to install it, or to add it to allowInstall.",
                           STR_ARG(json_string(v, STR_NONE)));
    }
    return 0;
}

/* Limits protect the other users of the server: an admin of a workspace can only lower them. */
static int check_limits(const struct json *entry, struct err *e)
{
    static const struct {
        const char *key;
        int64_t most;
    } LIMITS[] = {{"memoryMb", BUNDLE_MEMORY_MB}, {"diskMb", BUNDLE_DISK_MB}};
    for (size_t i = 0; i < ARRAY_LEN(LIMITS); i++) {
        if (json_get_int(entry, LIMITS[i].key, 0) > LIMITS[i].most)
            return err_set(e, -EPERM, "'%s' above %lld can be set only by an owner of the server.",
                           LIMITS[i].key, (long long)LIMITS[i].most);
    }
    return 0;
}

int install_check(const struct json *entry, enum install_rights rights,
                  const struct json_strs *allowed, struct err *e)
{
    for (size_t i = 0; i < entry->len; i++) {
        enum install_rights needed = install_key_rights(entry->members[i].key);
        if (rights < needed)
            return refuse_key(entry->members[i].key, needed, e);
    }
    const struct json *transport = json_get(entry, "transport");
    if (rights < INSTALL_AS_OWNER && transport && json_get(transport, "headers"))
        return refuse_key(STR("transport.headers"), INSTALL_AS_OWNER, e);
    if (rights > INSTALL_AS_ADMIN)
        return 0;
    int rc = check_limits(entry, e);
    return rc < 0 ? rc : check_source(entry, allowed, e);
}
