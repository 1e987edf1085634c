// The open conversation: what it holds, how it is followed, sending and stopping. Everything
// shown comes from the conversation's own stream, so that every tab shows the same; the
// answer to a sent message is read only for its beginning and its failure.
import { ApiError, type Answer, answerQuestion, cancelRun, getHistory, startChat } from '../api/client'
import { Follow, type LinkState } from '../api/follow'
import { frames } from '../api/sse'
import type { Conversation, ConversationEvent } from '../api/types'
import { Signal } from '../base/signal'
import type { AskBlock, Item, RunItem, Sending, UserItem } from './items'
import { Transcript } from './transcript'

export interface ChatEvents {
  /** A message sent without a conversation has made one. */
  onCreated(chat: Chat): void
  /** Something that lists of conversations show has changed. */
  onChanged(chat: Chat): void
}

let sentCount = 0

export class Chat {
  readonly me: string
  readonly changes = new Signal(0) // notified, not counted: read the fields below
  id: string | null
  link: LinkState = 'connecting'
  gone: string | null = null // why the conversation cannot be shown

  #events: ChatEvents
  #transcript = new Transcript()
  #speakers = new Set<string>()
  #unsaved: UserItem[] = [] // sent, but not yet seen in the log
  #follow: Follow | null = null
  #before: number | null = null // where the page in front of what is shown ends
  #isStopping = false

  constructor(id: string | null, me: string, events: ChatEvents) {
    this.id = id
    this.me = me
    this.#events = events
    if (id) this.#open(id, () => this.#loadHistory(id))
    else this.link = 'live'
  }

  close(): void {
    this.#follow?.stop()
    this.#follow = null
  }

