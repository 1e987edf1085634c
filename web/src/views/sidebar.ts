// The sidebar: workspace, new chat, search, conversations, and the way to everything else.
import { iconButton, textButton } from '../base/controls'
import { h, setText } from '../base/dom'
import { icon, logo, type IconName } from '../base/icons'
import { openMenu } from '../base/menu'
import { hrefOf, route, type Route, type ScreenName } from '../base/router'
import { msg, t } from '../base/words'
import type { App } from '../model/app'
import { listedPlacements, placements, routeOf } from '../model/placements'
import { nextTheme, theme, type Theme } from '../model/preferences'
import { Search } from '../model/search'
import { listHead } from './list_head'
import { ConversationList } from './rows'
import { SearchResults } from './search_results'

export interface SidebarActions {
  onHelp(): void
  onCollapse(): void
  onNavigate(): void
}

export const THEMES: Record<Theme, { icon: IconName; label: string }> = {
  system: { icon: 'screen', label: msg('Theme: same as the system') },
  light: { icon: 'sun', label: msg('Theme: light') },
  dark: { icon: 'moon', label: msg('Theme: dark') },
}

const ROLES: Record<string, string> = { admin: msg('admin'), member: msg('member') }

const PLACES: readonly { screen: ScreenName; label: string; icon: IconName }[] = [
  { screen: 'apps', label: msg('Bundles'), icon: 'box' },
  { screen: 'skills', label: msg('Skills'), icon: 'book' },
  { screen: 'usage', label: msg('Usage'), icon: 'chart' },
  { screen: 'settings', label: msg('Settings'), icon: 'gear' },
]

/** Icons that apps ask for by the names of a known set, as far as there is one like it here. */
const LOOKS: Record<string, IconName> = {
  home: 'layers',
  'message-square': 'note',
  file: 'note',
  folder: 'box',
  clock: 'clock',
  calendar: 'clock',
  settings: 'gear',
  users: 'people',
  user: 'user',
  'bar-chart': 'chart',
  'chart-bar': 'chart',
  book: 'book',
  search: 'search',
  key: 'key',
  shield: 'shield',
  link: 'link',
  sparkles: 'spark',
  wrench: 'wrench',
}

function mark(link: HTMLElement, isHere: boolean): void {
  if (isHere) link.setAttribute('aria-current', 'page')
  else link.removeAttribute('aria-current')
}

