/* manifest.h - manifest.json of an MCP bundle (MCPB, earlier DXT), versions 0.1 to 0.4.
 *
 * It contains the author, how the server is started and the values that a person has to set.
 * Unknown keys are ignored, because others define them; the keys that nb uses are checked, and
 * errors name the field. Pure; any thread. */
#pragma once

#include "bundle/entry/entry.h"

#define MANIFEST_BYTES_MAX   (1024u * 1024)
#define MANIFEST_OPTIONS_MAX 100

enum manifest_server { SERVER_NODE, SERVER_PYTHON, SERVER_BINARY, SERVER_UV };

enum option_type { OPTION_STRING, OPTION_NUMBER, OPTION_BOOLEAN, OPTION_DIRECTORY, OPTION_FILE };

struct manifest_option { /* one option of user_config */
    str key;
    enum option_type type;
    str title, description;
    bool is_required, is_multiple, is_sensitive;
    const struct json *fallback; /* "default", of the right type; or NULL */
    double min, max;             /* for a number */
};

struct manifest {
    str name, version, title, description, author;
    enum manifest_server type;
    str entry_point; /* relative, inside the bundle */
    /* mcp_config with the overrides for this platform, before variables are replaced. The command
     * is empty without mcp_config. */
    str command;
    struct json_strs args;
    struct bundle_pair *env;
    size_t nenv;
    struct manifest_option *options;
    size_t noptions;
    struct json_strs tools; /* declared names; the server itself may list others */
    const struct json *ui;  /* _meta["ai.nimblebrain/host"], or NULL */
    bool is_upjack;         /* an Upjack app: has _meta["ai.nimblebrain/upjack"] */
};

/* Everything in `ret` lives in the arena. -EINVAL with "server.type: ..." in e. */
int manifest_parse(struct arena *a, str text, struct manifest *ret, struct err *e);

const struct manifest_option *manifest_option(const struct manifest *m, str key); /* or NULL */
const char *option_type_name(enum option_type t);
const char *manifest_server_name(enum manifest_server t);
