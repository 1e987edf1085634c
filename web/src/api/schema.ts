// Printed by scripts/api-types.mjs from `nb openapi`: answers of the API. Do not edit.

/** The answer to a message. */
export interface ChatAnswer {
  /** The text. */
  response: string
  conversationId: string
  runId: string
  skillName: string | null
  toolCalls: ToolRecord[]
  inputTokens: number
  outputTokens: number
  /** waiting: `ask` has a question. */
  stopReason: 'complete' | 'max_iterations' | 'token_budget' | 'length' | 'refusal' | 'waiting' | 'cancelled' | 'error'
  ask?: Ask
  usage: RunUsage
}

/** A call of a tool during the run. */
export interface ToolRecord {
  id: string
  name: string
  input: unknown
  output: string
  ok: boolean
  ms: number
}

/** What a run used. */
export interface RunUsage {
  inputTokens: number
  outputTokens: number
  cacheReadTokens: number
  cacheCreationTokens: number
  /** null: the price is not known. */
  costUsd: number | null
  model: string
  llmMs: number
  totalMs: number
  iterations: number
}

/** The run, or the place in the queue. */
export interface ChatStarted {
  conversationId: string
  runId?: string
  queuedId?: string
}

/** Whether something was cancelled. */
export interface Cancelled {
  cancelled: boolean
}

/** Tool calls that wait for a person's permission. */
export interface Ask {
  askId: string
  calls?: AskCall[]
}

/** A call that waits. */
export interface AskCall {
  id: string
  name: string
  input?: unknown
  needsPermission?: boolean
  canRemember?: boolean
  /** Of a terminal: the command would run there. */
  directory?: string
  /** A permission can be limited to commands that begin with them. */
  words?: string
}

/** Questions of tools. */
export interface QuestionList {
  conversationId: string
  inputs: Question[]
}

/** A question of a tool while its call waits: a form, a page to visit, the use of the model. */
export interface Question {
  inputId: string
  kind: 'form' | 'url' | 'sampling'
  /** The app that asks. */
  source: string
  callId: string
  message: string
  /** Only this person may answer. */
  forUserId?: string
  /** Of the form. */
  schema?: Record<string, unknown>
  url?: string
  detail?: unknown
}

/** The answer that was taken. */
export interface QuestionAnswer {
  inputId: string
  action: string
}

/** Messages that wait. */
export interface Queue {
  conversationId: string
  messages: QueuedMessage[]
}

/** A message that waits until the agent has answered. */
export interface QueuedMessage {
  queuedId: string
  userId: string | null
  displayName: string | null
  mode: 'queue' | 'steer'
  message: string
  files?: FilePart[]
  forPeople?: boolean
  queuedAt: string
}

/** What became of a waiting message. */
export interface QueueChange {
  queuedId: string
  withdrawn: boolean
}

/** An answer in the form of OpenAI chat completions. */
export interface ChatCompletion {
  id: string
  object: 'chat.completion'
  /** Seconds since 1970. */
  created: number
  model: string
  system_fingerprint: string
  /** Always one. */
  choices: CompletionChoice[]
  usage: CompletionUsage
}

/** The answer. */
export interface CompletionChoice {
  index: number
  message: CompletionMessage
  logprobs: null
  finish_reason: 'stop' | 'length' | 'tool_calls' | 'content_filter'
}

/** The message of the assistant. */
export interface CompletionMessage {
  role: 'assistant'
  content: string | null
  refusal: null
  /** Calls that the program executes. */
  tool_calls?: CompletionCall[]
}

/** A call that the program executes. */
export interface CompletionCall {
  id: string
  type: 'function'
  function: CompletionFunction
}

/** The function of a call. */
export interface CompletionFunction {
  name: string
  /** JSON. */
  arguments: string
}

/** Tokens of the whole run. */
export interface CompletionUsage {
  prompt_tokens: number
  completion_tokens: number
  total_tokens: number
  prompt_tokens_details: Record<string, number>
}

/** An answer in the form of OpenAI responses. */
export interface OpenaiResponse {
  /** For `previous_response_id`. */
  id: string
  object: 'response'
  /** Seconds since 1970. */
  created_at: number
  status: 'completed' | 'incomplete' | 'cancelled' | 'failed'
  model: string
  conversation: ConversationReference
  previous_response_id: string | null
  store: boolean
  instructions: null
  max_output_tokens: null
  parallel_tool_calls: boolean
  temperature: null
  top_p: null
  tool_choice: string
  /** Always empty. */
  tools: unknown[]
  /** Always empty. */
  metadata: Record<string, unknown>
  /** Of a run that failed. */
  error: ResponseError | null
  incomplete_details: IncompleteDetails | null
  output: ResponseItem[]
  usage: ResponseUsage | null
}

/** Why a run failed. */
export interface ResponseError {
  code: string
  message: string
}

/** A conversation by id. */
export interface ConversationReference {
  id: string
}

/** Why an answer is not complete. */
export interface IncompleteDetails {
  reason: 'max_output_tokens' | 'content_filter'
}

