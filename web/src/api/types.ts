// The server's JSON, as far as the page reads it.

export interface Workspace {
  version: string
  model: { name: string; why: string; isDemo: boolean }
  user: { id: string; displayName?: string }
  dataDir: string
  store: string
  status: { uptime: number; totalTools: number; runs: number }
}

export interface Conversation {
  id: string
  createdAt: string
  updatedAt: string
  title: string | null
  preview: string
  messageCount: number
  totalInputTokens: number
  totalOutputTokens: number
  totalCostUsd: number | null
  lastModel: string | null
  ownerId: string | null
  visibility: 'private' | 'shared'
  participants: string[]
  isRunning: boolean
}

export interface ConversationPage {
  conversations: Conversation[]
  nextCursor: string | null
  totalCount: number
}

/** A part of a message. Unknown types exist and are skipped. */
export interface ContentPart {
  type: string
  text?: string
  toolCallId?: string
  toolName?: string
  input?: unknown
}

/** A message as the history tells it; a run of several answers is several messages. */
export interface HistoryMessage {
  role: 'user' | 'assistant'
  content: string
  parts: ContentPart[]
  timestamp: string
  position: number
  userId?: string
  displayName?: string
  runId?: string
  model?: string
  inputTokens?: number
  outputTokens?: number
  toolCalls?: {
    id: string
    name: string
    input?: unknown
    output: string
    ok: boolean
    isAnswered: boolean
    ms: number
  }[]
  stopReason?: string
  error?: string
}

/** Tool calls that wait for a person's permission. */
export interface Question {
  askId: string
  calls: { id: string; name: string; input?: unknown }[]
}

export interface HistoryPage {
  conversationId: string
  messages: HistoryMessage[]
  ask: Question | null // what the conversation waits for now
  end: number // the position to follow from
  before: number | null // asks for the page in front of this one
}

/** Declined: a message came instead of an answer. */
export type AskDecision = 'allow' | 'deny' | 'declined'

interface Stored {
  ts?: string
}

interface OfRun extends Stored {
  runId: string
}

/** What the stream of a conversation carries, by event name. */
export interface ConversationEvents {
  'user.message': Stored & { content: ContentPart[]; userId?: string; displayName?: string }
  'run.start': OfRun & { model?: string; userId?: string; skill?: string }
  'text.delta': OfRun & { text: string }
  'reasoning.delta': OfRun & { text: string }
  'text.snapshot': { runId: string | null; text: string }
  'tool.preparing': OfRun & { id: string; name: string }
  'tool.start': OfRun & { id: string; name: string; input?: unknown }
  'tool.settled': OfRun & { id: string; name: string; ok: boolean; ms: number }
  'tool.done': OfRun & { id: string; name: string; ok: boolean; ms: number; output?: string }
  'llm.done': OfRun & {
    model?: string
    content: ContentPart[]
    inputTokens?: number
    outputTokens?: number
    finishReason?: string
  }
  'ask.opened': OfRun & Question
  'ask.answered': Stored & {
    askId: string
    decision: AskDecision
    decisions?: Record<string, boolean | 'always'> // where calls were answered one by one
    userId?: string
  }
  'run.done': OfRun & { stopReason: string; iterations?: number; totalMs?: number }
  'run.error': OfRun & { error: string; errorType?: string; partialText?: string }
  'conversation.title': Stored & { title: string | null }
  'conversation.visibility': Stored & { visibility: 'private' | 'shared' }
  'conversation.participants': Stored & { participants: string[] }
  reset: Record<string, never>
}

export type ConversationEvent = {
  [K in keyof ConversationEvents]: { event: K; data: ConversationEvents[K]; id: string | null }
}[keyof ConversationEvents]
