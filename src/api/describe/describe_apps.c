/* Apps, tools, skills, models, MCP: rows of the document. */
#include "api/bodies.h"
#include "api/describe/describe.h"
#include "bundle/entry/entry.h"
#include "skill/edit.h"

/* clang-format off */

const struct api_section DESCRIBE_APPS = {
    .tag = "Apps",
    .about = "Apps (bundles): MCP servers that nb starts or connects to for a workspace.",
    .operations = (const struct api_operation[]){
        {"GET", "/v1/apps", "listApps", "List apps", JSON_OF("AppList")},
        {"GET", "/v1/apps/oauth/callback", "finishAppSignIn", "Return from the sign-in of an app", {{302, NULL, NULL, "To the page."}},
         .about = "Browsers come here from the authorization server of a remote app."},
        {"GET", "/v1/apps/oauth/client.json", "getOauthClient", "Get the client metadata for sign-ins of apps", JSON_OF("OauthClient"), .errors = "404"},
        {"POST", "/v1/apps/import", "readAppConfiguration", "Read the configuration of another program", JSON_OF("ImportedServers"),
         .about = "Nothing is installed: the answer has the entries for POST /v1/apps/install.", .body = API_APP_IMPORT_FIELDS},
        {"POST", "/v1/apps/install", "installApp", "Install an app", JSON_OF("App"), .flags = API_BODY_OTHER_KEYS, .body = BUNDLE_ENTRY_FIELDS,
         .about = "One of name, path, url and command is required.", .errors = "404 409 500 502 503"},
        {"GET", "/v1/apps/:name", "getApp", "Get an app with its tools", JSON_OF("AppDetail")},
        {"DELETE", "/v1/apps/:name", "uninstallApp", "Uninstall an app; its data stays", JSON_OF("UninstalledApp"), .errors = "409 500"},
        {"POST", "/v1/apps/:name/start", "startApp", "Start an app", JSON_OF("AppState"), .errors = "409"},
        {"POST", "/v1/apps/:name/stop", "stopApp", "Stop an app", JSON_OF("AppState"), .errors = "409"},
        {"POST", "/v1/apps/:name/restart", "restartApp", "Restart an app", JSON_OF("AppState"), .errors = "409"},
        {"POST", "/v1/apps/:name/auth", "startAppSignIn", "Sign in to a remote app for the workspace", JSON_OF("SignInStart"), .errors = "409 502 503 504"},
        {"DELETE", "/v1/apps/:name/auth", "endAppSignIn", "Forget the sign-in of the workspace", JSON_OF("SignInEnd"), .errors = "409 500"},
        {"POST", "/v1/apps/:name/account", "startOwnSignIn", "Sign in to a remote app for yourself", JSON_OF("SignInStart"), .errors = "409 502 503 504"},
        {"DELETE", "/v1/apps/:name/account", "endOwnSignIn", "Forget your own sign-in", JSON_OF("SignInEnd"), .errors = "409 500"},
        {"POST", "/v1/apps/:name/approve", "approveApp", "Accept changed tools or instructions of an app", JSON_OF("AppApproval"), .body = API_APPROVAL_FIELDS, .errors = "409"},
        {"GET", "/v1/apps/:name/logs", "getAppLogs", "Get the last lines that an app logged", JSON_OF("AppLogs")},
        {"GET", "/v1/apps/:name/resources/*", "getAppResource", "Read a resource of an app by its path", JSON_OF("ResourceContents"), .errors = "503"},
        {"POST", "/v1/resources/read", "readResource", "Read a resource of an app by its address", JSON_OF("ResourceContents"), .body = API_RESOURCE_FIELDS, .errors = "404 503"},
        {"GET", "/v1/bundles/health", "listAppHealth", "List the states of apps", JSON_OF("AppHealth[]")},
        {0}},
    .models = (const struct api_model[]){
        {"AppList", "Apps of the workspace.", MEMBERS({"apps", "App[]", NULL})},
#define APP_MEMBERS \
            {"name", "string", NULL}, {"bundleName", "string", "The package."}, {"version", "string", NULL}, {"status", "'starting'|'running'|'crashed'|'dead'|'stopped'", NULL}, \
            {"reason", "string|null", "Why it does not run."}, {"kind", "'named'|'local'|'remote'|'command'|'built-in'", NULL}, \
            {"type", "'upjack'|'plain'", NULL}, {"toolCount", "integer", NULL}, {"quarantinedCount", "integer", "Tools that wait for an approval."}, \
            {"trustScore", "integer|null", NULL}, {"protected", "boolean", "It cannot be uninstalled."}, {"title", "string|null", NULL}, \
            {"description", "string|null", NULL}, {"ui", "object|null", "What its manifest shows on the page."}, {"auth?", "AppSignIn", "It supports a sign-in."}
        {"App", "An app.", MEMBERS(APP_MEMBERS)},
        {"AppDetail", "An app with its tools and its process.", MEMBERS(APP_MEMBERS,
            {"author", "string|null", NULL}, {"uptimeMs", "integer|null", NULL}, {"rssBytes", "integer|null", NULL}, {"restartCount", "integer", NULL},
            {"failures", "integer", NULL}, {"pid", "integer|null", NULL}, {"sandbox", "string|null", NULL}, {"protocolVersion", "string|null", NULL},
            {"tools", "AppTool[]", NULL}, {"quarantined?", "HeldTool[]", NULL}, {"instructionsChanged?", "ChangedInstructions", NULL})},
        {"AppSignIn", "How people sign in to a remote app.", MEMBERS(
            {"type", "'oauth'", NULL}, {"per", "'person'|'workspace'", NULL}, {"needsSignIn", "boolean", NULL})},
        {"AppTool", "A tool of an app.", MEMBERS(
            {"name", "string", NULL}, {"description", "string", NULL}, {"effect", "'reads'|'changes'|'destroys'|'undeclared'", "What it says about its effect."}, {"warnings", "string[]", NULL})},
        {"HeldTool", "A tool that changed, or is new, and waits for an approval.", MEMBERS(
            {"name", "string", NULL}, {"shownName?", "string", "The name with hidden characters made visible."}, {"why", "'new'|'changed'|'shadows'|'hidden'|'repeated'|'too_large'", NULL}, {"detail", "string", NULL},
            {"digest", "string", "For the approval."}, {"changes", "DefinitionChange[]", NULL}, {"warnings", "string[]", NULL})},
        {"DefinitionChange", "A changed part of a definition.", MEMBERS(
            {"field", "string", NULL}, {"before", "string|null", NULL}, {"after", "string|null", NULL})},
        {"ChangedInstructions", "Instructions of an app that changed.", MEMBERS(
            {"digest", "string", NULL}, {"before", "string", NULL}, {"after", "string", NULL}, {"warnings", "string[]", NULL})},
        {"AppApproval", "What still waits.", MEMBERS(
            {"name", "string", NULL}, {"toolCount", "integer", NULL}, {"quarantinedCount", "integer", NULL}, {"quarantined", "HeldTool[]", NULL},
            {"instructionsChanged?", "ChangedInstructions", NULL})},
        {"AppState", "The state of an app.", MEMBERS({"name", "string", NULL}, {"status", "'starting'|'running'|'crashed'|'dead'|'stopped'", NULL})},
        {"AppHealth", "The state of an app and its process.", MEMBERS(
            {"name", "string", NULL}, {"state", "'starting'|'running'|'crashed'|'dead'|'stopped'", NULL}, {"uptime", "integer|null", "Milliseconds."}, {"restartCount", "integer", NULL})},
        {"AppLogs", "Lines that an app logged.", MEMBERS({"name", "string", NULL}, {"logs", "string", NULL})},
        {"UninstalledApp", "An app that was uninstalled.", MEMBERS(
            {"name", "string", NULL}, {"uninstalled", "boolean", NULL}, {"dataPreserved", "boolean", NULL}, {"dataPath", "string", NULL})},
        {"ImportedServers", "Servers of another program.", MEMBERS({"servers", "ImportedServer[]", NULL})},
        {"ImportedServer", "A server of another program.", MEMBERS(
            {"name", "string", NULL}, {"entry", "object|null", "For POST /v1/apps/install."},
            {"isForOwner", "boolean", "Only the owner of the server's machine may install it."}, {"source", "string|null", NULL}, {"notes", "string[]", NULL})},
        {"SignInStart", "Where the browser goes to sign in.", MEMBERS({"url", "string", NULL}, {"expiresInS", "integer", NULL})},
        {"SignInEnd", "The sign-in was forgotten.", MEMBERS({"signedIn", "boolean", NULL})},
        {"ResourceContents", "A resource, as MCP returns it.", MEMBERS({"contents", "any", NULL})},
        {"OauthClient", "Client metadata (OAuth client id metadata document).", MEMBERS(
            {"client_id", "string", NULL}, {"client_name", "string", NULL}, {"client_uri", "string", NULL}, {"redirect_uris", "string[]", NULL},
            {"grant_types", "string[]", NULL}, {"response_types", "string[]", NULL}, {"token_endpoint_auth_method", "string", NULL},
            {"application_type", "string", NULL})},
        {0}},
};

