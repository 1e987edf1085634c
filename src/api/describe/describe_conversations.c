/* Chat, conversations, files, events, views, the server itself: rows of the document. */
#include "api/bodies.h"
#include "api/describe/describe.h"

/* clang-format off */

#define RANGE_HEADER MEMBERS({"Range", "string", "A range of bytes."})
#define PREVIEW_PARAMETERS \
    {"thumb", "'1'", "A small version of a picture, or of the first page of a PDF, instead."}, \
    {"pages", "'1'", "How many pages a PDF has, and their sizes, instead."}, \
    {"page", "integer(1..1000)", "A page of a PDF as a picture instead."}, \
    {"size", "'large'", "With `page`: a picture for enlarging."}, \
    {"words", "integer(1..1000)", "What is written on a page of a PDF instead."}
#define PREVIEW_ANSWER {200, "application/json", "FilePages|FileWords", "With `pages` or `words`."}

const struct api_section DESCRIBE_CHAT = {
    .tag = "Chat",
    .about = "Messages to the agent. Three routes take the same body and differ in when they answer.",
    .operations = (const struct api_operation[]){
        {"POST", "/v1/chat", "chat", "Send a message and wait for the whole answer", JSON_OF("ChatAnswer"), .flags = API_BODY_OTHER_KEYS,
         .body = API_CHAT_FIELDS, .errors = "402 409 500 501 502 503 507"},
        {"POST", "/v1/chat/start", "startChat", "Send a message and do not wait", {{202, "application/json", "ChatStarted", "A run has started, or the message waits."}},
         .about = "The events of the conversation have the answer.", .flags = API_BODY_OTHER_KEYS, .body = API_CHAT_FIELDS, .errors = "402 409 500 501 503 507"},
        {"POST", "/v1/chat/stream", "streamChat", "Send a message and receive the answer as events", {{200, "text/event-stream", NULL, "Events until `done` or `error`."}},
         .flags = API_BODY_OTHER_KEYS | API_SENDS_CHAT, .body = API_CHAT_FIELDS, .errors = "402 409 500 501 503 507"},
        {"POST", "/v1/conversations/:id/cancel", "cancelRun", "Cancel the answer in progress", JSON_OF("Cancelled"), .errors = "500"},
        {"POST", "/v1/conversations/:id/typing", "tellTyping", "Tell the others that you are writing", {{204, NULL, NULL, NULL}},
         .flags = API_BODY_MAY_BE_ABSENT, .body = API_TYPING_FIELDS, .errors = "500"},
        {"GET", "/v1/conversations/:id/inputs", "listQuestions", "List questions of tools that wait for people", JSON_OF("QuestionList"), .errors = "500"},
        {"POST", "/v1/conversations/:id/inputs/:input", "answerQuestion", "Answer a question of a tool", JSON_OF("QuestionAnswer"), .body = API_INPUT_FIELDS, .errors = "409 500"},
        {"GET", "/v1/conversations/:id/queue", "listQueue", "List messages that wait until the agent has answered", JSON_OF("Queue"), .errors = "500"},
        {"PATCH", "/v1/conversations/:id/queue/:message", "changeQueued", "Change a waiting message", JSON_OF("QueueChange"), .body = API_QUEUE_FIELDS, .errors = "409 500"},
        {"DELETE", "/v1/conversations/:id/queue/:message", "withdrawQueued", "Withdraw a waiting message", JSON_OF("QueueChange"), .errors = "409 500"},
        {0}},
    .models = (const struct api_model[]){
        {"ChatAnswer", "The answer to a message.", MEMBERS(
            {"response", "string", "The text."}, {"conversationId", "string", NULL}, {"runId", "string", NULL}, {"skillName", "string|null", NULL},
            {"toolCalls", "ToolRecord[]", NULL}, {"inputTokens", "integer", NULL}, {"outputTokens", "integer", NULL},
            {"stopReason", "'complete'|'max_iterations'|'token_budget'|'length'|'refusal'|'waiting'|'cancelled'|'error'", "waiting: `ask` has a question."},
            {"ask?", "Ask", NULL}, {"usage", "RunUsage", NULL})},
        {"ToolRecord", "A call of a tool during the run.", MEMBERS(
            {"id", "string", NULL}, {"name", "string", NULL}, {"input", "any", NULL}, {"output", "string", NULL}, {"ok", "boolean", NULL}, {"ms", "integer", NULL})},
        {"RunUsage", "What a run used.", MEMBERS(
            {"inputTokens", "integer", NULL}, {"outputTokens", "integer", NULL}, {"cacheReadTokens", "integer", NULL}, {"cacheCreationTokens", "integer", NULL},
            {"costUsd", "number|null", "null: the price is not known."}, {"model", "string", NULL}, {"llmMs", "integer", NULL}, {"totalMs", "integer", NULL},
            {"iterations", "integer", NULL})},
        {"ChatStarted", "The run, or the place in the queue.", MEMBERS({"conversationId", "string", NULL}, {"runId?", "string", NULL}, {"queuedId?", "string", NULL})},
        {"Cancelled", "Whether something was cancelled.", MEMBERS({"cancelled", "boolean", NULL})},
        {"Ask", "Tool calls that wait for a person's permission.", MEMBERS({"askId", "string", NULL}, {"calls?", "AskCall[]", NULL})},
        {"AskCall", "A call that waits.", MEMBERS(
            {"id", "string", NULL}, {"name", "string", NULL}, {"input?", "any", NULL}, {"needsPermission?", "boolean", NULL}, {"canRemember?", "boolean", NULL},
            {"directory?", "string", "Of a terminal: the command would run there."}, {"words?", "string", "A permission can be limited to commands that begin with them."})},
        {"QuestionList", "Questions of tools.", MEMBERS({"conversationId", "string", NULL}, {"inputs", "Question[]", NULL})},
        {"Question", "A question of a tool while its call waits: a form, a page to visit, the use of the model.", MEMBERS(
            {"inputId", "string", NULL}, {"kind", "'form'|'url'|'sampling'", NULL}, {"source", "string", "The app that asks."}, {"callId", "string", NULL},
            {"message", "string", NULL}, {"forUserId?", "string", "Only this person may answer."}, {"schema?", "object", "Of the form."}, {"url?", "string", NULL}, {"detail?", "any", NULL})},
        {"QuestionAnswer", "The answer that was taken.", MEMBERS({"inputId", "string", NULL}, {"action", "string", NULL})},
        {"Queue", "Messages that wait.", MEMBERS({"conversationId", "string", NULL}, {"messages", "QueuedMessage[]", NULL})},
        {"QueuedMessage", "A message that waits until the agent has answered.", MEMBERS(
            {"queuedId", "string", NULL}, {"userId", "string|null", NULL}, {"displayName", "string|null", NULL}, {"mode", "'queue'|'steer'", NULL},
            {"message", "string", NULL}, {"files?", "FilePart[]", NULL}, {"forPeople?", "boolean", NULL}, {"queuedAt", "time", NULL})},
        {"QueueChange", "What became of a waiting message.", MEMBERS({"queuedId", "string", NULL}, {"withdrawn", "boolean", NULL})},
        {0}},
};