/** An item of the output: a message, a call that the program executes (function_call), or one that nb has executed (mcp_call). Other members depend on the type. */
export interface ResponseItem {
  type: 'message' | 'function_call' | 'mcp_call'
  id: string
  status: string
  role?: 'assistant'
  content?: ResponseText[]
  call_id?: string
  name?: string
  /** JSON. */
  arguments?: string
  /** The app. */
  server_label?: string
  output?: string | null
  error?: string | null
  approval_request_id?: null
}

/** The text of a message. */
export interface ResponseText {
  type: 'output_text'
  text: string
  annotations: unknown[]
  logprobs: unknown[]
}

/** Tokens of the whole run. */
export interface ResponseUsage {
  input_tokens: number
  input_tokens_details: Record<string, number>
  output_tokens: number
  output_tokens_details: Record<string, number>
  total_tokens: number
}

/** An answer in the form of Anthropic messages. */
export interface AnthropicMessage {
  id: string
  type: 'message'
  role: 'assistant'
  model: string
  content: AnthropicBlock[]
  stop_reason: 'end_turn' | 'max_tokens' | 'tool_use' | 'refusal'
  stop_sequence: null
  usage: AnthropicUsage
}

/** A text, or a call that the program executes. */
export interface AnthropicBlock {
  type: 'text' | 'tool_use'
  text?: string
  id?: string
  name?: string
  input?: unknown
}

/** Tokens of the whole run. */
export interface AnthropicUsage {
  input_tokens: number
  output_tokens: number
  cache_creation_input_tokens: number
  cache_read_input_tokens: number
}

/** Why a request failed, in the form of OpenAI. */
export interface OpenaiError {
  error: OpenaiProblem
}

/** What is wrong. */
export interface OpenaiProblem {
  /** A sentence for people. */
  message: string
  type: string
  param: null
  /** The same codes as in Error. */
  code: string
}

/** Why a request failed, in the form of Anthropic. */
export interface AnthropicError {
  type: 'error'
  error: AnthropicProblem
}

/** What is wrong. */
export interface AnthropicProblem {
  type: string
  /** A sentence for people. */
  message: string
  /** The same codes as in Error. */
  code: string
}

/** A page of conversations. */
export interface ConversationPage {
  conversations: Conversation[]
  nextCursor: string | null
  totalCount: number
  /** Older conversations are missing: they are still being read. Ask again. */
  indexing?: Indexing
  /** Ids of conversations that cannot be read; for administrators. */
  unreadable?: string[]
}

/** How far the server has read logs that it does not know yet, the latest first. */
export interface Indexing {
  percent: number
  /** Logs; for administrators. */
  done?: number
  /** Logs; for administrators. */
  total?: number
}

/** A conversation without its messages. */
export interface Conversation {
  id: string
  createdAt: string
  updatedAt: string
  title: string | null
  /** The start of the first message. */
  preview: string
  messageCount: number
  totalInputTokens: number
  totalOutputTokens: number
  /** null: a price is not known. */
  totalCostUsd: number | null
  lastModel: string | null
  workspaceId: string
  ownerId: string | null
  visibility: 'private' | 'shared'
  participants: string[]
  /** Participants who may not write. */
  readers?: string[]
  channel?: string
  forkedFrom?: string
  forkKind?: 'branch'
  /** It is a branch, which is not listed. */
  branch?: BranchPlace
  metadata?: Record<string, unknown>
  /** Lines of the log that cannot be read. */
  badLines?: number
  isRunning: boolean
  /** How the last run ended. */
  lastRun: string | null
  /** What the caller may do with it. */
  may: ConversationRights
  /** The project it is in, if you may see that. */
  projectId?: string
  /** By the caller; in lists, and for one conversation. */
  isPinned?: boolean
  /** By the caller; likewise. */
  isArchived?: boolean
  /** There are messages that the caller has not read; likewise. */
  isUnread?: boolean
}

/** Budgets of a month, in US dollars. */
export interface Budgets {
  /** Such as 2026-03, in UTC; null: there is no limit, and nothing is counted. */
  month: string | null
  /** The logs of the month are still being read. */
  isCounting: boolean
  /** Of the caller. */
  personal: Budget
  /** Amounts are for administrators. */
  workspace: Budget
  /** For administrators. */
  limits?: BudgetLimits
}

/** A limit and what was spent. */
export interface Budget {
  /** warning: from 80 % on. */
  state: 'unlimited' | 'ok' | 'warning' | 'stopped'
  limitUsd?: number | null
  spentUsd?: number
}

/** Limits as they are set. */
export interface BudgetLimits {
  workspaceUsd: number | null
  personUsd: number | null
  /** By the ids of people. */
  people: Record<string, number>
}

/** Projects. */
export interface ProjectList {
  projects: Project[]
}

/** Conversations that belong together. */
export interface Project {
  id: string
  name: string
  ownerId: string
  /** Without the owner. */
  members: string[]
  /** Part of runs in its conversations. */
  instructions: string
  /** Who wrote them. */
  instructionsBy: string | null
  createdAt: string
  updatedAt: string
  /** Also those that you may not see. */
  conversationCount: number
  fileCount: number
  mayManage: boolean
}