const struct api_section DESCRIBE_TOOLS = {
    .tag = "Tools",
    .about = "Tools of apps and of nb itself.",
    .operations = (const struct api_operation[]){
        {"GET", "/v1/tools", "listTools", "List the tools that you may use", JSON_OF("ToolList"),
         .query = MEMBERS({"server", "string", "Only the tools of this source."})},
        {"POST", "/v1/tools/call", "callTool", "Call a tool", JSON_OF("ToolResult"), .about = "A tool that fails answers with 200 and `isError`.",
         .body = API_CALL_FIELDS, .errors = "404 409 502 503 504"},
        {0}},
    .models = (const struct api_model[]){
        {"ToolList", "Tools.", MEMBERS({"tools", "Tool[]", NULL})},
        {"Tool", "A tool.", MEMBERS(
            {"name", "string", "Unique in the workspace: source__tool."}, {"server", "string", "Its source."}, {"tool", "string", "Its own name."},
            {"title", "string|null", NULL}, {"description", "string", NULL}, {"inputSchema", "any", "JSON Schema of the arguments."}, {"annotations?", "object", NULL})},
        {"ToolResult", "A result, as MCP defines it, and in short.", MEMBERS(
            {"content", "ToolContent[]", NULL}, {"structuredContent?", "any", NULL}, {"_meta?", "any", NULL}, {"isError", "boolean", NULL},
            {"result", "any", "The structured content, else the text as JSON if it is JSON, else the text."})},
        {"ToolContent", "A block of content, as MCP defines it; other members depend on the type.", NULL},
        {0}},
};