const struct api_section DESCRIBE_CONVERSATIONS = {
    .tag = "Conversations",
    .about = "Stored conversations: lists, history, sharing, notes, search, export and usage.",
    .operations = (const struct api_operation[]){
        {"GET", "/v1/conversations", "listConversations", "List conversations", JSON_OF("ConversationPage"),
         .query = MEMBERS({"limit", "integer(1..1000)", "How many; absent: 20."}, {"cursor", "string", "`nextCursor` of the page in front."},
                          {"search", "string", "Words in titles and previews."}, {"hidden", "'true'|'false'", "true: also those that apps started."},
                          {"pinned", "'true'|'false'", "Only those that you pinned, or only the others."}, {"archived", "'true'|'false'", "Likewise: that you archived."},
                          {"unread", "'true'|'false'", "Likewise: with messages that you have not read."},
                          {"own", "'true'|'false'", "Whether it belongs to you."}, {"shared", "'true'|'false'", "Whether others take part."},
                          {"project", "string", "Only those of this project that you may see."},
                          {"sortBy", "'createdAt'|'updatedAt'", "Newest first; absent: updatedAt."}), .errors = "404 500"},
        {"GET", "/v1/conversations/stats", "getStats", "Get totals over conversations", JSON_OF("Stats"),
         .query = MEMBERS({"period", "'day'|'week'|'month'|'year'|'all'", "Absent: all."}), .errors = "500"},
        {"GET", "/v1/conversations/:id", "getConversation", "Get a conversation without its messages", JSON_OF("Conversation"), .errors = "500"},
        {"PATCH", "/v1/conversations/:id", "renameConversation", "Change the title of a conversation", JSON_OF("Conversation"), .body = API_TITLE_FIELDS, .errors = "409 500 507"},
        {"DELETE", "/v1/conversations/:id", "deleteConversation", "Move a conversation to the trash", JSON_OF("DeletedConversation"),
         .query = MEMBERS({"purge", "'true'|'false'", "true: delete it without the trash, or from it."}), .errors = "409 500"},
        {"PATCH", "/v1/conversations/:id/marks", "markConversation", "Pin, archive or mark a conversation as read, for yourself", JSON_OF("ConversationMarks"),
         .about = "Nobody else sees it. Your other streams get `conversation.marked`.", .body = API_MARKS_FIELDS, .errors = "500 507"},
        {"PUT", "/v1/conversations/:id/project", "moveConversation", "Put a conversation into a project, or take it out", JSON_OF("Done"),
         .about = "Who may read the conversation does not change.", .body = API_MOVE_FIELDS, .errors = "409 500"},
        {"GET", "/v1/projects", "listProjects", "List projects that you may see", JSON_OF("ProjectList")},
        {"POST", "/v1/projects", "addProject", "Create a project", JSON_OF("Project"), .body = API_PROJECT_FIELDS, .errors = "409 500"},
        {"PATCH", "/v1/projects/:project", "changeProject", "Change a project", JSON_OF("Project"), .body = API_PROJECT_FIELDS, .errors = "409 500"},
        {"DELETE", "/v1/projects/:project", "removeProject", "Delete a project and its files; its conversations stay", JSON_OF("Done"), .errors = "409 500 503"},
        {"GET", "/v1/projects/:project/files", "listProjectFiles", "List the files of a project", JSON_OF("ProjectFileList")},
        {"POST", "/v1/projects/:project/files", "addProjectFile", "Add a file that you have given to a project", JSON_OF("ProjectFile"),
         .about = "The agent can read it in conversations of the project.", .body = API_PROJECT_FILE_FIELDS, .errors = "409 500 503 507"},
        {"GET", "/v1/projects/:project/files/:file", "getProjectFile", "Download a file of a project",
         {{200, "application/octet-stream", NULL, "The bytes."}, PREVIEW_ANSWER, {206, "application/octet-stream", NULL, "The range that was asked for."}},
         .query = MEMBERS(PREVIEW_PARAMETERS), .headers = RANGE_HEADER, .errors = "416 500 501 503"},
        {"DELETE", "/v1/projects/:project/files/:file", "removeProjectFile", "Take a file out of a project", JSON_OF("Done"), .errors = "409 500 503"},
        {"GET", "/v1/trash", "listTrash", "List conversations in the trash that you may restore", JSON_OF("Trash"), .about = "Deleted conversations are kept for 7 days.", .errors = "500"},
        {"POST", "/v1/conversations/:id/restore", "restoreConversation", "Take a conversation out of the trash", JSON_OF("Conversation"), .errors = "409 500"},
        {"POST", "/v1/conversations/:id/fork", "forkConversation", "Copy a conversation", JSON_OF("Conversation"), .flags = API_BODY_MAY_BE_ABSENT,
         .body = API_FORK_FIELDS, .query = MEMBERS({"atMessage", "integer(0..)", "The same as in the body."}), .errors = "409 500 507"},
        {"GET", "/v1/conversations/:id/branches", "listBranches", "List the branches of a conversation", JSON_OF("BranchList"), .errors = "500"},
        {"POST", "/v1/conversations/:id/promote", "promoteBranch", "Make a branch a conversation of its own", JSON_OF("Conversation"), .errors = "409 500 507"},
        {"GET", "/v1/conversations/:id/export", "exportConversation", "Export a conversation",
         {{200, "text/markdown", NULL, "The conversation as a file."}, {200, "text/html", NULL, NULL}, {200, "application/json", "any", NULL},
          {200, "application/x-ndjson", NULL, NULL}},
         .query = MEMBERS({"format", "'markdown'|'html'|'json'|'jsonl'", "jsonl: the log itself; absent: markdown."},
                          {"tools", "'true'|'false'", "false: without tool calls."},
                          {"thoughts", "'true'|'false'", "true: with the thoughts of models, in Markdown and HTML."}), .errors = "500"},
        {"GET", "/v1/conversations/:id/history", "getHistory", "Read the messages of a conversation", JSON_OF("History"),
         .query = MEMBERS({"limit", "integer(1..20000)", "How many events are read; absent: 2000."}, {"before", "integer(1..)", "`before` of the page behind."}), .errors = "500"},
        {"GET", "/v1/conversations/:id/blobs/:blob", "getBlob", "Read a large tool result", {{200, "application/json", "any", "The JSON text of the result, or a range of it."}},
         .query = MEMBERS({"offset", "integer(0..)", "The first byte."}, {"limit", "integer(1..)", "How many bytes; absent: to the end."}), .errors = "422 500"},
        {"GET", "/v1/conversations/:id/calls/:call/parts/:part", "getResultPart", "Read a part of a tool result",
         {{200, "application/octet-stream", NULL, "Its bytes, else its text, else its JSON; Content-Type says which."}},
         .query = MEMBERS({"offset", "integer(0..)", "The first byte."}, {"limit", "integer(1..)", "How many bytes; absent: to the end."},
                          {"position", "integer(1..)", "Where the call is in the log; finds it sooner."}), .errors = "422 500"},
        {"GET", "/v1/conversations/:id/notes", "listNotes", "List notes", JSON_OF("NoteList"), .errors = "500"},
        {"POST", "/v1/conversations/:id/notes", "addNote", "Add a note that the agent does not see", JSON_OF("NoteList"), .body = API_NOTE_FIELDS, .errors = "409 500 507"},
        {"POST", "/v1/conversations/:id/share", "shareConversation", "Share a conversation", JSON_OF("Conversation"), .flags = API_BODY_MAY_BE_ABSENT,
         .body = API_SHARING_FIELDS, .errors = "409 500 507"},
        {"POST", "/v1/conversations/:id/unshare", "unshareConversation", "Make a conversation private", JSON_OF("Conversation"), .errors = "409 500 507"},
        {"POST", "/v1/conversations/:id/leave", "leaveConversation", "Leave a conversation of somebody else", JSON_OF("LeftConversation"), .errors = "409 500 507"},
        {"POST", "/v1/conversations/:id/participants", "addParticipant", "Share a conversation with one more person", JSON_OF("Conversation"), .body = API_PARTICIPANT_FIELDS, .errors = "409 500 507"},
        {"DELETE", "/v1/conversations/:id/participants/:user", "removeParticipant", "Stop sharing a conversation with a person", JSON_OF("Conversation"), .errors = "409 500 507"},
        {"GET", "/v1/conversations/:id/links", "listLinks", "List links of a conversation for people without an account", JSON_OF("LinkList"), .errors = "500"},
        {"POST", "/v1/conversations/:id/links", "addLink", "Make a link with which people without an account read a conversation", JSON_OF("NewLink"),
         .about = "It shows what was written before it was made. Needs `features.publicLinks`.", .flags = API_BODY_MAY_BE_ABSENT, .body = API_LINK_FIELDS, .errors = "409 500 507"},
        {"DELETE", "/v1/conversations/:id/links/:link", "revokeLink", "Revoke a link", JSON_OF("Done"), .errors = "500 507"},
        {"GET", "/v1/links", "listAllLinks", "List links of a workspace for people without an account", JSON_OF("LinkList"), .errors = "500"},
        {"DELETE", "/v1/links/:link", "revokeAnyLink", "Revoke a link of anybody", JSON_OF("Done"), .errors = "404 500 507"},
        {"POST", "/v1/shared", "readShared", "Read a conversation with a link", JSON_OF("SharedPage"),
         .about = "The newest page first. The title is that of the moment the link was made. Without messages for people only, notes, thoughts and names of people.", .body = API_SHARED_FIELDS, .errors = "404 503"},
        {"GET", "/v1/search", "search", "Search in messages", JSON_OF("SearchPage"),
         .query = MEMBERS({"q!", "string(1..)", "The words."}, {"conversation", "string", "Only in this conversation."}, {"limit", "integer(1..200)", "How many; absent: 20."},
                          {"order", "'newest'|'relevance'", "Absent: newest."}), .errors = "500 503"},
        {"GET", "/v1/usage", "getUsage", "Get tokens and cost", JSON_OF("Usage"),
         .query = MEMBERS({"from", "string", "The first day, such as 2026-03-25."}, {"to", "string", "The day behind the last one."},
                          {"groupBy", "'day'|'model'|'user'", "Absent: day."}), .errors = "500"},
        {"GET", "/v1/budgets", "getBudgets", "Get what may still be spent in this month", JSON_OF("Budgets")},
        {"PUT", "/v1/budgets", "setBudgets", "Set what people and the workspace may spend in a month", JSON_OF("Budgets"), .body = API_BUDGET_FIELDS, .errors = "409 500"},
        {"POST", "/v1/conversations/import", "importConversations", "Import conversations of other programs from a file that you have given", JSON_OF("Import"),
         .about = "The archive of ChatGPT or Claude.ai as it was downloaded, or its conversations.json.", .body = API_IMPORT_GIVEN_FIELDS, .errors = "404 409 500"},
        {"GET", "/v1/conversations/import", "getOwnImport", "Get the progress of your latest import", JSON_OF("Import"), .errors = "404"},
        {"POST", "/v1/import", "startImport", "Import conversations from files on the server's machine", JSON_OF("Import"), .body = API_IMPORT_FIELDS, .errors = "409"},
        {"GET", "/v1/import", "getImport", "Get the progress of the latest import", JSON_OF("Import")},
        {0}},
    .models = (const struct api_model[]){
        {"ConversationPage", "A page of conversations.", MEMBERS(
            {"conversations", "Conversation[]", NULL}, {"nextCursor", "string|null", NULL}, {"totalCount", "integer", NULL},
            {"indexing?", "Indexing", "Older conversations are missing: they are still being read. Ask again."},
            {"unreadable?", "string[]", "Ids of conversations that cannot be read; for administrators."})},
        {"Indexing", "How far the server has read logs that it does not know yet, the latest first.", MEMBERS(
            {"percent", "integer", NULL}, {"done?", "integer", "Logs; for administrators."}, {"total?", "integer", "Logs; for administrators."})},
        {"Conversation", "A conversation without its messages.", MEMBERS(
            {"id", "string", NULL}, {"createdAt", "string", NULL}, {"updatedAt", "string", NULL}, {"title", "string|null", NULL}, {"preview", "string", "The start of the first message."},
            {"messageCount", "integer", NULL}, {"totalInputTokens", "integer", NULL}, {"totalOutputTokens", "integer", NULL},
            {"totalCostUsd", "number|null", "null: a price is not known."}, {"lastModel", "string|null", NULL}, {"workspaceId", "string", NULL},
            {"ownerId", "string|null", NULL}, {"visibility", "'private'|'shared'", NULL}, {"participants", "string[]", NULL}, {"readers?", "string[]", "Participants who may not write."},
            {"channel?", "string", NULL}, {"forkedFrom?", "string", NULL}, {"forkKind?", "'branch'", NULL},
            {"branch?", "BranchPlace", "It is a branch, which is not listed."}, {"metadata?", "object", NULL}, {"badLines?", "integer", "Lines of the log that cannot be read."},
            {"isRunning", "boolean", NULL}, {"lastRun", "string|null", "How the last run ended."},
            {"may", "ConversationRights", "What the caller may do with it."},
            {"projectId?", "string", "The project it is in, if you may see that."},
            {"isPinned?", "boolean", "By the caller; in lists, and for one conversation."}, {"isArchived?", "boolean", "By the caller; likewise."},
            {"isUnread?", "boolean", "There are messages that the caller has not read; likewise."})},
        {"Budgets", "Budgets of a month, in US dollars.", MEMBERS(
            {"month", "string|null", "Such as 2026-03, in UTC; null: there is no limit, and nothing is counted."}, {"isCounting", "boolean", "The logs of the month are still being read."},
            {"personal", "Budget", "Of the caller."}, {"workspace", "Budget", "Amounts are for administrators."}, {"limits?", "BudgetLimits", "For administrators."})},
        {"Budget", "A limit and what was spent.", MEMBERS(
            {"state", "'unlimited'|'ok'|'warning'|'stopped'", "warning: from 80 % on."}, {"limitUsd?", "number|null", NULL}, {"spentUsd?", "number", NULL})},
        {"BudgetLimits", "Limits as they are set.", MEMBERS(
            {"workspaceUsd", "number|null", NULL}, {"personUsd", "number|null", NULL}, {"people", "{number}", "By the ids of people."})},
        {"ProjectList", "Projects.", MEMBERS({"projects", "Project[]", NULL})},
        {"Project", "Conversations that belong together.", MEMBERS(
            {"id", "string", NULL}, {"name", "string", NULL}, {"ownerId", "string", NULL}, {"members", "string[]", "Without the owner."},
            {"instructions", "string", "Part of runs in its conversations."}, {"instructionsBy", "string|null", "Who wrote them."},
            {"createdAt", "time", NULL}, {"updatedAt", "time", NULL}, {"conversationCount", "integer", "Also those that you may not see."}, {"fileCount", "integer", NULL}, {"mayManage", "boolean", NULL})},
        {"ProjectFileList", "Files of a project, the latest first.", MEMBERS({"files", "ProjectFile[]", NULL})},
        {"ProjectFile", "A file of a project.", MEMBERS(
            {"id", "string", NULL}, {"name", "string", NULL}, {"mimeType", "string", NULL}, {"bytes", "integer", NULL}, {"createdAt", "time|null", NULL}, {"addedBy", "string", "Who added it."})},
        {"ConversationMarks", "What the caller keeps about a conversation.", MEMBERS(
            {"conversationId", "string", NULL}, {"isPinned", "boolean", NULL}, {"isArchived", "boolean", NULL}, {"isUnread", "boolean", NULL})},
        {"Trash", "Conversations in the trash, the last deleted first.", MEMBERS({"conversations", "TrashedConversation[]", NULL})},
        {"TrashedConversation", "A deleted conversation.", MEMBERS(
            {"id", "string", NULL}, {"title", "string|null", NULL}, {"preview", "string", NULL}, {"messageCount", "integer", NULL}, {"updatedAt", "string", NULL}, {"deletedAt", "time|null", NULL})},
        {"ConversationRights", "What a person may do with a conversation.", MEMBERS(
            {"send", "boolean", "Write messages and answer questions."}, {"rename", "boolean", NULL}, {"delete", "boolean", NULL},
            {"share", "boolean", "Change who takes part."}, {"leave", "boolean", "Stop taking part."},
            {"branch", "boolean", "Make branches of it."})},
        {"BranchPlace", "Where a branch begins.", MEMBERS(
            {"of", "string", "The conversation behind which it is hidden."}, {"at", "integer", "How many messages it has in common with `forkedFrom`."},
            {"rootAt", "integer", "How many with the conversation `of`."})},
        {"BranchList", "Branches, the latest first.", MEMBERS({"conversationId", "string", "The conversation at the root."}, {"branches", "Branch[]", NULL})},
        {"Branch", "Another course of a conversation.", MEMBERS(
            {"id", "string", NULL}, {"forkedFrom", "string", NULL}, {"at", "integer", "As in BranchPlace."}, {"rootAt", "integer", "As in BranchPlace."},
            {"createdAt", "string", NULL}, {"updatedAt", "string", NULL})},
        {"LeftConversation", "A conversation that the caller has left.", MEMBERS({"id", "string", NULL}, {"left", "boolean", NULL})},
        {"DeletedConversation", "A conversation that was deleted.", MEMBERS({"id", "string", NULL}, {"deleted", "boolean", NULL}, {"purged", "boolean", "Not only moved to the trash."})},
        {"Stats", "Totals over conversations.", MEMBERS(
            {"period", "string", NULL}, {"since", "string|null", NULL},
            {"conversations", "integer", NULL}, {"messages", "integer", NULL}, {"inputTokens", "integer", NULL}, {"outputTokens", "integer", NULL},
            {"cacheReadTokens", "integer", NULL}, {"cacheWrite5mTokens", "integer", NULL}, {"cacheWrite1hTokens", "integer", NULL}, {"knownCostUsd", "number", NULL},
            {"unpricedConversations", "integer", NULL}, {"models", "ModelStats[]", NULL})},
        {"ModelStats", "Totals of one model.", MEMBERS(
            {"model", "string", NULL}, {"conversations", "integer", NULL}, {"messages", "integer", NULL}, {"inputTokens", "integer", NULL}, {"outputTokens", "integer", NULL},
            {"cacheReadTokens", "integer", NULL}, {"cacheWrite5mTokens", "integer", NULL}, {"cacheWrite1hTokens", "integer", NULL}, {"knownCostUsd", "number", NULL},
            {"unpricedConversations", "integer", NULL})},
        {"History", "Messages of a conversation.", MEMBERS(
            {"conversationId", "string", NULL}, {"messages", "HistoryMessage[]", NULL}, {"ask", "Ask|null", "What the conversation waits for now."},
            {"inputs", "Question[]", "What tools wait for now."}, {"end", "integer", "The position to follow from."}, {"before", "integer|null", "Asks for the page in front of this one."})},
        {"LinkList", "Links, the newest first.", MEMBERS({"isOn", "boolean", "Whether links work: `features.publicLinks`."}, {"links", "Link[]", NULL})},
        {"Link", "A link with which people without an account read a conversation.", MEMBERS(
            {"id", "string", NULL}, {"conversationId", "string", NULL}, {"by", "string", "The person who made it."}, {"createdAt", "time", "What was written later is not shown."},
            {"expiresAt", "time", NULL}, {"tools", "boolean", "It shows inputs and results of tools."})},
        {"NewLink", "A link, with its secret.", MEMBERS(
            {"id", "string", NULL}, {"conversationId", "string", NULL}, {"by", "string", NULL}, {"createdAt", "time", NULL}, {"expiresAt", "time", NULL}, {"tools", "boolean", NULL},
            {"path", "string", "The address, relative to that of the page. It is not told again."})},
        {"SharedPage", "Messages of a conversation, for somebody with a link.", MEMBERS(
            {"title", "string|null", NULL}, {"createdAt", "time", "Of the link."}, {"expiresAt", "time", NULL}, {"messages", "SharedMessage[]", NULL},
            {"before", "integer|null", "Asks for the page in front of this one."})},
        {"SharedMessage", "A message.", MEMBERS(
            {"role", "'user'|'assistant'", NULL}, {"person?", "integer", "Numbers people, from 1; the same on all pages."}, {"content", "string", NULL}, {"timestamp", "string", NULL},
            {"files?", "string[]", "Names of files; the files themselves are not shared."}, {"tools", "SharedTool[]", NULL})},
        {"SharedTool", "A tool that was called.", MEMBERS({"name", "string", NULL}, {"input?", "any", "If the link shows it."}, {"output?", "string", "Its text, likewise."})},
        {"HistoryMessage", "A message; a run of several answers is several messages.", MEMBERS(
            {"role", "'user'|'assistant'", NULL}, {"content", "string", "The text of all parts."}, {"parts", "ContentPart[]", NULL}, {"timestamp", "string", NULL},
            {"position", "integer", "Where it ends in the log."}, {"userId?", "string", NULL}, {"forPeople?", "boolean", "Not to the agent."}, {"app?", "string", "The app whose interface wrote it."}, {"context?", "ViewContext[]", NULL},
            {"runId?", "string", NULL}, {"model?", "string", NULL}, {"inputTokens?", "integer", NULL}, {"outputTokens?", "integer", NULL}, {"cacheReadTokens?", "integer", NULL},
            {"llmMs?", "integer", NULL}, {"thinkingMs?", "integer", "How long the model thought, as far as it told."}, {"toolCalls?", "HistoryCall[]", NULL}, {"asks?", "AnsweredAsk[]", "Answered questions about its calls."},
            {"stopReason?", "string", "How the run ended: that of an answer, or one behind a user's message without any."},
            {"nextRunId?", "string", "Of a run that began behind the message."}, {"nextSkill?", "string", "That was matched for that run."},
            {"compacted?", "Compaction", "From this message on, the model gets a summary of older messages."}, {"error?", "string", NULL}, {"errorType?", "string", "Of run.error: provider_auth_error, budget_exceeded ..."})},
        {"Compaction", "Older messages that the model does not get any more.", MEMBERS(
            {"summary", "string", "What it gets instead."}, {"summarizedMessageCount", "integer", NULL}, {"cutBecause?", "string", "Why there is no new summary."})},
        {"AnsweredAsk", "Who decided about calls, and when.", MEMBERS(
            {"askId", "string", NULL}, {"callIds", "string[]", NULL}, {"decision", "string", "allow, deny, or declined: a message came instead."},
            {"decisions?", "object", "By call, where they differ: true, false or always."},
            {"always?", "string", "Where it is remembered: conversation, me or workspace."}, {"words?", "string", "Only commands that begin with them are."}, {"userId?", "string", NULL}, {"timestamp", "string", NULL})},
#define FILE_VIEW_MEMBERS {"view?", "FileView", NULL}, {"unreadable?", "string", "Why a PDF has no text."}
        {"ContentPart", "A part of a message. Unknown types exist; other members depend on the type.", MEMBERS(
            {"type", "string", NULL}, {"text?", "string", NULL}, {"toolCallId?", "string", NULL}, {"toolName?", "string", NULL}, {"input?", "any", NULL},
            {"file?", "string", "Of a file that a person gave."}, {"name?", "string", NULL}, {"mimeType?", "string", NULL}, {"bytes?", "integer", NULL},
            FILE_VIEW_MEMBERS)},
        {"FilePart", "A file that a message names.", MEMBERS(
            {"type", "string", "image, audio or file."}, {"file", "string", NULL}, {"name", "string", NULL}, {"mimeType", "string", NULL}, {"bytes", "integer", NULL},
            FILE_VIEW_MEMBERS)},
        {"FileView", "A file as models get it: a smaller picture, or the text of a PDF.", MEMBERS(
            {"file", "string", NULL}, {"mimeType", "string", NULL}, {"bytes", "integer", NULL}, {"width?", "integer", NULL}, {"height?", "integer", NULL})},
        {"ViewContext", "What an open interface of the sender showed when they sent the message.", MEMBERS(
            {"app", "string", NULL}, {"callId?", "string", NULL}, {"text", "string", NULL})},
        {"HistoryCall", "A call of a tool.", MEMBERS(
            {"id", "string", NULL}, {"name", "string", NULL}, {"input", "any", NULL}, {"output", "string", "The text of the result."},
            {"parts?", "ResultPart[]", "Absent: the output is all there is."}, {"blob?", "ResultBlob", NULL}, {"ok", "boolean", NULL}, {"isAnswered", "boolean", NULL},
            {"ms", "integer", NULL}, {"childId?", "string", "The conversation of the run it delegated to."}, {"resourceUri?", "string", "Of the tool's interface."})},
        {"ResultPart", "A part of a tool's result in short; unknown types exist.", MEMBERS(
            {"type", "string", "text, image, audio, resource, resource_link or structured."}, {"text?", "string", NULL}, {"value?", "any", "Of structured content."},
            {"mimeType?", "string", NULL}, {"uri?", "string", NULL}, {"name?", "string", NULL}, {"title?", "string", NULL}, {"description?", "string", NULL},
            {"size?", "integer", "That a link says."}, {"bytes?", "integer", NULL}, {"address?", "string", "It is not complete: here is the whole of it."})},
        {"ResultBlob", "A result that is too large for the log: its JSON text.", MEMBERS({"bytes", "integer", NULL}, {"address", "string", NULL})},
        {"NoteList", "Notes of a conversation.", MEMBERS({"conversationId", "string", NULL}, {"notes", "Note[]", NULL})},
        {"Note", "A note.", MEMBERS({"timestamp", "string", NULL}, {"author", "string", NULL}, {"content", "string", NULL})},
        {"SearchPage", "Messages that were found.", MEMBERS(
            {"results", "SearchHit[]", NULL}, {"total", "integer|null", "null: not counted."}, {"isPartial", "boolean", "Not everything was searched."},
            {"indexing?", "Indexing", "Older conversations are still being read and were not searched."})},
        {"SearchHit", "A message that was found.", MEMBERS(
            {"conversationId", "string", NULL}, {"title", "string", NULL}, {"timestamp", "string", NULL}, {"role", "string", NULL}, {"position", "integer", NULL},
            {"snippet", "string", NULL}, {"parts", "SnippetPart[]", "The snippet, cut where hits begin and end."})},
        {"SnippetPart", "A part of a snippet.", MEMBERS({"text", "string", NULL}, {"isHit", "boolean", NULL})},
#define USAGE_MEMBERS \
            {"calls", "integer", NULL}, {"inputTokens", "integer", NULL}, {"outputTokens", "integer", NULL}, {"cacheReadTokens", "integer", NULL}, \
            {"cacheWrite5mTokens", "integer", NULL}, {"cacheWrite1hTokens", "integer", NULL}, {"costUsd", "number|null", "null: a price is not known."}, \
            {"knownCostUsd", "number", NULL}, {"unpricedCalls", "integer", NULL}, {"estimatedCalls", "integer", NULL}
        {"Usage", "Tokens and cost.", MEMBERS(
            {"from", "string|null", NULL}, {"to", "string|null", NULL}, {"groupBy", "'day'|'model'|'user'", NULL}, {"conversations", "integer", NULL},
            {"total", "UsageTotal", NULL}, {"rows", "UsageRow[]", NULL})},
        {"UsageTotal", "Tokens and cost of all calls.", MEMBERS(USAGE_MEMBERS)},
        {"UsageRow", "Tokens and cost of a day, a model or a person.", MEMBERS(
            {"day?", "string", NULL}, {"model?", "string", NULL}, {"user?", "string", NULL}, {"displayName?", "string", NULL}, USAGE_MEMBERS)},
        {"Import", "The latest import.", MEMBERS(
            {"path", "string", NULL}, {"isRunning", "boolean", NULL}, {"share", "number", "Of the work that is done, from 0 to 1."}, {"conversations", "integer", NULL},
            {"existing", "integer", NULL}, {"events", "integer", NULL}, {"lost", "integer", NULL}, {"losses", "string[]", NULL}, {"error", "string|null", NULL})},
        {0}},
};