export class Sidebar {
  readonly element: HTMLElement
  #app: App
  #actions: SidebarActions
  #search = new Search()
  #field = h('input', {
    type: 'search',
    class: 'search-input',
    placeholder: t('Search messages'),
    autocomplete: 'off',
    dir: 'auto',
    aria: { label: t('Search messages') },
  })
  #list: ConversationList
  #results: SearchResults

  constructor(app: App, actions: SidebarActions) {
    this.#app = app
    this.#actions = actions
    this.#list = new ConversationList(app, () => actions.onNavigate())
    this.#results = new SearchResults(
      this.#search,
      this.#field,
      () => app.workspace.value?.user.id ?? '',
      () => actions.onNavigate(),
    )
    const listHeadLine = listHead(app, this.#list)
    this.element = h(
      'aside',
      { class: 'sidebar', aria: { label: t('Sidebar') } },
      this.#head(),
      this.#tools(),
      listHeadLine,
      this.#list.element,
      this.#results.element,
      this.#apps(),
      this.#places(),
      this.#foot(),
    )
    this.#field.addEventListener('input', () => this.#search.set(this.#field.value.trim()))
    this.#field.addEventListener('keydown', (event) => this.#onSearchKey(event))
    this.#search.changes.watch(() => {
      this.#list.element.hidden = listHeadLine.hidden = this.#search.text !== ''
    })
  }

  focusSearch(): void {
    this.#field.focus()
    this.#field.select()
  }

  #head(): HTMLElement {
    const collapse = iconButton('sidebar', t('Hide sidebar'), () => this.#actions.onCollapse())
    return h('div', { class: 'sidebar-head' }, logo(), this.#workspaceName(), collapse)
  }

  /** The name of the workspace; a menu where there are several. */
  #workspaceName(): HTMLElement {
    const name = h('span', { class: 'brand' }, 'nb')
    const open = () => {
      const { workspaces = [], id } = this.#app.workspace.value ?? {}
      const items = workspaces.map((workspace) => ({
        label: workspace.name,
        hint: t(ROLES[workspace.role ?? ''] ?? workspace.role ?? ''),
        isChecked: workspace.id === id,
        run: () => this.#app.switchWorkspace(workspace.id),
      }))
      openMenu(button, items, t('Workspaces'))
    }
    const button = h(
      'button',
      {
        type: 'button',
        class: 'workspace',
        aria: { haspopup: 'menu', expanded: false },
        on: { click: open },
      },
      name,
      icon('chevron'),
    )
    this.#app.workspace.watch((workspace) => {
      setText(name, workspace?.name ?? 'nb')
      button.disabled = (workspace?.workspaces?.length ?? 0) < 2
    })
    return button
  }

  #tools(): HTMLElement {
    const create = textButton(t('New chat'), () => this.#newChat(), {
      class: 'new-chat',
      icon: 'plus',
    })
    return h(
      'div',
      { class: 'sidebar-tools' },
      create,
      h('div', { class: 'search' }, icon('search'), this.#field),
    )
  }

  #places(): HTMLElement {
    const links = PLACES.map(({ screen, label, icon: name }) => {
      const link = this.#link({ name: 'screen', screen }, t(label), name)
      route.watch((where) => mark(link, where.name === 'screen' && where.screen === screen))
      return link
    })
    return h('nav', { class: 'places', aria: { label: t('Workspace') } }, ...links)
  }

  /** Apps with a place of their own, where there are any. */
  #apps(): HTMLElement {
    const nav = h('nav', { class: 'places is-apps', aria: { label: t('Apps') } })
    const links = new Map<string, HTMLElement>()
    const markAll = (where: Route) => {
      for (const [to, link] of links) mark(link, where.name === 'app' && where.route === to)
    }
    placements.watch(() => {
      links.clear()
      for (const placement of listedPlacements()) {
        const { label, app, icon: look } = placement
        const to: Route = { name: 'app', route: routeOf(placement) }
        links.set(to.route, this.#link(to, label || app, LOOKS[look ?? ''] ?? 'layers'))
      }
      nav.hidden = links.size === 0
      nav.replaceChildren(h('p', { class: 'places-title' }, t('Apps')), ...links.values())
      markAll(route.value)
    })
    route.subscribe(markAll)
    return nav
  }

  #link(to: Route, label: string, name: IconName): HTMLElement {
    const onClick = () => this.#actions.onNavigate()
    const text = h('span', { class: 'place-label', dir: 'auto' }, label)
    return h('a', { class: 'place', href: hrefOf(to), on: { click: onClick } }, icon(name), text)
  }

  #foot(): HTMLElement {
    const themeButton = iconButton('screen', '', nextTheme)
    theme.watch((value) => {
      const { icon: name, label } = THEMES[value]
      themeButton.replaceChildren(icon(name))
      themeButton.title = t(label)
      themeButton.setAttribute('aria-label', t(label))
    })
    const who = h('span', { class: 'who' })
    this.#app.workspace.watch((workspace) => {
      setText(who, workspace?.user.displayName ?? '')
      who.title = workspace?.user.email ?? ''
    })
    const help = iconButton('help', t('Keyboard shortcuts'), () => this.#actions.onHelp())
    return h('div', { class: 'sidebar-foot' }, who, themeButton, help)
  }

  #newChat(): void {
    this.#app.newChat()
    this.#actions.onNavigate()
  }

  #onSearchKey(event: KeyboardEvent): void {
    if (event.key === 'Escape' && this.#field.value) {
      event.stopPropagation()
      this.#field.value = ''
      this.#search.set('')
    } else if (event.key === 'ArrowDown' || event.key === 'Enter') {
      event.preventDefault()
      if (this.#search.text) this.#results.focus()
      else this.#list.focus()
    }
  }
}