const struct api_section DESCRIBE_SKILLS = {
    .tag = "Skills",
    .about = "Skills: instructions for the agent that people write.",
    .operations = (const struct api_operation[]){
        {"GET", "/v1/skills", "listSkills", "List skills", JSON_OF("SkillList"), .errors = "500"},
        {"POST", "/v1/skills/match", "matchSkill", "Find the skill that a message would select", JSON_OF("SkillMatch"), .body = API_MATCH_FIELDS, .errors = "500"},
        {"PUT", "/v1/skills/workspace/:name", "saveSkill", "Create or replace a skill of the workspace", JSON_OF("SkillChange"),
         .flags = API_BODY_OTHER_KEYS, .body = SKILL_DRAFT_FIELDS, .errors = "409 500"},
        {"DELETE", "/v1/skills/workspace/:name", "deleteSkill", "Delete a skill of the workspace", JSON_OF("SkillChange"), .errors = "409 500"},
        {"PUT", "/v1/skills/personal/:name", "saveOwnSkill", "Create or replace a skill of your own", JSON_OF("SkillChange"),
         .flags = API_BODY_OTHER_KEYS, .body = SKILL_DRAFT_FIELDS, .errors = "409 500"},
        {"DELETE", "/v1/skills/personal/:name", "deleteOwnSkill", "Delete a skill of your own", JSON_OF("SkillChange"), .errors = "409 500"},
        {"GET", "/v1/instructions", "getInstructions", "Get your instructions and those of the workspace", JSON_OF("InstructionSets")},
        {"PUT", "/v1/instructions/workspace", "setInstructions", "Set the instructions of the workspace", JSON_OF("Done"), .body = API_INSTRUCTIONS_FIELDS, .errors = "409 500"},
        {"PUT", "/v1/instructions/personal", "setOwnInstructions", "Set your instructions", JSON_OF("Done"), .body = API_INSTRUCTIONS_FIELDS, .errors = "409 500"},
        {"GET", "/v1/prompts", "listPrompts", "List saved prompts, your own first", JSON_OF("SavedPromptList")},
        {"PUT", "/v1/prompts/workspace/:name", "savePrompt", "Create or replace a saved prompt of the workspace", JSON_OF("Done"), .body = API_SAVED_PROMPT_FIELDS, .errors = "409 500"},
        {"DELETE", "/v1/prompts/workspace/:name", "deletePrompt", "Delete a saved prompt of the workspace", JSON_OF("Done"), .errors = "409 500"},
        {"PUT", "/v1/prompts/personal/:name", "saveOwnPrompt", "Create or replace a saved prompt of your own", JSON_OF("Done"), .body = API_SAVED_PROMPT_FIELDS, .errors = "409 500"},
        {"DELETE", "/v1/prompts/personal/:name", "deleteOwnPrompt", "Delete a saved prompt of your own", JSON_OF("Done"), .errors = "409 500"},
        {"POST", "/v1/prompt", "previewPrompt", "Show what a model would be sent for a message", JSON_OF("PromptPreview"), .body = API_PROMPT_FIELDS, .errors = "409 500"},
        {0}},
    .models = (const struct api_model[]){
        {"SkillList", "Skills, and files that are not valid skills.", MEMBERS({"skills", "Skill[]", NULL}, {"problems", "SkillProblem[]", NULL})},
        {"Skill", "A skill.", MEMBERS(
            {"name", "string", NULL}, {"description", "string", NULL}, {"version", "string", NULL}, {"type", "'skill'|'context'", NULL}, {"priority", "integer", NULL},
            {"source", "string", "Where it comes from."}, {"path?", "string", "For administrators."}, {"allowedTools", "string[]", NULL},
            {"requiresBundles", "string[]", NULL}, {"triggers", "string[]", NULL}, {"keywords", "string[]", NULL}, {"tags", "string[]", NULL},
            {"category", "string", NULL}, {"author", "string", NULL}, {"body", "string", "Markdown."})},
        {"SkillProblem", "A file that is not a valid skill.", MEMBERS(
            {"severity", "'error'|'warning'", NULL}, {"path", "string", NULL}, {"line", "integer", NULL}, {"message", "string", NULL})},
        {"SkillMatch", "The skill that a message selects, and why.", MEMBERS(
            {"skill", "string|null", NULL}, {"phase", "'trigger'|'keywords'|null", NULL}, {"keywordsNeeded", "integer", NULL}, {"candidates", "SkillCandidate[]", NULL})},
        {"SkillCandidate", "A skill that was considered.", MEMBERS({"skill", "string", NULL}, {"trigger", "string|null", NULL}, {"keywords", "string[]", NULL})},
        {"SkillChange", "A skill that was saved or deleted.", MEMBERS(
            {"name", "string", NULL}, {"scope", "'personal'|'workspace'", NULL}, {"deleted", "boolean", NULL})},
        {"InstructionSets", "Instructions that are part of prompts.", MEMBERS(
            {"personal", "Instructions", "Part of runs whose messages are all yours."}, {"workspace", "Instructions", "Part of every run."},
            {"maxBytes", "integer", NULL}, {"mayEditWorkspace", "boolean", NULL})},
        {"Instructions", "A text for the agent.", MEMBERS({"text", "string", "Empty: there are none."}, {"by", "string|null", "Who wrote it."}, {"updatedAt", "time|null", NULL})},
        {"SavedPromptList", "Saved prompts.", MEMBERS({"prompts", "SavedPrompt[]", NULL}, {"mayEditWorkspace", "boolean", NULL})},
        {"SavedPrompt", "A text for messages.", MEMBERS(
            {"name", "string", NULL}, {"scope", "'personal'|'workspace'", NULL}, {"description", "string", NULL}, {"text", "string", NULL},
            {"variables", "string[]", "Names in double braces in the text."}, {"by", "string|null", "Who wrote it."}, {"updatedAt", "time|null", NULL})},
        {"PromptPreview", "What a model would be sent.", MEMBERS(
            {"model", "string", NULL}, {"conversationId", "string|null", NULL}, {"match", "SkillMatch", NULL}, {"layers", "PromptLayer[]", NULL},
            {"tools", "PromptTool[]", NULL}, {"hiddenTools", "integer", "Tools that are found with nb__discover_tools."}, {"messages", "integer", NULL},
            {"tokens", "PromptTokens", "Estimates."}, {"isCompactionDue", "boolean", NULL}, {"request", "string", "The body of the request to the provider."})},
        {"PromptLayer", "A part of the system prompt.", MEMBERS(
            {"layer", "integer", NULL}, {"name", "string", NULL}, {"author", "string", NULL}, {"tokens", "integer", NULL}, {"isVolatile", "boolean", NULL}, {"text", "string", NULL})},
        {"PromptTool", "A tool that is offered.", MEMBERS({"name", "string", NULL}, {"tokens", "integer", NULL})},
        {"PromptTokens", "Tokens by part.", MEMBERS({"prompt", "integer", NULL}, {"tools", "integer", NULL}, {"messages", "integer", NULL}, {"total", "integer", NULL})},
        {0}},
};