const struct api_section DESCRIBE_FILES = {
    .tag = "Files",
    .about = "Files that people give, for messages.",
    .operations = (const struct api_operation[]){
        {"POST", "/v1/files", "addFile", "Give a file", JSON_OF("File"), .about = "Its type is found in its bytes, not in its name.", .flags = API_BODY_IS_FILE,
         .query = MEMBERS({"name", "string", "The name of a file that is the body."}), .headers = MEMBERS({"X-File-Name", "string", "The same, percent-encoded."}), .errors = "500 507"},
        {"GET", "/v1/files", "listFiles", "List your files", JSON_OF("FileList"), .errors = "500"},
        {"POST", "/v1/files/uploads", "startUpload", "Begin a file that comes in several requests", JSON_OF("Upload"), .body = API_UPLOAD_FIELDS, .errors = "413 500 507"},
        {"GET", "/v1/files/uploads/:upload", "getUpload", "Say how much of an upload has arrived", JSON_OF("Upload")},
        {"PATCH", "/v1/files/uploads/:upload", "sendUpload", "Send the next bytes of an upload", JSON_OF("UploadProgress"), .flags = API_BODY_IS_BYTES,
         .headers = MEMBERS({"Upload-Offset!", "integer(0..)", "How many bytes were sent so far."}), .errors = "409 500 507"},
        {"DELETE", "/v1/files/uploads/:upload", "dropUpload", "End an upload without a file", JSON_OF("Done")},
        {"GET", "/v1/files/:file", "getFile", "Download a file", {{200, "application/octet-stream", NULL, "The bytes; Content-Type is the type that was found."},
                                                                   PREVIEW_ANSWER, {206, "application/octet-stream", NULL, "The range that was asked for."}},
         .query = MEMBERS(PREVIEW_PARAMETERS), .headers = RANGE_HEADER, .errors = "416 500 501 503"},
        {"DELETE", "/v1/files/:file", "removeFile", "Delete a file", JSON_OF("Done"), .about = "Conversations that name it keep it.", .errors = "409 500"},
        {"GET", "/v1/conversations/:id/files/:file", "getConversationFile", "Download a file of a conversation",
         {{200, "application/octet-stream", NULL, "The bytes."}, PREVIEW_ANSWER, {206, "application/octet-stream", NULL, "The range that was asked for."}},
         .query = MEMBERS({"name", "string", "The name of the download."}, PREVIEW_PARAMETERS), .headers = RANGE_HEADER, .errors = "416 500 501 503"},
        {0}},
    .models = (const struct api_model[]){
        {"Upload", "A file that comes in several requests.", MEMBERS(
            {"id", "string", NULL}, {"name", "string", NULL}, {"bytes", "integer", "Of the whole file."}, {"offset", "integer", "How many of them have arrived."}, {"expiresAt", "time|null", NULL})},
        {"UploadProgress", "What has arrived.", MEMBERS({"offset", "integer", NULL}, {"file", "File|null", "null: it is not complete."})},
        {"FilePages", "The pages of a PDF.", MEMBERS(
            {"count", "integer", "As the PDF says."}, {"pages", "PageSize[]", "Of pages that can be shown, from page 1 on; at most 1000."})},
        {"PageSize", "The size of a page, in points.", MEMBERS({"width", "number", NULL}, {"height", "number", NULL})},
        {"FileWords", "What is written on a page of a PDF.", MEMBERS({"words", "PageWord[]", "In reading order; at most 20,000."})},
        {"PageWord", "A word and its place, in points from the upper left corner of its page.", MEMBERS(
            {"x", "number", NULL}, {"y", "number", NULL}, {"width", "number", NULL}, {"height", "number", NULL}, {"text", "string", NULL})},
        {"FileList", "Files.", MEMBERS({"files", "File[]", NULL})},
        {"File", "A file.", MEMBERS(
            {"id", "string", NULL}, {"name", "string", NULL}, {"mimeType", "string", NULL}, {"bytes", "integer", NULL}, {"createdAt", "time|null", NULL})},
        {0}},
};

