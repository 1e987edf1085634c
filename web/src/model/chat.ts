// The open conversation: what it holds, how it is followed, sending and stopping. Everything
// shown comes from the conversation's own stream, so that every tab shows the same; the
// answer to a sent message is read only for its beginning and its failure.
import { answerInput, answerQuestion, cancelRun } from '../api/chat'
import { editQueued, startChat, tellPeople, withdrawQueued } from '../api/chat'
import type { Answer, WhenBusy } from '../api/chat'
import { ApiError, messageOf } from '../api/client'
import { getConversation, getHistory } from '../api/conversations'
import { Follow, type LinkState } from '../api/follow'
import { frames } from '../api/sse'
import type { Conversation, ConversationEvent, FilePart, InputAction } from '../api/types'
import { Signal } from '../base/signal'
import { recall, remember } from '../base/storage'
import { t } from '../base/words'
import type { Family } from './branches'
import { Company } from './company'
import { loadUnsent, saveUnsent } from './drafts'
import { nameOf } from './people'
import { Queue } from './queue'
import { filesOf, messagesIn, startOf, textOf } from './items'
import type { AskBlock, InputBlock, Item, RunItem, Sending, UserItem } from './items'
import { Transcript } from './transcript'

export interface ChatEvents {
  /** A message sent without a conversation has made one. */
  onCreated(chat: Chat): void
  /** Something that lists of conversations show has changed. */
  onChanged(chat: Chat): void
}

/** The part of a conversation that lists show. */
const SKEW_MS = 60_000 // between the clocks of the browser and the server
const LISTED = new Set<string>(['user.message', 'run.done', 'run.error', 'conversation.title'])

const SHARING = new Set<string>(['conversation.participants', 'conversation.visibility'])

const REVEAL_EVENTS = 4000 // per page, when looking for a message far back

let sentCount = 0

type Content = Pick<UserItem, 'text' | 'files'>

/** The same words and the same files: one message may be a copy of the other. */
function isSame(a: Content, b: Content): boolean {
  const filesIn = ({ files = [] }: Content) => files.map(({ file }) => file).join(' ')
  return a.text === b.text && filesIn(a) === filesIn(b)
}

export class Chat {
  readonly me: string
  readonly changes = new Signal(0) // notified, not counted: read the fields below
  readonly notes = new Signal(0) // likewise: somebody has added one
  id: string | null
  link: LinkState = 'connecting'
  gone: string | null = null // why the conversation cannot be shown
  conversation: Conversation | null = null // as lists know it; its title and people may be older
  model: string | null = null // chosen for the next message; null: as before
  family: Family | null = null // its branches, if it has any