  get items(): Item[] {
    return this.#unsaved.length === 0
      ? this.#transcript.items
      : [...this.#transcript.items, ...this.#unsaved]
  }

  get title(): string | null {
    return this.#transcript.title
  }

  get activeRun(): RunItem | null {
    return this.#transcript.activeRun
  }

  /** The agent is answering, or about to. */
  get isBusy(): boolean {
    return (
      this.activeRun !== null ||
      this.openAsk?.sending?.state === 'pending' ||
      this.#unsaved.some((item) => item.sending?.state === 'pending')
    )
  }

  /** The question that the agent waits for; a message declines it. */
  get openAsk(): AskBlock | null {
    return this.#transcript.openAsk
  }

  get isStopping(): boolean {
    return this.#isStopping && this.isBusy
  }

  get isEmpty(): boolean {
    return this.items.length === 0 && this.link === 'live'
  }

  /** Everybody who takes part or took part, in the order of their colours. */
  get people(): string[] {
    return [...new Set([...(this.#transcript.participants ?? []), ...this.#speakers])]
  }

  /** What lists know about the conversation before its stream says it. */
  describe(conversation: Conversation): void {
    this.#transcript.title ??= conversation.title
    this.#transcript.participants ??= conversation.participants
    this.changes.notify()
  }

  async send(text: string): Promise<void> {
    const item: UserItem = {
      kind: 'user',
      key: `sent/${++sentCount}`,
      userId: this.me,
      displayName: null,
      text,
      at: new Date().toISOString(),
      sending: { state: 'pending' },
    }
    this.#unsaved = this.#unsaved.filter((other) => other.sending?.state === 'pending')
    this.#unsaved.push(item)
    this.#isStopping = false
    this.changes.notify()
    try {
      await this.#transmit(text)
    } catch (error) {
      this.#failSending(item, error)
    }
  }

  /** Answers the open question. Whether it came through, the conversation's stream tells. */
  async answer(answer: Answer): Promise<void> {
    const ask = this.openAsk
    if (!ask || !this.id || this.isBusy) return
    this.#isStopping = false
    this.#noteAnswer(ask, { state: 'pending' })
    try {
      await answerQuestion(this.id, ask.askId, answer)
    } catch (error) {
      const message = error instanceof ApiError ? error.message : 'The answer was not sent.'
      this.#noteAnswer(ask, { state: 'failed', message })
    }
  }

  #noteAnswer(ask: AskBlock, sending: Sending): void {
    if (ask.decision !== null) return // somebody was quicker
    this.#transcript.noteAnswer(ask, sending)
    this.changes.notify()
  }

  /** Takes a message that could not be sent out of the page again. */
  discard(item: UserItem): void {
    this.#unsaved = this.#unsaved.filter((other) => other !== item)
    this.changes.notify()
  }

  async stop(): Promise<void> {
    if (!this.isBusy || this.#isStopping) return
    this.#isStopping = true
    this.changes.notify()
    if (!this.id) return // the stream that tells the id also carries out the wish
    try {
      await cancelRun(this.id)
    } catch {
      this.#isStopping = false // the button is there again
      this.changes.notify()
    }
  }

  async #loadHistory(id: string): Promise<string> {
    const page = await getHistory(id)
    this.#transcript.load(page.messages, page.ask)
    for (const { userId } of page.messages) if (userId) this.#speakers.add(userId)
    this.#before = page.before
    this.changes.notify()
    return String(page.end)
  }

  /** Loads the page in front of what is shown; false when there was none. */
  async loadEarlier(): Promise<boolean> {
    if (!this.id || this.#before === null) return false
    const before = this.#before
    this.#before = null // no second request while this one is under way
    try {
      const page = await getHistory(this.id, before)
      this.#transcript.prepend(page.messages)
      this.#before = page.before
    } catch {
      this.#before = before
    }
    this.changes.notify()
    return true
  }

  get hasEarlier(): boolean {
    return this.#before !== null
  }

  #open(id: string, onOpen: () => Promise<string>): void {
    this.id = id
    this.#follow = new Follow(id, {
      onOpen,
      onEvent: (event) => this.#apply(event),
      onState: (state) => this.#setLink(state),
      onEnd: (error) => this.#end(error),
    })
  }

  async #transmit(text: string): Promise<void> {
    const response = await startChat(text, this.id)
    for await (const { event, data } of frames(response)) {
      if (event === 'chat.start')
        this.#onStarted((data as { conversationId: string }).conversationId)
      else if (event === 'error') this.#reportLater(data as { error: string; message: string })
    }
  }

  #onStarted(conversationId: string): void {
    if (!this.id) {
      this.#open(conversationId, async () => '0') // all of it is still to come
      this.#events.onCreated(this)
      if (this.#isStopping) void cancelRun(conversationId).catch(() => {})
    }
    this.#events.onChanged(this)
  }

  /**
   * A run that fails says so in the log, and the page learns it there. Only when the log
   * itself cannot be written does this remain the one sign of it.
   */
  #reportLater({ error, message }: { error: string; message: string }): void {
    if (error !== 'storage_error') return
    const pending = this.#unsaved.find((item) => item.sending?.state === 'pending')
    if (pending) this.#failSending(pending, new ApiError(500, error, message))
  }

  #failSending(item: UserItem, error: unknown): void {
    if (!this.#unsaved.includes(item)) return // it arrived; only the answer's stream broke
    const message =
      error instanceof ApiError ? error.message : 'The connection broke while sending.'
    item.sending = { state: 'failed', message }
    this.changes.notify()
  }

  #apply(event: ConversationEvent): void {
    if (event.event === 'user.message') this.#settle(event)
    if (!this.#transcript.apply(event)) return
    if (event.event === 'run.done' || event.event === 'run.error') this.#isStopping = false
    if (event.id !== null && this.link === 'live') this.#events.onChanged(this)
    this.changes.notify()
  }

  /** A message from the log replaces the copy that was shown while it was sent. */
  #settle(event: ConversationEvent & { event: 'user.message' }): void {
    const { userId, content } = event.data
    if (userId) this.#speakers.add(userId)
    if (userId && userId !== this.me) return
    const text = typeof content === 'string' ? content : (content[0]?.text ?? '')
    const at = this.#unsaved.findIndex((item) => item.text === text) // "failed" may have been only its answer
    if (at >= 0) this.#unsaved.splice(at, 1)
  }

  #setLink(state: LinkState): void {
    this.link = state
    this.changes.notify()
  }

  #end(error: ApiError): void {
    this.gone =
      error.status === 404
        ? 'This conversation does not exist, or is not shared with you.'
        : error.message
    this.changes.notify()
  }
}
