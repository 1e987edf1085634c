#include "bus/vocabulary.h"

#define TOKENS "inputTokens? outputTokens? cacheReadTokens? cacheWrite5mTokens? cacheWrite1hTokens?"
#define QUEUED "queuedId userId displayName mode message files? forPeople? queuedAt"
#define BUNDLE                                                                                     \
    "name bundleName status toolCount quarantinedCount restartAttempt? message? ui timestamp"
#define BRIDGE "id name server tool userId timestamp"
#define SUMMARY                                                                                    \
    "conversationId title? ownerId? visibility? participants? readers? channel? timestamp?"

#define EVENT(name, shown, members)                                                                \
    {                                                                                              \
        STR_INIT(name), STR_INIT(shown), members                                                   \
    }
#define SAME(name, members) EVENT(name, name, members)

const struct event_kind EVENT_KINDS[EV_END] = {
    [EV_USER_MESSAGE] =
        SAME("user.message", "content userId? queuedId? toolLimit? wordsOf? app? context? "
                             "forPeople?"),
    [EV_RUN_START] = SAME("run.start", "runId model userId? skill? resumes? parentRunId? setting?"),
    [EV_LLM_REQUEST] =
        EVENT("llm.request", "", "runId iteration model system tools maxTokens thinking session"),
    [EV_LLM_RESPONSE] =
        EVENT("llm.response", "llm.done",
              "runId model content " TOKENS " estimated? llmMs? thinkingMs? "
              "finishReason finishDetail? requestId? requestSha256? requestParts? quoted?"),
    [EV_TOOL_START] = SAME("tool.start", "runId id name input directory? resourceUri?"),
    [EV_TOOL_DONE] =
        SAME("tool.done", "runId id name ok ms result files? views? resourceUri? cancelled?"),
    [EV_APP_CALL] = SAME("app.call", "app tool callId? userId? ok ms"),
    [EV_ASK_OPENED] = SAME("ask.opened", "runId askId calls setting?"),
    [EV_ASK_ANSWERED] = SAME("ask.answered", "askId decision decisions? always? words? userId?"),
    [EV_INPUT_REQUESTED] =
        SAME("input.requested",
             "runId inputId kind source callId message forUserId? schema? url? detail?"),
    [EV_INPUT_ANSWERED] = SAME("input.answered", "runId inputId action userId?"),
    [EV_RUN_AUTHOR] = EVENT("run.author", "", "runId userId toolLimit? wordsOf?"),
    [EV_RUN_DONE] = SAME("run.done", "runId stopReason detail? iterations totalMs"),
    [EV_RUN_ERROR] = SAME("run.error", "runId error errorType partialText?"),
    [EV_AUX_USAGE] = EVENT("aux.usage", "",
                           "source runId? toolCallId? conversationId? server? model " TOKENS
                           " estimated? llmMs?"),
    [EV_HISTORY_COMPACTED] =
        SAME("history.compacted", "summary keptMessages summarizedMessageCount cutBecause?"),
    [EV_TITLE] = EVENT("metadata.title", "conversation.title", "title auto?"),
    [EV_VISIBILITY] = EVENT("metadata.visibility", "conversation.visibility", "visibility"),
    [EV_PARTICIPANTS] =
        EVENT("metadata.participants", "conversation.participants", "participants readers?"),
    [EV_PROMOTED] = EVENT("metadata.promoted", "conversation.promoted", ""),
    [EV_TRASHED] = EVENT("metadata.trashed", "", "branches"),
    [EV_NOTE] = SAME("note", "author content"),

    [EV_TEXT_DELTA] = SAME("text.delta", "runId text"),
    [EV_REASONING_DELTA] = SAME("reasoning.delta", "runId text"),
    [EV_RUN_RETRY] = SAME("run.retry", "runId attempt of waitMs message"),
    [EV_TOOL_PREPARING] = SAME("tool.preparing", "runId id name resourceUri?"),
    [EV_TOOL_INPUT] = SAME("tool.input", "runId id input"),
    [EV_TOOL_PROGRESS] = SAME("tool.progress", "runId id progress total? message?"),
    [EV_TOOL_SETTLED] = SAME("tool.settled", "runId id name ok ms"),
    [EV_QUEUE_ADDED] = SAME("queue.added", QUEUED),
    [EV_QUEUE_CHANGED] = SAME("queue.changed", QUEUED),
    [EV_QUEUE_REMOVED] = SAME("queue.removed", "queuedId reason userId? error?"),
    [EV_TYPING] = SAME("typing", "userId displayName isTyping"),
    [EV_PRESENCE] = SAME("presence", "userId displayName state"),

    [EV_TEXT_SNAPSHOT] = SAME("text.snapshot", "runId text calls retry? progress? elsewhere?"),
    [EV_QUEUE_SNAPSHOT] = SAME("queue.snapshot", "messages"),
    [EV_PRESENCE_SNAPSHOT] = SAME("presence.snapshot", "users"),
    [EV_CHAT_QUEUED] = SAME("chat.queued", "conversationId queuedId"),
    [EV_CHAT_START] = SAME("chat.start", "conversationId runId isNew"),
    [EV_SUBSCRIBED] = SAME("subscribed", "streamId"),
    [EV_RESET] = SAME("reset", ""),
    [EV_WATCH_ENDED] = SAME("watch.ended", ""),
    [EV_HEARTBEAT] = SAME("heartbeat", "timestamp"),
    [EV_CHAT_DONE] = SAME("done", ""),
    [EV_ERROR] = SAME("error", "error message? conversationId?"),

    [EV_CONVERSATION_CREATED] = SAME("conversation.created", SUMMARY),
    [EV_CONVERSATION_RENAMED] = SAME("conversation.renamed", SUMMARY),
    [EV_CONVERSATION_SHARED] = SAME("conversation.shared", SUMMARY),
    [EV_CONVERSATION_MARKED] =
        SAME("conversation.marked", "conversationId isPinned isArchived isUnread"),
    [EV_CONVERSATION_DELETED] = SAME("conversation.deleted", SUMMARY),
    [EV_MEMBER_JOINED] = SAME("member.joined", "userId"),
    [EV_MEMBER_CHANGED] = SAME("member.changed", "userId"),
    [EV_MEMBER_LEFT] = SAME("member.left", "userId"),
    [EV_BUNDLE_INSTALLED] = SAME("bundle.installed", BUNDLE),
    [EV_BUNDLE_UNINSTALLED] = SAME("bundle.uninstalled", BUNDLE),
    [EV_BUNDLE_STATE] = SAME("bundle.state", BUNDLE),
    [EV_BUNDLE_CRASHED] = SAME("bundle.crashed", BUNDLE),
    [EV_BUNDLE_RECOVERED] = SAME("bundle.recovered", BUNDLE),
    [EV_BUNDLE_DEAD] = SAME("bundle.dead", BUNDLE),
    [EV_BUNDLE_TOOLS_CHANGED] = SAME("bundle.tools_changed", BUNDLE),
    [EV_BRIDGE_CALL] = SAME("bridge.tool.call", BRIDGE),
    [EV_BRIDGE_DONE] = SAME("bridge.tool.done", BRIDGE " ok ms"),
    [EV_DATA_CHANGED] = SAME("data.changed", "server tool timestamp viewId?"),
    [EV_NOTICE] = SAME("notice", "kind"),
    [EV_VIEW_CALLED] = SAME("view.called", "viewId"),
    [EV_CONFIG_CHANGED] = SAME("config.changed", "fields timestamp"),
    [EV_SKILL_CREATED] = SAME("skill.created", "name type timestamp"),
    [EV_SKILL_UPDATED] = SAME("skill.updated", "name type timestamp"),
    [EV_SKILL_DELETED] = SAME("skill.deleted", "name type timestamp"),
};

enum event_type event_type_of(str name)
{
    for (enum event_type t = EV_USER_MESSAGE; t < EV_STORED_END; t++)
        if (str_eq(EVENT_KINDS[t].name, name))
            return t;
    return EV_UNKNOWN;
}