/** Files of a project, the latest first. */
export interface ProjectFileList {
  files: ProjectFile[]
}

/** A file of a project. */
export interface ProjectFile {
  id: string
  name: string
  mimeType: string
  bytes: number
  createdAt: string | null
  /** Who added it. */
  addedBy: string
}

/** What the caller keeps about a conversation. */
export interface ConversationMarks {
  conversationId: string
  isPinned: boolean
  isArchived: boolean
  isUnread: boolean
}

/** Conversations in the trash, the last deleted first. */
export interface Trash {
  conversations: TrashedConversation[]
}

/** A deleted conversation. */
export interface TrashedConversation {
  id: string
  title: string | null
  preview: string
  messageCount: number
  updatedAt: string
  deletedAt: string | null
}

/** What a person may do with a conversation. */
export interface ConversationRights {
  /** Write messages and answer questions. */
  send: boolean
  rename: boolean
  delete: boolean
  /** Change who takes part. */
  share: boolean
  /** Stop taking part. */
  leave: boolean
  /** Make branches of it. */
  branch: boolean
}

/** Where a branch begins. */
export interface BranchPlace {
  /** The conversation behind which it is hidden. */
  of: string
  /** How many messages it has in common with `forkedFrom`. */
  at: number
  /** How many with the conversation `of`. */
  rootAt: number
}

/** Branches, the latest first. */
export interface BranchList {
  /** The conversation at the root. */
  conversationId: string
  branches: Branch[]
}

/** Another course of a conversation. */
export interface Branch {
  id: string
  forkedFrom: string
  /** As in BranchPlace. */
  at: number
  /** As in BranchPlace. */
  rootAt: number
  createdAt: string
  updatedAt: string
}

/** A conversation that the caller has left. */
export interface LeftConversation {
  id: string
  left: boolean
}

/** A conversation that was deleted. */
export interface DeletedConversation {
  id: string
  deleted: boolean
  /** Not only moved to the trash. */
  purged: boolean
}

/** Totals over conversations. */
export interface Stats {
  period: string
  since: string | null
  conversations: number
  messages: number
  inputTokens: number
  outputTokens: number
  cacheReadTokens: number
  cacheWrite5mTokens: number
  cacheWrite1hTokens: number
  knownCostUsd: number
  unpricedConversations: number
  models: ModelStats[]
}

/** Totals of one model. */
export interface ModelStats {
  model: string
  conversations: number
  messages: number
  inputTokens: number
  outputTokens: number
  cacheReadTokens: number
  cacheWrite5mTokens: number
  cacheWrite1hTokens: number
  knownCostUsd: number
  unpricedConversations: number
}

/** Messages of a conversation. */
export interface History {
  conversationId: string
  messages: HistoryMessage[]
  /** What the conversation waits for now. */
  ask: Ask | null
  /** What tools wait for now. */
  inputs: Question[]
  /** The position to follow from. */
  end: number
  /** Asks for the page in front of this one. */
  before: number | null
}

/** Links, the newest first. */
export interface LinkList {
  /** Whether links work: `features.publicLinks`. */
  isOn: boolean
  links: Link[]
}

/** A link with which people without an account read a conversation. */
export interface Link {
  id: string
  conversationId: string
  /** The person who made it. */
  by: string
  /** What was written later is not shown. */
  createdAt: string
  expiresAt: string
  /** It shows inputs and results of tools. */
  tools: boolean
}

/** A link, with its secret. */
export interface NewLink {
  id: string
  conversationId: string
  by: string
  createdAt: string
  expiresAt: string
  tools: boolean
  /** The address, relative to that of the page. It is not told again. */
  path: string
}

/** Messages of a conversation, for somebody with a link. */
export interface SharedPage {
  title: string | null
  /** Of the link. */
  createdAt: string
  expiresAt: string
  messages: SharedMessage[]
  /** Asks for the page in front of this one. */
  before: number | null
}

/** A message. */
export interface SharedMessage {
  role: 'user' | 'assistant'
  /** Numbers people, from 1; the same on all pages. */
  person?: number
  content: string
  timestamp: string
  /** Names of files; the files themselves are not shared. */
  files?: string[]
  tools: SharedTool[]
}

/** A tool that was called. */
export interface SharedTool {
  name: string
  /** If the link shows it. */
  input?: unknown
  /** Its text, likewise. */
  output?: string
}

