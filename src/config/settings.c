/* settings.c - the rows. */
#include "base/bytes/ip.h"
#include "config/setting.h"

#define RATE_MAX       1000000 /* requests a minute */
#define DAY_MS         (24 * 3600 * 1000)
#define CONNS_MAX      16384 /* of all together */
#define PUBLIC_URL_MAX 255
#define BASE_PATH_MAX  128 /* of http.basePath: it is part of every address */

#define LETTERS_DIGITS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

static bool has_only(str s, str allowed)
{
    for (size_t i = 0; i < s.n; i++)
        if (!memchr(allowed.p, s.p[i], allowed.n))
            return false;
    return true;
}

static bool is_base_path(str s)
{
    if (!has_only(s, STR(LETTERS_DIGITS "-_/")) || str_find(s, STR("//"), 0) >= 0)
        return false;
    return s.n == 0 || (s.n > 1 && s.n <= BASE_PATH_MAX && s.p[0] == '/' && s.p[s.n - 1] != '/');
}

/* Characters that may not be part of an origin and a path are refused; so is user information. */
static bool is_public_url(str s)
{
    str rest = str_skip(s, sizeof "https://" - 1);
    if (!has_only(rest, STR(LETTERS_DIGITS "-_.:/[]")))
        return false;
    return s.n == 0 || (str_starts(s, STR("https://")) && rest.n > 0 && rest.n <= PUBLIC_URL_MAX &&
                        rest.p[0] != '/' && rest.p[rest.n - 1] != '/');
}

static bool is_origin(str s)
{
    size_t scheme = str_starts(s, STR("https://")) ? 8 : str_starts(s, STR("http://")) ? 7 : 0;
    str rest = str_skip(s, scheme);
    return s.n == 0 || (scheme > 0 && rest.n > 0 && rest.n <= PUBLIC_URL_MAX &&
                        has_only(rest, STR(LETTERS_DIGITS "-_.:")));
}

static bool is_ip_block(str s)
{
    struct ip_block b;
    return ip_block_parse(s, &b) == 0;
}

#define AT(member)                  offsetof(struct config, member)
#define INT(key, member, from, to)  key, JF_INT, AT(member), .min = (from), .max = (to)
#define RATE(key, member, variable) INT(key, member, 0, RATE_MAX), .variables = (variable)
#define FEATURE(name, member)       "features." name, JF_BOOL, AT(features.member), "true"
#define PROVIDER_KEY(name, member, variable)                                                       \
    "providers." name ".apiKey", JF_STR, AT(secrets.member), NULL, variable,                       \
        .flags = SETTING_SECRET | SETTING_FILE_FIRST | SETTING_HIDDEN
#define VARIABLE(name, member) NULL, JF_STR, AT(member), NULL, name