const struct api_section DESCRIBE_EVENTS = {
    .tag = "Events",
    .about = "Streams of events as they happen (server-sent events). See docs/live.md.",
    .operations = (const struct api_operation[]){
        {"GET", "/v1/events", "followWorkspace", "Follow a workspace, and conversations in it", {{200, "text/event-stream", NULL, "Events without end."}},
         .flags = API_SENDS_SPACE, .query = MEMBERS({"after", "string", "The id of the last event that was received."},
                                                     {"watch", "string", "Ids of conversations, each with @ and a position or without, separated by commas; at most 50."}),
         .headers = MEMBERS({"Last-Event-ID", "string", "The same as `after`."})},
        {"POST", "/v1/events/:stream/watch", "changeWatch", "Change which conversations a stream follows", {{204, NULL, NULL, NULL}}, .body = API_WATCH_FIELDS, .errors = "409"},
        {"GET", "/v1/conversations/:id/events", "followConversation", "Follow a conversation", {{200, "text/event-stream", NULL, "Events without end."}},
         .flags = API_SENDS_CONVERSATION, .query = MEMBERS({"after", "integer(0..)", "The position to continue from; absent: only new events."}),
         .headers = MEMBERS({"Last-Event-ID", "string", "The same as `after`."}), .errors = "500"},
        {0}},
};

