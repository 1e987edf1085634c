/* config.h - every setting of a process, resolved once: flags > environment > file > default.
 *
 * The file is nimblebrain.json. A missing file is not an error; an unknown key is a warning; a
 * wrong type or value is an error that names file and path ("http.port: expected integer"). The
 * struct owns all its strings and is immutable after config_load. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/json/json_decode.h"

#define CONFIG_BYTES_MAX (1024u * 1024)

#define CONFIG_ITERATIONS_MAX 25

/* Values from the command line; NULL or negative = not given. */
struct config_flags {
    const char *config_path, *work_dir, *model, *host, *store_type;
    int port;
    bool is_debug;
    bool without_file; /* ignore the settings file */
};

#define CONFIG_FLAGS_NONE ((struct config_flags){.port = -1})

typedef const char *(*config_getenv)(void *ctx, const char *name);

struct config_rates { /* requests of one person in a minute; 0 = no limit */
    int64_t chat, tools, mcp;
};

struct config_http {
    const char *host;
    int64_t port;
    bool allow_unauthenticated;
    struct json_strs allowed_hosts;   /* Host names that are accepted, besides `host` */
    struct json_strs allowed_origins; /* pages of other origins that may use the API */
    str public_url;                   /* the https URL that clients use, without a trailing slash */
    int64_t apps_port; /* of the documents around interfaces of tools; 0 = port + 1, -1 = none */
    str apps_origin;   /* their address for browsers, when a proxy gives them a name */
    str base_path;     /* "/nb" when a proxy serves it there; empty = "/" */
    struct json_strs trusted_proxies; /* their X-Forwarded-For is used: ip.h */
    bool insecure_cookies;            /* logins over plain HTTP, beyond this machine */
    str tls_cert, tls_key;            /* files; empty = plain HTTP */
    struct config_rates rates;
    int64_t conns_per_address, conns_per_person, streams_per_person;
};

struct config_store {
    const char *type;       /* jsonl, folder, memory, postgres */
    const char *dir;        /* NULL = the type's default below the work directory */
    const char *url;        /* postgres: its address; NULL = the PG* variables */
    const char *durability; /* sync, interval, none */
    bool integrity;
    bool replicas; /* several servers use one database */
};

struct config_apps { /* interfaces of tools */
    str host_name;   /* how nb introduces itself to them */
};

struct config_logging {
    const char *level, *format, *dir;
    bool disabled;
};

struct config_models {
    str default_model, fast, reasoning;
    str named; /* the value of --model, for every message of this command; empty = not given */
};

struct config_limits {
    int64_t max_iterations, max_input_tokens, max_output_tokens, max_direct_tools;
    int64_t max_tool_result_size;
};

struct config_files {
    int64_t max_mb, quota_mb;
};

struct config_model_calls {
    int64_t idle_timeout_ms, max_tries, retry_base_ms; /* 0 = the provider floor's defaults */
};

struct config_mcp { /* nb as an MCP server */
    int64_t max_sessions, session_idle_ms, answer_wait_ms, max_connections;
};

struct config_features { /* a feature that is off is neither listed nor callable */
    bool bundle_management, bundle_discovery, skill_management, delegation, tool_discovery;
    bool mcp_server, user_management, workspace_management, public_links;
};

struct config_people {
    bool own_workspace; /* a user who is not a member of a workspace gets a personal one */
};

struct config_secrets { /* never logged, never written */
    str oidc_client_secret;
    str anthropic_api_key, openai_api_key, google_api_key, nb_api_key;
    str aws_access_key_id, aws_secret_access_key, aws_session_token, bedrock_api_key;
    str anthropic_auth_token; /* ANTHROPIC_AUTH_TOKEN: a bearer for a gateway */
    str openrouter_api_key, groq_api_key, mistral_api_key, deepseek_api_key;
};

struct config_otlp { /* traces and metrics for a collector of OpenTelemetry */
    str endpoint;    /* empty = off */
    str service_name;
    const struct json *headers; /* {name: value}, or NULL */
    int64_t metrics_ms;
};

struct config_remote { /* the server of --server, on another machine or on this one */
    const char *url;   /* without a slash at its end; NULL = none */
    str token;
};

struct config {
    struct arena arena;
    const char *path; /* of the file, whether it exists or not */
    bool is_file_present;
    const char *work_dir;        /* absolute */
    const char *workspace;       /* the workspace a command uses; NULL = the only one */
    struct config_remote remote; /* set by the command line only */

    struct config_http http;
    struct config_store store;
    struct config_apps apps;
    struct config_logging logging;
    struct config_otlp otlp;
    struct config_models models;
    struct config_limits limits;
    struct config_files files;
    struct config_model_calls model_calls;
    struct config_mcp mcp;
    struct config_features features;
    struct config_people people;
    struct config_secrets secrets;

    bool no_default_bundles, allow_insecure_remotes;
    bool no_project_context;        /* of terminals */
    struct json_strs allow_install; /* items NULL = not set (bundle/entry/install_rules.h) */
    struct json_strs skill_dirs;    /* absolute, or relative to the file's directory */
    /* Sections that upper floors decode themselves; NULL when absent. */
    const struct json *bundles, *skills, *agents, *providers, *permissions, *home;
    const struct json *model_overrides;
    str thinking, time_zone;
    str ollama_host; /* OLLAMA_HOST */
    struct {         /* ANTHROPIC_BASE_URL, OPENAI_BASE_URL, GOOGLE_GEMINI_BASE_URL */
        str anthropic, openai, google;
    } base_urls;
    str aws_region; /* AWS_REGION */
    struct {        /* whom OpenAI bills: OPENAI_ORG_ID and OPENAI_PROJECT_ID */
        str organization, project;
    } openai;
    const char *registry_url; /* of bundles; NULL = the public one */
    int64_t demo_delay_ms;

    struct json_strs warnings; /* "unknown key 'colour' in /path/nimblebrain.json" */
};

/* env may be NULL: no setting is read from the environment. */
int config_load(struct config *ret, const struct config_flags *flags, config_getenv env,
                void *env_ctx, struct err *e);
void config_done(struct config *c);

/* A path below the work directory, in the config's arena: config_path(c, "cache/index.db"). */
const char *config_path(struct config *c, const char *below);
