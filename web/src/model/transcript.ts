// A conversation as the page shows it, folded from the events of its stream. Pure: events
// in, items out; no network and no DOM.
import type {
  ConversationEvent,
  ConversationEvents,
  HistoryMessage,
  HistoryPage,
  InputRequest,
  Question,
  ResultPart,
} from '../api/types'
import { addUsage, blocksOf, closeRun, findCall, newRun, openAsk, filesOf, startStored, textOf } from './items'
import type {
  AskBlock,
  Block,
  Compacted,
  InputBlock,
  Item,
  RunItem,
  Sending,
  TextBlock,
  ToolCall,
  ToolsBlock,
  ToolState,
  UserItem,
} from './items'
import { eventsOf } from './recall'

interface RunFold {
  item: RunItem
  round: number // answers of the model so far
  hasStarted: boolean // its run.start was seen
  isSteered: boolean // a message came in between: what follows is shown below it
}

const DELEGATES = /(?:^|__)delegate$/

type Folder<K extends keyof ConversationEvents> = (
  data: ConversationEvents[K],
  id: string | null,
) => void

export class Transcript {
  items: Item[] = []
  title: string | null = null
  participants: string[] | null = null
  visibility: 'private' | 'shared' | null = null

  #runs = new Map<string, RunFold>()
  #compacted: Compacted | undefined // shown with the message that follows
  #folders: { [K in keyof ConversationEvents]?: Folder<K> } = {
    'user.message': (data, id) => this.#addUser(data, id),
    'run.start': (data) => this.#startRun(data),
    'text.delta': (data) => this.#addDelta(data.runId, 'text', data.text),
    'reasoning.delta': (data) => this.#addDelta(data.runId, 'thinking', data.text),
    'text.snapshot': (data) => this.#applySnapshot(data),
    'run.retry': (data) => this.#noteRetry(data),
    'history.compacted': (data) => this.#noteCompaction(data),
    'tool.preparing': (data) => this.#updateCall(data, { state: 'preparing', ...uriOf(data) }),
    'tool.input': (data) => this.#notePartial(data),
    'tool.start': (data) => this.#startCall(data),
    'tool.progress': (data) => this.#noteProgress(data),
    'tool.settled': (data) => this.#updateCall(data, { state: this.#outcome(data), ms: data.ms }),
    'tool.done': (data) => this.#finishCall(data),
    'llm.done': (data, id) => this.#commit(data, id),
    'ask.opened': (data) => this.#openAsk(this.#run(data.runId, data.ts).item, data),
    'ask.answered': (data) => this.#settleAsk(data),
    'input.requested': (data) => this.#openInput(this.#run(data.runId, data.ts).item, data),
    'input.answered': (data) => this.#settleInput(data),
    'run.done': (data) => this.#endRun(data),
    'run.error': (data) => this.#failRun(data),
    'conversation.title': (data) => this.#setTitle(data),
    'conversation.visibility': (data) => (this.visibility = data.visibility),
    'conversation.participants': (data) => (this.participants = data.participants),
    reset: () => this.#clear(),
  }

  /** Returns false for events that this page does not know. */
  apply({ event, data, id }: ConversationEvent): boolean {
    const fold = this.#folders[event] as Folder<typeof event> | undefined
    if (!fold) return false
    ;(fold as (data: unknown, id: string | null) => void)(data, id)
    return true
  }

  /** Begins with a page of the history; the events that follow continue it. */
  load({ messages, ask, inputs }: Pick<HistoryPage, 'messages' | 'ask' | 'inputs'>): void {
    this.#clear()
    for (const event of eventsOf(messages)) this.apply(event)
    const last = this.items.at(-1)
    if (last?.kind !== 'run') return
    if (ask) this.#openAsk(last, ask)
    for (const input of inputs ?? []) this.#openInput(last, input)
  }

  /** Puts an earlier page of the history in front. */
  prepend(messages: HistoryMessage[]): void {
    const earlier = new Transcript()
    earlier.load({ messages, ask: null })
    const last = earlier.items.at(-1)
    const first = this.items[0]
    if (last?.kind === 'run' && first?.kind === 'run' && last.key === first.key) {
      const blocks = last.blocks.map((block) => ({ ...block, key: `earlier ${block.key}` }))
      first.blocks = [...blocks, ...first.blocks]
      first.positions = [...last.positions, ...first.positions]
      first.ends += last.ends
      addUsage(first.usage, last.usage)
      first.version++
      earlier.items.pop()
    }
    earlier.#interruptOthers()
    this.items = [...earlier.items, ...this.items]
  }

  get activeRun(): RunItem | null {
    const last = this.#lastRun
    return last?.state === 'running' ? last : null
  }

  /** The question that the conversation waits for. */
  get openAsk(): AskBlock | null {
    return openAsk(this.#lastRun)
  }

  noteAnswer(block: AskBlock | InputBlock, sending: Sending): void {
    block.sending = sending
    for (const item of this.items)
      if (item.kind === 'run' && item.blocks.includes(block)) item.version++
  }

  get #lastRun(): RunItem | undefined {
    return this.items.findLast((item) => item.kind === 'run')
  }

  /** An automatic title never replaces one, in whichever order they come. */
  #setTitle({ title, auto }: ConversationEvents['conversation.title']): void {
    if (!auto || this.title === null) this.title = title
  }

  #clear(): void {
    this.items = []
    this.#runs.clear()
    this.#compacted = undefined
  }

  #addUser(data: ConversationEvents['user.message'], id: string | null): void {
    const item: UserItem = {
      kind: 'user',
      key: `user/${id}`,
      userId: data.userId ?? null,
      displayName: data.displayName ?? null,
      text: textOf(data.content),
      files: filesOf(data.content),
      forPeople: data.forPeople,
      at: data.ts ?? '',
      position: id === null ? null : Number(id),
      app: data.app,
      compacted: this.#compacted,
      contextApps: data.context && [...new Set(data.context.map(({ app }) => app))],
    }
    this.#compacted = undefined
    // The first words of an answer may overtake the question on its way to the disk.
    const last = this.items.at(-1)
    const open = last?.kind === 'run' && last.state === 'running' ? this.#foldOf(last) : null
    const isEarly = open?.hasStarted === false
    if (open && !isEarly) open.isSteered = true
    this.items.splice(isEarly ? this.items.length - 1 : this.items.length, 0, item)
  }

  /** The run; made here when it was not seen starting. */
  #run(runId: string, at = ''): RunFold {
    const known = this.#runs.get(runId)
    if (known) return known.isSteered ? this.#goOnBelow(known) : known
    const waited = this.#continued()
    if (waited) {
      this.#runs.set(runId, waited)
      return waited
    }
    const fold = { item: newRun(runId, at), round: 0, hasStarted: false, isSteered: false }
    this.#interruptOthers()
    this.#runs.set(runId, fold)
    this.items.push(fold.item)
    return fold
  }

  /** The rest of a run behind the message that steered it. */
  #goOnBelow(fold: RunFold): RunFold {
    closeRun(fold.item, 'done')
    fold.item = newRun(`${fold.item.key}+`, fold.item.at)
    fold.isSteered = false
    this.items.push(fold.item)
    return fold
  }

  #foldOf(item: RunItem): RunFold | undefined {
    return [...this.#runs.values()].find((fold) => fold.item === item)
  }

  /**
   * A run behind one that waited, with no message between them, goes on with it: together
   * they are one answer. While the question is open, the message is only late.
   */
  #continued(): RunFold | null {
    const last = this.items.at(-1)
    if (last?.kind !== 'run' || last.stopReason !== 'waiting' || openAsk(last)) return null
    const fold = this.#foldOf(last)
    if (!fold) return null
    last.state = 'running'
    last.stopReason = null
    last.version++
    return fold
  }

  #openAsk(item: RunItem, { askId, calls }: Question): void {
    const asked = calls.map((call) => {
      const known: ToolCall = findCall(item.blocks, call.id) ?? { ...call, state: 'waiting' }
      known.state = 'waiting'
      return known
    })
    const canRemember = calls.some((call) => call.canRemember !== false)
    const directory = calls.find((call) => call.directory)?.directory ?? null
    const words = new Set(calls.map((call) => call.words))
    item.blocks.push({
      kind: 'ask',
      key: `ask/${askId}`,
      askId,
      calls: asked,
      canRemember,
      words: (words.size === 1 && calls[0]!.words) || null,
      directory,
      decision: null,
    })
    item.version++
  }

  #settleAsk(data: ConversationEvents['ask.answered']): void {
    const { askId, decision, decisions, always, words, userId, ts } = data
    const item = this.#lastRun
    const ask = openAsk(item)
    if (!item || ask?.askId !== askId) return
    ask.decision = decisions ? 'mixed' : decision
    ask.by = userId ?? null
    ask.at = ts
    ask.always = always
    ask.words = words ?? null
    for (const call of ask.calls)
      if (!(decisions?.[call.id] ?? decision === 'allow')) call.state = 'declined'
    delete ask.sending
    item.version++
  }

  #openInput(item: RunItem, request: InputRequest): void {
    const key = `input/${request.inputId}`
    if (item.blocks.some((block) => block.key === key)) return
    item.blocks.push({ kind: 'input', key, request, outcome: null })
    item.version++
  }

  #settleInput({ runId, inputId, action, userId }: ConversationEvents['input.answered']): void {
    const { item } = this.#run(runId)
    const block = item.blocks.find((b): b is InputBlock => b.key === `input/${inputId}`)
    if (!block) return
    block.outcome = action
    block.by = userId ?? null
    delete block.sending
    item.version++
  }

  /** A conversation has one run at a time: a new one shows that the one before has died. */
  #interruptOthers(exceptRunId: string | null = null): void {
    const except = exceptRunId === null ? null : this.#runs.get(exceptRunId)?.item
    for (const { item } of this.#runs.values()) {
      if (item.state === 'running' && item !== except) closeRun(item, 'interrupted')
    }
  }

  #startRun(data: ConversationEvents['run.start']): void {
    const fold = this.#run(data.runId, data.ts)
    fold.hasStarted = true
    fold.item.model = data.model ?? null
    fold.item.skill = data.skill ?? null
    fold.item.at ||= data.ts ?? ''
    fold.item.version++
  }

  #liveText(fold: RunFold, kind: TextBlock['kind']): TextBlock {
    const key = `${fold.round}/${kind}`
    const known = fold.item.blocks.find((block) => block.key === key)
    if (known) return known as TextBlock
    const block: TextBlock = { kind, key, text: '' }
    fold.item.blocks.push(block)
    return block
  }

  /** Whatever comes of an answer shows that the model answers again, and text that it has thought. */
  #hear({ item, round }: RunFold, isThinking: boolean): void {
    item.retry = null
    const thinking = item.blocks.find((b): b is TextBlock => b.key === `${round}/thinking`)
    if (!isThinking && thinking?.startedAt !== undefined)
      thinking.ms ??= performance.now() - thinking.startedAt
  }

  #noteRetry({ runId, attempt, of, waitMs, message }: ConversationEvents['run.retry']): void {
    const { item } = this.#run(runId)
    const at = performance.now() + waitMs
    item.retry = { attempt: attempt + 1, of: of ?? null, at, why: message }
    item.version++
  }

  #noteCompaction(data: ConversationEvents['history.compacted']): void {
    const { summarizedMessageCount: messages = 0, summary, cutBecause } = data
    this.#compacted = { messages, summary, cutBecause }
  }

  #addDelta(runId: string, kind: TextBlock['kind'], text: string): void {
    const fold = this.#run(runId)
    this.#hear(fold, kind === 'thinking')
    const block = this.#liveText(fold, kind)
    if (kind === 'thinking') block.startedAt ??= performance.now()
    // Between two answers the stream has a blank line, which a block of its own does not need.
    block.text = block.text === '' ? text.trimStart() : block.text + text
    fold.item.version++
  }

  #applySnapshot({ runId, text, calls = [], retry, progress = [], elsewhere }: ConversationEvents['text.snapshot']): void {
    if (elsewhere) return
    this.#interruptOthers(runId)
    if (runId === null) return
    const fold = this.#run(runId)
    const key = `${fold.round}/text`
    if (text.trim() !== '') this.#liveText(fold, 'text').text = text.trimStart()
    else fold.item.blocks = fold.item.blocks.filter((block) => block.key !== key)
    fold.item.version++
    startStored(fold.item)
    for (const call of calls) {
      const partial = call.input === undefined ? {} : { partial: call.input }
      this.#updateCall({ runId, ...call }, { state: 'preparing', ...uriOf(call), ...partial })
    }
    for (const note of progress) this.#noteProgress({ runId, ...note })
    if (retry) this.#noteRetry({ runId, ...retry })
  }

  #updateCall(
    { runId, id, name }: { runId: string; id: string; name: string },
    change: Partial<ToolCall>,
  ): void {
    const fold = this.#run(runId)
    const { item, round } = fold
    const isNew = change.state === 'preparing'
    if (isNew) this.#hear(fold, false)
    if (!isNew) fold.hasStarted = true // calls follow run.start in the log
    item.version++
    const known = findCall(
      isNew ? item.blocks.filter((b) => b.key.startsWith(`${round}/`)) : item.blocks,
      id,
    )
    if (known) {
      Object.assign(known, change)
      return
    }
    const call: ToolCall = { id, name, state: 'running', ...change }
    const key = `${round}/tools`
    const block = item.blocks.find((b): b is ToolsBlock => b.kind === 'tools' && b.key === key)
    if (block) block.calls.push(call)
    else item.blocks.push({ kind: 'tools', key, calls: [call] })
  }

  #startCall(data: ConversationEvents['tool.start']): void {
    const { input } = data
    const startedAt = performance.now()
    this.#updateCall(data, { state: 'running', input, startedAt, ...uriOf(data) })
  }

  /** The model still writes the arguments; only apps show how far it is. */
  #notePartial({ runId, id, input }: ConversationEvents['tool.input']): void {
    const { item } = this.#run(runId)
    const call = findCall(item.blocks, id)
    if (!call) return
    call.partial = input
    item.version++
  }

  /** A call that somebody declined has not failed. */
  #outcome({ runId, id, ok }: { runId: string; id: string; ok: boolean }): ToolState {
    if (ok) return 'ok'
    const known = findCall(this.#run(runId).item.blocks, id)
    return known?.state === 'declined' ? 'declined' : 'error'
  }

  #finishCall(data: ConversationEvents['tool.done']): void {
    const { ms, output = '', parts, blob, result } = data
    const childId = DELEGATES.test(data.name) ? childOf(result?.structuredContent) : null
    const state = this.#outcome(data)
    const exitCode = exitCodeOf(parts)
    const change = { state, ms, output, parts, blob, exitCode, ...uriOf(data) } as const
    this.#updateCall(data, childId ? { ...change, childId } : change)
  }

  #noteProgress(data: ConversationEvents['tool.progress']): void {
    const { item } = this.#run(data.runId)
    const call = findCall(item.blocks, data.id)
    if (!call) return
    const share = data.total ? Math.min(1, data.progress / data.total) : null
    call.progress = { share, message: data.message ?? '' }
    const child = /^started (conv_\w+)$/.exec(call.progress.message)?.[1]
    if (child) call.childId = child
    item.version++
  }

  /** An answer of the model is in the log: what was streamed of it is replaced by it. */
  #commit(data: ConversationEvents['llm.done'], id: string | null): void {
    const fold = this.#run(data.runId, data.ts)
    const { item, round } = fold
    const prefix = `${round}/`
    const blocks = blocksOf(data.content, prefix)
    this.#describeCalls(blocks, item.blocks, id)
    const thought = blocks.find((block): block is TextBlock => block.kind === 'thinking')
    if (thought && data.thinkingMs !== undefined) thought.ms = data.thinkingMs
    // Thinking that only the stream carried stays until the page is left.
    const thinking = item.blocks.filter((block) => block.key === `${prefix}thinking` && !thought)
    item.blocks = item.blocks.filter((block) => !block.key.startsWith(prefix))
    item.blocks.push(...thinking, ...blocks)
    addUsage(item.usage, data)
    item.contextTokens = (data.inputTokens ?? 0) + (data.outputTokens ?? 0)
    item.retry = null
    if (id !== null) item.positions.push(Number(id))
    item.model = data.model ?? item.model
    item.version++
    fold.hasStarted = true
    fold.round++
  }

  /** The stream tells of calls what the answer in the log does not. */
  #describeCalls(blocks: Block[], streamed: Block[], id: string | null): void {
    for (const block of blocks) {
      if (block.kind !== 'tools') continue
      for (const call of block.calls) {
        call.resourceUri ??= findCall(streamed, call.id)?.resourceUri
        if (id !== null) call.position = Number(id)
      }
    }
  }

  #endRun(data: ConversationEvents['run.done']): void {
    const { item } = this.#run(data.runId, data.ts)
    closeRun(item, 'done', data.stopReason === 'waiting' ? 'waiting' : 'interrupted')
    item.stopReason = data.stopReason
    if (data.stopReason !== 'waiting') item.ends++
    if (data.totalMs !== undefined) item.totalMs = (item.totalMs ?? 0) + data.totalMs
  }

  #failRun(data: ConversationEvents['run.error']): void {
    const fold = this.#run(data.runId, data.ts)
    if (data.partialText?.trim()) this.#liveText(fold, 'text').text = data.partialText.trimStart()
    closeRun(fold.item, 'error')
    fold.item.error = data.error
    fold.item.errorType = data.errorType
  }
}

/** Events without it must not take it away. */
function uriOf({ resourceUri }: { resourceUri?: string }): Partial<ToolCall> {
  return resourceUri ? { resourceUri } : {}
}

/** Commands tell how they ended in their structured content. */
function exitCodeOf(parts: ResultPart[] | undefined): number | undefined {
  const value = parts?.find(({ type }) => type === 'structured')?.value
  const { exit_code: plain, exitCode = plain } = (value ?? {}) as Record<string, unknown>
  return typeof exitCode === 'number' ? exitCode : undefined
}

function childOf(structured: unknown): string | null {
  const id = (structured as { conversationId?: unknown } | null | undefined)?.conversationId
  return typeof id === 'string' ? id : null
}
