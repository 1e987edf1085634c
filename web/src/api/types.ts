// The server's JSON, as far as the page reads it.

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

/** An app that comes with nb, to try. */
export interface ExampleApp {
  name: string
  title: string
  message: string // calls its tool
  path: string
  isInstalled: boolean
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
  forkedFrom?: string
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
  resourceUri?: string // set by the page, from the calls beside the parts
  file?: string // of a file that a person gave
  name?: string
  mimeType?: string
  bytes?: number
}

/** A file that a message names. */
export interface FilePart {
  type: string // image, audio, file
  file: string
  name: string
  mimeType: string
  bytes: number
}

/** A part of a tool's result in short; unknown types exist. `address`: it is not complete, there is the whole of it. */
export interface ResultPart {
  type: string // text, image, audio, resource, resource_link, structured
  text?: string
  value?: unknown // of structured content
  mimeType?: string
  uri?: string
  name?: string
  title?: string
  description?: string
  size?: number // that a link says
  bytes?: number
  address?: string
}

/** A result that is too large for the log: its JSON text. */
export interface ResultBlob {
  bytes: number
  address: string
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
  app?: string // the bundle whose interface wrote it
  context?: ViewContext[]
  runId?: string
  model?: string
  inputTokens?: number
  outputTokens?: number
  cacheReadTokens?: number
  toolCalls?: {
    id: string
    name: string
    input?: unknown
    output: string
    parts?: ResultPart[] // absent: the output is all there is
    blob?: ResultBlob
    ok: boolean
    isAnswered: boolean
    ms: number
    childId?: string // the conversation of the run it delegated to
    resourceUri?: string // of the tool's interface
  }[]
  stopReason?: string
  error?: string
}

/** Tool calls that wait for a person's permission. */
export interface Question {
  askId: string
  calls: {
    id: string
    name: string
    input?: unknown
    needsPermission?: boolean
    canRemember?: boolean
    directory?: string // of a terminal: the command would run there
  }[]
}

/** A question of a tool to people while its call waits: a form, a page to visit, the use of the model. */
export interface InputRequest {
  inputId: string
  kind: 'form' | 'url' | 'sampling'
  source: string // the bundle that asks
  callId?: string
  message: string
  schema?: FormSchema // flat: strings, numbers, booleans and choices
  url?: string
  detail?: unknown
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

export interface Note {
  timestamp: string
  author: string
  content: string
}

export interface SearchHit {
  conversationId: string
  title: string
  timestamp: string
  role: string
  position: number
  snippet: string
  parts: { text: string; isHit: boolean }[]
}

export interface SearchPage {
  results: SearchHit[]
  total: number | null
  isPartial: boolean
}

export interface HistoryPage {
  conversationId: string
  messages: HistoryMessage[]
  ask: Question | null // what the conversation waits for now
  inputs?: InputRequest[] // what tools wait for now
  end: number // the position to follow from
  before: number | null // asks for the page in front of this one
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

/** A message that waits until the agent has answered. */
export interface QueuedMessage {
  queuedId: string
  userId: string | null
  displayName: string | null
  mode: 'queue' | 'steer'
  message: string
  files?: FilePart[]
  queuedAt: string
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

/** What an open interface of the sender showed when they sent the message. */
export interface ViewContext {
  app: string
  callId?: string
  text: string
}

/** A call that the model is writing. */
export interface DraftCall {
  id: string
  name: string
  resourceUri?: string
  input?: unknown
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
  'text.snapshot': { runId: string | null; text: string; calls?: DraftCall[] }
  'tool.preparing': OfRun & { id: string; name: string; resourceUri?: string }
  'tool.input': OfRun & { id: string; input: unknown } // what the arguments already hold
  'tool.start': OfRun & { id: string; name: string; input?: unknown; resourceUri?: string }
  'tool.progress': OfRun & {
    id: string
    progress: number
    total?: number
    message?: string
  }
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
    finishReason?: string
  }
  'ask.opened': OfRun & Question
  'ask.answered': Stored & {
    askId: string
    decision: AskDecision
    decisions?: Record<string, boolean | 'always'> // where calls were answered one by one
    userId?: string
  }
  'input.requested': OfRun & InputRequest
  'input.answered': OfRun & { inputId: string; action: string; userId?: string }
  'run.done': OfRun & { stopReason: string; iterations?: number; totalMs?: number }
  'run.error': OfRun & { error: string; errorType?: string; partialText?: string }
  'conversation.title': Stored & { title: string | null; auto?: boolean }
  'conversation.visibility': Stored & { visibility: 'private' | 'shared' }
  'conversation.participants': Stored & { participants: string[] }
  typing: Someone & { isTyping: boolean }
  presence: Someone & { state: 'joined' | 'left' }
  'presence.snapshot': { users: Someone[] }
  note: Stored & { author?: string; content?: string }
  reset: Record<string, never>
}

export type ConversationEvent = {
  [K in keyof ConversationEvents]: { event: K; data: ConversationEvents[K]; id: string | null }
}[keyof ConversationEvents]

export interface ModelInfo {
  name: string // provider:model
  provider: string
  isDefault: boolean
  contextTokens: number | null
  maxOutputTokens: number | null
  usdPerMillionTokens: {
    input: number
    output: number
    cacheRead: number
    cacheWrite5m: number
    cacheWrite1h: number
  } | null
  pricedOn: string | null // month of the list price; null: set by the configuration, or unknown
  canUseTools: boolean
  canSeeImages: boolean
  canThink: boolean
  retiresOn: string | null
  isRetired: boolean
  successor: string | null
}

export interface ProviderInfo {
  name: string
  type: string
  baseUrl: string
  isConfigured: boolean
  isUsable: boolean
  problem: string | null
  defaultModel: string | null
  isLocal: boolean // a server of the kind that people run on their own machine
  takesKey: boolean // the caller may set a key
}

export interface ModelList {
  default: { model: string; why: string; isConfigured: boolean }
  mayChange: boolean // the caller may change models
  providers: ProviderInfo[]
  models: ModelInfo[]
}
