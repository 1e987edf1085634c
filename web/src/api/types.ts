// The server's JSON, as far as the page reads it. Answers are in schema.ts, which is printed from the
// document of the API; here is what the page adds to them, and events.
import type {
  Ask,
  ExampleApp,
  FilePart,
  History,
  HistoryCall,
  HistoryMessage as StoredMessage,
  ContentPart as StoredPart,
  Question as ToolQuestion,
  QueuedMessage,
  ResultBlob,
  ResultPart,
  ViewContext,
} from './schema'

export type {
  BranchList,
  Conversation,
  ConversationPage,
  ExampleApp,
  FilePart,
  Model as ModelInfo,
  ModelList,
  ModelSetup,
  Note,
  Notice,
  Provider as ProviderInfo,
  QueuedMessage,
  ResultBlob,
  ResultPart,
  SearchHit,
  SearchPage,
  ViewContext,
} from './schema'

export interface Workspace {
  id?: string
  name?: string
  workspaces?: { id: string; name: string; role: string | null }[] // all that this person may enter
  authMode?: string
  version: string
  model: { name: string; why: string; isDemo: boolean }
  user: { id: string; displayName?: string; email?: string; role?: string }
  dataDir?: string // administrators only
  examples?: ExampleApp[] // likewise
  pageUrl?: string
  store: string
  status: { uptime: number; totalTools: number; runs: number }
}

/** A part of a message. Unknown types exist and are skipped. */
export interface ContentPart extends StoredPart {
  resourceUri?: string // set by the page, from the calls beside the parts
}

/** A message as the history tells it; a run of several answers is several messages. */
export interface HistoryMessage extends Omit<StoredMessage, 'parts' | 'toolCalls'> {
  parts: ContentPart[]
  displayName?: string
  toolCalls?: HistoryCall[]
}

/** Tool calls that wait for a person's permission. */
export interface Question extends Ask {
  calls: NonNullable<Ask['calls']>
}

/** A question of a tool to people while its call waits: a form, a page to visit, the use of the model. */
export interface InputRequest extends Omit<ToolQuestion, 'schema' | 'callId'> {
  callId?: string
  schema?: FormSchema // flat: strings, numbers, booleans and choices
}

/** Withdrawn and timeout: nobody answered. */
export type InputAction = 'accept' | 'decline' | 'cancel'

export interface FormSchema {
  properties?: Record<string, FieldSchema>
  required?: string[]
}

export interface FieldSchema {
  type?: string
  title?: string
  description?: string
  default?: unknown
  enum?: string[]
  enumNames?: string[]
  oneOf?: { const: string; title?: string }[]
  items?: { enum?: string[]; anyOf?: { const: string; title?: string }[] }
  format?: string
  minLength?: number
  maxLength?: number
  minimum?: number
  maximum?: number
}

export interface HistoryPage extends Omit<History, 'messages' | 'ask' | 'inputs'> {
  messages: HistoryMessage[]
  ask: Question | null // what the conversation waits for now
  inputs?: InputRequest[] // what tools wait for now
}

/** Declined: a message came instead of an answer. */
export type AskDecision = 'allow' | 'deny' | 'declined'

interface Stored {
  ts?: string
}

interface Someone {
  userId: string
  displayName?: string | null
}

interface OfRun extends Stored {
  runId: string
}

/** A CallToolResult of MCP, as the log has it. */
export interface ToolResult {
  content?: unknown[]
  structuredContent?: unknown
  _meta?: unknown
  isError?: boolean
}

/** A call that the model is writing. */
export interface DraftCall {
  id: string
  name: string
  resourceUri?: string
  input?: unknown
}

/** A call of the model that failed and is repeated. */
export interface RetryNote {
  attempt: number
  of?: number
  waitMs: number
  message: string
}

/** How far a call is. */
export interface ProgressNote {
  id: string
  progress: number
  total?: number
  message?: string
}

/** Events in the stream of a conversation, by name. */
export interface ConversationEvents {
  'user.message': Stored & {
    content: ContentPart[]
    userId?: string
    displayName?: string
    queuedId?: string
    app?: string // the bundle whose interface wrote it
    context?: ViewContext[]
    forPeople?: boolean // not to the agent
  }
  'queue.snapshot': { messages: QueuedMessage[] }
  'queue.added': QueuedMessage
  'queue.changed': QueuedMessage
  'queue.removed': {
    queuedId: string
    reason: 'taken' | 'withdrawn' | 'refused'
    userId?: string
    error?: string
  }
  'run.start': OfRun & { model?: string; userId?: string; skill?: string }
  'text.delta': OfRun & { text: string }
  'reasoning.delta': OfRun & { text: string }
  'run.retry': OfRun & RetryNote
  'history.compacted': Stored & { summary: string; summarizedMessageCount?: number; cutBecause?: string }
  'text.snapshot': { runId: string | null; text: string; calls?: DraftCall[]; retry?: RetryNote; progress?: ProgressNote[]; elsewhere?: boolean }
  'tool.preparing': OfRun & { id: string; name: string; resourceUri?: string }
  'tool.input': OfRun & { id: string; input: unknown } // what the arguments already hold
  'tool.start': OfRun & { id: string; name: string; input?: unknown; resourceUri?: string }
  'tool.progress': OfRun & ProgressNote
  'tool.settled': OfRun & { id: string; name: string; ok: boolean; ms: number }
  'tool.done': OfRun & {
    id: string
    name: string
    ok: boolean
    ms: number
    output?: string
    parts?: ResultPart[]
    blob?: ResultBlob
    result?: ToolResult
    files?: FilePart[] // that the call has made
    resourceUri?: string
    cancelled?: boolean // the tool gave no result; only with resourceUri
  }
  'app.call': Stored & {
    app: string
    tool: string // the server's own name of it
    callId?: string // of the call whose interface it is
    userId?: string
    ok: boolean
    ms: number
  }
  'llm.done': OfRun & {
    model?: string
    content: ContentPart[]
    inputTokens?: number
    outputTokens?: number
    cacheReadTokens?: number
    cacheWrite5mTokens?: number
    cacheWrite1hTokens?: number
    thinkingMs?: number
    finishReason?: string
  }
  'ask.opened': OfRun & Question
  'ask.answered': Stored & {
    askId: string
    decision: AskDecision
    decisions?: Record<string, boolean | 'always'> // where calls were answered one by one
    always?: string // where it is remembered: conversation, me, workspace
    words?: string // only for commands that begin with them
    userId?: string
  }
  'input.requested': OfRun & InputRequest
  'input.answered': OfRun & { inputId: string; action: string; userId?: string }
  'run.done': OfRun & { stopReason: string; iterations?: number; totalMs?: number }
  'run.error': OfRun & { error: string; errorType?: string; partialText?: string }
  'conversation.title': Stored & { title: string | null; auto?: boolean }
  'conversation.visibility': Stored & { visibility: 'private' | 'shared' }
  'conversation.participants': Stored & { participants: string[]; readers?: string[] }
  'conversation.promoted': Stored
  typing: Someone & { isTyping: boolean }
  presence: Someone & { state: 'joined' | 'left' }
  'presence.snapshot': { users: Someone[] }
  note: Stored & { author?: string; content?: string }
  reset: Record<string, never>
}

export type ConversationEvent = {
  [K in keyof ConversationEvents]: { event: K; data: ConversationEvents[K]; id: string | null }
}[keyof ConversationEvents]