/** A message; a run of several answers is several messages. */
export interface HistoryMessage {
  role: 'user' | 'assistant'
  /** The text of all parts. */
  content: string
  parts: ContentPart[]
  timestamp: string
  /** Where it ends in the log. */
  position: number
  userId?: string
  /** Not to the agent. */
  forPeople?: boolean
  /** The app whose interface wrote it. */
  app?: string
  context?: ViewContext[]
  runId?: string
  model?: string
  inputTokens?: number
  outputTokens?: number
  cacheReadTokens?: number
  llmMs?: number
  /** How long the model thought, as far as it told. */
  thinkingMs?: number
  toolCalls?: HistoryCall[]
  /** Answered questions about its calls. */
  asks?: AnsweredAsk[]
  /** How the run ended: that of an answer, or one behind a user's message without any. */
  stopReason?: string
  /** Of a run that began behind the message. */
  nextRunId?: string
  /** That was matched for that run. */
  nextSkill?: string
  /** From this message on, the model gets a summary of older messages. */
  compacted?: Compaction
  error?: string
  /** Of run.error: provider_auth_error, budget_exceeded ... */
  errorType?: string
}

/** Older messages that the model does not get any more. */
export interface Compaction {
  /** What it gets instead. */
  summary: string
  summarizedMessageCount: number
  /** Why there is no new summary. */
  cutBecause?: string
}

/** Who decided about calls, and when. */
export interface AnsweredAsk {
  askId: string
  callIds: string[]
  /** allow, deny, or declined: a message came instead. */
  decision: string
  /** By call, where they differ: true, false or always. */
  decisions?: Record<string, unknown>
  /** Where it is remembered: conversation, me or workspace. */
  always?: string
  /** Only commands that begin with them are. */
  words?: string
  userId?: string
  timestamp: string
}

/** A part of a message. Unknown types exist; other members depend on the type. */
export interface ContentPart {
  type: string
  text?: string
  toolCallId?: string
  toolName?: string
  input?: unknown
  /** Of a file that a person gave. */
  file?: string
  name?: string
  mimeType?: string
  bytes?: number
  view?: FileView
  /** Why a PDF has no text. */
  unreadable?: string
}

/** A file that a message names. */
export interface FilePart {
  /** image, audio or file. */
  type: string
  file: string
  name: string
  mimeType: string
  bytes: number
  view?: FileView
  /** Why a PDF has no text. */
  unreadable?: string
}

/** A file as models get it: a smaller picture, or the text of a PDF. */
export interface FileView {
  file: string
  mimeType: string
  bytes: number
  width?: number
  height?: number
}

/** What an open interface of the sender showed when they sent the message. */
export interface ViewContext {
  app: string
  callId?: string
  text: string
}

/** A call of a tool. */
export interface HistoryCall {
  id: string
  name: string
  input: unknown
  /** The text of the result. */
  output: string
  /** Absent: the output is all there is. */
  parts?: ResultPart[]
  blob?: ResultBlob
  ok: boolean
  isAnswered: boolean
  ms: number
  /** The conversation of the run it delegated to. */
  childId?: string
  /** Of the tool's interface. */
  resourceUri?: string
}

/** A part of a tool's result in short; unknown types exist. */
export interface ResultPart {
  /** text, image, audio, resource, resource_link or structured. */
  type: string
  text?: string
  /** Of structured content. */
  value?: unknown
  mimeType?: string
  uri?: string
  name?: string
  title?: string
  description?: string
  /** That a link says. */
  size?: number
  bytes?: number
  /** It is not complete: here is the whole of it. */
  address?: string
}

/** A result that is too large for the log: its JSON text. */
export interface ResultBlob {
  bytes: number
  address: string
}

/** Notes of a conversation. */
export interface NoteList {
  conversationId: string
  notes: Note[]
}

/** A note. */
export interface Note {
  timestamp: string
  author: string
  content: string
}

/** Messages that were found. */
export interface SearchPage {
  results: SearchHit[]
  /** null: not counted. */
  total: number | null
  /** Not everything was searched. */
  isPartial: boolean
  /** Older conversations are still being read and were not searched. */
  indexing?: Indexing
}

/** A message that was found. */
export interface SearchHit {
  conversationId: string
  title: string
  timestamp: string
  role: string
  position: number
  snippet: string
  /** The snippet, cut where hits begin and end. */
  parts: SnippetPart[]
}

/** A part of a snippet. */
export interface SnippetPart {
  text: string
  isHit: boolean
}

/** Tokens and cost. */
export interface Usage {
  from: string | null
  to: string | null
  groupBy: 'day' | 'model' | 'user'
  conversations: number
  total: UsageTotal
  rows: UsageRow[]
}

/** Tokens and cost of all calls. */
export interface UsageTotal {
  calls: number
  inputTokens: number
  outputTokens: number
  cacheReadTokens: number
  cacheWrite5mTokens: number
  cacheWrite1hTokens: number
  /** null: a price is not known. */
  costUsd: number | null
  knownCostUsd: number
  unpricedCalls: number
  estimatedCalls: number
}

/** Tokens and cost of a day, a model or a person. */
export interface UsageRow {
  day?: string
  model?: string
  user?: string
  displayName?: string
  calls: number
  inputTokens: number
  outputTokens: number
  cacheReadTokens: number
  cacheWrite5mTokens: number
  cacheWrite1hTokens: number
  /** null: a price is not known. */
  costUsd: number | null
  knownCostUsd: number
  unpricedCalls: number
  estimatedCalls: number
}