const struct api_section DESCRIBE_MODELS = {
    .tag = "Models",
    .about = "Models and their providers.",
    .operations = (const struct api_operation[]){
        {"GET", "/v1/models", "listModels", "List models and providers", JSON_OF("ModelList")},
        {"POST", "/v1/models/look", "lookForModels", "Look for model servers on this machine", JSON_OF("ModelList"), .errors = "503"},
        {"PUT", "/v1/models/default", "setDefaultModel", "Set the default model", JSON_OF("ModelSetup"), .body = API_DEFAULT_MODEL_FIELDS, .errors = "409 500 503"},
        {"GET", "/v1/models/*", "getModel", "Get a model in the form of OpenAI", JSON_OF("ServedModel"), .error_shape = "OpenaiError"},
        {"POST", "/v1/providers", "addProvider", "Add a model server with an address of its own", JSON_OF("ModelSetup"),
         .about = "It is asked for one word first; one that does not answer is not stored. Its model becomes the default.", .body = API_ENDPOINT_FIELDS, .errors = "409 422 500 502 503"},
        {"PUT", "/v1/providers/:name/key", "setProviderKey", "Store the key of a provider", JSON_OF("ModelSetup"), .body = API_KEY_FIELDS, .errors = "409 422 500 502 503"},
        {"DELETE", "/v1/providers/:name/key", "deleteProviderKey", "Delete the key of a provider that was entered", JSON_OF("ModelSetup"), .errors = "404 409 500"},
        {0}},
    .models = (const struct api_model[]){
        {"ModelList", "Models and providers.", MEMBERS(
            {"default", "DefaultModel", NULL}, {"mayChange", "boolean", "The caller may change models."}, {"providers", "Provider[]", NULL}, {"models", "Model[]", NULL},
            {"object", "'list'", NULL}, {"data", "ServedModel[]", "The same for clients of OpenAI and Anthropic, with agents."}, {"has_more", "boolean", "Always false."})},
        {"ServedModel", "A model, or an agent, in the form of OpenAI and Anthropic.", MEMBERS(
            {"id", "string", "For `model` of a request."}, {"object", "'model'", NULL}, {"created", "integer", "Not known: the same for all."}, {"owned_by", "string", NULL},
            {"type", "'model'", NULL}, {"display_name", "string", NULL}, {"created_at", "time", NULL})},
        {"DefaultModel", "The default model.", MEMBERS({"model", "string", NULL}, {"why", "string", NULL}, {"isConfigured", "boolean", NULL})},
        {"Model", "A model.", MEMBERS(
            {"name", "string", "provider:model"}, {"provider", "string", NULL}, {"isDefault", "boolean", NULL}, {"contextTokens", "integer|null", NULL},
            {"maxOutputTokens", "integer|null", NULL}, {"usdPerMillionTokens", "ModelPrice|null", NULL},
            {"pricedOn", "string|null", "Month of the list price; null: set by the configuration, or unknown."}, {"canUseTools", "boolean", NULL},
            {"canSeeImages", "boolean", NULL}, {"canReadPdf", "boolean", NULL}, {"canThink", "boolean", NULL}, {"retiresOn", "string|null", NULL}, {"isRetired", "boolean", NULL},
            {"successor", "string|null", NULL})},
        {"ModelPrice", "Prices of a million tokens in US dollars.", MEMBERS(
            {"input", "number", NULL}, {"output", "number", NULL}, {"cacheRead", "number", NULL}, {"cacheWrite5m", "number", NULL}, {"cacheWrite1h", "number", NULL})},
        {"Provider", "A provider of models.", MEMBERS(
            {"name", "string", NULL}, {"type", "string", NULL}, {"baseUrl", "string", NULL}, {"isConfigured", "boolean", NULL}, {"isUsable", "boolean", NULL},
            {"problem", "string|null", NULL}, {"defaultModel", "string|null", NULL}, {"isLocal", "boolean", "A server of the kind that people run on their own machine."},
            {"takesKey", "boolean", "The caller may set a key."}, {"hasEnteredKey", "boolean", "A key was entered while nb ran, and the caller may delete it."})},
        {"ModelSetup", "The default model after the change.", MEMBERS(
            {"provider", "string", NULL}, {"isAccepted?", "boolean", "The provider was asked, and accepts the key."},
            {"doubt?", "string", "Why the key was stored although the provider could not be asked."}, {"defaultModel", "string", NULL}, {"why", "string", NULL})},
        {0}},
};

