// The conversations of the sidebar, by day.
import { spoken, iconButton } from '../base/controls'
import { h, setText } from '../base/dom'
import { icon } from '../base/icons'
import { onContextMenu, openMenu } from '../base/menu'
import { hrefOf } from '../base/router'
import { Signal } from '../base/signal'
import { dayLabel, fullTime, money, shortTime } from '../base/time'
import type { Conversation } from '../api/types'
import { msg, t, tn } from '../base/words'
import type { App } from '../model/app'
import { titleOf } from '../model/actions'
import { wordsFor } from '../model/notices'
import type { Filter } from '../model/conversations'
import { conversationMenu } from './conversation_menu'
import { VirtualList, type Entry } from './virtual'

const PHONE = matchMedia('(max-width: 767px)')
const HEIGHTS = { day: 35, row: 38, rowOnPhone: 46 }

interface ListEntry extends Entry {
  label?: string // of a day
  item?: Conversation
}

export class ConversationList {
  readonly element = h('nav', { class: 'conversations', aria: { label: t('Conversations') } })
  /** The ids of those that are selected; null: nothing is being selected. */
  readonly selection = new Signal<ReadonlySet<string> | null>(null)
  #app: App
  #list: VirtualList<ListEntry>
  #note = h('p', { class: 'list-note', role: 'status' })
  #stop: string | null = null // the row that the Tab key reaches

