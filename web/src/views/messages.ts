// The list of messages: keeps one view per item and touches only what has changed.
import { arrange, h, type Keyed } from '../base/dom'
import type { Chat } from '../model/chat'
import type { Item, RunItem, UserItem } from '../model/items'
import { PersonView } from './person'
import { RunView, waiting } from './run'

export interface MessageActions {
  onSend(text: string): void
  onEdit(text: string): void
}

export class Messages {
  readonly element = h('div', {
    class: 'messages',
    role: 'log',
    aria: { label: 'Conversation', live: 'off' },
  })
  #chat: Chat
  #actions: MessageActions
  #views = new Map<string, PersonView | RunView>()
  #people: string[] = []
  #waiting = h('div', { class: 'message run' }, waiting('Thinking'))

  constructor(chat: Chat, actions: MessageActions) {
    this.#chat = chat
    this.#actions = actions
  }

  update(): void {
    const used = new Map<string, PersonView | RunView>()
    const items = this.#chat.items
    this.#people = this.#chat.people
    let lastPerson: UserItem | null = null
    items.forEach((item, i) => {
      const view =
        this.#views.get(item.key) ?? (item.kind === 'user' ? new PersonView() : new RunView())
      used.set(item.key, view)
      if (item.kind === 'run')
        this.#updateRun(view as RunView, item, lastPerson, i === items.length - 1)
      else this.#updatePerson(view as PersonView, item, lastPerson, items[i - 1] === lastPerson)
      if (item.kind === 'user') lastPerson = item
    })
    this.#views = used
    arrange(this.element, this.#placed(items, used))
  }

  /** While a message is on its way, the answer's place is shown already. */
  #placed(items: Item[], views: Map<string, Keyed>): Keyed[] {
    const placed: Keyed[] = [...views.values()]
    const last = items.at(-1)
    if (last?.kind === 'user' && this.#chat.isBusy) placed.push({ element: this.#waiting })
    return placed
  }

  #updateRun(view: RunView, item: RunItem, question: UserItem | null, isLast: boolean): void {
    const canRetry = isLast && question !== null && this.#isOwn(question)
    view.update(item, {
      onRetry: canRetry ? () => this.#actions.onSend(question.text) : null,
      onAnswer: (answer) => void this.#chat.answer(answer),
    })
  }

  #updatePerson(view: PersonView, item: UserItem, before: UserItem | null, isNext: boolean): void {
    const isOwn = this.#isOwn(item)
    view.update(item, {
      isOwn,
      isContinued: isNext && before?.userId === item.userId,
      hasLabel: !before || before.userId !== item.userId,
      colour: Math.max(0, this.#people.indexOf(item.userId ?? '')),
      onRetry: () => {
        this.#chat.discard(item)
        this.#actions.onSend(item.text)
      },
      onEdit: () => {
        this.#chat.discard(item)
        this.#actions.onEdit(item.text)
      },
    })
  }

  /** Messages of logs without users are one's own. */
  #isOwn(item: UserItem): boolean {
    return item.userId === null || item.userId === this.#chat.me
  }
}
