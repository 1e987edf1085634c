/* import.h - reads servers from the settings of other programs.
 *
 * Reads "mcpServers" (Claude Desktop, Cursor, .mcp.json), "servers" and "mcp.servers" (VS Code),
 * with comments and trailing commas. Each server becomes an entry of nb, or is skipped; in both
 * cases notes say what was not imported. Secrets in variables stay there: the entry names the
 * variable. Pure; any thread. */
#pragma once

#include "bundle/entry/entry.h"

#define IMPORT_BYTES_MAX   (4u * 1024 * 1024)
#define IMPORT_SERVERS_MAX 200

struct import_server {
    str name;                   /* as in the file */
    const struct json *entry;   /* for nb's settings; NULL = it cannot be used */
    struct bundle_entry bundle; /* the entry, decoded */
    struct json_strs notes;     /* what was skipped or changed, or why it cannot be used */
};

struct import_list {
    struct import_server *items;
    size_t len;
};

/* base_dir: the directory of the file. home_dir may be NULL. -EINVAL when it is not such a file. */
int import_parse(struct arena *a, str text, const char *base_dir, const char *home_dir,
                 struct import_list *ret, struct err *e);