/** The latest import. */
export interface Import {
  path: string
  isRunning: boolean
  /** Of the work that is done, from 0 to 1. */
  share: number
  conversations: number
  existing: number
  events: number
  lost: number
  losses: string[]
  error: string | null
}

/** A file that comes in several requests. */
export interface Upload {
  id: string
  name: string
  /** Of the whole file. */
  bytes: number
  /** How many of them have arrived. */
  offset: number
  expiresAt: string | null
}

/** What has arrived. */
export interface UploadProgress {
  offset: number
  /** null: it is not complete. */
  file: File | null
}

/** The pages of a PDF. */
export interface FilePages {
  /** As the PDF says. */
  count: number
  /** Of pages that can be shown, from page 1 on; at most 1000. */
  pages: PageSize[]
}

/** The size of a page, in points. */
export interface PageSize {
  width: number
  height: number
}

/** What is written on a page of a PDF. */
export interface FileWords {
  /** In reading order; at most 20,000. */
  words: PageWord[]
}

/** A word and its place, in points from the upper left corner of its page. */
export interface PageWord {
  x: number
  y: number
  width: number
  height: number
  text: string
}

/** Files. */
export interface FileList {
  files: File[]
}

/** A file. */
export interface File {
  id: string
  name: string
  mimeType: string
  bytes: number
  createdAt: string | null
}

/** Models and providers. */
export interface ModelList {
  default: DefaultModel
  /** The caller may change models. */
  mayChange: boolean
  providers: Provider[]
  models: Model[]
  object: 'list'
  /** The same for clients of OpenAI and Anthropic, with agents. */
  data: ServedModel[]
  /** Always false. */
  has_more: boolean
}

/** A model, or an agent, in the form of OpenAI and Anthropic. */
export interface ServedModel {
  /** For `model` of a request. */
  id: string
  object: 'model'
  /** Not known: the same for all. */
  created: number
  owned_by: string
  type: 'model'
  display_name: string
  created_at: string
}

/** The default model. */
export interface DefaultModel {
  model: string
  why: string
  isConfigured: boolean
}

/** A model. */
export interface Model {
  /** provider:model */
  name: string
  provider: string
  isDefault: boolean
  contextTokens: number | null
  maxOutputTokens: number | null
  usdPerMillionTokens: ModelPrice | null
  /** Month of the list price; null: set by the configuration, or unknown. */
  pricedOn: string | null
  canUseTools: boolean
  canSeeImages: boolean
  canReadPdf: boolean
  canThink: boolean
  retiresOn: string | null
  isRetired: boolean
  successor: string | null
}

/** Prices of a million tokens in US dollars. */
export interface ModelPrice {
  input: number
  output: number
  cacheRead: number
  cacheWrite5m: number
  cacheWrite1h: number
}

/** A provider of models. */
export interface Provider {
  name: string
  type: string
  baseUrl: string
  isConfigured: boolean
  isUsable: boolean
  problem: string | null
  defaultModel: string | null
  /** A server of the kind that people run on their own machine. */
  isLocal: boolean
  /** The caller may set a key. */
  takesKey: boolean
  /** A key was entered while nb ran, and the caller may delete it. */
  hasEnteredKey: boolean
}

/** The default model after the change. */
export interface ModelSetup {
  provider: string
  /** The provider was asked, and accepts the key. */
  isAccepted?: boolean
  /** Why the key was stored although the provider could not be asked. */
  doubt?: string
  defaultModel: string
  why: string
}

/** Tools. */
export interface ToolList {
  tools: Tool[]
}

/** A tool. */
export interface Tool {
  /** Unique in the workspace: source__tool. */
  name: string
  /** Its source. */
  server: string
  /** Its own name. */
  tool: string
  title: string | null
  description: string
  /** JSON Schema of the arguments. */
  inputSchema: unknown
  annotations?: Record<string, unknown>
}

/** A result, as MCP defines it, and in short. */
export interface ToolResult {
  content: ToolContent[]
  structuredContent?: unknown
  _meta?: unknown
  isError: boolean
  /** The structured content, else the text as JSON if it is JSON, else the text. */
  result: unknown
}

/** A block of content, as MCP defines it; other members depend on the type. */
export type ToolContent = Record<string, unknown>

/** Skills, and files that are not valid skills. */
export interface SkillList {
  skills: Skill[]
  problems: SkillProblem[]
}

/** A skill. */
export interface Skill {
  name: string
  description: string
  version: string
  type: 'skill' | 'context'
  priority: number
  /** Where it comes from. */
  source: string
  /** For administrators. */
  path?: string
  allowedTools: string[]
  requiresBundles: string[]
  triggers: string[]
  keywords: string[]
  tags: string[]
  category: string
  author: string
  /** Markdown. */
  body: string
}

/** A file that is not a valid skill. */
export interface SkillProblem {
  severity: 'error' | 'warning'
  path: string
  line: number
  message: string
}

/** The skill that a message selects, and why. */
export interface SkillMatch {
  skill: string | null
  phase: 'trigger' | 'keywords' | null
  keywordsNeeded: number
  candidates: SkillCandidate[]
}