/* Errors of the protocol are messages of JSON-RPC; refusals of the server have its own form. */
#define MCP_ERRORS "JsonRpc|Error"
#define MCP_ANSWERS                                                                                \
    {{200, "application/json", "JsonRpc", "The response, or several."}, {200, "text/event-stream", NULL, NULL}, {202, NULL, NULL, "A notification was taken."}}

const struct api_section DESCRIBE_MCP = {
    .tag = "MCP",
    .about = "The tools of a workspace for other agents, over the Model Context Protocol. See docs/mcp.md.",
    .operations = (const struct api_operation[]){
        {"POST", "/mcp", "sendMcp", "Send a message of MCP", MCP_ANSWERS, .body_shape = "JsonRpc|JsonRpc[]", .errors = "404 406 415", .error_shape = MCP_ERRORS},
        {"GET", "/mcp", "openMcp", "Open the stream of an MCP session", {{200, "text/event-stream", NULL, "Messages of the server."}}, .errors = "404 405 406 409", .error_shape = MCP_ERRORS},
        {"DELETE", "/mcp", "endMcp", "End an MCP session", {{200, NULL, NULL, "It has ended."}, {204, NULL, NULL, "It has ended."}}, .errors = "404 405", .error_shape = MCP_ERRORS},
        {"POST", "/mcp/:source", "sendMcpOf", "Send a message of MCP for the tools of one source", MCP_ANSWERS, .body_shape = "JsonRpc|JsonRpc[]", .errors = "406 415", .error_shape = MCP_ERRORS},
        {"GET", "/mcp/:source", "openMcpOf", "Open the stream of an MCP session for one source", {{200, "text/event-stream", NULL, "Messages of the server."}}, .errors = "405 406 409", .error_shape = MCP_ERRORS},
        {"DELETE", "/mcp/:source", "endMcpOf", "End an MCP session for one source", {{200, NULL, NULL, "It has ended."}, {204, NULL, NULL, "It has ended."}}, .errors = "405", .error_shape = MCP_ERRORS},
        {"GET", "/sse", "openSse", "Open a session of the older transport (HTTP with SSE)", {{200, "text/event-stream", NULL, "Messages of the server."}}, .errors = "503", .error_shape = MCP_ERRORS},
        {"POST", "/sse/message", "sendSse", "Send a message in a session of the older transport", {{202, NULL, NULL, "It was taken."}},
         .body_shape = "JsonRpc", .query = MEMBERS({"session", "string", "The id of the session."}), .errors = "404 415", .error_shape = MCP_ERRORS},
        {"GET", "/.well-known/oauth-protected-resource", "getResourceMetadata", "Say which authorization server issues tokens", JSON_OF("ResourceMetadata"), .errors = "404"},
        {"GET", "/.well-known/oauth-protected-resource/mcp", "getMcpMetadata", "Say which authorization server issues tokens for /mcp", JSON_OF("ResourceMetadata"), .errors = "404"},
        {0}},
    .models = (const struct api_model[]){
        {"JsonRpc", "A message of JSON-RPC 2.0, as MCP defines it.", NULL},
        {"ResourceMetadata", "Metadata of a protected resource (RFC 9728).", MEMBERS(
            {"resource", "string", NULL}, {"authorization_servers", "string[]", NULL}, {"bearer_methods_supported", "string[]", NULL})},
        {0}},
};
