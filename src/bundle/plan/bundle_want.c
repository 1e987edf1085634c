#include "bundle/plan/bundle_want.h"

#include <stdlib.h>

const char *bundle_data_dir(struct arena *a, const struct bundle_entry *entry, const char *root)
{
    str name = entry->server_name;
    if (entry->kind == BUNDLE_NAMED && str_starts(entry->name, STR("@")))
        name = str_from(package_slug(a, entry->name, '-'));
    return arena_printf(a, "%s/%.*s", root, STR_ARG(name)).p;
}

const char *bundle_inbox_dir(struct arena *a, const struct bundle_entry *entry, const char *root)
{
    return bundle_data_dir(a, entry, arena_printf(a, "%s/.inbox", root).p);
}

const char *bundle_home_dir(const char *home_dir)
{
    const char *home = home_dir ? home_dir : getenv("HOME");
    return home && home[0] == '/' ? home : "/nonexistent";
}

int64_t bundle_memory_max(const struct bundle_entry *entry)
{
    return (entry->memory_mb > 0 ? entry->memory_mb : BUNDLE_MEMORY_MB) * 1024 * 1024;
}

int64_t bundle_disk_max(const struct bundle_entry *entry)
{
    return (entry->disk_mb > 0 ? entry->disk_mb : BUNDLE_DISK_MB) * 1024 * 1024;
}

struct sandbox_want bundle_want(struct arena *a, const struct bundle_entry *entry,
                                const struct bundle_place *place)
{
    return (struct sandbox_want){
        .declared = &entry->sandbox,
        .data_dir = bundle_data_dir(a, entry, place->data_dir),
        .work_dir = place->work_dir,
        .home_dir = bundle_home_dir(place->home_dir),
        .own_program = place->own_program,
        .packages_dir = place->package_dir,
        .memory_bytes = bundle_memory_max(entry),
    };
}

/* The program, then the arguments of the entry from `first` on. */
static void set_command(struct arena *a, struct sandbox_want *w, const struct bundle_entry *entry,
                        const char *const *program, size_t first)
{
    const char **argv = arena_array(a, entry->args.len + 3, sizeof(*argv));
    size_t n = 0;
    for (; *program; program++)
        argv[n++] = *program;
    for (size_t i = first; i < entry->args.len; i++)
        argv[n++] = arena_cstr(a, entry->args.items[i]);
    w->argv = argv;
    w->cwd = entry->cwd.n > 0 ? arena_cstr(a, entry->cwd) : NULL;
}

void bundle_want_command(struct arena *a, struct sandbox_want *w, const struct bundle_entry *entry)
{
    const char *const program[] = {arena_cstr(a, entry->command), NULL};
    set_command(a, w, entry, program, 0);
}

void bundle_want_package(struct arena *a, struct sandbox_want *w, const struct resolved *r)
{
    w->argv = arena_cstrs(a, r->argv);
    w->env = arena_cstrs(a, r->env);
    w->cwd = r->cwd ? arena_cstr(a, str_from(r->cwd)) : NULL;
    w->package_dir = r->dir ? arena_cstr(a, str_from(r->dir)) : NULL;
    w->chosen = json_strs_copy(a, r->chosen_paths);
}

/* Servers that keep a file beside their program unless a variable names another place. An installed
 * package is read-only and is replaced by an update, so that file belongs in the data directory. */
static const struct {
    const char *package, *variable, *file;
} FILES_BESIDE_PROGRAM[] = {
    {"@modelcontextprotocol/server-memory", "MEMORY_FILE_PATH", "memory.jsonl"},
};

static const char *const *npm_env(struct arena *a, const char *data_dir, str package)
{
    const char **env = arena_array(a, ARRAY_LEN(FILES_BESIDE_PROGRAM) + 1, sizeof(*env));
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(FILES_BESIDE_PROGRAM); i++) {
        if (str_eq(package, str_from(FILES_BESIDE_PROGRAM[i].package)))
            env[n++] = arena_printf(a, "%s=%s/%s", FILES_BESIDE_PROGRAM[i].variable, data_dir,
                                    FILES_BESIDE_PROGRAM[i].file)
                           .p;
    }
    return env;
}

void bundle_want_npm(struct arena *a, struct sandbox_want *w, const struct bundle_entry *entry,
                     const struct npm_package *p)
{
    struct package_command c = {0};
    (void)package_command_parse(entry->command, &entry->args, &c);
    const char *const program[] = {"node", arena_cstr(a, str_from(p->script)), NULL};
    set_command(a, w, entry, program + (p->is_direct ? 1 : 0), c.first_arg);
    w->package_dir = arena_cstr(a, str_from(p->dir));
    w->env = npm_env(a, w->data_dir, p->pin.name);
}

/* A private /tmp with bubblewrap; with Landlock there is only one /tmp for all. */
static const char *tmp_dir_of(struct arena *a, const struct sandbox_want *w)
{
    if (w->declared->is_off)
        return NULL;
    if (w->offer->kind == SANDBOX_BUBBLEWRAP)
        return "/tmp";
    return arena_printf(a, "%s/tmp", w->data_dir).p;
}

void bundle_want_offer(struct arena *a, struct sandbox_want *w, const struct bundle_entry *entry,
                       const struct sandbox_offer *offer)
{
    w->offer = offer;
    struct bundle_env_want env = {
        .entry = entry,
        .package_env = w->env,
        .data_dir = w->data_dir,
        .tmp_dir = tmp_dir_of(a, w),
        .keeps_home = w->declared->is_off || w->reads_home,
    };
    w->env = bundle_env(a, &env);
}