/** A skill that was considered. */
export interface SkillCandidate {
  skill: string
  trigger: string | null
  keywords: string[]
}

/** A skill that was saved or deleted. */
export interface SkillChange {
  name: string
  scope: 'personal' | 'workspace'
  deleted: boolean
}

/** Instructions that are part of prompts. */
export interface InstructionSets {
  /** Part of runs whose messages are all yours. */
  personal: Instructions
  /** Part of every run. */
  workspace: Instructions
  maxBytes: number
  mayEditWorkspace: boolean
}

/** A text for the agent. */
export interface Instructions {
  /** Empty: there are none. */
  text: string
  /** Who wrote it. */
  by: string | null
  updatedAt: string | null
}

/** Saved prompts. */
export interface SavedPromptList {
  prompts: SavedPrompt[]
  mayEditWorkspace: boolean
}

/** A text for messages. */
export interface SavedPrompt {
  name: string
  scope: 'personal' | 'workspace'
  description: string
  text: string
  /** Names in double braces in the text. */
  variables: string[]
  /** Who wrote it. */
  by: string | null
  updatedAt: string | null
}

/** What a model would be sent. */
export interface PromptPreview {
  model: string
  conversationId: string | null
  match: SkillMatch
  layers: PromptLayer[]
  tools: PromptTool[]
  /** Tools that are found with nb__discover_tools. */
  hiddenTools: number
  messages: number
  /** Estimates. */
  tokens: PromptTokens
  isCompactionDue: boolean
  /** The body of the request to the provider. */
  request: string
}

/** A part of the system prompt. */
export interface PromptLayer {
  layer: number
  name: string
  author: string
  tokens: number
  isVolatile: boolean
  text: string
}

/** A tool that is offered. */
export interface PromptTool {
  name: string
  tokens: number
}

/** Tokens by part. */
export interface PromptTokens {
  prompt: number
  tools: number
  messages: number
  total: number
}

/** Apps of the workspace. */
export interface AppList {
  apps: App[]
}

/** An app. */
export interface App {
  name: string
  /** The package. */
  bundleName: string
  version: string
  status: 'starting' | 'running' | 'crashed' | 'dead' | 'stopped'
  /** Why it does not run. */
  reason: string | null
  kind: 'named' | 'local' | 'remote' | 'command' | 'built-in'
  type: 'upjack' | 'plain'
  toolCount: number
  /** Tools that wait for an approval. */
  quarantinedCount: number
  trustScore: number | null
  /** It cannot be uninstalled. */
  protected: boolean
  title: string | null
  description: string | null
  /** What its manifest shows on the page. */
  ui: Record<string, unknown> | null
  /** It supports a sign-in. */
  auth?: AppSignIn
}

/** An app with its tools and its process. */
export interface AppDetail {
  name: string
  /** The package. */
  bundleName: string
  version: string
  status: 'starting' | 'running' | 'crashed' | 'dead' | 'stopped'
  /** Why it does not run. */
  reason: string | null
  kind: 'named' | 'local' | 'remote' | 'command' | 'built-in'
  type: 'upjack' | 'plain'
  toolCount: number
  /** Tools that wait for an approval. */
  quarantinedCount: number
  trustScore: number | null
  /** It cannot be uninstalled. */
  protected: boolean
  title: string | null
  description: string | null
  /** What its manifest shows on the page. */
  ui: Record<string, unknown> | null
  /** It supports a sign-in. */
  auth?: AppSignIn
  author: string | null
  uptimeMs: number | null
  rssBytes: number | null
  restartCount: number
  failures: number
  pid: number | null
  sandbox: string | null
  protocolVersion: string | null
  tools: AppTool[]
  quarantined?: HeldTool[]
  instructionsChanged?: ChangedInstructions
}

/** How people sign in to a remote app. */
export interface AppSignIn {
  type: 'oauth'
  per: 'person' | 'workspace'
  needsSignIn: boolean
}

/** A tool of an app. */
export interface AppTool {
  name: string
  description: string
  /** What it says about its effect. */
  effect: 'reads' | 'changes' | 'destroys' | 'undeclared'
  warnings: string[]
}

/** A tool that changed, or is new, and waits for an approval. */
export interface HeldTool {
  name: string
  /** The name with hidden characters made visible. */
  shownName?: string
  why: 'new' | 'changed' | 'shadows' | 'hidden' | 'repeated' | 'too_large'
  detail: string
  /** For the approval. */
  digest: string
  changes: DefinitionChange[]
  warnings: string[]
}

/** A changed part of a definition. */
export interface DefinitionChange {
  field: string
  before: string | null
  after: string | null
}

/** Instructions of an app that changed. */
export interface ChangedInstructions {
  digest: string
  before: string
  after: string
  warnings: string[]
}

/** What still waits. */
export interface AppApproval {
  name: string
  toolCount: number
  quarantinedCount: number
  quarantined: HeldTool[]
  instructionsChanged?: ChangedInstructions
}

/** The state of an app. */
export interface AppState {
  name: string
  status: 'starting' | 'running' | 'crashed' | 'dead' | 'stopped'
}

