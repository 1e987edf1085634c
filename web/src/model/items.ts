// The items of a conversation on the page: messages of people, and runs of the agent that
// answer them. A run is a sequence of blocks.
import type {
  AskDecision,
  ContentPart,
  FilePart,
  InputRequest,
  ResultBlob,
  ResultPart,
} from '../api/types'

export type ToolState =
  'preparing' | 'waiting' | 'running' | 'ok' | 'error' | 'declined' | 'interrupted'

export interface ToolCall {
  id: string
  name: string
  state: ToolState
  input?: unknown
  output?: string
  parts?: ResultPart[] // of its result; absent: the output is all there is
  blob?: ResultBlob // a result that is too large for the log
  exitCode?: number // of a command
  ms?: number
  startedAt?: number // this browser's clock, for calls seen starting
  progress?: Progress
  childId?: string // the conversation of a run that this call delegated to
  resourceUri?: string // the interface of the tool, which is shown as an app
  partial?: unknown // its arguments, as far as the model has written them
  position?: number // in the log, of the answer that makes the call
}

export interface Progress {
  share: number | null // 0 to 1; null: unknown how much there is
  message: string
}

export interface TextBlock {
  kind: 'text' | 'thinking'
  key: string
  text: string
  ms?: number // thinking: how long it took; absent: unknown, or it is under way
  startedAt?: number // this browser's clock, for thinking seen starting
}

export interface ToolsBlock {
  kind: 'tools' // the calls of one answer of the model: they run in parallel
  key: string
  calls: ToolCall[]
}

export interface AskBlock {
  kind: 'ask' // may these calls be made?
  key: string
  askId: string
  calls: ToolCall[] // the same objects as in the block of tools
  canRemember: boolean // "always" would have an effect
  words: string | null // "always" can be limited to commands that begin with them
  directory: string | null // of a terminal, where a command would run: only the terminal may allow that
  decision: AskDecision | 'mixed' | null // null: open
  by?: string | null // who answered
  at?: string // when
  always?: string // where the answer is remembered: conversation, me, workspace
  /** Only while this page's own answer is on its way, or when it did not arrive. */
  sending?: Sending
}

export interface InputBlock {
  kind: 'input' // what does a tool need to know?
  key: string
  request: InputRequest
  outcome: string | null // null: open
  by?: string | null // who answered
  sending?: Sending
}

export type Block = TextBlock | ToolsBlock | AskBlock | InputBlock

/** waits: it was sent while the agent was answering. */
export type Sending =
  { state: 'pending'; waits?: 'queue' | 'steer' } | { state: 'failed'; message: string }

export interface UserItem {
  kind: 'user'
  key: string
  userId: string | null
  displayName: string | null
  text: string
  files?: FilePart[]
  at: string
  position: number | null // in the log; null: not yet there
  app?: string // it was written by this app, in the person's name
  forPeople?: boolean // the agent does not answer it
  contextApps?: string[] // apps whose view was sent with it
  /** Only for own messages that the server does not have yet. */
  sending?: Sending
  /** Likewise: where a new conversation begins with it. */
  projectId?: string | null
  /** From here on the model gets a summary of older messages, or not even that. */
  compacted?: Compacted
  /** It waits on the server until the agent takes it. */
  queued?: { id: string; mode: 'queue' | 'steer' }
}

export interface Compacted {
  messages: number // that the summary stands for
  summary: string
  cutBecause?: string // why there is no summary of them
}

/** A call of the model that is about to be repeated. */
export interface Retry {
  attempt: number // that comes next, from 2
  of: number | null // how many there are; null: not known
  at: number // when it starts, by this browser's clock
  why: string
}

export interface TokenUsage {
  inputTokens: number // all of it, cached or not
  outputTokens: number
  cacheReadTokens: number
  cacheWrite5mTokens: number
  cacheWrite1hTokens: number
}

export type RunState = 'running' | 'done' | 'error' | 'interrupted'

export interface RunItem {
  kind: 'run'
  key: string
  state: RunState
  at: string
  model: string | null
  blocks: Block[]
  stopReason: string | null
  errorType?: string
  error: string | null
  usage: TokenUsage
  contextTokens: number // that its newest answer and the request for it have; 0: unknown
  skill: string | null // that was matched
  retry: Retry | null
  totalMs: number | null
  positions: number[] // of its answers in the log
  ends: number // how often it ended, without those that wait: each counts as one message of the conversation
  version: number // grows with every change, so that views know what to look at again
}

