// The list of messages: keeps one view per item near the window and touches only what changed.
import { fileAddress } from '../api/files'
import type { FilePart } from '../api/types'
import { arrange, h, type Keyed } from '../base/dom'
import { t } from '../base/words'
import type { Chat } from '../model/chat'
import type { Item, RunItem, UserItem } from '../model/items'
import type { Sibling } from '../model/branches'
import { nameOf } from '../model/people'
import type { AppSlots } from './app_slots'
import { Chunks } from './chunks'
import { nestedRun } from './nested'
import { PersonView, type PersonProps } from './person'
import { RunView, waiting } from './run'

export interface MessageActions {
  onSend(text: string, files?: FilePart[], forPeople?: boolean, projectId?: string | null): void
  onEdit(text: string): void
  /** Asks the question differently, in a branch that ends before it. */
  onRevise(item: UserItem, text: string, model?: string): void
  /** The other courses of the conversation at this message. */
  siblings(item: UserItem): Sibling[]
  onBranch(id: string): void
  /** A fork that ends with the item. */
  onFork(item: Item): void
  onLink(position: number): void
  onReword(item: UserItem, text: string): void
  onWithdraw(item: UserItem): void
  mayAllowAll: boolean
  /** A wording that came too late. */
  onGiveBack(text: string): void
}

type View = PersonView | RunView

export class Messages {
  readonly element = h('div', {
    class: 'messages',
    role: 'log',
    aria: { label: t('Conversation'), live: 'off' },
  })
  #chat: Chat
  #actions: MessageActions | null // null: only to be read
  #apps: AppSlots | null
  #chunks: Chunks
  #views = new Map<string, View>()
  #people: string[] = []
  #isWhole = false
  #waiting = h('div', { class: 'message run' }, waiting(t('Thinking')))

  constructor(
    chat: Chat,
    root: Element | null,
    actions: MessageActions | null,
    apps: AppSlots | null = null,
  ) {
    this.#chat = chat
    this.#actions = actions
    this.#apps = apps
    this.#chunks = new Chunks(root, () => this.update())
  }

  close(): void {
    this.#chunks.close()
  }

