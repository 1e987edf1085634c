// The frame of the page: sidebar, top bar, the view in the middle, and what lies above them.
import { messageOf } from '../api/client'
import { announcer } from '../base/announcer'
import { textButton } from '../base/controls'
import { h } from '../base/dom'
import { MOD, SHIFT } from '../base/keys'
import { retire, setEnd } from '../base/leave'
import { go, route, type Route, type ScreenName } from '../base/router'
import { NOT_LOADED, toast, toasts } from '../base/toast'
import { msg, t } from '../base/words'
import type { App } from '../model/app'
import { Attention, Elsewhere, sign } from '../model/attention'
import type { Chat } from '../model/chat'
import { logOut } from '../model/log_out'
import { listedPlacements, loadPlacements, placementAt, routeOf } from '../model/placements'
import { isSidebarOpen, nextTheme, theme, type Theme } from '../model/preferences'
import { walk } from '../model/search'
import { ChatView } from './chat'
import { conversationMenu } from './conversation_menu'
import type { HelpSheet } from './help'
import { openProjects } from './list_head'
import type { NotesPanel } from './notes'
import { Palette, type Command } from './palette'
import { installShortcuts } from './shortcuts'
import { sash } from './sash'
import { Sidebar, THEMES } from './sidebar'
import { skeleton } from './skeleton'
import { Topbar } from './topbar'

const PHONE = matchMedia('(max-width: 767px)')

const SCREEN_TITLES: Record<ScreenName, string> = {
  apps: msg('Bundles and tools'),
  skills: msg('Skills'),
  usage: msg('Usage'),
  context: msg('What the model sees'),
  permissions: msg('Permissions'),
  settings: msg('Settings'),
}

function hasUsers(app: App): boolean {
  return (app.workspace.value?.authMode ?? 'dev') !== 'dev'
}

function leave(): void {
  void logOut().catch((error) => toast(messageOf(error)))
}

export class Shell {
  readonly element: HTMLElement
  #app: App
  #sidebar: Sidebar
  #topbar: Topbar
  #help: HelpSheet | null = null
  #palette: Palette
  #stage = h('div', { class: 'stage' })
  #view: ChatView | null = null
  #notes: NotesPanel | null = null
  #isDrawerOpen = false