/** The state of an app and its process. */
export interface AppHealth {
  name: string
  state: 'starting' | 'running' | 'crashed' | 'dead' | 'stopped'
  /** Milliseconds. */
  uptime: number | null
  restartCount: number
}

/** Lines that an app logged. */
export interface AppLogs {
  name: string
  logs: string
}

/** An app that was uninstalled. */
export interface UninstalledApp {
  name: string
  uninstalled: boolean
  dataPreserved: boolean
  dataPath: string
}

/** Servers of another program. */
export interface ImportedServers {
  servers: ImportedServer[]
}

/** A server of another program. */
export interface ImportedServer {
  name: string
  /** For POST /v1/apps/install. */
  entry: Record<string, unknown> | null
  /** Only the owner of the server's machine may install it. */
  isForOwner: boolean
  source: string | null
  notes: string[]
}

/** Where the browser goes to sign in. */
export interface SignInStart {
  url: string
  expiresInS: number
}

/** The sign-in was forgotten. */
export interface SignInEnd {
  signedIn: boolean
}

/** A resource, as MCP returns it. */
export interface ResourceContents {
  contents: unknown
}

/** Client metadata (OAuth client id metadata document). */
export interface OauthClient {
  client_id: string
  client_name: string
  client_uri: string
  redirect_uris: string[]
  grant_types: string[]
  response_types: string[]
  token_endpoint_auth_method: string
  application_type: string
}

/** Places of apps on the page. */
export interface Shell {
  placements: Placement[]
  chatEndpoint: string
  eventsEndpoint: string
}

/** A place of an app on the page. */
export interface Placement {
  app: string
  slot: string
  uri: string
  label: string
  icon: string | null
  route: string | null
  priority: number
  size: string
}

/** An open interface. */
export interface View {
  viewId: string
  app: string
  title: string
  conversationId: string | null
  callId: string | null
  /** The definition of the tool. */
  tool: Record<string, unknown> | null
  sandbox: ViewSandbox
  hostInfo: Record<string, unknown>
  hostCapabilities: Record<string, unknown>
  /** The interface; null: `problem` says why. */
  resource: ViewResource | null
  problem: ViewProblem | null
  state: 'preparing' | 'running' | 'done' | 'cancelled'
  arguments: Record<string, unknown> | null
  result: Record<string, unknown> | null
  reason: string
}

/** The frame of an interface. */
export interface ViewSandbox {
  url: string
  origin: string
  /** It has an origin of its own. */
  isApart: boolean
}

/** An interface. */
export interface ViewResource {
  uri: string
  html: string | null
  /** Hosts that it may use, by purpose. */
  csp: Record<string, string[]>
  permissions: Record<string, unknown>
  prefersBorder: boolean | null
  /** Entries of its metadata that were refused. */
  dropped: string[]
  sha256: string
}

/** Why an interface cannot be shown. */
export interface ViewProblem {
  code: string
  message: string
}

/** The state of the call behind a view. */
export interface ViewState {
  state: 'preparing' | 'running' | 'done' | 'cancelled'
  arguments: Record<string, unknown> | null
  result: Record<string, unknown> | null
  reason: string
}

/** How many tools are offered. */
export interface ViewOffer {
  count: number
}

/** Calls that wait for an interface. */
export interface ViewCallList {
  calls: ViewCall[]
}

/** A call that waits for an interface. */
export interface ViewCall {
  callId: string
  /** The interface's own name of the tool. */
  name: string
  arguments: unknown
}

/** The response to an interface: one of the two. */
export interface ViewReply {
  result?: unknown
  error?: Record<string, unknown>
}

/** A message of JSON-RPC 2.0, as MCP defines it. */
export type JsonRpc = Record<string, unknown>

/** Metadata of a protected resource (RFC 9728). */
export interface ResourceMetadata {
  resource: string
  authorization_servers: string[]
  bearer_methods_supported: string[]
}

/** People, and files about people that cannot be read. */
export interface UserList {
  users: User[]
  problems: string[]
}

/** A person. */
export interface User {
  id: string
  email: string | null
  displayName: string | null
  /** The role on the server. */
  orgRole: 'owner' | 'admin' | 'member'
  createdAt: string | null
  /** Absent in lists. */
  hasPassword?: boolean
  /** Absent in lists. */
  preferences?: Preferences | null
}

/** What was deleted. */
export interface Deleted {
  id: string
  /** Always true. */
  deleted: boolean
}

/** Settings of a person for the page and other clients; any members. */
export type Preferences = Record<string, unknown>

/** Tokens of a person. */
export interface TokenList {
  tokens: Token[]
}

/** A token, without its value. */
export interface Token {
  id: string
  name: string
  scopes: string[]
  /** Patterns; empty: all tools. */
  tools: string[]
  /** The only workspace that it may use. */
  workspaceId: string | null
  createdAt: string | null
  expiresAt: string | null
  lastUsedAt: string | null
}

/** A new token. */
export interface NewToken {
  id: string
  /** Its value; it is not shown again. */
  token: string
}

