/* open_workspace.h - one workspace in use with everything that belongs to it, and the set of all.
 *
 * An open workspace has an id, a directory, settings, a store, tools, a runtime; nothing in it can
 * be reached from another. It is opened by the first request for it, and closed with the server or
 * when its workspace is deleted. Requests and streams hold it, so a closed one is freed only after
 * the last of them. Loop thread only; opening reads small files. */
#pragma once

#include "api/api.h"
#include "base/map.h"
#include "builtin/builtin.h"
#include "bundle/change.h"
#include "loop/timer.h"
#include "net/fetch.h"

#define OPEN_WORKSPACES_MAX 10000 /* workspaces in use at the same time */

struct open_workspace_env { /* shared by all open workspaces; borrowed */
    struct loop *loop;
    struct logger *log;
    struct config *config;
    struct bus *bus;
    struct llm *llm;
    struct pool *readers;
    struct pool *files; /* uploads */
    struct media *media;
    struct fetcher *fetcher;
    struct api *const *api;  /* is made later; it tells people who are mentioned */
    struct gateway *gateway; /* is notified of changes of bundles and before a workspace is freed */
    const struct store_env *store_env;
    const struct builtin_catalog *builtins;
    const struct directory *directory;
    struct tracer *tracer;          /* NULL = runs are not traced */
    struct consent_table *consents; /* of several servers; NULL = files */
    struct file_table *file_table;  /* likewise */
    struct document_table *documents;
    uint64_t started_ms;
    const char *home_dir, *project_dir; /* of a terminal, else NULL */
    bool with_bundles;                  /* start their MCP servers */
    bool has_many;                      /* rooted at workspaces/<id>, not at the work directory */
    bool is_serving;                    /* queued messages of the last run are sent */
    bool is_read_only;                  /* of the conversations */
};

struct open_workspace {
    struct api_space api; /* id, root, config, store, runtime, tools: the part that the API sees */
    const struct open_workspace_env *env;
    struct open_workspaces *set;
    struct list_node node; /* in set->closing, while requests, streams or notices hold it */
    bool is_stopping;      /* since its last holder has released it */
    struct arena arena;
    /* the server's settings, overridden by the workspace's; borrows strings */
    struct config config;
    str identity, name; /* from workspace.json; may be empty */
    struct arena doc_arena;
    const struct json *doc; /* the settings file, as last read */
    struct builtin *builtin;
    struct bundle_sources *sources; /* NULL = without bundles */
    struct settings_watch *watch;
    struct workspace_mirror *mirror; /* NULL: this server alone has its files */
    struct bundle_changer changer;
    struct timer release; /* sends queued messages once the bundles have started */
    uint64_t release_by_ms;
    loop_fn on_closed;
    void *on_closed_ctx;
};

/* ---- one ---- */

/* Where a workspace's conversations are; a type or directory that differs from the settings has no
 * index. Strings live in the arena or as long as the config. */
struct store_conf open_workspace_store_conf(struct arena *a, const struct config *c, const char *id,
                                            const char *root, const char *type, const char *dir);

/* Restores messages that were queued when the server ended; they are sent when no bundle is
 * starting any more. */
void open_workspace_resume_queue(struct open_workspace *sp);

/* The path of the settings file with the bundles and permissions of this workspace. */
const char *open_workspace_settings_path(struct open_workspace *sp);

/* ---- open_workspace_settings.c: its settings ---- */

void open_workspace_settings_use(
    struct open_workspace *sp); /* into sp->config; before the runtime is created */
void open_workspace_settings_open(
    struct open_workspace *sp); /* reads the file; changes are announced from here on */
/* The file has this content now: settings that can take effect immediately do, and watchers are
 * notified. */
void open_workspace_settings_changed(struct open_workspace *sp, const struct json *doc);

/* ---- open_workspace_mirror.c: settings and skills that other servers have too ---- */

/* Compares them now (blocking, before they are read), and from now on. */
int open_workspace_mirror_open(struct open_workspace *sp, struct err *e);
void open_workspace_mirror_close(struct open_workspace *sp); /* also if it is not open */

/* ---- open_workspace_bundles.c: its MCP servers ---- */

/* Starts them in the background. Fails only when the settings are wrong. */
int open_workspace_bundles_open(struct open_workspace *sp, struct err *e);
bool open_workspace_bundles_settled(const struct open_workspace *sp); /* none is starting */
void open_workspace_bundles_stop(struct open_workspace *sp, loop_fn done, void *ctx);
void open_workspace_bundles_free(struct open_workspace *sp); /* after stop */

/* ---- the set ---- */

struct open_workspaces {
    struct open_workspace_env env;
    struct map open; /* id -> struct open_workspace */
    struct list_node closing;
    size_t nopen;      /* including those that are closing or being stopped */
    loop_fn on_closed; /* all of them */
    void *on_closed_ctx;
};

void open_workspaces_init(struct open_workspaces *s, const struct open_workspace_env *env);
void open_workspaces_serve(struct open_workspaces *s); /* from now on, also for those in use */
/* The open workspace, or a new one. NULL and *e when it cannot be opened. Does not check whether
 * the workspace exists. */
struct open_workspace *open_workspaces_open(struct open_workspaces *s, str id, struct err *e);
struct open_workspace *open_workspaces_find(const struct open_workspaces *s,
                                            str id); /* in use, or NULL */
/* store_peek_links of a workspace, which is not opened. */
struct links_peek *open_workspaces_peek_links(const struct open_workspaces *s, str id,
                                              store_links_fn fn, void *ctx);
void open_workspaces_hold(struct open_workspace *sp);
void open_workspaces_release(struct open_workspace *sp);
/* The workspace was deleted: it cannot be found any more, runs are cancelled, and after the last
 * holder has released it, it is freed and done is called. */
void open_workspaces_close(struct open_workspaces *s, str id, loop_fn done, void *ctx);
/* At the end of the server, when nothing holds a workspace. Runs end, stores are flushed; done may
 * be called immediately. */
void open_workspaces_close_all(struct open_workspaces *s, loop_fn done, void *ctx);
void open_workspaces_done(struct open_workspaces *s); /* after close_all */
