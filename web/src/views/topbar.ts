// The bar above the open conversation: its title, who takes part, and what can be done with it.
import type { Notice } from '../api/types'
import { iconButton, spoken } from '../base/controls'
import { h, setText } from '../base/dom'
import { icon } from '../base/icons'
import { openMenu } from '../base/menu'
import { go, hrefOf } from '../base/router'
import { shortTime } from '../base/time'
import { t, tList, tn } from '../base/words'
import type { App } from '../model/app'
import { known, titleOf } from '../model/actions'
import type { Chat } from '../model/chat'
import { wordsFor } from '../model/notices'
import { nameOf } from '../model/people'
import { conversationMenu, openRenameDialog, openSharing } from './conversation_menu'
import { COLOURS } from './person'

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
    { class: 'topbar-origin', title: t('Forked from another conversation') },
    icon('fork'),
  )
  #faces = h('button', { type: 'button', class: 'faces' })
  #share: HTMLButtonElement
  #status = h('div', { class: 'topbar-status', role: 'status' })
  #notes: HTMLButtonElement
  #more: HTMLButtonElement
  #facesShown = ''
  #bell: HTMLButtonElement

  constructor(app: App, actions: TopbarActions) {
    this.#app = app
    this.menuButton = iconButton('sidebar', t('Show sidebar'), () => actions.onMenu(), 'menu-button')
    this.#notes = iconButton('note', t('Notes'), () => actions.onNotes(), 'topbar-tool')
    this.#more = iconButton(
      'more',
      t('More about this conversation'),
      () => this.#openMore(),
      'topbar-tool',
    )
    this.#more.setAttribute('aria-haspopup', 'menu')
    this.#faces.addEventListener('click', () => this.#withId((id) => void openSharing(app, id)))
    this.#share = iconButton('people', t('Share'), () => this.#withId((id) => void openSharing(app, id)), 'topbar-tool')
    this.#title.addEventListener('dblclick', () =>
      this.#withId((id) => known(app, id)?.may.rename && openRenameDialog(app, id)),
    )
    this.#bell = iconButton('bell', t('Notices'), () => this.#openNotices(), 'topbar-tool')
    this.#bell.setAttribute('aria-haspopup', 'menu')
    app.notices.changes.watch(() => this.#drawBell())
    this.#origin.setAttribute('aria-label', t('Forked from another conversation'))
    this.element = h(
      'header',
      { class: 'topbar' },
      this.menuButton,
      this.#title,
      this.#origin,
      this.#status,
      this.#faces,
      this.#share,
      this.#notes,
      this.#more,
      this.#bell,
      iconButton('plus', t('New chat'), () => app.newChat(), 'topbar-new'),
    )
  }

  update(title: string, chat: Chat | null, status: string): void {
    setText(this.#title, title)
    setText(this.#status, status)
    const hasId = Boolean(chat?.id) && !chat!.gone
    this.#notes.hidden = this.#more.hidden = !hasId
    const about = hasId ? chat?.conversation : undefined
    const from = about?.branch ? undefined : about?.forkedFrom
    this.#origin.hidden = !from
    this.#share.hidden = !hasId || chat!.isShared || !chat!.conversation?.may.share
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
    const names = tList(who.map((id) => (present.has(id) ? t('{name} (here)', { name: nameOf(id) }) : nameOf(id))))
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
    this.#faces.replaceChildren(spoken(t('Shared with {names}', { names })), ...dots)
  }

  #drawBell(): void {
    const { items } = this.#app.notices
    const fresh = items.filter(({ seen }) => !seen).length
    const label = fresh > 0 ? tn(fresh, 'Notices, {n} new', 'Notices, {n} new') : t('Notices')
    this.#bell.hidden = items.length === 0
    this.#bell.classList.toggle('is-new', fresh > 0)
    this.#bell.title = label
    this.#bell.setAttribute('aria-label', label)
  }

  #openNotices(): void {
    const items = this.#app.notices.items.map((notice) => {
      const conversation = this.#app.conversations.find(notice.conversationId)
      return {
        label: conversation ? noticeText(notice, titleOf(conversation)) : wordsFor(notice),
        hint: shortTime(notice.timestamp),
        run: () => go({ name: 'conversation', id: notice.conversationId }),
      }
    })
    openMenu(this.#bell, items, t('Notices'))
    void this.#app.notices.markSeen()
  }

  #openMore(): void {
    this.#withId((id) => openMenu(this.#more, conversationMenu(this.#app, id), t('Conversation')))
  }

  #withId(run: (id: string) => void): void {
    const id = this.#app.chat.value?.id
    if (id) run(id)
  }
}

function noticeText({ kind, by }: Notice, title: string): string {
  const values = { name: nameOf(by), title }
  if (kind === 'removed') return t('{name} removed you from “{title}”', values)
  return kind === 'mention' ? t('{name} mentioned you in “{title}”', values) : t('{name} added you to “{title}”', values)
}
