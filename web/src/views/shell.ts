// The frame of the page: sidebar, top bar, the view in the middle, and what lies above them.
import { announcer } from '../base/announcer'
import { iconButton, textButton } from '../base/controls'
import { h, setText } from '../base/dom'
import type { App } from '../model/app'
import type { Chat } from '../model/chat'
import { isSidebarOpen } from '../model/preferences'
import { ChatView } from './chat'
import { HelpSheet } from './help'
import { installShortcuts } from './shortcuts'
import { Sidebar } from './sidebar'

const PHONE = matchMedia('(max-width: 767px)')

export class Shell {
  readonly element: HTMLElement
  #app: App
  #sidebar: Sidebar
  #help = new HelpSheet()
  #title = h('h1', { class: 'topbar-title', dir: 'auto' })
  #status = h('div', { class: 'topbar-status', role: 'status' })
  #stage = h('div', { class: 'stage' })
  #menuButton: HTMLButtonElement
  #view: ChatView | null = null
  #isDrawerOpen = false

  constructor(app: App) {
    this.#app = app
    this.#sidebar = new Sidebar(app, {
      onHelp: () => this.#help.open(),
      onCollapse: () => this.toggleSidebar(),
      onNavigate: () => this.closeDrawer(),
    })
    this.#menuButton = iconButton(
      'sidebar',
      'Show sidebar',
      () => this.toggleSidebar(),
      'menu-button',
    )
    const newButton = iconButton('plus', 'New chat', () => app.newChat(), 'topbar-new')
    const topbar = h(
      'header',
      { class: 'topbar' },
      this.#menuButton,
      this.#title,
      this.#status,
      newButton,
    )
    this.element = h(
      'div',
      { class: 'shell' },
      textButton('Skip to the conversation', () => this.#view?.focus(), { class: 'skip' }),
      this.#sidebar.element,
      h('div', { class: 'scrim', on: { click: () => this.closeDrawer() } }),
      h('main', { class: 'main' }, topbar, this.#stage),
      this.#help.element,
      announcer(),
    )
    this.#watch()
  }

  toggleSidebar(): void {
    if (PHONE.matches) this.#setDrawer(!this.#isDrawerOpen)
    else isSidebarOpen.value = !isSidebarOpen.value
  }

  closeDrawer(): void {
    this.#setDrawer(false)
  }

  /** Shows the list of conversations and puts the cursor into its search field. */
  search(): void {
    if (PHONE.matches) this.#setDrawer(true)
    else isSidebarOpen.value = true
    this.#sidebar.focusSearch()
  }

  #watch(): void {
    isSidebarOpen.watch(() => this.#layOut())
    PHONE.addEventListener('change', () => this.#setDrawer(false))
    this.#app.chat.watch((chat) => this.#show(chat))
    this.#app.isUnreachable.watch(() => this.#describe())
    this.#app.workspace.subscribe(() => this.#describe())
    installShortcuts({
      search: () => this.search(),
      newChat: () => this.#app.newChat(),
      toggleSidebar: () => this.toggleSidebar(),
      help: () => this.#help.toggle(),
      compose: () => this.#view?.focus(),
      escape: () => this.#escape(),
    })
  }

  #show(chat: Chat | null): void {
    this.#view?.close()
    this.#view = chat ? new ChatView(this.#app, chat) : null
    this.#stage.replaceChildren(...(this.#view ? [this.#view.element] : []))
    chat?.changes.subscribe(() => this.#describe())
    this.#describe()
    this.closeDrawer()
    if (!PHONE.matches) this.#view?.focus()
  }

  #describe(): void {
    const chat = this.#app.chat.value
    setText(this.#title, chat ? titleOf(chat) : '')
    const pageTitle = chat?.id && chat.title ? `${chat.title} · nb` : 'nb'
    if (document.title !== pageTitle) document.title = pageTitle
    const isLost = this.#app.isUnreachable.value || (chat?.link === 'lost' && !chat.gone)
    setText(this.#status, isLost ? 'Offline, trying again…' : '')
  }

  #escape(): boolean {
    if (this.#help.isOpen) return false // the dialog closes itself
    if (this.#isDrawerOpen) {
      this.closeDrawer()
      this.#menuButton.focus()
      return true
    }
    const chat = this.#app.chat.value
    if (!chat?.isBusy) return false
    void chat.stop()
    return true
  }

  #setDrawer(isOpen: boolean): void {
    this.#isDrawerOpen = isOpen && PHONE.matches
    this.#layOut()
  }

  #layOut(): void {
    const isShown = PHONE.matches ? this.#isDrawerOpen : isSidebarOpen.value
    this.element.dataset.sidebar = isShown ? 'open' : 'closed'
    this.#sidebar.element.inert = !isShown
    this.#menuButton.setAttribute('aria-expanded', String(isShown))
    this.#menuButton.ariaLabel = this.#menuButton.title = isShown ? 'Hide sidebar' : 'Show sidebar'
  }
}

function titleOf(chat: Chat): string {
  if (chat.gone) return 'Not available'
  return chat.id ? (chat.title ?? 'New conversation') : 'New chat'
}