  #events: ChatEvents
  #transcript = new Transcript()
  #speakers = new Set<string>()
  #unsaved: UserItem[] = [] // sent, but not yet seen in the log or the queue
  #queue = new Queue({
    onWaiting: (item) => this.#settleQueued(item),
    onDropped: (item, by, error) => this.#keepDropped(item, by, error),
  })
  #company: Company
  #follow: Follow | null = null
  #before: number | null = null // where the page in front of what is shown ends
  #isWhole = true // the beginning is loaded
  #counted: { key: string; number: number } | null = null
  #isStopping = false
  #describedAt = 0
  #onOpened: () => void = () => {}
  #opened = new Promise<void>((resolve) => (this.#onOpened = resolve))

  constructor(id: string | null, me: string, events: ChatEvents) {
    this.id = id
    this.me = me
    this.#events = events
    this.#company = new Company(me, () => this.changes.notify())
    this.#unsaved = loadUnsent(id, me).map(({ message, ...rest }) => ({
      ...rest,
      kind: 'user',
      key: `sent/${++sentCount}`,
      userId: me,
      displayName: null,
      position: null,
      sending: { state: 'failed', message },
    }))
    if (id) this.#open(id, () => this.#loadHistory(id))
    else this.link = 'live'
  }

  /** What could not be sent outlives the page. */
  #keepUnsent(): void {
    const failed = this.#unsaved.flatMap(({ text, files = [], forPeople = false, projectId, at, sending }) =>
      sending?.state === 'failed' ? [{ text, files, forPeople, projectId, at, message: sending.message }] : [],
    )
    saveUnsent(this.id, this.me, failed)
  }

  close(): void {
    this.#company.close()
    this.#follow?.stop()
    this.#follow = null
  }

  get items(): Item[] {
    const { items } = this.#transcript
    const waiting = [...this.#queue.items, ...this.#unsaved]
    return waiting.length === 0 ? items : [...items, ...waiting]
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
      this.#unsaved.some(
        ({ sending, forPeople }) => sending?.state === 'pending' && !sending.waits && !forPeople,
      )
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

  /**
   * What the server says about the conversation, asked for at that time. A list may be older than what is known
   * already, and newer than the events that come: the history ends with changes of sharing that are not told again.
   */
  describe(conversation: Conversation, askedAt = performance.now()): void {
    if (conversation === this.conversation || askedAt < this.#describedAt) return
    this.#describedAt = askedAt
    this.conversation = conversation
    this.#transcript.title ??= conversation.title
    this.#transcript.participants = conversation.participants
    this.#transcript.visibility = conversation.visibility
    this.changes.notify()
  }

  get isShared(): boolean {
    return (this.#transcript.visibility ?? this.conversation?.visibility) === 'shared'
  }

  get participants(): string[] {
    return this.#transcript.participants ?? []
  }

  async send(
    text: string,
    whenBusy: WhenBusy = 'refuse',
    files: FilePart[] = [],
    forPeople = false,
    projectId: string | null = this.project?.id ?? null,
  ): Promise<void> {
    const waits = this.isBusy && whenBusy !== 'refuse' ? whenBusy : undefined
    const item: UserItem = {
      kind: 'user',
      key: `sent/${++sentCount}`,
      userId: this.me,
      displayName: null,
      text,
      files,
      forPeople,
      at: new Date().toISOString(),
      position: null,
      sending: { state: 'pending', waits },
      projectId,
    }
    this.#unsaved = this.#unsaved.filter((other) => other.sending?.state === 'pending' || !isSame(other, item))
    this.#unsaved.push(item)
    this.#keepUnsent()
    this.#isStopping &&= waits !== undefined
    this.changes.notify()
    try {
      // The loaded page must not contain a message that is being sent: it would be shown twice. And a
      // second message of a new conversation has to know which one that is.
      if (this.id || waits) await this.#opened
      if (forPeople) await this.#tell(text, files)
      else await this.#transmit(item, whenBusy, files)
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
      this.#noteAnswer(ask, { state: 'failed', message: messageOf(error) })
    }
  }

  /** Gives a tool the input that it waits for, or refuses it. */
  async provide(block: InputBlock, action: InputAction, content?: object): Promise<void> {
    if (!this.id || block.outcome !== null) return
    this.#noteAnswer(block, { state: 'pending' })
    try {
      await answerInput(this.id, block.request.inputId, action, content)
    } catch (error) {
      this.#noteAnswer(block, { state: 'failed', message: messageOf(error) })
    }
  }

  #noteAnswer(block: AskBlock | InputBlock, sending: Sending): void {
    const isSettled = block.kind === 'ask' ? block.decision !== null : block.outcome !== null
    if (isSettled) return // somebody was quicker
    this.#transcript.noteAnswer(block, sending)
    this.changes.notify()
  }

  /** Where a new conversation begins. */
  project: { id: string; name: string } | null = null

  /** This person writes to the other people and not to the agent. Kept for each conversation. */
  get isAmongPeople(): boolean {
    return this.id !== null && recall(`people/${this.id}`, false)
  }

  set isAmongPeople(isSo: boolean) {
    if (this.id) remember(`people/${this.id}`, isSo || null)
  }

  /** Names of others who are writing now. */
  get typing(): string[] {
    return this.#company.typing
  }

  /** People who have the conversation open now. */
  get present(): string[] {
    return this.#company.present
  }

  /** This person is writing; the others are told where there are any. */
  noteTyping(): void {
    if (this.id && this.isShared) this.#company.sayTyping(this.id)
  }

  /** Whether this person may take the waiting message back: sender and owner may. */
  mayWithdraw({ userId }: UserItem): boolean {
    return this.#isOwn(userId) || this.conversation?.ownerId === this.me
  }

  /** Takes a message that waits back; its text is the person's again. */
  async withdraw({ queued }: UserItem): Promise<void> {
    await withdrawQueued(this.id!, queued!.id)
  }

  /** Puts a message that waits differently. */
  async reword({ queued }: UserItem, text: string): Promise<void> {
    await editQueued(this.id!, queued!.id, text)
  }

  /** Takes a message that could not be sent out of the page again. */
  discard(item: UserItem): void {
    this.#unsaved = this.#unsaved.filter((other) => other !== item)
    this.#keepUnsent()
    this.changes.notify()
  }

  /** "Not sent" may have been only the answer to it: then the log has the message. */
  #dropArrived(): void {
    const arrived = (one: UserItem) => (item: Item) =>
      item.kind === 'user' &&
      this.#isOwn(item.userId) &&
      isSame(item, one) &&
      Date.parse(item.at) > Date.parse(one.at) - SKEW_MS
    this.#unsaved = this.#unsaved.filter(
      (one) => one.sending?.state === 'pending' || !this.#transcript.items.some(arrived(one)),
    )
    this.#keepUnsent()
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

  async #loadHistory(id: string): Promise<number> {
    const page = await getHistory(id)
    this.#transcript.load(page)
    this.#dropArrived()
    for (const { userId } of page.messages) if (userId) this.#speakers.add(userId)
    this.#before = page.before
    this.#isWhole = page.before === null
    this.#onOpened()
    this.changes.notify()
    return page.end
  }

  /** Loads the page in front of what is shown; false when there was none. */
  async loadEarlier(events?: number): Promise<boolean> {
    if (!this.id || this.#before === null) return false
    const before = this.#before
    this.#before = null // no second request while this one is under way
    try {
      const page = await getHistory(this.id, before, events)
      this.#transcript.prepend(page.messages)
      for (const { userId } of page.messages) if (userId) this.#speakers.add(userId)
      this.#before = page.before
      this.#isWhole = page.before === null
    } catch {
      this.#before = before
      return false
    } finally {
      this.changes.notify()
    }
    return true
  }

  /**
   * Loads as far back as needed for what stands at that position of the log: a message, or the
   * answer that a tool's result belongs to. Null: it lies before everything that is shown.
   */
  async reveal(position: number): Promise<Item | null> {
    await this.#opened
    const isBefore = (item: Item) => (startOf(item) ?? Infinity) <= position
    for (;;) {
      const { items } = this.#transcript
      if (items[0] && isBefore(items[0])) return items.findLast(isBefore) ?? null
      if (!(await this.loadEarlier(REVEAL_EVENTS))) return null
    }
  }

  /**
   * The number of the message, as the server counts them from 1. It is known from the end,
   * because the beginning may not be loaded.
   */
  async numberOf(item: Item): Promise<number> {
    const { messageCount } = await getConversation(this.id!)
    const at = this.#transcript.items.indexOf(item)
    const behind = this.#transcript.items.slice(at + 1)
    return messageCount - behind.reduce((sum, other) => sum + messagesIn(other), 0)
  }

  /** Makes numberIn know numbers, also while the beginning is not loaded. */
  async countMessages(): Promise<void> {
    await this.#opened
    const last = this.#transcript.items.findLast((item) => messagesIn(item) > 0)
    if (!last || this.#isWhole) return
    const number = await this.numberOf(last).catch(() => null)
    if (number !== null) this.#counted = { key: last.key, number }
  }

  /** The number of a message as far as it is known here. */
  numberIn(item: Item): number | null {
    const { items } = this.#transcript
    const sum = (from: number, to: number) =>
      items.slice(from, to).reduce((n, other) => n + messagesIn(other), 0)
    const at = items.indexOf(item)
    if (at < 0) return null
    if (this.#isWhole) return sum(0, at + 1)
    const known = items.findIndex(({ key }) => key === this.#counted?.key)
    if (known < 0) return null
    return this.#counted!.number + (at >= known ? sum(known + 1, at + 1) : -sum(at + 1, known + 1))
  }

  get hasEarlier(): boolean {
    return this.#before !== null
  }

  #open(id: string, onOpen: () => Promise<number>): void {
    this.id = id
    this.#follow = new Follow(id, {
      onOpen,
      onEvent: (event) => this.#apply(event),
      onState: (state) => this.#setLink(state),
      onEnd: (error) => this.#end(error),
    })
  }

  #mentionsIn(text: string): string[] {
    const others = this.isShared ? this.participants.filter((id) => id !== this.me) : []
    return others.filter((id) => text.toLowerCase().includes(`@${nameOf(id)}`.toLowerCase()))
  }

  async #tell(message: string, parts: FilePart[]): Promise<void> {
    const files = parts.map(({ file }) => file)
    const mentions = this.#mentionsIn(message)
    await tellPeople({ message, conversationId: this.id, whenBusy: 'queue', files, mentions })
  }

  async #transmit({ text, projectId: project }: UserItem, whenBusy: WhenBusy, parts: FilePart[]): Promise<void> {
    const { id: conversationId, model } = this
    const files = parts.map(({ file }) => file)
    const mentions = this.#mentionsIn(text)
    const projectId = conversationId ? undefined : (project ?? undefined)
    const body = { message: text, conversationId, whenBusy, model, files, mentions, projectId }
    const response = await startChat(body)
    for await (const { event, data } of frames(response)) {
      if (event === 'chat.start')
        this.#onStarted((data as { conversationId: string }).conversationId)
      else if (event === 'error') this.#reportLater(data as { error: string; message: string })
    }
  }

  #onStarted(conversationId: string): void {
    if (!this.id) {
      saveUnsent(null, this.me, [])
      this.#open(conversationId, async () => 0) // all of it is still to come
      this.#keepUnsent()
      this.#onOpened()
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
      error instanceof ApiError ? error.message : t('The connection was lost while sending.')
    item.sending = { state: 'failed', message }
    this.#keepUnsent()
    this.changes.notify()
  }

  #apply(event: ConversationEvent): void {
    if (this.#company.apply(event)) return
    if (event.event === 'note') this.notes.notify()
    if (this.#queue.apply(event)) {
      this.changes.notify()
      return
    }
    if (event.event === 'user.message') this.#settle(event)
    if (!this.#transcript.apply(event)) return
    if (event.event === 'run.done' || event.event === 'run.error') this.#isStopping = false
    if (LISTED.has(event.event) && this.link === 'live') this.#events.onChanged(this)
    if (SHARING.has(event.event)) void this.#learnRights(this.id!)
    this.changes.notify()
  }

  /** Who takes part has changed, and with it perhaps what this person may do. */
  async #learnRights(id: string): Promise<void> {
    const askedAt = (this.#describedAt = performance.now())
    const conversation = await getConversation(id).catch(() => null)
    if (conversation) this.describe(conversation, askedAt)
  }

  /** A message from the log replaces the copy that was shown while it was sent. */
  #settle(event: ConversationEvent & { event: 'user.message' }): void {
    const { userId, content } = event.data
    if (userId) this.#speakers.add(userId)
    if (this.#isOwn(userId ?? null)) this.#takeUnsaved({ text: textOf(content), files: filesOf(content) })
  }

  /** The server has it: its own copy is shown from now on. */
  #settleQueued(item: UserItem): void {
    if (this.#isOwn(item.userId)) this.#takeUnsaved(item)
  }

  #takeUnsaved(arrived: Content): void {
    const at = this.#unsaved.findIndex((item) => isSame(item, arrived)) // "failed" may have been only its answer
    if (at < 0) return
    this.#unsaved.splice(at, 1)
    this.#keepUnsent()
  }

  #isOwn(userId: string | null): boolean {
    return userId === null || userId === this.me
  }

  /** A message that another person withdrew is not lost: it can be sent again. */
  #keepDropped(item: UserItem, by: string | null, error: string | null): void {
    if (!this.#isOwn(item.userId) || by === this.me) return
    const message = error ?? (by ? t('{name} withdrew it.', { name: nameOf(by) }) : t('It was withdrawn.'))
    const { queued: _, ...rest } = item
    this.#unsaved.push({ ...rest, sending: { state: 'failed', message } })
    this.#keepUnsent()
  }

  #setLink(state: LinkState): void {
    this.link = state
    this.changes.notify()
  }

  #end(error: ApiError): void {
    const wasHere = this.items.length > 0
    const absent = wasHere
      ? t('This conversation was deleted, or is no longer shared with you.')
      : t('This conversation does not exist, or is not shared with you.')
    this.gone = error.status === 404 ? absent : error.message
    this.#transcript = new Transcript() // what may not be seen is not shown
    this.#unsaved = []
    this.changes.notify()
  }
}
