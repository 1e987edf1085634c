/* open_workspace.h - one workspace with everything that is its own, and the set of those in use.
 *
 * A space has an id, a directory, settings, a store, tools, a runtime: nothing in it is reachable
 * from another. It is opened when somebody first asks for it, and closed with the server or when
 * its workspace is deleted; requests and streams hold it, so that a closed one goes only after
 * the last of them. Loop thread only; opening reads small files. */
#pragma once

#include "api/api.h"
#include "base/map.h"
#include "builtin/builtin.h"
#include "bundle/change.h"
#include "loop/timer.h"
#include "net/fetch.h"

#define OPEN_WORKSPACES_MAX 10000 /* workspaces in use at once */

struct open_workspace_env { /* what all spaces share; borrowed */
    struct loop *loop;
    struct logger *log;
    struct config *config;
    struct bus *bus;
    struct llm *llm;
    struct pool *readers;
    struct fetcher *fetcher;
    struct gateway *gateway; /* hears of bundles and of the end of spaces */
    const struct store_env *store_env;
    const struct directory *directory;
    uint64_t started_ms;
    const char *home_dir, *project_dir; /* a terminal, else NULL */
    bool with_bundles;                  /* their MCP servers are started */
    bool has_many;                      /* rooted at workspaces/<id>, not at the work directory */
    bool is_serving;                    /* messages that waited are taken up again */
};

struct open_workspace {
    struct api_space api; /* id, root, config, store, runtime, tools: what others see of it */
    const struct open_workspace_env *env;
    struct open_workspaces *set;
    struct list_node node; /* in set->closing, while somebody holds it */
    struct arena arena;
    struct config config; /* the server's, with the workspace's own on top; borrows strings */
    str identity, name;   /* from workspace.json; may be empty */
    struct arena doc_arena;
    const struct json *doc; /* the settings file, as it was last seen */
    struct builtin *builtin;
    struct bundle_sources *sources; /* NULL = without bundles */
    struct settings_watch *watch;
    struct bundle_changer changer;
    struct timer release; /* of messages that waited, once the bundles have started */
    uint64_t release_by_ms;
    loop_fn on_closed;
    void *on_closed_ctx;
};

/* ---- one ---- */

/* Where a workspace's conversations are; another type or directory than the settings' has no
 * index. Strings live in the arena or as long as the config. */
struct store_conf open_workspace_store_conf(struct arena *a, const struct config *c, const char *id,
                                            const char *root, const char *type, const char *dir);

/* Messages that waited when the server ended wait again, and are sent when no bundle is starting
 * any more. */
void open_workspace_resume_queue(struct open_workspace *sp);

/* Where the bundles and permissions of this workspace are written down. */
const char *open_workspace_settings_path(struct open_workspace *sp);

/* ---- open_workspace_settings.c: what is its own ---- */

void open_workspace_settings_use(
    struct open_workspace *sp); /* into sp->config: before the runtime is made */
void open_workspace_settings_open(
    struct open_workspace *sp); /* reads the file: changes are told from here on */
/* The file is this document now: what can count at once does, and watchers are told. */
void open_workspace_settings_changed(struct open_workspace *sp, const struct json *doc);

/* ---- open_workspace_bundles.c: its MCP servers ---- */

/* Starts them in the background. Only wrong settings are an error. */
int open_workspace_bundles_open(struct open_workspace *sp, struct err *e);
bool open_workspace_bundles_settled(const struct open_workspace *sp); /* none is starting */
void open_workspace_bundles_stop(struct open_workspace *sp, loop_fn done, void *ctx);
void open_workspace_bundles_free(struct open_workspace *sp); /* after stop */

/* ---- the set ---- */

struct open_workspaces {
    struct open_workspace_env env;
    struct map open; /* id -> struct open_workspace */
    struct list_node closing;
    size_t nopen;      /* those that are closing or being stopped included */
    loop_fn on_closed; /* all of them */
    void *on_closed_ctx;
};

void open_workspaces_init(struct open_workspaces *s, const struct open_workspace_env *env);
void open_workspaces_serve(struct open_workspaces *s); /* from now on, those in use included */
/* The one in use, or a new one. NULL and *e when it cannot be opened. Does not ask whether
 * there is such a workspace. */
struct open_workspace *open_workspaces_open(struct open_workspaces *s, str id, struct err *e);
struct open_workspace *open_workspaces_find(const struct open_workspaces *s,
                                            str id); /* in use, or NULL */
void open_workspaces_hold(struct open_workspace *sp);
void open_workspaces_release(struct open_workspace *sp);
/* Its workspace is gone: nobody finds it any more, runs are cancelled, and when the last holder
 * has let go it is freed; then done is called. */
void open_workspaces_close(struct open_workspaces *s, str id, loop_fn done, void *ctx);
/* With the server: nobody holds any more. Runs end, stores are flushed; done may come at once. */
void open_workspaces_close_all(struct open_workspaces *s, loop_fn done, void *ctx);
void open_workspaces_done(struct open_workspaces *s); /* after close_all */