/** A page of the audit log. */
export interface AuditPage {
  records: AuditRecord[]
  /** For `before` (or `after`): there are more. */
  next?: number
}

/** A record. Each contains the hash of the one in front of it. */
export interface AuditRecord {
  seq: number
  time: string
  actor: AuditActor
  workspace?: string
  action: string
  target?: string
  outcome: string
  detail?: string
  prev: string
  hash: string
}

/** Who did it, and how they were known. */
export interface AuditActor {
  user?: string
  token?: string
  how?: string
  address?: string
  via?: string
  run?: string
}

/** Who asks, their workspaces, and the settings that clients show. */
export interface Bootstrap {
  user: User | null
  workspaces: Workspace[]
  /** The one that the other members are about. */
  activeWorkspace: string
  authMode: 'dev' | 'key' | 'local' | 'oidc'
  orgName: string | null
  shell: BootstrapShell
  config: BootstrapConfig
  version: string
}

/** Where clients find chat and events. */
export interface BootstrapShell {
  /** Always empty; GET /v1/shell has them. */
  placements: unknown[]
  chatEndpoint: string
  eventsEndpoint: string
}

/** Models and limits. */
export interface BootstrapConfig {
  /** default, fast, reasoning. */
  models: Record<string, string | null>
  configuredProviders: string[]
  maxIterations: number
  maxInputTokens: number
  maxOutputTokens: number
}

/** The model in use and counts, for the start screen. */
export interface WorkspaceStatus {
  version: string
  model: ModelInUse
  user: UserReference
  /** For administrators. */
  dataDir?: string
  /** For administrators. */
  examples?: ExampleApp[]
  pageUrl?: string
  /** The kind of the store. */
  store: string
  status: ServerCounts
}

/** The default model. */
export interface ModelInUse {
  name: string
  /** Why it is this one. */
  why: string
  isDemo: boolean
}

/** A person by id. */
export interface UserReference {
  id: string
}

/** An app that comes with nb, to try. */
export interface ExampleApp {
  name: string
  title: string
  /** A message that uses it. */
  message: string
  path: string
  isInstalled: boolean
}

/** What the server is doing. */
export interface ServerCounts {
  /** Seconds. */
  uptime: number
  totalTools: number
  /** Runs in progress in this workspace. */
  runs: number
}

/** Workspaces. */
export interface WorkspaceList {
  workspaces: Workspace[]
}

/** A workspace. */
export interface Workspace {
  id: string
  name: string
  /** Your role; null: you are not a member. */
  role: 'admin' | 'member' | null
  memberCount: number
  bundleCount: number
  createdAt: string | null
}

/** Members of a workspace. */
export interface MemberList {
  members: Member[]
}

/** A member. */
export interface Member {
  userId: string
  displayName: string | null
  email: string | null
  role: 'admin' | 'member'
}

/** Notices, the newest first. */
export interface NoticeList {
  notices: Notice[]
}

/** Something that concerns a person. */
export interface Notice {
  kind: 'mention' | 'added' | 'removed'
  conversationId: string
  /** The id of the person who did it. */
  by: string
  timestamp: string
  seen: boolean
}

/** Rules for tools, and what they decide. */
export interface Permissions {
  default: 'ask' | 'allow'
  allow: string[]
  ask: string[]
  deny: string[]
  /** Tools that you allowed permanently. */
  consents: string[]
  /** Tools that were allowed for everybody. */
  workspaceConsents: string[]
  mayChange: boolean
  tools: ToolDecision[]
}

/** What the rules decide about a tool. */
export interface ToolDecision {
  name: string
  decision: 'allow' | 'ask' | 'deny'
}

/** It was done. */
export interface Done {
  /** Always true. */
  ok: boolean
}

/** Why a request failed. */
export interface Error {
  /** A code for programs, such as not_found. */
  error: string
  /** A sentence for people. */
  message: string
  /** More, where a program can use it. */
  details?: Record<string, unknown>
}

/** The person who is logged in. */
export interface Session {
  authenticated: boolean
  /** How people log in here. */
  mode: 'dev' | 'key' | 'local' | 'oidc'
  userId: string
  displayName: string | null
  /** The role on the server. */
  orgRole: 'owner' | 'admin' | 'member'
  /** When the session ends. */
  expiresAt: string | null
}

/** The address of the page. */
export interface PageLink {
  mode: 'dev' | 'key' | 'local' | 'oidc'
  /** Without the key; empty: the server has no port. */
  url: string
  /** With the key, after #. */
  link: string
  /** Empty: people log in with accounts. */
  key: string
}

/** Whether the server works. */
export interface Health {
  status: 'ok' | 'degraded'
  /** Why it is degraded. */
  reason?: string
  /** Seconds. */
  uptime: number
  version: string
  /** Of workspaces that the caller may see. */
  bundles?: HealthOfApp[]
}

/** An app and its state. */
export interface HealthOfApp {
  name: string
  state: 'starting' | 'running' | 'crashed' | 'dead' | 'stopped'
  workspaceId: string
}
