// The history as the events it was made from, so that there is one way to show a conversation.
import type {
  AskDecision,
  ContentPart,
  ConversationEvent,
  ConversationEvents,
  HistoryMessage,
} from '../api/types'

export function eventsOf(messages: HistoryMessage[]): ConversationEvent[] {
  return messages.flatMap((message) => [
    ...(message.role === 'user' ? question(message) : answer(message)),
    ...(message.error ? [failure(message)] : []),
  ])
}

/** A run may have ended, or died, before its first answer: then only the question tells of it. */
function question(message: HistoryMessage): ConversationEvent[] {
  const { nextRunId: runId, stopReason } = message
  const events = [...compacted(message), userMessage(message), ...started(message)]
  if (runId && stopReason) events.push({ event: 'run.done', data: { runId, stopReason }, id: null })
  return events
}

function started({ nextRunId: runId, nextSkill: skill, timestamp: ts }: HistoryMessage): ConversationEvent[] {
  return runId ? [{ event: 'run.start', data: { runId, ts, skill }, id: null }] : []
}

function compacted({ compacted: data }: HistoryMessage): ConversationEvent[] {
  return data ? [{ event: 'history.compacted', data, id: null }] : []
}

function userMessage(message: HistoryMessage): ConversationEvent {
  const { userId, displayName, parts, timestamp, position, app, context, forPeople } = message
  const data = { content: parts, userId, displayName, ts: timestamp, app, context, forPeople }
  return { event: 'user.message', data, id: String(position) }
}

function answer(message: HistoryMessage): ConversationEvent[] {
  const runId = message.runId ?? `run/${message.position}`
  const ts = message.timestamp
  const data = { ...message, runId, content: contentOf(message), ts }
  const events: ConversationEvent[] = [{ event: 'llm.done', data, id: String(message.position) }]
  events.push(...asksOf(message, runId))
  for (const call of message.toolCalls ?? []) {
    const { id, name, ok, ms, output, parts, blob, childId } = call
    const result = childId ? { structuredContent: { conversationId: childId } } : undefined
    if (call.isAnswered)
      events.push({
        event: 'tool.done',
        data: { runId, id, name, ok, ms, output, parts, blob, result },
        id: null,
      })
  }
  // Messages of old logs belong to no run, and are complete.
  const stopReason = message.stopReason ?? (message.runId ? null : 'complete')
  if (stopReason) events.push({ event: 'run.done', data: { runId, stopReason }, id: null })
  return [...events, ...started(message)]
}

/** Questions about the calls that somebody has answered. */
function asksOf({ asks = [], toolCalls = [] }: HistoryMessage, runId: string): ConversationEvent[] {
  return asks.flatMap(({ askId, callIds, decision, decisions, always, words, userId, timestamp: ts }) => {
    const calls = toolCalls.filter(({ id }) => callIds.includes(id))
    const answered = { askId, decision: decision as AskDecision, decisions, always, words, userId, ts }
    return [
      { event: 'ask.opened', data: { runId, askId, calls }, id: null },
      { event: 'ask.answered', data: answered as ConversationEvents['ask.answered'], id: null },
    ] satisfies ConversationEvent[]
  })
}

function failure(message: HistoryMessage): ConversationEvent {
  const runId = message.runId ?? message.nextRunId ?? `run/${message.position}/error`
  return {
    event: 'run.error',
    data: { runId, error: message.error!, errorType: message.errorType, ts: message.timestamp },
    id: null,
  }
}

/** Old logs list the calls beside the text instead of within it. */
function contentOf({ parts, toolCalls = [] }: HistoryMessage): ContentPart[] {
  const uriOf = (id?: string) => toolCalls.find((call) => call.id === id)?.resourceUri
  if (parts.some((part) => part.type === 'tool-call'))
    return parts.map((part) =>
      part.type === 'tool-call' ? { ...part, resourceUri: uriOf(part.toolCallId) } : part,
    )
  const calls = toolCalls.map(({ id, name, input, resourceUri }) => ({
    type: 'tool-call',
    toolCallId: id,
    toolName: name,
    input,
    resourceUri,
  }))
  return [...calls, ...parts]
}