const struct api_section DESCRIBE_VIEWS = {
    .tag = "Views",
    .about = "Interfaces of apps that people have open on the page (MCP Apps). See docs/apps.md.",
    .operations = (const struct api_operation[]){
        {"GET", "/v1/shell", "getShell", "List the places of apps on the page", JSON_OF("Shell")},
        {"POST", "/v1/views", "openView", "Open the interface of a tool call, or a placement of an app", JSON_OF("View"), .body = API_VIEW_FIELDS, .errors = "409 429 500 502 503"},
        {"GET", "/v1/views/:view", "getView", "Get the state of the call behind a view", JSON_OF("ViewState"), .errors = "500"},
        {"DELETE", "/v1/views/:view", "closeView", "Close a view", JSON_OF("Done")},
        {"POST", "/v1/views/:view/rpc", "callFromView", "Pass on a request of an interface",
         {{200, "application/json", "ViewReply", "The response."}, {200, "text/event-stream", NULL, NULL}},
         .about = "With Accept: text/event-stream the events progress and ask may come before done.", .body = API_RPC_FIELDS},
        {"POST", "/v1/views/:view/asks/:ask", "answerView", "Answer a question about a request of an interface", JSON_OF("Done"), .body = API_VIEW_ASK_FIELDS},
        {"PUT", "/v1/views/:view/tools", "offerViewTools", "Offer tools of an interface to the agent", JSON_OF("ViewOffer"),
         .about = "The list replaces the one before.", .body = API_VIEW_TOOLS_FIELDS, .errors = "409"},
        {"GET", "/v1/views/:view/calls", "listViewCalls", "List calls that wait for an interface", JSON_OF("ViewCallList")},
        {"POST", "/v1/views/:view/calls/:call", "answerViewCall", "Answer a call of a tool of an interface", JSON_OF("Done"), .body = API_VIEW_ANSWER_FIELDS},
        {"GET", "/sandbox/:view", "getSandbox", "Get the document around an interface", {{200, "text/html", NULL, "A page for a frame."}}},
        {0}},
    .models = (const struct api_model[]){
        {"Shell", "Places of apps on the page.", MEMBERS({"placements", "Placement[]", NULL}, {"chatEndpoint", "string", NULL}, {"eventsEndpoint", "string", NULL})},
        {"Placement", "A place of an app on the page.", MEMBERS(
            {"app", "string", NULL}, {"slot", "string", NULL}, {"uri", "string", NULL}, {"label", "string", NULL}, {"icon", "string|null", NULL},
            {"route", "string|null", NULL}, {"priority", "integer", NULL}, {"size", "string", NULL})},
        {"View", "An open interface.", MEMBERS(
            {"viewId", "string", NULL}, {"app", "string", NULL}, {"title", "string", NULL}, {"conversationId", "string|null", NULL}, {"callId", "string|null", NULL},
            {"tool", "object|null", "The definition of the tool."}, {"sandbox", "ViewSandbox", NULL}, {"hostInfo", "object", NULL},
            {"hostCapabilities", "object", NULL}, {"resource", "ViewResource|null", "The interface; null: `problem` says why."}, {"problem", "ViewProblem|null", NULL},
            {"state", "'preparing'|'running'|'done'|'cancelled'", NULL}, {"arguments", "object|null", NULL}, {"result", "object|null", NULL}, {"reason", "string", NULL})},
        {"ViewSandbox", "The frame of an interface.", MEMBERS(
            {"url", "string", NULL}, {"origin", "string", NULL}, {"isApart", "boolean", "It has an origin of its own."})},
        {"ViewResource", "An interface.", MEMBERS(
            {"uri", "string", NULL}, {"html", "string|null", NULL}, {"csp", "{string[]}", "Hosts that it may use, by purpose."}, {"permissions", "object", NULL},
            {"prefersBorder", "boolean|null", NULL}, {"dropped", "string[]", "Entries of its metadata that were refused."}, {"sha256", "string", NULL})},
        {"ViewProblem", "Why an interface cannot be shown.", MEMBERS({"code", "string", NULL}, {"message", "string", NULL})},
        {"ViewState", "The state of the call behind a view.", MEMBERS(
            {"state", "'preparing'|'running'|'done'|'cancelled'", NULL}, {"arguments", "object|null", NULL}, {"result", "object|null", NULL}, {"reason", "string", NULL})},
        {"ViewOffer", "How many tools are offered.", MEMBERS({"count", "integer", NULL})},
        {"ViewCallList", "Calls that wait for an interface.", MEMBERS({"calls", "ViewCall[]", NULL})},
        {"ViewCall", "A call that waits for an interface.", MEMBERS({"callId", "string", NULL}, {"name", "string", "The interface's own name of the tool."}, {"arguments", "any", NULL})},
        {"ViewReply", "The response to an interface: one of the two.", MEMBERS({"result?", "any", NULL}, {"error?", "object", NULL})},
        {0}},
};

