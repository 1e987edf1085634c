/* Logins, people, workspaces, the audit log: rows of the document. */
#include "api/bodies.h"
#include "api/describe/describe.h"

/* clang-format off */

const struct api_section DESCRIBE_SIGN_IN = {
    .tag = "Sign in",
    .about = "Logins of people with a browser. Programs use tokens instead.",
    .operations = (const struct api_operation[]){
        {"POST", "/v1/auth/login", "logIn", "Log in with a password, or with the key of the page's link", JSON_OF("Done"),
         .about = "Sets the cookie of the session.", .body = API_LOGIN_FIELDS, .errors = "401 409 500 503"},
        {"POST", "/v1/auth/logout", "logOut", "End the session of the cookie", JSON_OF("Done")},
        {"GET", "/v1/auth/session", "getSession", "Say who is logged in", JSON_OF("Session"),
         .about = "The details of a 401 say how people log in on this server.", .errors = "401"},
        {"POST", "/v1/auth/refresh", "refreshSession", "Continue a session that is about to end", JSON_OF("Done"), .errors = "401"},
        {"GET", "/v1/auth/authorize", "startSignIn", "Go to the identity provider to log in", {{302, NULL, NULL, "To the identity provider."}},
         .query = MEMBERS({"returnTo", "string", "The path of the page to return to."}), .errors = "503"},
        {"GET", "/v1/auth/callback", "finishSignIn", "Return from the identity provider", {{302, NULL, NULL, "To the page, logged in or with the reason why not."}},
         .query = MEMBERS({"state", "string", "Sent by the identity provider, as are the others."}, {"code", "string", NULL},
                          {"error", "string", NULL}, {"iss", "string", NULL})},
        {"GET", "/v1/auth/link", "getLink", "Get the link that opens the page", JSON_OF("PageLink")},
        {"POST", "/v1/auth/link/rotate", "replaceLink", "Replace the key of the link", JSON_OF("PageLink"),
         .about = "All sessions that were opened with the old key end.", .errors = "400 409"},
        {0}},
    .models = (const struct api_model[]){
        {"Done", "It was done.", MEMBERS({"ok", "boolean", "Always true."})},
        {"Error", "Why a request failed.", MEMBERS(
            {"error", "string", "A code for programs, such as not_found."},
            {"message", "string", "A sentence for people."},
            {"details?", "object", "More, where a program can use it."})},
        {"Session", "The person who is logged in.", MEMBERS(
            {"authenticated", "boolean", NULL}, {"mode", "'dev'|'key'|'local'|'oidc'", "How people log in here."},
            {"userId", "string", NULL}, {"displayName", "string|null", NULL},
            {"orgRole", "'owner'|'admin'|'member'", "The role on the server."}, {"expiresAt", "time|null", "When the session ends."})},
        {"PageLink", "The address of the page.", MEMBERS(
            {"mode", "'dev'|'key'|'local'|'oidc'", NULL}, {"url", "string", "Without the key; empty: the server has no port."},
            {"link", "string", "With the key, after #."}, {"key", "string", "Empty: people log in with accounts."})},
        {0}},
};

