/* method.h - the methods of clients: rows of the table in method.c, and what they share. */
#pragma once

#include "gateway/request.h"

/* Runs the method of the request, or replies that there is no such method in its era. */
void gw_method_run(struct gw_request *q);

/* ---- tools.c ---- */

void gw_tools_list(struct gw_request *q);
void gw_tools_call(struct gw_request *q);
/* Finds the tool that a name means to this caller, or NULL; ret: the bundle that has it, or
 * NULL. */
const struct toolset_item *gw_tools_find(struct gw_request *q, str name,
                                         struct bundle **ret_bundle);

/* ---- chat.c: nb__chat (GATEWAY_CHAT_TOOL), a tool that sends a message to the agent of the
 * workspace. It is not one of the built-in tools, because the agent itself must not have it. ----
 */

const struct json *gw_chat_tool(struct arena *a);
bool gw_chat_is_offered(const struct gw_request *q);
void gw_chat_call(struct gw_request *q);

/* ---- resources.c: the resources of all bundles, with the addresses that their servers gave them.
 *
 * Addresses are not rewritten, because they also occur inside results. The bundle of an address is
 * found in the lists, then by the templates; if neither has it, the servers are tried in turn. ----
 */

void gw_list_entries(struct gw_request *q); /* resources, templates, prompts */
void gw_resources_read(struct gw_request *q);
/* The bundle that a URI belongs to; NULL: unknown, the caller tries each bundle in turn. */
void gw_resources_route(struct gw_request *q, str uri,
                        void (*fn)(struct gw_request *q, str uri, struct bundle *b));

void gw_resources_not_found(struct gw_request *q); /* the reply */

/* ---- files.c: files of the caller as resources ---- */

bool gw_files_are_offered(struct gw_request *q, const char *tool); /* "list", "read" */
bool gw_files_has(const struct gw_request *q, str uri);            /* the address of a file */
void gw_files_list(struct gw_request *q,
                   void (*then)(struct gw_request *q, const struct json *items));
void gw_files_read(struct gw_request *q);

/* ---- prompts.c, and tasks.c (ids and owners are in upstream/task_ids.h) ---- */

void gw_prompts_get(struct gw_request *q);
void gw_completion_complete(struct gw_request *q);
void gw_tasks_route(struct gw_request *q); /* get, update, cancel, result */
void gw_tasks_list(struct gw_request *q);

/* ---- page.c: lists in pages. A cursor of the gateway is a position in the current list. ---- */

#define GW_PAGE_ITEMS 1000

struct gw_items { /* a whole list; a request gets one page of it */
    const char *key;
    const void *items;
    size_t len;
    void (*write)(struct json_writer *w, struct gw_request *q, const void *items, size_t i);
    uint64_t ttl_ms;
};
void gw_page_reply(struct gw_request *q, const struct gw_items *all);
