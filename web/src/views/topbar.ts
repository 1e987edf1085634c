// The bar above the open conversation: its title, who takes part, and what can be done with it.
import { iconButton, spoken } from '../base/controls'
import { h, setText } from '../base/dom'
import { icon } from '../base/icons'
import { openMenu } from '../base/menu'
import { hrefOf } from '../base/router'
import type { App } from '../model/app'
import type { Chat } from '../model/chat'
import { nameOf } from '../model/people'
import { conversationMenu, openRenameDialog } from './conversation_menu'
import { COLOURS } from './person'
import { openShareDialog } from './share'

const FACES_MAX = 4

export interface TopbarActions {
  onMenu(): void
  onNotes(): void
}

export class Topbar {
  readonly element: HTMLElement
  readonly menuButton: HTMLButtonElement
  #app: App
  #title = h('h1', { class: 'topbar-title', dir: 'auto' })
  #origin = h(
    'a',
    { class: 'topbar-origin', title: 'Forked from another conversation' },
    icon('fork'),
  )
  #faces = h('button', { type: 'button', class: 'faces' })
  #status = h('div', { class: 'topbar-status', role: 'status' })
  #notes: HTMLButtonElement
  #more: HTMLButtonElement
  #facesShown = ''

  constructor(app: App, actions: TopbarActions) {
    this.#app = app
    this.menuButton = iconButton('sidebar', 'Show sidebar', () => actions.onMenu(), 'menu-button')
    this.#notes = iconButton('note', 'Notes', () => actions.onNotes(), 'topbar-tool')
    this.#more = iconButton(
      'more',
      'More about this conversation',
      () => this.#openMore(),
      'topbar-tool',
    )
    this.#more.setAttribute('aria-haspopup', 'menu')
    this.#faces.addEventListener('click', () => this.#withId((id) => openShareDialog(app, id)))
    this.#title.addEventListener('dblclick', () => this.#withId((id) => openRenameDialog(app, id)))
    this.#origin.setAttribute('aria-label', 'Forked from another conversation')
    this.element = h(
      'header',
      { class: 'topbar' },
      this.menuButton,
      this.#title,
      this.#origin,
      this.#status,
      this.#faces,
      this.#notes,
      this.#more,
      iconButton('plus', 'New chat', () => app.newChat(), 'topbar-new'),
    )
  }

  update(title: string, chat: Chat | null, status: string): void {
    setText(this.#title, title)
    setText(this.#status, status)
    const hasId = Boolean(chat?.id) && !chat!.gone
    this.#notes.hidden = this.#more.hidden = !hasId
    const from = hasId ? chat?.conversation?.forkedFrom : undefined
    this.#origin.hidden = !from
    if (from) this.#origin.href = hrefOf({ name: 'conversation', id: from })
    this.#drawFaces(hasId ? chat : null)
  }

  /** One dot per participant; those who are here now are full. */
  #drawFaces(chat: Chat | null): void {
    const who = chat?.isShared ? chat.participants : []
    const present = new Set(chat?.present ?? [])
    const shown = who.map((id) => `${id} ${present.has(id)}`).join()
    this.#faces.hidden = who.length === 0
    if (shown === this.#facesShown) return
    this.#facesShown = shown
    const names = who.map((id) => nameOf(id) + (present.has(id) ? ' (here)' : '')).join(', ')
    this.#faces.title = names
    const dots = who.slice(0, FACES_MAX).map((id, i) => {
      const state = present.has(id) ? 'is-here' : 'is-away'
      return h(
        'span',
        { class: `face p${i % COLOURS} ${state}`, aria: { hidden: true } },
        nameOf(id).slice(0, 1).toUpperCase(),
      )
    })
    const rest = who.length - dots.length
    if (rest > 0)
      dots.push(h('span', { class: 'face is-rest', aria: { hidden: true } }, `+${rest}`))
    this.#faces.replaceChildren(spoken(`Shared with ${names}`), ...dots)
  }

  #openMore(): void {
    this.#withId((id) => openMenu(this.#more, conversationMenu(this.#app, id), 'Conversation'))
  }

  #withId(run: (id: string) => void): void {
    const id = this.#app.chat.value?.id
    if (id) run(id)
  }
}
