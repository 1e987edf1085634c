// The conversations of the sidebar, by day.
import { spoken, iconButton } from '../base/controls'
import { h, setText } from '../base/dom'
import { icon } from '../base/icons'
import { openMenu } from '../base/menu'
import { hrefOf } from '../base/router'
import { dayLabel, fullTime, shortTime } from '../base/time'
import type { Conversation } from '../api/types'
import type { App } from '../model/app'
import { titleOf } from '../model/actions'
import { conversationMenu } from './conversation_menu'
import { VirtualList, type Entry } from './virtual'

const PHONE = matchMedia('(max-width: 767px)')
const HEIGHTS = { day: 35, row: 38, rowOnPhone: 46 }

interface ListEntry extends Entry {
  label?: string // of a day
  item?: Conversation
}

export class ConversationList {
  readonly element = h('nav', { class: 'conversations', aria: { label: 'Conversations' } })
  #app: App
  #list: VirtualList<ListEntry>
  #note = h('p', { class: 'list-note' })

  constructor(app: App, onNavigate: () => void) {
    this.#app = app
    this.#list = new VirtualList(
      this.element,
      (entry) => (entry.item ? new Row(app, entry.item.id, onNavigate) : new Day()),
      () => void app.conversations.loadMore(),
    )
    this.element.prepend(this.#note)
    this.element.addEventListener('keydown', (event) => this.#onKey(event))
    app.conversations.changes.watch(() => this.draw())
    app.chat.subscribe(() => this.draw())
    app.seen.changes.subscribe(() => this.draw())
    PHONE.addEventListener('change', () => this.draw())
  }

  focus(): void {
    this.element.querySelector('a')?.focus()
  }

  draw(): void {
    const { items, state, error } = this.#app.conversations
    const entries: ListEntry[] = []
    let label = ''
    for (const item of items) {
      const day = dayLabel(item.updatedAt)
      if (day !== label) entries.push({ key: `day ${day}`, height: HEIGHTS.day, label: day })
      label = day
      const height = PHONE.matches ? HEIGHTS.rowOnPhone : HEIGHTS.row
      entries.push({ key: item.id, height, item })
    }
    this.#list.set(entries)
    const note = state === 'failed' ? error : 'Your conversations will be listed here.'
    this.#note.hidden = state === 'loading' || (items.length > 0 && state !== 'failed')
    setText(this.#note, note)
  }

  /** Arrow keys walk the list, also beyond what exists of it at the moment. */
  #onKey(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    const current = (document.activeElement as HTMLElement | null)?.closest<HTMLElement>('.row')
    if (!step || !current) return
    event.preventDefault()
    const { items } = this.#app.conversations
    const at = items.findIndex(({ id }) => id === current.dataset.id)
    const next = items[at + step]
    if (next) this.#list.reveal(next.id)?.querySelector('a')?.focus()
  }
}

class Day {
  readonly element = h('h2', { class: 'day' })

  update({ label }: ListEntry): void {
    setText(this.element, label ?? '')
  }
}

class Row {
  readonly element: HTMLElement
  #app: App
  #link: HTMLAnchorElement
  #title = h('span', { class: 'row-title', dir: 'auto' })
  #time = h('time', { class: 'row-time' })
  #marks = h('span', { class: 'row-marks' })
  #shown = ''

  constructor(app: App, id: string, onClick: () => void) {
    this.#app = app
    const href = hrefOf({ name: 'conversation', id })
    this.#link = h(
      'a',
      { class: 'row-link', href, on: { click: onClick } },
      this.#title,
      this.#marks,
      this.#time,
    )
    const more = iconButton(
      'more',
      'More',
      () => openMenu(more, conversationMenu(app, id), 'Conversation'),
      'row-more',
    )
    more.setAttribute('aria-haspopup', 'menu')
    this.element = h('div', { class: 'row', data: { id } }, this.#link, more)
    this.element.addEventListener('contextmenu', (event) => {
      event.preventDefault()
      openMenu(more, conversationMenu(app, id), 'Conversation')
    })
  }

  update({ item }: ListEntry): void {
    const { updatedAt, isRunning, visibility, participants, id } = item!
    const title = titleOf(item!)
    const isOpen = this.#app.chat.value?.id === id
    const people = visibility === 'shared' ? participants.length : 0
    const isUnread = !isOpen && !isRunning && this.#app.seen.isUnread(item!)
    const shown = [title, updatedAt, isRunning, people, isOpen, isUnread].join('\n')
    if (shown === this.#shown) return
    this.#shown = shown
    setText(this.#title, title)
    this.#title.title = title
    setText(this.#time, shortTime(updatedAt))
    this.#time.dateTime = updatedAt
    this.#time.title = fullTime(updatedAt)
    this.element.classList.toggle('is-open', isOpen)
    this.element.classList.toggle('is-unread', isUnread)
    if (isOpen) this.#link.setAttribute('aria-current', 'page')
    else this.#link.removeAttribute('aria-current')
    this.#drawMarks(people, isRunning, isUnread)
  }

  #drawMarks(people: number, isRunning: boolean, isUnread: boolean): void {
    this.#marks.replaceChildren()
    if (people > 0) {
      const title = people === 1 ? 'Shared' : `Shared by ${people} people`
      const mark = h('span', { class: 'mark-shared', title }, icon('people'), spoken(title))
      if (people > 1)
        mark.append(h('span', { class: 'mark-count', aria: { hidden: true } }, String(people)))
      this.#marks.append(mark)
    }
    if (isRunning) {
      const title = 'The agent is answering'
      this.#marks.append(h('span', { class: 'mark-running', title }, spoken('answering')))
    }
    if (isUnread) {
      const title = 'New messages since your last visit'
      this.#marks.append(h('span', { class: 'mark-unread', title }, spoken('unread')))
    }
  }
}