  constructor(app: App, onNavigate: () => void) {
    this.#app = app
    this.#list = new VirtualList(
      this.element,
      (entry) => (entry.item ? new Row(app, this.selection, entry.item.id, onNavigate) : new Day()),
      () => void app.conversations.loadMore(),
    )
    this.element.prepend(this.#note)
    this.element.addEventListener('keydown', (event) => this.#onKey(event))
    this.element.addEventListener('focusin', (event) => {
      this.#stop = (event.target as HTMLElement).closest<HTMLElement>('.row')?.dataset.id ?? null
      this.#rove()
    })
    this.element.addEventListener('scroll', () => this.#rove(), { passive: true }) // rows come and go
    app.conversations.changes.watch(() => this.draw())
    app.chat.subscribe(() => this.draw())
    app.notices.changes.subscribe(() => this.draw())
    this.selection.subscribe(() => this.draw())
    PHONE.addEventListener('change', () => this.draw())
  }

  focus(): void {
    this.element.querySelector<HTMLElement>('.row-link[tabindex="0"]')?.focus()
  }

  draw(): void {
    const { items, state, error, indexing, filter } = this.#app.conversations
    const entries: ListEntry[] = []
    let label = ''
    for (const item of items) {
      const day = item.isPinned && filter === 'all' ? t('Pinned') : dayLabel(item.updatedAt)
      if (day !== label) entries.push({ key: `day ${day}`, height: HEIGHTS.day, label: day })
      label = day
      const height = PHONE.matches ? HEIGHTS.rowOnPhone : HEIGHTS.row
      entries.push({ key: item.id, height, item })
    }
    this.#list.set(entries)
    this.#rove()
    this.#note.hidden = state === 'loading' || (items.length > 0 && state === 'ready' && indexing === null)
    setText(this.#note, state === 'failed' ? error : noteOf(indexing, filter, this.#app.conversations.project !== null))
  }

  /** The list is one stop of the Tab key: the row last used, the open conversation, or the first one. */
  #rove(): void {
    const rows = [...this.element.querySelectorAll<HTMLElement>('.row')]
    const withId = (id: string | null | undefined) => rows.find((row) => row.dataset.id === id)
    const stop = withId(this.#stop) ?? withId(this.#app.chat.value?.id) ?? rows[0]
    for (const row of rows)
      for (const control of row.querySelectorAll<HTMLElement>('a, button'))
        control.tabIndex = row === stop ? 0 : -1
  }

  /** Arrow keys walk the list, also beyond what exists of it at the moment. */
  #onKey(event: KeyboardEvent): void {
    const current = (document.activeElement as HTMLElement | null)?.closest<HTMLElement>('.row')
    const { items } = this.#app.conversations
    const at = items.findIndex(({ id }) => id === current?.dataset.id)
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[event.key]
    if (to === undefined || !current) return
    event.preventDefault()
    const next = items[to]
    if (next) this.#list.reveal(next.id)?.querySelector('a')?.focus()
  }
}

const EMPTY: Record<Filter, string> = {
  all: msg('Your conversations will be listed here.'),
  unread: msg('You have read everything.'),
  own: msg('You have begun no conversation yet.'),
  shared: msg('Nothing is shared with you, and you share nothing.'),
  archived: msg('You have archived nothing.'),
}

function noteOf(indexing: number | null, filter: Filter, isProject: boolean): string {
  if (indexing === null && isProject) return t('No conversations in this project yet. New chats begin in it.')
  return indexing === null ? t(EMPTY[filter]) : t('Older conversations are still being read ({percent}%).', { percent: indexing })
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
  #more: HTMLButtonElement
  #title = h('span', { class: 'row-title', dir: 'auto' })
  #time = h('time', { class: 'row-time' })
  #marks = h('span', { class: 'row-marks' })
  #selection: Signal<ReadonlySet<string> | null>
  #box = h('input', { type: 'checkbox', class: 'row-box' })
  #shown = ''

  constructor(app: App, selection: Signal<ReadonlySet<string> | null>, id: string, onClick: () => void) {
    this.#app = app
    this.#selection = selection
    const href = hrefOf({ name: 'conversation', id })
    this.#link = h(
      'a',
      {
        class: 'row-link',
        href,
        on: {
          click: (event) => {
            if (!selection.value) return onClick()
            event.preventDefault()
            this.#toggle(id)
          },
        },
      },
      this.#title,
      this.#marks,
      this.#time,
    )
    const open = () => openMenu(more, conversationMenu(app, id), t('Conversation'))
    const more = iconButton('more', t('More'), open, 'row-more')
    more.setAttribute('aria-haspopup', 'menu')
    this.#more = more
    this.#box.addEventListener('change', () => this.#toggle(id))
    this.element = h('div', { class: 'row', data: { id } }, this.#box, this.#link, more)
    onContextMenu(this.element, open)
  }

  update({ item }: ListEntry): void {
    const { updatedAt, isRunning, visibility, participants, id, totalCostUsd } = item!
    const title = titleOf(item!)
    const { value: chat } = this.#app.chat
    const isOpen = chat?.id === id || chat?.conversation?.branch?.of === id
    const people = visibility === 'shared' ? participants.length : 0
    const isUnread = !isOpen && !isRunning && !!item!.isUnread
    const selected = this.#selection.value
    const isSelected = selected?.has(id)
    const notice = this.#app.notices.newIn(id)
    const news = notice ? wordsFor(notice) : item!.lastRun === 'waiting' ? t('The agent needs an answer') : ''
    const shown = [title, updatedAt, isRunning, people, isOpen, isUnread, news, !!selected, isSelected].join('\n')
    if (shown === this.#shown) return
    this.#shown = shown
    this.#box.hidden = !selected
    this.#box.checked = !!isSelected
    this.#box.setAttribute('aria-label', t('Select {title}', { title }))
    setText(this.#title, title)
    this.#title.title = title
    this.#more.ariaLabel = t('More: {title}', { title })
    setText(this.#time, shortTime(updatedAt))
    this.#time.dateTime = updatedAt
    this.#time.title = [fullTime(updatedAt), totalCostUsd ? money(totalCostUsd) : ''].filter(Boolean).join(', ')
    this.element.classList.toggle('is-open', isOpen)
    this.element.classList.toggle('is-unread', isUnread)
    if (isOpen) this.#link.setAttribute('aria-current', 'page')
    else this.#link.removeAttribute('aria-current')
    this.#drawMarks(people, isRunning, isUnread, news, notice ? '@' : '?')
  }

  #toggle(id: string): void {
    const ids = new Set(this.#selection.value)
    if (!ids.delete(id)) ids.add(id)
    this.#selection.value = ids
  }

  #drawMarks(people: number, isRunning: boolean, isUnread: boolean, news: string, sign: string): void {
    this.#marks.replaceChildren()
    if (news !== '')
      this.#marks.append(
        h('span', { class: 'mark-news', title: news }, spoken(news), h('span', { aria: { hidden: true } }, sign)),
      )
    if (people > 0) {
      const title = tn(people, 'Shared', 'Shared by {n} people')
      const mark = h('span', { class: 'mark-shared', title }, icon('people'), spoken(title))
      if (people > 1)
        mark.append(h('span', { class: 'mark-count', aria: { hidden: true } }, String(people)))
      this.#marks.append(mark)
    }
    if (isRunning) {
      const title = t('The agent is answering')
      this.#marks.append(h('span', { class: 'mark-running', title }, spoken(t('answering'))))
    }
    if (isUnread) {
      const title = t('New messages since your last visit')
      this.#marks.append(h('span', { class: 'mark-unread', title }, spoken(t('unread'))))
    }
  }
}
