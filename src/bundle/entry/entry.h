/* entry.h - one bundle as the settings describe it.
 *
 * Exactly one of name (from the registry), path (a folder or a .mcpb archive), url (a remote
 * server) or command (a plain stdio server). Decoding is strict: an unknown key, a missing or
 * second source, and a URL with credentials are errors that name the entry. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/json/json_decode.h"

#define BUNDLES_MAX      200  /* of one workspace */
#define BUNDLE_MEMORY_MB 1024 /* unless its entry says otherwise */
#define BUNDLE_DISK_MB   10240

/* The built-in bundle. An entry with this package name configures it. */
#define BUNDLE_BASH_PACKAGE "@nimblebraininc/bash"
#define BUNDLE_BASH_SERVER  "bash"

enum bundle_kind { BUNDLE_NAMED, BUNDLE_LOCAL, BUNDLE_REMOTE, BUNDLE_COMMAND, BUNDLE_BUILT_IN };
const char *bundle_kind_name(enum bundle_kind k); /* "named", "local" ... */

struct bundle_sandbox { /* access of a stdio bundle beyond its own data directory */
    bool is_off;
    bool network;                 /* to some destinations */
    struct json_strs reach;       /* "host:port", "public"; with network and none: public */
    struct json_strs read, write; /* absolute paths, or below ~ */
};

struct bundle_pair {
    str key, value;
};

/* "pinned" of an entry whose command is npx: the exact package that is installed and started. */
struct npm_pin {
    str name, version, integrity; /* as npm writes it ("sha512-..."); name empty = not pinned */
};

struct bundle_oauth { /* transport.auth of the type oauth */
    bool is_on;
    bool is_per_person; /* each person signs in, with an account of their own (people.c) */
    str client_id, client_secret, scope; /* may be empty */
};

struct bundle_entry {
    enum bundle_kind kind;
    str server_name;   /* [a-z0-9-]: the prefix of its tools; unique in its workspace */
    str name, version; /* named: "@scope/package", and the version or empty for the latest */
    str path;          /* local: absolute */
    str url;
    bool is_sse;                 /* transport.type "sse" */
    struct bundle_pair *headers; /* of every request; from transport.headers and .auth */
    size_t nheaders;
    struct bundle_oauth oauth;
    int64_t reconnect_initial_ms, reconnect_max_ms, reconnect_tries; /* 0 = as in client.h */
    bool allow_private; /* the URL may lead to this machine or its network */
    str command, cwd;
    struct json_strs args;
    struct npm_pin pinned;
    struct bundle_pair *env;
    size_t nenv;
    struct json_strs allowed_env; /* names passed through from nb's own environment */
    struct bundle_sandbox sandbox;
    bool is_protected, is_disabled;
    bool is_trusted;                /* tools: "trusted": its tools may change at any time */
    int64_t memory_mb;              /* ceiling; 0 = 1024 */
    int64_t disk_mb;                /* of its data directory; 0 = 10240 */
    int64_t trust_score;            /* -1 = unknown */
    const struct json *ui;          /* or NULL */
    const struct json *user_config; /* values for a manifest's user_config, or NULL */
    const struct json *raw;         /* the entry as it is in the settings */
};

/* The members of an entry, for documents. */
extern const struct json_field BUNDLE_ENTRY_FIELDS[];

/* base_dir: the base of relative paths (the directory of the settings file). */
int bundle_entry_decode(struct arena *a, const struct json *v, const char *base_dir,
                        struct bundle_entry *ret, struct err *e);

/* A list; the error names the index. Two entries with one server name are refused. */
int bundle_entries_decode(struct arena *a, const struct json *list, const char *base_dir,
                          struct bundle_entry **ret, size_t *ret_n, struct err *e);

/* True when it configures the bundle that comes with nb. */
bool bundle_entry_is_bash(const struct bundle_entry *b);
/* nb's own keys, which no bundle gets, whatever the settings say. */
bool bundle_env_is_own(str name);

/* Checks that its URL may be used: https, and no address of this machine or its network unless the
 * entry has allowPrivate; http://localhost also where the settings have allowInsecureRemotes.
 * -EACCES with the reason. Names are checked again when they are resolved (FETCH_PUBLIC_ONLY). */
int bundle_entry_check_url(const struct bundle_entry *entry, bool allow_insecure_remotes,
                           struct err *e);
/* FETCH_... flags for every request on its behalf, also to addresses that the server itself
 * names. */
unsigned bundle_entry_fetch_flags(const struct bundle_entry *entry, bool allow_insecure_remotes);

/* ---- copies of entries that outlive their settings, and comparison (entry_copy.c) ---- */

struct bundle_entry bundle_entry_copy(struct arena *a, const struct bundle_entry *e); /* deep */

/* True when a running bundle need not be restarted when one entry replaces the other: they differ
 * only in what is shown (ui, trust score) or what nb itself enforces (protected). */
bool bundle_entry_runs_alike(const struct bundle_entry *x, const struct bundle_entry *y);

/* ---- the server name of a bundle: the prefix of its tools (source_name.c) ----
 *
 * nb's own sources of tools (nb, conversations, bash, skills) have names that no bundle may use,
 * and no bundle may use a name that a person or a model could confuse with them: other case,
 * letters that look the same, hidden characters, other separators, one letter more or less,
 * "nb-..." or "conversations--...". Pure; any thread. */

#define BUNDLE_NAME_MAX 40

/* "a/b/" -> "b". */
str bundle_last_segment(str s);

/* "@scope/name" -> "scope-name", for sep '-'. */
char *package_slug(struct arena *a, str name, char sep);
/* The name of the bundle's file of credentials without ".json": "scope@package" for a package of
 * the registry, so that no other package of the same short name can read it; otherwise the server
 * name. */
str entry_credentials(struct arena *a, const struct bundle_entry *entry);

/* "@scope/My_Server" -> "my-server". -EINVAL: it is empty or too long. -EPERM: it is reserved. */
int bundle_server_name(struct arena *a, str source, str *ret, struct err *e);

/* For a name that was not chosen by a person: a reserved name gets `prefix` in front
 * ("@x/conversations" with "x" -> "x-conversations"). */
int bundle_derived_name(struct arena *a, str source, str prefix, str *ret, struct err *e);

/* nb's own source that this name equals or could be confused with; NULL when there is none. */
const char *bundle_reserved_name(struct arena *a, str name);