  constructor(app: App) {
    this.#app = app
    this.#sidebar = new Sidebar(app, {
      onHelp: () => void this.#toggleHelp(),
      onCollapse: () => this.toggleSidebar(),
      onNavigate: () => this.closeDrawer(),
    })
    this.#topbar = new Topbar(app, {
      onMenu: () => this.toggleSidebar(),
      onNotes: () => void this.#toggleNotes(),
    })
    this.#palette = new Palette(app)
    app.commands = () => this.#commands()
    this.#sidebar.element.append(sash())
    this.element = h(
      'div',
      { class: 'shell' },
      textButton(t('Skip to the conversation'), () => this.#view?.focus(), { class: 'skip' }),
      this.#sidebar.element,
      h('div', { class: 'scrim', on: { click: () => this.closeDrawer() } }),
      h('main', { class: 'main' }, this.#topbar.element, this.#stage),
      this.#palette.element,
      toasts(),
      announcer(),
    )
    this.#watch()
    if (route.value.name === 'conversation') this.#stage.append(h('div', { class: 'content' }, skeleton()))
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
    route.watch((where) => void this.#showScreen(where))
    route.watch((where) => void this.#showApp(where))
    walk.subscribe((now) => void this.#walk(now !== null))
    this.#app.isUnreachable.watch(() => this.#describe())
    this.#app.workspace.subscribe(() => this.#describe())
    sign.subscribe(() => this.#describe())
    this.#app.print = () => this.#print()
    const elsewhere = new Elsewhere()
    const { conversations, chat } = this.#app
    conversations.changes.subscribe(() => elsewhere.look(conversations.items, chat.value?.id ?? null))
    installShortcuts({
      palette: () => this.#palette.toggle(),
      search: () => this.search(),
      newChat: () => this.#app.newChat(),
      toggleSidebar: () => this.toggleSidebar(),
      help: () => void this.#toggleHelp(),
      compose: () => this.#view?.focus(),
      question: () => this.#view?.toQuestion() ?? false,
      step: (by) => this.#view?.step(by),
      find: () => this.#view?.find() ?? false,
      print: () => this.#print(),
      escape: () => this.#escape(),
    })
  }

  async #toggleHelp(): Promise<void> {
    const part = await import('./help').catch(() => null)
    if (!part) {
      toast(t(NOT_LOADED))
      return
    }
    this.#help ??= new part.HelpSheet()
    this.element.append(this.#help.element)
    this.#help.toggle()
  }

  #print(): boolean {
    if (!this.#view || route.value.name !== 'conversation') return false
    void this.#view.print()
    return true
  }

  /** The bar for the hits of a search. */
  async #walk(isOn: boolean): Promise<void> {
    if (!isOn || this.element.querySelector('.walk')) return
    const part = await import('./hit_walk').catch(() => null)
    if (part && walk.value && !this.element.querySelector('.walk')) this.#stage.before(part.walkBar())
  }

  #whenReady(): Promise<void> {
    const { workspace } = this.#app
    if (workspace.value) return Promise.resolve()
    return new Promise((resolve) => {
      const end = workspace.subscribe(() => {
        end()
        resolve()
      })
    })
  }

  #show(chat: Chat | null): void {
    this.#closeNotes()
    this.#retire(this.#view)
    this.#view = chat ? new ChatView(this.#app, chat) : null
    this.#fill(this.#view ? [this.#view.element] : [])
    const attention = new Attention()
    chat?.changes.subscribe(() => {
      attention.look(chat)
      this.#describe()
    })
    this.#describe()
    this.closeDrawer()
    if (!PHONE.matches) this.#view?.focus()
  }

  /** Apps are told that they end, and have a moment to answer; until then they are there, unseen. */
  #retire(view: ChatView | null): void {
    const ended = view?.close() ?? null
    if (view) setEnd(view.element, () => ended)
  }

  #fill(elements: HTMLElement[]): void {
    for (const child of [...this.#stage.children] as HTMLElement[])
      if (!child.classList.contains('is-leaving')) retire(child)
    this.#stage.append(...elements)
  }

  /** Screens are loaded when they are first looked at, and show what the person's role allows. */
  async #showScreen(where: Route): Promise<void> {
    if (where.name !== 'screen') return
    await this.#whenReady()
    const screens = await import('../screens/screens').catch(() => null)
    await screens?.styled
    if (route.value !== where) return
    this.#fill([screens?.openScreen(this.#app, where.screen, where.part) ?? notLoaded()])
    this.#describe()
    this.closeDrawer()
  }

  /** An app with a place of its own; after a reload, the list of them has to come first. */
  async #showApp(where: Route): Promise<void> {
    if (where.name !== 'app') return
    await this.#whenReady()
    const apps = await import('../apps/apps').catch(() => null)
    if (!placementAt(where.route)) await loadPlacements()
    if (route.value !== where) return
    const placement = placementAt(where.route)
    const element = !apps
      ? notLoaded()
      : placement
        ? await apps.openPlacement(this.#app, placement)
        : apps.noPlacement(where.route)
    if (route.value === where) this.#fill([element])
    else retire(element)
    this.#describe()
    this.closeDrawer()
  }

  #describe(): void {
    const chat = this.#app.chat.value
    const where = route.value
    const place = where.name === 'screen' ? t(SCREEN_TITLES[where.screen]) : appTitle(where)
    const root = chat?.conversation?.branch?.of
    const rootTitle = root && this.#app.conversations.find(root)?.title
    const title = place ?? rootTitle ?? (chat ? titleOf(chat) : '')
    const isNamed = place !== null || (chat?.id && chat.title)
    const pageTitle = [sign.value, isNamed ? `${title} · nb` : 'nb'].join(' ').trim()
    if (document.title !== pageTitle) document.title = pageTitle
    const isLost = this.#app.isUnreachable.value || (chat?.link === 'lost' && !chat.gone)
    this.#topbar.update(title, chat, isLost ? t('Offline, trying again…') : '')
  }

  #commands(): Command[] {
    const { value: chat } = this.#app.chat
    const screen = (name: ScreenName, icon: Command['icon']): Command => ({
      label: t(SCREEN_TITLES[name]),
      icon,
      run: () => go({ name: 'screen', screen: name }),
    })
    const here = chat?.id
      ? conversationMenu(this.#app, chat.id).map(({ label, command, icon, run }) => ({
          label: command ?? label,
          icon: icon ?? ('note' as const),
          run,
        }))
      : []
    return [
      {
        label: t('New chat'),
        icon: 'plus',
        keys: `${t(MOD)} ${t(SHIFT)} O`,
        run: () => this.#app.newChat(),
      },
      {
        label: t('Search in all messages'),
        icon: 'search',
        keys: `${t(MOD)} ${t(SHIFT)} F`,
        run: () => this.search(),
      },
      ...here,
      ...(chat?.id
        ? [{ label: t('Notes'), icon: 'note' as const, run: () => void this.#toggleNotes() }]
        : []),
      ...listedPlacements().map((placement) => ({
        label: placement.label || placement.app,
        icon: 'layers' as const,
        run: () => go({ name: 'app', route: routeOf(placement) }),
      })),
      { label: t('Projects'), icon: 'layers', run: () => void openProjects(this.#app) },
      screen('apps', 'box'),
      screen('skills', 'book'),
      screen('permissions', 'shield'),
      screen('usage', 'chart'),
      screen('context', 'layers'),
      screen('settings', 'gear'),
      { label: t('Change the theme'), icon: 'moon', keys: `${t(MOD)} ${t(SHIFT)} L`, run: nextTheme },
      ...Object.entries(THEMES).map(([name, { icon, label }]) => ({
        label: t(label),
        icon,
        run: () => void (theme.value = name as Theme),
      })),
      {
        label: t('Show or hide the sidebar'),
        icon: 'sidebar',
        keys: `${t(MOD)} B`,
        run: () => this.toggleSidebar(),
      },
      { label: t('Keyboard shortcuts'), icon: 'help', keys: '?', run: () => void this.#toggleHelp() },
      ...(hasUsers(this.#app) ? [{ label: t('Log out'), icon: 'exit' as const, run: leave }] : []),
    ]
  }

  async #toggleNotes(): Promise<void> {
    const { value: chat } = this.#app.chat
    if (this.#notes || !chat?.id) {
      this.#closeNotes()
      return
    }
    const part = await import('./notes').catch(() => null)
    if (!part) toast(t(NOT_LOADED))
    if (!part || this.#notes || this.#app.chat.value !== chat) return
    this.#notes = new part.NotesPanel(chat, () => this.#closeNotes())
    this.#stage.append(this.#notes.element)
    this.#stage.classList.add('has-panel')
    this.#notes.focus()
  }

  #closeNotes(): void {
    this.#notes?.close()
    this.#notes = null
    this.#stage.classList.remove('has-panel')
  }

  #escape(): boolean {
    if (document.querySelector('dialog[open], [popover]:popover-open')) return false // closes itself
    if (this.#isDrawerOpen) {
      this.closeDrawer()
      this.#topbar.menuButton.focus()
      return true
    }
    if (this.#notes) {
      this.#closeNotes()
      this.#view?.focus()
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
    const { menuButton } = this.#topbar
    this.element.dataset.sidebar = isShown ? 'open' : 'closed'
    this.#sidebar.element.inert = !isShown
    menuButton.setAttribute('aria-expanded', String(isShown))
    menuButton.ariaLabel = menuButton.title = isShown ? t('Hide sidebar') : t('Show sidebar')
  }
}

/** The name of the app at that address; null: it is the address of something else. */
function appTitle(where: Route): string | null {
  return where.name === 'app' ? (placementAt(where.route)?.label ?? where.route) : null
}

/** Until it has a title, a conversation is called by its first words. */
function titleOf(chat: Chat): string {
  if (chat.gone) return t('Not available')
  if (!chat.id) return chat.project ? t('New chat in {project}', { project: chat.project.name }) : t('New chat')
  const first = chat.items.find((item) => item.kind === 'user')
  return chat.title ?? (first && !chat.hasEarlier ? first.text : t('New conversation'))
}

/** A server that was updated has other names for the parts of the page. */
function notLoaded(): HTMLElement {
  const why = t('This part of the page could not be loaded. The server cannot be reached, or it was updated.')
  return h(
    'div',
    { class: 'screen-column', role: 'alert' },
    h('p', { class: 'lead' }, why),
    textButton(t('Reload the page'), () => location.reload(), { class: 'button' }),
  )
}
