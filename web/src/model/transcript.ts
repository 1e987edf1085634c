// A conversation as the page shows it, folded from the events of its stream. Pure: events
// in, items out; no network and no DOM.
import type {
  ContentPart,
  ConversationEvent,
  ConversationEvents,
  HistoryMessage,
  Question,
} from '../api/types'
import { blocksOf, closeRun, findCall, newRun, openAsk, textOf } from './items'
import type {
  AskBlock,
  Item,
  RunItem,
  Sending,
  TextBlock,
  ToolCall,
  ToolsBlock,
  UserItem,
} from './items'

interface RunFold {
  item: RunItem
  round: number // answers of the model so far
  hasStarted: boolean // its run.start was seen
}

type Folder<K extends keyof ConversationEvents> = (
  data: ConversationEvents[K],
  id: string | null,
) => void

export class Transcript {
  items: Item[] = []
  title: string | null = null
  participants: string[] | null = null

  #runs = new Map<string, RunFold>()
  #folders: { [K in keyof ConversationEvents]: Folder<K> } = {
    'user.message': (data, id) => this.#addUser(data, id),
    'run.start': (data) => this.#startRun(data),
    'text.delta': (data) => this.#addDelta(data.runId, 'text', data.text),
    'reasoning.delta': (data) => this.#addDelta(data.runId, 'thinking', data.text),
    'text.snapshot': (data) => this.#applySnapshot(data),
    'tool.preparing': (data) => this.#updateCall(data, { state: 'preparing' }),
    'tool.start': (data) =>
      this.#updateCall(data, { state: 'running', input: data.input, startedAt: performance.now() }),
    'tool.settled': (data) =>
      this.#updateCall(data, { state: data.ok ? 'ok' : 'error', ms: data.ms }),
    'tool.done': (data) =>
      this.#updateCall(data, {
        state: data.ok ? 'ok' : 'error',
        ms: data.ms,
        output: data.output ?? '',
      }),
    'llm.done': (data) => this.#commit(data),
    'ask.opened': (data) => this.#openAsk(this.#run(data.runId, data.ts).item, data),
    'ask.answered': (data) => this.#settleAsk(data),
    'run.done': (data) => this.#endRun(data),
    'run.error': (data) => this.#failRun(data),
    'conversation.title': (data) => (this.title = data.title),
    'conversation.visibility': () => {}, // lists show it
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
  load(messages: HistoryMessage[], ask: Question | null = null): void {
    this.#clear()
    for (const message of messages) {
      if (message.role === 'user') this.#recallUser(message)
      else this.#recallAnswer(message)
      if (message.error) this.#recallError(message)
    }
    const last = this.items.at(-1)
    if (ask && last?.kind === 'run') this.#openAsk(last, ask)
  }

  /** Puts an earlier page of the history in front. */
  prepend(messages: HistoryMessage[]): void {
    const earlier = new Transcript()
    earlier.load(messages)
    const last = earlier.items.at(-1)
    const first = this.items[0]
    if (last?.kind === 'run' && first?.kind === 'run' && last.key === first.key) {
      const blocks = last.blocks.map((block) => ({ ...block, key: `earlier ${block.key}` }))
      first.blocks = [...blocks, ...first.blocks]
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

  noteAnswer(ask: AskBlock, sending: Sending): void {
    ask.sending = sending
    for (const item of this.items) if (item.kind === 'run' && openAsk(item) === ask) item.version++
  }

  get #lastRun(): RunItem | undefined {
    return this.items.findLast((item) => item.kind === 'run')
  }

  #clear(): void {
    this.items = []
    this.#runs.clear()
  }

  #addUser(data: ConversationEvents['user.message'], id: string | null): void {
    const item: UserItem = {
      kind: 'user',
      key: `user/${id}`,
      userId: data.userId ?? null,
      displayName: data.displayName ?? null,
      text: textOf(data.content),
      at: data.ts ?? '',
    }
    // The first words of an answer may overtake the question on its way to the disk.
    const last = this.items.at(-1)
    const isEarly =
      last?.kind === 'run' &&
      last.state === 'running' &&
      this.#runs.get(last.key)?.hasStarted === false
    this.items.splice(isEarly ? this.items.length - 1 : this.items.length, 0, item)
  }

  #recallUser(message: HistoryMessage): void {
    const { userId, displayName, parts, timestamp } = message
    this.#addUser({ content: parts, userId, displayName, ts: timestamp }, String(message.position))
  }

  #recallAnswer(message: HistoryMessage): void {
    const runId = message.runId ?? `run/${message.position}`
    const calls = message.toolCalls ?? []
    this.#commit({ ...message, runId, content: contentOf(message), ts: message.timestamp })
    for (const { id, name, ok, ms, output, isAnswered } of calls) {
      if (isAnswered)
        this.#updateCall({ runId, id, name }, { state: ok ? 'ok' : 'error', ms, output })
    }
    if (message.stopReason) this.#endRun({ runId, stopReason: message.stopReason })
    else if (!message.runId) closeRun(this.#run(runId).item, 'done')
  }

  #recallError(message: HistoryMessage): void {
    const runId = message.runId ?? `run/${message.position}/error`
    this.#failRun({ runId, error: message.error!, ts: message.timestamp })
  }

  /** The run; made here when it was not seen starting. */
  #run(runId: string, at = ''): RunFold {
    const known = this.#runs.get(runId)
    if (known) return known
    const waited = this.#continued()
    if (waited) {
      this.#runs.set(runId, waited)
      return waited
    }
    const fold = { item: newRun(runId, at), round: 0, hasStarted: false }
    this.#interruptOthers()
    this.#runs.set(runId, fold)
    this.items.push(fold.item)
    return fold
  }

  /**
   * A run behind one that waited, with no message between them, goes on with it: together
   * they are one answer. While the question is open, the message is only late.
   */
  #continued(): RunFold | null {
    const last = this.items.at(-1)
    if (last?.kind !== 'run' || last.stopReason !== 'waiting' || openAsk(last)) return null
    const fold = this.#runs.get(last.key)
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
    item.blocks.push({ kind: 'ask', key: `ask/${askId}`, askId, calls: asked, decision: null })
    item.version++
  }

  #settleAsk({ askId, decision, decisions }: ConversationEvents['ask.answered']): void {
    const item = this.#lastRun
    const ask = openAsk(item)
    if (!item || ask?.askId !== askId) return
    ask.decision = decisions ? 'mixed' : decision
    delete ask.sending
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

  #addDelta(runId: string, kind: TextBlock['kind'], text: string): void {
    const fold = this.#run(runId)
    const block = this.#liveText(fold, kind)
    // Between two answers the stream has a blank line, which a block of its own does not need.
    block.text = block.text === '' ? text.trimStart() : block.text + text
    fold.item.version++
  }

  #applySnapshot({ runId, text }: ConversationEvents['text.snapshot']): void {
    this.#interruptOthers(runId)
    if (runId === null) return
    const fold = this.#run(runId)
    const key = `${fold.round}/text`
    if (text.trim() !== '') this.#liveText(fold, 'text').text = text.trimStart()
    else fold.item.blocks = fold.item.blocks.filter((block) => block.key !== key)
    fold.item.version++
  }

  #updateCall(
    { runId, id, name }: { runId: string; id: string; name: string },
    change: Partial<ToolCall>,
  ): void {
    const fold = this.#run(runId)
    const { item, round } = fold
    const isNew = change.state === 'preparing'
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

  /** An answer of the model is in the log: what was streamed of it is replaced by it. */
  #commit(data: ConversationEvents['llm.done']): void {
    const fold = this.#run(data.runId, data.ts)
    const { item, round } = fold
    const prefix = `${round}/`
    const blocks = blocksOf(data.content, prefix)
    const hasThinking = blocks.some((block) => block.kind === 'thinking')
    // Thinking that only the stream carried stays until the page is left.
    const thinking = item.blocks.filter(
      (block) => block.key === `${prefix}thinking` && !hasThinking,
    )
    item.blocks = item.blocks.filter((block) => !block.key.startsWith(prefix))
    item.blocks.push(...thinking, ...blocks)
    item.inputTokens += data.inputTokens ?? 0
    item.outputTokens += data.outputTokens ?? 0
    item.model = data.model ?? item.model
    item.version++
    fold.hasStarted = true
    fold.round++
  }

  #endRun(data: ConversationEvents['run.done']): void {
    const { item } = this.#run(data.runId, data.ts)
    closeRun(item, 'done', data.stopReason === 'waiting' ? 'waiting' : 'interrupted')
    item.stopReason = data.stopReason
    if (data.totalMs !== undefined) item.totalMs = (item.totalMs ?? 0) + data.totalMs
  }

  #failRun(data: ConversationEvents['run.error']): void {
    const fold = this.#run(data.runId, data.ts)
    if (data.partialText?.trim()) this.#liveText(fold, 'text').text = data.partialText.trimStart()
    closeRun(fold.item, 'error')
    fold.item.error = data.error
  }
}

/** Old logs list the calls beside the text instead of within it. */
function contentOf({ parts, toolCalls = [] }: HistoryMessage): ContentPart[] {
  if (parts.some((part) => part.type === 'tool-call')) return parts
  const calls = toolCalls.map(({ id, name, input }) => ({
    type: 'tool-call',
    toolCallId: id,
    toolName: name,
    input,
  }))
  return [...calls, ...parts]
}