const struct setting SETTINGS[] = {
    {"$schema", JF_JSON, .flags = SETTING_CHECKED | SETTING_HIDDEN},
    {"version", JF_JSON, .flags = SETTING_CHECKED | SETTING_HIDDEN},
    {"telemetry", JF_JSON_OBJECT, .flags = SETTING_CHECKED | SETTING_HIDDEN},
    {"maxHistoryMessages", JF_INT, .flags = SETTING_CHECKED | SETTING_HIDDEN},
    {"workDir", JF_CSTR, AT(work_dir)},

    {"http.host", JF_CSTR, AT(http.host), "127.0.0.1"},
    {INT("http.port", http.port, 0, 65535), .initial = "27247", .variables = "PORT"},
    {"http.allowUnauthenticated", JF_BOOL, AT(http.allow_unauthenticated)},
    {"http.allowedHosts", JF_STRS, AT(http.allowed_hosts), NULL, "ALLOWED_HOSTS"},
    {"http.allowedOrigins", JF_STRS, AT(http.allowed_origins), NULL, "ALLOWED_ORIGINS"},
    {"http.publicUrl", JF_STR, AT(http.public_url), .is_valid = is_public_url,
     .expected = "an address such as https://nb.example.com, without a slash at its end"},
    {INT("http.appsPort", http.apps_port, -1, 65535), .initial = "0"},
    {"http.appsOrigin", JF_STR, AT(http.apps_origin), .is_valid = is_origin,
     .expected = "an origin such as https://apps.example.com, without a path"},
    {"http.basePath", JF_STR, AT(http.base_path), .is_valid = is_base_path,
     .expected = "a path such as /nb, of letters, digits, - and _, without a slash at its end"},
    {"http.trustedProxies", JF_STRS, AT(http.trusted_proxies), .is_valid = is_ip_block,
     .expected = "an address such as 127.0.0.1, or a block such as 10.0.0.0/8"},
    {"http.insecureCookies", JF_BOOL, AT(http.insecure_cookies)},
    {INT("http.connectionsPerAddress", http.conns_per_address, 1, CONNS_MAX), .initial = "256"},
    {INT("http.connectionsPerPerson", http.conns_per_person, 1, CONNS_MAX), .initial = "256"},
    {INT("http.streamsPerPerson", http.streams_per_person, 1, CONNS_MAX), .initial = "64"},
    {RATE("http.rateLimits.chat", http.rates.chat, "NB_CHAT_RATE_LIMIT"), .initial = "20"},
    {RATE("http.rateLimits.tools", http.rates.tools, "NB_TOOL_RATE_LIMIT"), .initial = "600"},
    {RATE("http.rateLimits.mcp", http.rates.mcp, "NB_MCP_RATE_LIMIT"), .initial = "300"},

    {"store.type", JF_CSTR, AT(store.type), "jsonl", .choices = "jsonl, folder, memory"},
    {"store.dir", JF_CSTR, AT(store.dir), .flags = SETTING_NULLABLE},
    {"store.durability", JF_CSTR, AT(store.durability), "sync", .choices = "sync, interval, none"},
    {"store.integrity", JF_BOOL, AT(store.integrity)},

    {"models.default", JF_STR, AT(models.default_model), NULL, "NB_MODEL",
     .flags = SETTING_NULLABLE},
    {"defaultModel", JF_STR, AT(models.default_model), .flags = SETTING_NULLABLE | SETTING_OLD},
    {"models.fast", JF_STR, AT(models.fast), .flags = SETTING_NULLABLE},
    {"models.reasoning", JF_STR, AT(models.reasoning),
     .flags = SETTING_NULLABLE | SETTING_NO_EFFECT | SETTING_HIDDEN},
    {"providers", JF_JSON_OBJECT, AT(providers)},
    {PROVIDER_KEY("anthropic", anthropic_api_key, "ANTHROPIC_API_KEY")},
    {PROVIDER_KEY("openai", openai_api_key, "OPENAI_API_KEY")},
    {PROVIDER_KEY("google", google_api_key,
                  "GOOGLE_GENERATIVE_AI_API_KEY GEMINI_API_KEY GOOGLE_API_KEY")},
    {PROVIDER_KEY("openrouter", openrouter_api_key, "OPENROUTER_API_KEY")},
    {PROVIDER_KEY("groq", groq_api_key, "GROQ_API_KEY")},
    {PROVIDER_KEY("mistral", mistral_api_key, "MISTRAL_API_KEY")},
    {PROVIDER_KEY("deepseek", deepseek_api_key, "DEEPSEEK_API_KEY")},
    /* the older form of providers.NAME.apiKey: config.c */
    {"model.provider", JF_STR, .flags = SETTING_CHECKED | SETTING_HIDDEN},
    {"model.apiKey", JF_STR, .flags = SETTING_CHECKED | SETTING_HIDDEN | SETTING_NULLABLE},
    {"modelInfo", JF_JSON_OBJECT, AT(model_overrides)},
    {INT("modelCalls.idleTimeoutMs", model_calls.idle_timeout_ms, 0, 3600000), .unit = "ms"},
    {INT("modelCalls.maxTries", model_calls.max_tries, 0, 20)},
    {INT("modelCalls.retryBaseMs", model_calls.retry_base_ms, 0, 60000), .unit = "ms"},
    {"thinking", JF_STR, AT(thinking), "off", .choices = "off, adaptive, enabled"},

    {INT("files.maxMb", files.max_mb, 1, 256), .initial = "64", .unit = "MiB"},
    {INT("files.quotaMb", files.quota_mb, 1, 100000000), .initial = "10240", .unit = "MiB"},

    {INT("maxIterations", limits.max_iterations, 1, CONFIG_ITERATIONS_MAX), .initial = "10"},
    {INT("maxInputTokens", limits.max_input_tokens, 1, INT64_MAX), .initial = "500000",
     .unit = "tokens"},
    {INT("maxOutputTokens", limits.max_output_tokens, 1, 1000000), .initial = "16384",
     .unit = "tokens"},
    {INT("maxDirectTools", limits.max_direct_tools, 0, 10000), .initial = "30"},
    {INT("maxToolResultSize", limits.max_tool_result_size, 0, INT64_MAX), .initial = "1000000",
     .unit = "characters"},

    {"skillDirs", JF_STRS, AT(skill_dirs)},
    {"skills", JF_JSON, AT(skills)},
    {"agents", JF_JSON_OBJECT, AT(agents), .flags = SETTING_LIVE},
    {"permissions", JF_JSON_OBJECT, AT(permissions), .flags = SETTING_LIVE},
    {"bundles", JF_JSON, AT(bundles), .flags = SETTING_LIVE},
    {"noDefaultBundles", JF_BOOL, AT(no_default_bundles), .flags = SETTING_LIVE},
    {"allowInsecureRemotes", JF_BOOL, AT(allow_insecure_remotes)},
    {"allowInstall", JF_STRS, AT(allow_install)},
    {"registryUrl", JF_CSTR, AT(registry_url), NULL, "NB_REGISTRY_URL", .flags = SETTING_NULLABLE},

    {FEATURE("bundleManagement", bundle_management)},
    {FEATURE("bundleDiscovery", bundle_discovery)},
    {FEATURE("skillManagement", skill_management)},
    {FEATURE("delegation", delegation)},
    {FEATURE("toolDiscovery", tool_discovery)},
    {FEATURE("mcpServer", mcp_server)},
    {"features.fileContext", JF_BOOL, .flags = SETTING_CHECKED | SETTING_HIDDEN},
    {FEATURE("userManagement", user_management)},
    {FEATURE("workspaceManagement", workspace_management)},
    {"people.ownWorkspace", JF_BOOL, AT(people.own_workspace)},

    {INT("mcp.maxSessions", mcp.max_sessions, 1, 100000), .initial = "1000"},
    {INT("mcp.sessionIdleMs", mcp.session_idle_ms, 60000, 7 * DAY_MS), .initial = "28800000",
     .unit = "ms"},
    {INT("mcp.answerWaitMs", mcp.answer_wait_ms, 1000, DAY_MS), .initial = "300000", .unit = "ms"},
    {INT("mcp.maxConnections", mcp.max_connections, 1, 256), .initial = "8"},

    {"apps.hostName", JF_STR, AT(apps.host_name), "nimblebrain"},

    {"timeZone", JF_STR, AT(time_zone), NULL, "NB_TIMEZONE"},
    {"home", JF_JSON_OBJECT, AT(home)},
    {"logging.level", JF_CSTR, AT(logging.level), "info",
     .choices = "debug, info, warn, error, off"},
    {"logging.format", JF_CSTR, AT(logging.format), "text", .choices = "text, json"},
    {"logging.dir", JF_CSTR, AT(logging.dir),
     .flags = SETTING_NULLABLE | SETTING_NO_EFFECT | SETTING_HIDDEN},
    {"logging.disabled", JF_BOOL, AT(logging.disabled)},
    {INT("demoDelayMs", demo_delay_ms, 0, 10000), .initial = "12", .variables = "NB_DEMO_DELAY_MS",
     .unit = "ms"},

    {VARIABLE("NB_API_KEY", secrets.nb_api_key), .flags = SETTING_SECRET},
    {VARIABLE("NB_OIDC_CLIENT_SECRET", secrets.oidc_client_secret), .flags = SETTING_SECRET},
    {VARIABLE("ANTHROPIC_BASE_URL", base_urls.anthropic)},
    {VARIABLE("OPENAI_BASE_URL", base_urls.openai)},
    {VARIABLE("OLLAMA_HOST", ollama_host)},
};
const size_t SETTINGS_LEN = ARRAY_LEN(SETTINGS);