const struct api_section DESCRIBE_SERVER = {
    .tag = "Server",
    .about = "The server itself.",
    .operations = (const struct api_operation[]){
        {"GET", "/v1/health", "getHealth", "Say whether the server works", JSON_OF("Health"), .errors = "503", .about = "Needs no credentials; with some, it also lists apps. 503: the database cannot be reached."},
        {"GET", "/healthz", "getLiveness", "Say whether the process runs", {{200, "text/plain", NULL, "It does."}}, .about = "For probes of a process. Needs no credentials."},
        {"GET", "/readyz", "getReadiness", "Say whether this server shall get requests", {{200, "text/plain", NULL, "It shall."}}, .errors = "503",
         .about = "For load balancers. Needs no credentials. 503: the server starts or stops, or conversations cannot be read or written."},
        {"GET", "/v1/openapi.json", "getOpenapi", "Get this document", {{200, "application/json", "object", "OpenAPI 3.1."}, {304, NULL, NULL, "It has not changed."}},
         .about = "Needs no credentials: it is the same on every server of this version.", .headers = MEMBERS({"If-None-Match", "string", "An ETag: 304 if it is still valid."})},
        {"GET", "/metrics", "getMetrics", "Get metrics for Prometheus", {{200, "text/plain", NULL, "In the text format of Prometheus."}}, .errors = "500"},
        {0}},
    .models = (const struct api_model[]){
        {"Health", "Whether the server works.", MEMBERS(
            {"status", "'ok'|'degraded'", NULL}, {"reason?", "string", "Why it is degraded."}, {"uptime", "integer", "Seconds."}, {"version", "string", NULL},
            {"bundles?", "HealthOfApp[]", "Of workspaces that the caller may see."})},
        {"HealthOfApp", "An app and its state.", MEMBERS({"name", "string", NULL}, {"state", "'starting'|'running'|'crashed'|'dead'|'stopped'", NULL}, {"workspaceId", "string", NULL})},
        {0}},
};