  update(): void {
    const { items } = this.#chat
    const last = items.at(-1)
    this.#people = this.#chat.people
    this.#chunks.assign(items)
    const placed: Keyed[] = [...this.#chunks.list]
    // While a message is on its way, the answer's place is shown already.
    if (last?.kind === 'user' && !last.forPeople && !isWaiting(last) && last.sending?.state !== 'failed' && this.#chat.isBusy)
      placed.push({ element: this.#waiting })
    arrange(this.element, placed)
    this.#drawChunks(last)
  }

  get isWhollyDrawn(): boolean {
    return this.#chat.items.every(({ key }) => this.#views.has(key))
  }

  /** For paper: everything exists, not only what is near. */
  drawAll(isOn: boolean): void {
    this.#isWhole = isOn
    this.update()
  }

  /** Brings an item onto the page and returns its element. */
  show(item: Item): HTMLElement | null {
    const chunk = this.#chunks.find(item.key)
    if (!chunk) return null
    chunk.isNear = true
    this.update()
    return this.#views.get(item.key)?.element ?? null
  }

  /** The element of an item, if it is on the page. */
  elementOf(key: string): HTMLElement | null {
    return this.#views.get(key)?.element ?? null
  }

  /** The item whose view has the element in it. */
  keyOf(element: Element | null): string | null {
    for (const [key, view] of this.#views) if (element && view.element.contains(element)) return key
    return null
  }

  /** The first item that reaches below that height of the window. */
  keyAt(y: number): string | null {
    for (const [key, { element }] of this.#views)
      if (element.isConnected && element.getBoundingClientRect().bottom > y) return key
    return null
  }

  /** Opens the editor of one's last message: a queued one is changed, others are asked again. */
  editLast(): void {
    const item = this.#chat.items.findLast(
      (it): it is UserItem => it.kind === 'user' && this.#isOwn(it) && !it.sending,
    )
    if (!item || !this.show(item)) return
    const view = this.#views.get(item.key)
    if (view instanceof PersonView) view.edit(item, this.#personProps(item, null, false))
  }

  #drawChunks(last: Item | undefined): void {
    const used = new Map<string, View>()
    let before: Item | null = null
    let lastPerson: UserItem | null = null
    for (const chunk of this.#chunks.list) {
      const isShown = this.#isWhole || chunk.isNear || chunk.items.includes(last!) || chunk.isBusy
      const views: View[] = []
      for (const item of chunk.items) {
        if (isShown) views.push(this.#drawItem(item, before, lastPerson, item === last, used))
        if (item.kind === 'user') lastPerson = item
        before = item
      }
      if (isShown) chunk.draw(views)
      else chunk.empty()
    }
    this.#rescue(used)
    this.#views = used
  }

  /** A message may be taken by the agent while it is put differently: the words are not lost. */
  #rescue(used: Map<string, View>): void {
    for (const [key, view] of this.#views) {
      const text = view instanceof PersonView && !used.has(key) ? view.wording : null
      if (text !== null && key.startsWith('queued/')) this.#actions?.onGiveBack(text)
    }
  }

  #drawItem(
    item: Item,
    before: Item | null,
    lastPerson: UserItem | null,
    isLast: boolean,
    used: Map<string, View>,
  ): View {
    const known = this.#views.get(item.key)
    if (item.kind === 'run') {
      const view = (known as RunView | undefined) ?? new RunView()
      this.#updateRun(view, item, lastPerson, isLast)
      used.set(item.key, view)
      return view
    }
    const view = (known as PersonView | undefined) ?? new PersonView()
    this.#updatePerson(view, item, lastPerson, before === lastPerson)
    used.set(item.key, view)
    return view
  }

  #updateRun(view: RunView, item: RunItem, question: UserItem | null, isLast: boolean): void {
    const actions = this.#actions
    const own = actions && question && this.#isOwn(question) ? question : null
    const position = item.positions[0]
    view.update(item, {
      onRetry: isLast && own && this.#maySend ? () => actions!.onSend(own.text, own.files) : null,
      onRegenerate: own ? (model, wish) => actions!.onRevise(own, wish ? `${own.text}\n\n${wish}` : own.text, model) : null,
      onFork: actions && (() => actions.onFork(item)),
      onLink: actions && position !== undefined ? () => actions.onLink(position) : null,
      mayAllowAll: actions?.mayAllowAll ?? false,
      onAnswer: (answer) => void this.#chat.answer(answer),
      onInput: (block, action, content) => void this.#chat.provide(block, action, content),
      noAnswer: (id) => this.#noAnswer(id),
      otherName: (id) => (id && id !== this.#chat.me ? nameOf(id) : null),
      nested: (id) => nestedRun(id, this.#chat.me),
      apps: this.#apps,
    })
  }

  #updatePerson(view: PersonView, item: UserItem, before: UserItem | null, isNext: boolean): void {
    view.update(item, this.#personProps(item, before, isNext))
  }

  #personProps(item: UserItem, before: UserItem | null, isNext: boolean): PersonProps {
    const actions = this.#actions
    const { position, queued } = item
    const isOwn = this.#isOwn(item)
    const mayWithdraw = actions && queued && this.#chat.mayWithdraw(item)
    return {
      isOwn,
      name: nameOf(item.userId, item.displayName),
      isContinued: isNext && before?.userId === item.userId,
      hasLabel: !before || before.userId !== item.userId,
      colour: Math.max(0, this.#people.indexOf(item.userId ?? '')),
      addressOf: (part) => fileAddress(position === null ? null : this.#chat.id, part),
      onRetry: () => {
        this.#chat.discard(item)
        actions?.onSend(item.text, item.files, item.forPeople, item.projectId)
      },
      onEdit: () => {
        this.#chat.discard(item)
        actions?.onEdit(item.text)
      },
      onFork:
        actions && position !== null && !item.forPeople ? (text) => actions.onRevise(item, text) : null,
      isBranching: this.#chat.conversation?.may.branch === true,
      siblings: actions && position !== null ? actions.siblings(item) : [],
      onBranch: (id) => actions?.onBranch(id),
      onLink: actions && position !== null ? () => actions.onLink(position) : null,
      onReword: actions && queued && isOwn ? (text) => actions.onReword(item, text) : null,
      onWithdraw: mayWithdraw ? () => actions.onWithdraw(item) : null,
    }
  }

  get #maySend(): boolean {
    return this.#chat.conversation?.may.send !== false
  }

  #noAnswer(forUserId: string | undefined): string | null {
    if (!this.#maySend) return t('A person who may write in this conversation can answer.')
    if (forUserId && forUserId !== this.#chat.me) return t('Only {name} can answer.', { name: nameOf(forUserId) })
    return null
  }

  /** Messages of logs without users are one's own. */
  #isOwn(item: UserItem): boolean {
    return item.userId === null || item.userId === this.#chat.me
  }
}

/** The agent answers something else first. */
function isWaiting({ queued, sending }: UserItem): boolean {
  return queued !== undefined || (sending?.state === 'pending' && sending.waits !== undefined)
}
