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

static bool is_collector(str s)
{
    size_t scheme = str_starts(s, STR("https://")) ? 8 : str_starts(s, STR("http://")) ? 7 : 0;
    str rest = str_skip(s, scheme);
    return s.n == 0 || (scheme > 0 && rest.n > 0 && rest.n <= PUBLIC_URL_MAX && rest.p[0] != '/' &&
                        has_only(rest, STR(LETTERS_DIGITS "-_.:/[]")));
}

static bool is_absolute_path(str s)
{
    return s.n == 0 || (s.n > 1 && s.n < 4096 && s.p[0] == '/' && str_find_char(s, '\0') < 0);
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
    {"workDir", JF_CSTR, AT(work_dir),
     .help = "directory of all data (unless given by flag or `NB_WORK_DIR`); relative to the "
             "current directory"},

    {"http.host", JF_CSTR, AT(http.host), "127.0.0.1",
     .help = "address on which `nb serve` listens"},
    {INT("http.port", http.port, 0, 65535), .initial = "27247", .variables = "PORT",
     .help = "port on which `nb serve` listens; 0 = any free port"},
    {"http.allowUnauthenticated", JF_BOOL, AT(http.allow_unauthenticated),
     .help = "listen beyond the loopback without users and `NB_API_KEY`; only behind a proxy that "
             "adds TLS. Requests need the key of the installation (`nb link --key`) here too"},
    {"http.allowedHosts", JF_STRS, AT(http.allowed_hosts), NULL, "ALLOWED_HOSTS",
     .help = "names that this server accepts in `Host`, besides IP addresses, `localhost` and "
             "`http.host`"},
    {"http.allowedOrigins", JF_STRS, AT(http.allowed_origins), NULL, "ALLOWED_ORIGINS",
     .help = "origins whose pages may use the API (CORS)"},
    {"http.publicUrl", JF_STR, AT(http.public_url), .is_valid = is_public_url,
     .expected = "an address such as https://nb.example.com, without a slash at its end",
     .help = "the https address at which others reach nb, with its base path: "
             "`https://nb.example.com`. Used for sign-ins to remote servers "
             "([bundles.md](bundles.md#signing-in))"},
    {INT("http.appsPort", http.apps_port, -1, 65535), .initial = "0",
     .help = "port of a second listener, at which interfaces of tools have an origin of their own; "
             "`0`: the port after `http.port`; `-1`: none, they share the origin of the page, in a "
             "sandbox. See [security.md](security.md#interfaces-of-tools)"},
    {"http.appsOrigin", JF_STR, AT(http.apps_origin), .is_valid = is_origin,
     .expected = "an origin such as https://apps.example.com, without a path",
     .help = "the address of that listener for browsers when a proxy is in front of nb: "
             "`https://apps.example.com`"},
    {"http.basePath", JF_STR, AT(http.base_path), .is_valid = is_base_path,
     .expected = "a path such as /nb, of letters, digits, - and _, without a slash at its end",
     .help = "`/nb` when a proxy serves nb below that path; requests may have it or not. See "
             "[people.md](people.md#behind-a-proxy)"},
    {"http.trustedProxies", JF_STRS, AT(http.trusted_proxies), .is_valid = is_ip_block,
     .expected = "an address such as 127.0.0.1, or a block such as 10.0.0.0/8",
     .help = "addresses and blocks (`127.0.0.1`, `10.0.0.0/8`) of proxies whose `X-Forwarded-For` "
             "says who the client is"},
    {"http.insecureCookies", JF_BOOL, AT(http.insecure_cookies),
     .help = "logins over plain HTTP from other machines; only in networks you trust"},
    {"http.tls.cert", JF_STR, AT(http.tls_cert), NULL, "NB_TLS_CERT", .is_valid = is_absolute_path,
     .expected = "the absolute path of a file",
     .help = "certificate of the server and those that lead to its issuer (PEM): nb speaks https "
             "itself, without a proxy. A changed file is used for new connections. See "
             "[people.md](people.md#https-without-a-proxy)"},
    {"http.tls.key", JF_STR, AT(http.tls_key), NULL, "NB_TLS_KEY", .is_valid = is_absolute_path,
     .expected = "the absolute path of a file", .help = "private key of that certificate (PEM)"},
    {INT("http.connectionsPerAddress", http.conns_per_address, 1, CONNS_MAX), .initial = "256",
     .help =
         "connections of one address (IPv6: of one /64) whose requests are not authenticated; "
         "beyond it, the oldest unfinished request of that address is dropped. Requests through "
         "`http.trustedProxies` count for the address in `X-Forwarded-For`. Not for `nb.sock`"},
    {INT("http.connectionsPerPerson", http.conns_per_person, 1, CONNS_MAX), .initial = "256",
     .help = "connections of one person; beyond it their own idle ones are closed, and when all "
             "are busy the request gets 429"},
    {INT("http.streamsPerPerson", http.streams_per_person, 1, CONNS_MAX), .initial = "64",
     .help = "open event streams of one person; beyond it, the oldest ends"},
    {RATE("http.rateLimits.chat", http.rates.chat, "NB_CHAT_RATE_LIMIT"), .initial = "20",
     .help = "chat messages of one person in a minute, `0` = no limit; without authentication "
             "there is no limit"},
    {RATE("http.rateLimits.tools", http.rates.tools, "NB_TOOL_RATE_LIMIT"), .initial = "600",
     .help = "the same for tool calls over the API"},
    {RATE("http.rateLimits.mcp", http.rates.mcp, "NB_MCP_RATE_LIMIT"), .initial = "300",
     .help = "the same for requests to `/mcp`"},

    {"store.type", JF_CSTR, AT(store.type), "jsonl", .choices = "jsonl, folder, memory, postgres",
     .help = "how conversations are stored: one log each, one folder each, not on disk, or in "
             "PostgreSQL ([scale.md](scale.md))"},
    {"store.dir", JF_CSTR, AT(store.dir), .flags = SETTING_NULLABLE,
     .help = "directory of the store; relative to the directory of the settings file"},
    {"store.url", JF_CSTR, AT(store.url), NULL, "NB_STORE_URL",
     .flags = SETTING_NULLABLE | SETTING_SECRET,
     .help =
         "address of PostgreSQL, such as `postgresql://nb@db.example.com/nb?sslmode=verify-full`; "
         "without it libpq's own `PG*` variables and defaults apply"},
    {"store.durability", JF_CSTR, AT(store.durability), "sync", .choices = "sync, interval, none",
     .help = "`sync`: acknowledged when safe on disk ([how](log-format.md)); `interval`: synced "
             "every second; `none`: left to the kernel"},
    {"store.integrity", JF_BOOL, AT(store.integrity),
     .help = "chain the events of new logs by hashes; `nb conversations verify` proves them"},
    {"store.replicas", JF_BOOL, AT(store.replicas),
     .help = "with `store.type: \"postgres\"`: several servers use one database at the same time "
             "([scale.md](scale.md#several-servers) says what they share)"},

    {"models.default", JF_STR, AT(models.default_model), NULL, "NB_MODEL",
     .flags = SETTING_NULLABLE, .help = "`provider:model` or a bare name"},
    {"defaultModel", JF_STR, AT(models.default_model), .flags = SETTING_NULLABLE | SETTING_OLD,
     .help = "older key of `models.default`, which overrides it"},
    {"models.fast", JF_STR, AT(models.fast), .flags = SETTING_NULLABLE,
     .help = "model of titles and summaries"},
    {"models.reasoning", JF_STR, AT(models.reasoning),
     .flags = SETTING_NULLABLE | SETTING_NO_EFFECT | SETTING_HIDDEN},
    {"providers", JF_JSON_OBJECT, AT(providers),
     .help =
         "by name: `type` (`anthropic`, `openai`, `openai-responses`, `google`, `bedrock`; "
         "[providers](#providers)), `baseURL`, `publicOnly` (only `https` and public addresses), "
         "`apiKey` or `apiKeyFile`, `headers`"},
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
    {"modelInfo", JF_JSON_OBJECT, AT(model_overrides),
     .help = "by model: `contextTokens`, `maxOutputTokens`, `tools`, `images`, `pdf` (takes PDFs "
             "as they are), `thinking`, `price{input,output,cacheRead,cacheWrite5m,cacheWrite1h}` "
             "in USD per million tokens"},
    {INT("modelCalls.idleTimeoutMs", model_calls.idle_timeout_ms, 0, 3600000), .unit = "ms",
     .help =
         "time without a byte from the provider after which a call has failed; 0 = the default"},
    {INT("modelCalls.maxTries", model_calls.max_tries, 0, 20),
     .help = "tries of one call; 0 = the default"},
    {INT("modelCalls.retryBaseMs", model_calls.retry_base_ms, 0, 60000), .unit = "ms",
     .help = "wait before the first retry, longer for each further one; 0 = the default"},
    {"thinking", JF_STR, AT(thinking), "off", .choices = "off, adaptive, enabled",
     .help = "whether models that can reason do so before they answer"},

    {INT("files.maxMb", files.max_mb, 1, 256), .initial = "64", .unit = "MiB",
     .help = "largest file that people can give"},
    {INT("files.quotaMb", files.quota_mb, 1, 100000000), .initial = "10240", .unit = "MiB",
     .help = "all files of a workspace together"},

    {INT("maxIterations", limits.max_iterations, 1, CONFIG_ITERATIONS_MAX), .initial = "10",
     .help = "model calls per run"},
    {INT("maxInputTokens", limits.max_input_tokens, 1, INT64_MAX), .initial = "500000",
     .unit = "tokens", .help = "cumulative per run, cached input included"},
    {INT("maxOutputTokens", limits.max_output_tokens, 1, 1000000), .initial = "16384",
     .unit = "tokens", .help = "per answer; answers that hit it are continued up to 4 times"},
    {INT("maxDirectTools", limits.max_direct_tools, 0, 10000), .initial = "30",
     .help = "tools of apps that are shown directly; above it, only `nb__*` and what the "
             "conversation uses are shown ([agent.md](agent.md#tools))"},
    {INT("maxToolResultSize", limits.max_tool_result_size, 0, INT64_MAX), .initial = "1000000",
     .unit = "characters", .help = "larger results become errors"},

    {"skillDirs", JF_STRS, AT(skill_dirs), .help = "more directories with skills"},
    {"skills", JF_JSON, AT(skills), .help = "inline skills"},
    {"agents", JF_JSON_OBJECT, AT(agents), .flags = SETTING_LIVE,
     .help = "by name: profiles for `nb__delegate`, named with their descriptions in every prompt: "
             "`description`, `systemPrompt`, `tools`, `maxIterations`, `model`"},
    {"permissions", JF_JSON_OBJECT, AT(permissions), .flags = SETTING_LIVE,
     .help = "`default` (`allow` or `ask`), `allow`, `ask`, `deny`: globs over tool names; deny "
             "beats allow beats ask"},
    {"bundles", JF_JSON, AT(bundles), .flags = SETTING_LIVE,
     .help = "MCP servers, see [bundles.md](bundles.md)"},
    {"noProjectContext", JF_BOOL, AT(no_project_context),
     .help = "terminals do not read `AGENTS.md` and `CLAUDE.md` of their project "
             "([terminal.md](terminal.md#the-project))"},
    {"noDefaultBundles", JF_BOOL, AT(no_default_bundles), .flags = SETTING_LIVE,
     .help = "without the built-in `bash` bundle"},
    {"allowInsecureRemotes", JF_BOOL, AT(allow_insecure_remotes),
     .help = "bundles may use `http://localhost`"},
    {"allowInstall", JF_STRS, AT(allow_install),
     .help =
         "globs of package names and URLs that admins of a workspace may install (`[\"@ours/*\", "
         "\"https://mcp.ours.example/*\"]`); nothing else. Owners of the server are not limited"},
    {"registryUrl", JF_CSTR, AT(registry_url), NULL, "NB_REGISTRY_URL", .flags = SETTING_NULLABLE,
     .help = "where `nb bundle add NAME` and `nb bundle search` look"},

    {FEATURE("bundleManagement", bundle_management),
     .help = "install, configure and remove bundles. A feature that is `false` is neither listed "
             "nor callable"},
    {FEATURE("bundleDiscovery", bundle_discovery),
     .help = "`nb__discover_bundles`: search the registry"},
    {FEATURE("skillManagement", skill_management), .help = "create, change and delete skills"},
    {FEATURE("delegation", delegation), .help = "`nb__delegate`"},
    {FEATURE("toolDiscovery", tool_discovery),
     .help = "`nb__discover_tools`: search among the tools of apps"},
    {FEATURE("mcpServer", mcp_server), .help = "nb as an MCP server"},
    {"features.fileContext", JF_BOOL, .flags = SETTING_CHECKED | SETTING_HIDDEN},
    {FEATURE("userManagement", user_management), .help = "add and change users"},
    {FEATURE("workspaceManagement", workspace_management), .help = "add and change workspaces"},
    {"features.publicLinks", JF_BOOL, AT(features.public_links),
     .help = "owners of conversations may make links with which people without an account read "
             "them ([people.md](people.md#links-for-people-without-an-account)); off: links that "
             "exist do not work either"},
    {"people.ownWorkspace", JF_BOOL, AT(people.own_workspace),
     .help = "a person who is not a member of any workspace gets one of their own, as its admin; "
             "`false`: they are told to ask an admin ([people.md](people.md#commands))"},

    {INT("mcp.maxSessions", mcp.max_sessions, 1, 100000), .initial = "1000",
     .help = "sessions of nb as an MCP server, see [mcp.md](mcp.md)"},
    {INT("mcp.sessionIdleMs", mcp.session_idle_ms, 60000, 7 * DAY_MS), .initial = "28800000",
     .unit = "ms", .help = "time without a request after which a session ends"},
    {INT("mcp.answerWaitMs", mcp.answer_wait_ms, 1000, DAY_MS), .initial = "300000", .unit = "ms",
     .help = "how long a call waits for the answer of the client to a question"},
    {INT("mcp.maxConnections", mcp.max_connections, 1, 256), .initial = "8",
     .help = "private connections to one server of an older MCP revision"},

    {"apps.hostName", JF_STR, AT(apps.host_name), "nimblebrain",
     .help = "the name by which nb introduces itself to interfaces of tools; apps made for "
             "NimbleBrain use more features when it is `nimblebrain`"},

    {"timeZone", JF_STR, AT(time_zone), NULL, "NB_TIMEZONE",
     .help = "for dates in prompts and `nb__time`; an unknown one causes a warning at the start"},
    {"home", JF_JSON_OBJECT, AT(home), .help = "`userName`: how the agent addresses you"},
    {"telemetry.otlp.endpoint", JF_STR, AT(otlp.endpoint), NULL, "NB_OTLP_ENDPOINT",
     .is_valid = is_collector, .expected = "an address such as http://127.0.0.1:4318",
     .help = "sends traces of runs and metrics to this collector of OpenTelemetry (OTLP over HTTP, "
             "at `/v1/traces` and `/v1/metrics`); empty = off "
             "([observability.md](observability.md))"},
    {"telemetry.otlp.headers", JF_JSON_OBJECT, AT(otlp.headers),
     .help =
         "headers of those requests, by name: `{\"Authorization\": \"Bearer ...\"}`; at most 16"},
    {"telemetry.otlp.serviceName", JF_STR, AT(otlp.service_name), "nb",
     .help = "`service.name` of the traces and metrics"},
    {INT("telemetry.otlp.metricsIntervalMs", otlp.metrics_ms, 100, DAY_MS), .initial = "60000",
     .unit = "ms", .help = "time between two requests with metrics"},
    {"logging.level", JF_CSTR, AT(logging.level), "info",
     .choices = "debug, info, warn, error, off",
     .help = "least severe lines that are logged; `NB_DEBUG` sets `debug`"},
    {"logging.format", JF_CSTR, AT(logging.format), "text", .choices = "text, json",
     .help = "format of log lines"},
    {"logging.dir", JF_CSTR, AT(logging.dir),
     .flags = SETTING_NULLABLE | SETTING_NO_EFFECT | SETTING_HIDDEN},
    {"logging.disabled", JF_BOOL, AT(logging.disabled), .help = "no log"},
    {INT("demoDelayMs", demo_delay_ms, 0, 10000), .initial = "12", .variables = "NB_DEMO_DELAY_MS",
     .unit = "ms", .help = "time between the words of the demo model"},

    {VARIABLE("NB_API_KEY", secrets.nb_api_key), .flags = SETTING_SECRET},
    {VARIABLE("NB_OIDC_CLIENT_SECRET", secrets.oidc_client_secret), .flags = SETTING_SECRET},
    {VARIABLE("ANTHROPIC_BASE_URL", base_urls.anthropic)},
    {VARIABLE("OPENAI_BASE_URL", base_urls.openai)},
    {VARIABLE("GOOGLE_GEMINI_BASE_URL", base_urls.google)},
    {VARIABLE("ANTHROPIC_AUTH_TOKEN", secrets.anthropic_auth_token), .flags = SETTING_SECRET},
    {PROVIDER_KEY("bedrock", bedrock_api_key, "AWS_BEARER_TOKEN_BEDROCK")},
    {VARIABLE("AWS_ACCESS_KEY_ID", secrets.aws_access_key_id), .flags = SETTING_SECRET},
    {VARIABLE("AWS_SECRET_ACCESS_KEY", secrets.aws_secret_access_key), .flags = SETTING_SECRET},
    {VARIABLE("AWS_SESSION_TOKEN", secrets.aws_session_token), .flags = SETTING_SECRET},
    {VARIABLE("AWS_REGION AWS_DEFAULT_REGION", aws_region)},
    {VARIABLE("OPENAI_ORG_ID OPENAI_ORGANIZATION", openai.organization)},
    {VARIABLE("OPENAI_PROJECT_ID", openai.project)},
    {VARIABLE("OLLAMA_HOST", ollama_host)},
};
const size_t SETTINGS_LEN = ARRAY_LEN(SETTINGS);