const struct api_section DESCRIBE_PEOPLE = {
    .tag = "People",
    .about = "People of this server, their preferences and tokens, and the audit log.",
    .operations = (const struct api_operation[]){
        {"GET", "/v1/users", "listUsers", "List the people of this server", JSON_OF("UserList")},
        {"POST", "/v1/users", "addUser", "Add a person", JSON_OF("User"), .body = API_USER_FIELDS, .errors = "409 500 503"},
        {"GET", "/v1/users/:user", "getUser", "Get a person", JSON_OF("User")},
        {"PATCH", "/v1/users/:user", "changeUser", "Change a person", JSON_OF("User"),
         .about = "People may change their own name and preferences; everything else is for administrators.", .body = API_USER_FIELDS, .errors = "409 500 503"},
        {"DELETE", "/v1/users/:user", "removeUser", "Remove a person", JSON_OF("Deleted"),
         .query = MEMBERS({"cascade", "'true'|'false'", "true: also the workspaces that nobody else is in."}), .errors = "409 500 503"},
        {"POST", "/v1/users/:user/password", "setPassword", "Set a password", JSON_OF("Done"), .body = API_PASSWORD_FIELDS, .errors = "409 500 503"},
        {"POST", "/v1/users/:user/sign-out", "signOutUser", "End all sessions of a person", JSON_OF("Done"), .errors = "409 500 503"},
        {"GET", "/v1/preferences", "getPreferences", "Get your preferences", JSON_OF("Preferences")},
        {"PATCH", "/v1/preferences", "changePreferences", "Change your preferences", JSON_OF("Preferences"),
         .about = "Members of the body replace those that are stored; null removes one.", .body_shape = "Preferences", .errors = "404 409 500 503"},
        {"GET", "/v1/tokens", "listTokens", "List tokens", JSON_OF("TokenList"),
         .query = MEMBERS({"userId", "string", "Whose; absent: yours. Others are for administrators."}), .errors = "404"},
        {"POST", "/v1/tokens", "createToken", "Create a token", JSON_OF("NewToken"), .about = "Its value is shown once.", .body = API_TOKEN_FIELDS, .errors = "404 409 500 503"},
        {"DELETE", "/v1/tokens/:token", "revokeToken", "Revoke a token", JSON_OF("Deleted"),
         .query = MEMBERS({"userId", "string", "Whose; absent: yours."}), .errors = "409 500 503"},
        {"GET", "/v1/audit", "listAudit", "Read the audit log", {{200, "application/json", "AuditPage", "Newest first, unless `after` is given."},
                                                                  {200, "application/jsonl", NULL, NULL}},
         .query = MEMBERS({"limit", "integer(1..1000)", "How many records; absent: 100."}, {"before", "integer(1..)", "Only records with a smaller number."},
                          {"after", "integer(0..)", "Only records with a larger number, oldest first."}, {"since", "string", "Only records from this date or time on."},
                          {"actor", "string", "Only records of this person or token."}, {"action", "string", "Only this action."},
                          {"format", "'json'|'jsonl'", "jsonl: one record in each line."}), .errors = "500"},
        {0}},
    .models = (const struct api_model[]){
        {"UserList", "People, and files about people that cannot be read.", MEMBERS(
            {"users", "User[]", NULL}, {"problems", "string[]", NULL})},
        {"User", "A person.", MEMBERS(
            {"id", "string", NULL}, {"email", "string|null", NULL}, {"displayName", "string|null", NULL},
            {"orgRole", "'owner'|'admin'|'member'", "The role on the server."}, {"createdAt", "time|null", NULL},
            {"hasPassword?", "boolean", "Absent in lists."}, {"preferences?", "Preferences|null", "Absent in lists."})},
        {"Deleted", "What was deleted.", MEMBERS({"id", "string", NULL}, {"deleted", "boolean", "Always true."})},
        {"Preferences", "Settings of a person for the page and other clients; any members.", NULL},
        {"TokenList", "Tokens of a person.", MEMBERS({"tokens", "Token[]", NULL})},
        {"Token", "A token, without its value.", MEMBERS(
            {"id", "string", NULL}, {"name", "string", NULL}, {"scopes", "string[]", NULL}, {"tools", "string[]", "Patterns; empty: all tools."},
            {"workspaceId", "string|null", "The only workspace that it may use."}, {"createdAt", "time|null", NULL},
            {"expiresAt", "time|null", NULL}, {"lastUsedAt", "time|null", NULL})},
        {"NewToken", "A new token.", MEMBERS({"id", "string", NULL}, {"token", "string", "Its value; it is not shown again."})},
        {"AuditPage", "A page of the audit log.", MEMBERS(
            {"records", "AuditRecord[]", NULL}, {"next?", "integer", "For `before` (or `after`): there are more."})},
        {"AuditRecord", "A record. Each contains the hash of the one in front of it.", MEMBERS(
            {"seq", "integer", NULL}, {"time", "time", NULL}, {"actor", "AuditActor", NULL}, {"workspace?", "string", NULL},
            {"action", "string", NULL}, {"target?", "string", NULL}, {"outcome", "string", NULL}, {"detail?", "string", NULL},
            {"prev", "string", NULL}, {"hash", "string", NULL})},
        {"AuditActor", "Who did it, and how they were known.", MEMBERS(
            {"user?", "string", NULL}, {"token?", "string", NULL}, {"how?", "string", NULL}, {"address?", "string", NULL},
            {"via?", "string", NULL}, {"run?", "string", NULL})},
        {0}},
};

