/* api_impl.h - the state of the API, for the files of api/.
 *
 *   ingress/        checks that know only the request and the settings: guard.c (Host, Origin),
 *                   proxy.c (a reverse proxy in front), rate.c (requests per minute)
 *   live/           streams: the hub of a workspace, one stream
 *   views/          interfaces of tools that people have open
 *   people/         logins, users, workspaces, tokens, permissions, the audit log
 *   apps/           bundles and their sign-in, tools, skills, models, the prompt, /mcp
 *   files/          files that people give
 *   compat/         the routes of model services, for other people's programs
 *   describe/       the document of the API: rows about routes, models of answers
 *   conversations/  chat, history, notes, sharing, search, import, export, usage
 *   .               how a request is admitted: admit.c (authentication, workspace), gate.c (the
 *                   rule of its route), identity.c (its caller); shared by handlers: exchange.c,
 *                   failure.c (errors as responses), trail.c (the audit log), frames.c (events as
 *                   frames); routes.c, handlers.h and bodies.h (all routes), health.c, metrics.c,
 *                   openapi.c
 *
 * Every file may read `deps` and `names`. Each other member belongs to the file that its comment
 * names, which alone uses it after api_new; api.c frees what is left. */
#pragma once

#include "api/api.h"
#include "api/frames.h"
#include "api/ingress/counts.h"
#include "api/ingress/rate.h"
#include "api/trail.h"
#include "base/map.h"
#include "loop/timer.h"

struct api_document;
struct api_import;
struct compat_threads;
struct views;

struct api {
    struct api_deps deps;
    struct frame_names names; /* display names for frames */
    uint16_t port;            /* link.c: the port that the server listens on; 0 = none */
    uint16_t apps_port;       /* link.c: that of the documents around interfaces; 0 = none */
    struct trail trail;       /* trail.c */
    struct rates rates;       /* admit.c, provision.c */

    /* live/hub.c */
    struct map hubs;  /* workspace id -> struct hub */
    char boot_id[32]; /* random, new for each process: part of the ids of workspace streams */
    struct timer heartbeat;
    unsigned heartbeats; /* seconds counted */
    uint64_t nstreams;   /* live/live.c: streams opened so far */
    struct views *views; /* views/views.c */

    /* Work in progress, so that it is limited, or ended with the API. */
    struct person_counts changing;  /* people.c: changes that are being saved */
    struct map provisions;          /* provision.c: user id -> struct provision */
    struct list_node model_changes; /* model_setup.c: changes that are being saved */
    struct list_node probe_waiters; /* model_setup.c: requests that wait for a search for models */
    struct list_node sign_ins;      /* app_auth.c: sign-ins to remote servers from the page */
    struct api_import *import;      /* import.c: the latest import, or NULL */
    struct person_counts exporting; /* export.c: exports in progress */
    size_t link_looks;              /* shared.c: requests whose link is looked for */
    struct compat_threads *threads; /* compat_threads.c; NULL: nothing is remembered yet */

    struct api_document *document; /* openapi.c: NULL until somebody asks for it */

    /* api.c */
    struct directory_observer people;
    struct auth_observer logins;
};

void api_document_free(struct api_document *d); /* openapi.c; NULL is fine */