export type Item = UserItem | RunItem

export function newRun(key: string, at: string): RunItem {
  return {
    kind: 'run',
    key,
    state: 'running',
    at,
    model: null,
    blocks: [],
    stopReason: null,
    error: null,
    usage: {
      inputTokens: 0,
      outputTokens: 0,
      cacheReadTokens: 0,
      cacheWrite5mTokens: 0,
      cacheWrite1hTokens: 0,
    },
    contextTokens: 0,
    skill: null,
    retry: null,
    totalMs: null,
    positions: [],
    ends: 0,
    version: 0,
  }
}

/** Calls without a result become what the end of the run makes of them. */
export function closeRun(
  item: RunItem,
  state: RunState,
  unfinished: ToolState = 'interrupted',
): void {
  item.state = state
  item.retry = null
  item.version++
  for (const block of item.blocks) {
    if (block.kind === 'input') block.outcome ??= 'withdrawn'
    if (block.kind !== 'tools') continue
    for (const call of block.calls) {
      if (isUnfinished(call)) call.state = unfinished
    }
  }
}

function isUnfinished({ state }: ToolCall): boolean {
  return state === 'running' || state === 'preparing' || state === 'waiting'
}

/** Calls that the history has without a result: in a run that goes on, their tools are at work. */
export function startStored(item: RunItem): void {
  for (const block of item.blocks) {
    if (block.kind !== 'tools') continue
    for (const call of block.calls) if (call.state === 'preparing') call.state = 'running'
  }
}

export function openAsk(item: RunItem | undefined): AskBlock | null {
  const ask = item?.blocks.findLast((block) => block.kind === 'ask')
  return ask?.decision === null ? ask : null
}

/** The newest call with that id: providers may use an id again in a later answer. */
export function findCall(blocks: Block[], id: string): ToolCall | undefined {
  for (const block of blocks.toReversed()) {
    const call = block.kind === 'tools' ? block.calls.find((c) => c.id === id) : undefined
    if (call) return call
  }
  return undefined
}

export function textOf(content: ContentPart[] | string): string {
  if (typeof content === 'string') return content // as old logs have it
  return content
    .filter((part) => part.type === 'text')
    .map((part) => part.text ?? '')
    .join('\n\n')
}

export function filesOf(content: ContentPart[] | string): FilePart[] {
  if (typeof content === 'string') return []
  return content.flatMap(({ type, file, name = 'file', mimeType = '', bytes = 0 }) =>
    file ? [{ type, file, name, mimeType, bytes }] : [],
  )
}

/** Text and groups of tool calls in the order in which the model wrote them. */
export function blocksOf(content: ContentPart[], prefix: string): Block[] {
  const blocks: Block[] = []
  const counts: Record<string, number> = {}
  const key = (kind: string) => {
    const n = (counts[kind] = (counts[kind] ?? 0) + 1)
    return prefix + (n === 1 ? kind : `${kind}${n}`) // the first has the key it had while streaming
  }
  for (const part of content) {
    const last = blocks.at(-1)
    if (part.type === 'text' && part.text?.trim()) {
      blocks.push({ kind: 'text', key: key('text'), text: part.text.trimStart() })
    } else if (part.type === 'reasoning' && part.text?.trim()) {
      blocks.push({ kind: 'thinking', key: key('thinking'), text: part.text })
    } else if (part.type === 'tool-call') {
      const call: ToolCall = {
        id: part.toolCallId ?? '',
        name: part.toolName ?? '',
        state: 'preparing',
        input: part.input,
        resourceUri: part.resourceUri,
      }
      if (last?.kind === 'tools') last.calls.push(call)
      else blocks.push({ kind: 'tools', key: key('tools'), calls: [call] })
    }
  }
  return blocks
}

export function addUsage(to: TokenUsage, more: Partial<TokenUsage>): void {
  for (const key of Object.keys(to) as (keyof TokenUsage)[]) to[key] += more[key] ?? 0
}

/** How many messages of the conversation the item stands for, as the server counts them. */
export function messagesIn(item: Item): number {
  if (item.kind === 'run') return item.ends
  return item.position === null ? 0 : 1
}

/** The first position of the log that the item shows; null when it is not in the log yet. */
export function startOf(item: Item): number | null {
  return item.kind === 'run' ? (item.positions[0] ?? null) : item.position
}