const struct api_section DESCRIBE_WORKSPACES = {
    .tag = "Workspaces",
    .about = "Workspaces, their members and the permissions of their tools.",
    .operations = (const struct api_operation[]){
        {"GET", "/v1/bootstrap", "getBootstrap", "Get what a client needs to start", JSON_OF("Bootstrap"),
         .headers = MEMBERS({"X-Preferred-Workspace", "string", "The workspace that was used last."}), .errors = "400 500 503"},
        {"GET", "/v1/workspace", "getWorkspaceStatus", "Get the state of the workspace of the request", JSON_OF("WorkspaceStatus")},
        {"GET", "/v1/workspaces", "listWorkspaces", "List your workspaces", JSON_OF("WorkspaceList"),
         .query = MEMBERS({"all", "'true'|'false'", "true: all of the server's, for administrators."}), .errors = "500 503"},
        {"POST", "/v1/workspaces", "addWorkspace", "Add a workspace", JSON_OF("Workspace"), .body = API_WORKSPACE_FIELDS, .errors = "409 500 503"},
        {"GET", "/v1/workspaces/:ws", "getWorkspace", "Get a workspace", JSON_OF("Workspace")},
        {"PATCH", "/v1/workspaces/:ws", "renameWorkspace", "Rename a workspace", JSON_OF("Workspace"), .body = API_WORKSPACE_NAME_FIELDS, .errors = "409 500 503"},
        {"DELETE", "/v1/workspaces/:ws", "removeWorkspace", "Remove a workspace with everything in it", JSON_OF("Deleted"), .errors = "409 500 503"},
        {"GET", "/v1/workspaces/:ws/members", "listMembers", "List members", JSON_OF("MemberList")},
        {"POST", "/v1/workspaces/:ws/members", "addMember", "Add a member", JSON_OF("MemberList"), .body = API_MEMBER_FIELDS, .errors = "409 500 503"},
        {"PATCH", "/v1/workspaces/:ws/members/:user", "changeMember", "Change the role of a member", JSON_OF("MemberList"), .body = API_ROLE_FIELDS, .errors = "409 500 503"},
        {"DELETE", "/v1/workspaces/:ws/members/:user", "removeMember", "Remove a member, or leave", JSON_OF("Deleted"), .errors = "409 500 503"},
        {"GET", "/v1/notices", "listNotices", "List what concerns you: mentions, and conversations you were added to", JSON_OF("NoticeList")},
        {"POST", "/v1/notices/seen", "markNoticesSeen", "Mark notices as seen", JSON_OF("NoticeList"), .flags = API_BODY_MAY_BE_ABSENT, .body = API_SEEN_FIELDS},
        {"GET", "/v1/permissions", "getPermissions", "Get the rules for tools, and stored permissions", JSON_OF("Permissions")},
        {"PUT", "/v1/permissions", "setPermissions", "Replace rules for tools", JSON_OF("Permissions"),
         .about = "Lists that are absent stay as they are.", .body = API_RULE_FIELDS, .errors = "409 500"},
        {"DELETE", "/v1/permissions/consents/:tool", "withdrawConsent", "Withdraw a permission that you gave for always", JSON_OF("Permissions"), .errors = "500"},
        {"DELETE", "/v1/permissions/workspace-consents/:tool", "withdrawWorkspaceConsent", "Withdraw a permission of the workspace", JSON_OF("Permissions"), .errors = "500"},
        {0}},
    .models = (const struct api_model[]){
        {"Bootstrap", "Who asks, their workspaces, and the settings that clients show.", MEMBERS(
            {"user", "User|null", NULL}, {"workspaces", "Workspace[]", NULL}, {"activeWorkspace", "string", "The one that the other members are about."},
            {"authMode", "'dev'|'key'|'local'|'oidc'", NULL}, {"orgName", "string|null", NULL}, {"shell", "BootstrapShell", NULL}, {"config", "BootstrapConfig", NULL},
            {"version", "string", NULL})},
        {"BootstrapShell", "Where clients find chat and events.", MEMBERS(
            {"placements", "any[]", "Always empty; GET /v1/shell has them."}, {"chatEndpoint", "string", NULL}, {"eventsEndpoint", "string", NULL})},
        {"BootstrapConfig", "Models and limits.", MEMBERS(
            {"models", "{string|null}", "default, fast, reasoning."}, {"configuredProviders", "string[]", NULL}, {"maxIterations", "integer", NULL},
            {"maxInputTokens", "integer", NULL}, {"maxOutputTokens", "integer", NULL})},
        {"WorkspaceStatus", "The model in use and counts, for the start screen.", MEMBERS(
            {"version", "string", NULL}, {"model", "ModelInUse", NULL}, {"user", "UserReference", NULL},
            {"dataDir?", "string", "For administrators."}, {"examples?", "ExampleApp[]", "For administrators."},
            {"pageUrl?", "string", NULL}, {"store", "string", "The kind of the store."}, {"status", "ServerCounts", NULL})},
        {"ModelInUse", "The default model.", MEMBERS(
            {"name", "string", NULL}, {"why", "string", "Why it is this one."}, {"isDemo", "boolean", NULL})},
        {"UserReference", "A person by id.", MEMBERS({"id", "string", NULL})},
        {"ExampleApp", "An app that comes with nb, to try.", MEMBERS(
            {"name", "string", NULL}, {"title", "string", NULL}, {"message", "string", "A message that uses it."}, {"path", "string", NULL},
            {"isInstalled", "boolean", NULL})},
        {"ServerCounts", "What the server is doing.", MEMBERS(
            {"uptime", "integer", "Seconds."}, {"totalTools", "integer", NULL}, {"runs", "integer", "Runs in progress in this workspace."})},
        {"WorkspaceList", "Workspaces.", MEMBERS({"workspaces", "Workspace[]", NULL})},
        {"Workspace", "A workspace.", MEMBERS(
            {"id", "string", NULL}, {"name", "string", NULL}, {"role", "'admin'|'member'|null", "Your role; null: you are not a member."},
            {"memberCount", "integer", NULL}, {"bundleCount", "integer", NULL}, {"createdAt", "time|null", NULL})},
        {"MemberList", "Members of a workspace.", MEMBERS({"members", "Member[]", NULL})},
        {"Member", "A member.", MEMBERS(
            {"userId", "string", NULL}, {"displayName", "string|null", NULL}, {"email", "string|null", NULL}, {"role", "'admin'|'member'", NULL})},
        {"NoticeList", "Notices, the newest first.", MEMBERS({"notices", "Notice[]", NULL})},
        {"Notice", "Something that concerns a person.", MEMBERS(
            {"kind", "'mention'|'added'|'removed'", NULL}, {"conversationId", "string", NULL}, {"by", "string", "The id of the person who did it."}, {"timestamp", "string", NULL}, {"seen", "boolean", NULL})},
        {"Permissions", "Rules for tools, and what they decide.", MEMBERS(
            {"default", "'ask'|'allow'", NULL}, {"allow", "string[]", NULL}, {"ask", "string[]", NULL}, {"deny", "string[]", NULL},
            {"consents", "string[]", "Tools that you allowed permanently."}, {"workspaceConsents", "string[]", "Tools that were allowed for everybody."},
            {"mayChange", "boolean", NULL}, {"tools", "ToolDecision[]", NULL})},
        {"ToolDecision", "What the rules decide about a tool.", MEMBERS({"name", "string", NULL}, {"decision", "'allow'|'ask'|'deny'", NULL})},
        {0}},
};
