// The sidebar: new chat, search, the conversations by day, and the settings of the page.
import type { Conversation } from '../api/types'
import { iconButton, spoken, textButton } from '../base/controls'
import { arrange, h, setText } from '../base/dom'
import { icon, logo, type IconName } from '../base/icons'
import { hrefOf } from '../base/router'
import { dayLabel, fullTime, shortTime } from '../base/time'
import type { App } from '../model/app'
import { nextTheme, theme, type Theme } from '../model/preferences'

export interface SidebarActions {
  onHelp(): void
  onCollapse(): void
  onNavigate(): void
}

const THEMES: Record<Theme, { icon: IconName; label: string }> = {
  system: { icon: 'screen', label: 'Theme: as the system' },
  light: { icon: 'sun', label: 'Theme: light' },
  dark: { icon: 'moon', label: 'Theme: dark' },
}

export class Sidebar {
  readonly element: HTMLElement
  #app: App
  #actions: SidebarActions
  #search = h('input', {
    type: 'search',
    class: 'search-input',
    placeholder: 'Search',
    autocomplete: 'off',
    aria: { label: 'Search conversations' },
  })
  #list = h('nav', { class: 'conversations', aria: { label: 'Conversations' } })
  #rows = new Map<string, Row>()

  constructor(app: App, actions: SidebarActions) {
    this.#app = app
    this.#actions = actions
    this.element = h(
      'aside',
      { class: 'sidebar', aria: { label: 'Sidebar' } },
      this.#head(),
      this.#tools(),
      this.#list,
      this.#foot(),
    )
    this.#search.addEventListener('input', () =>
      app.conversations.setSearch(this.#search.value.trim()),
    )
    this.#search.addEventListener('keydown', (event) => this.#onSearchKey(event))
    app.conversations.changes.watch(() => this.#draw())
    app.chat.subscribe(() => this.#draw())
  }

  focusSearch(): void {
    this.#search.focus()
    this.#search.select()
  }

  #head(): HTMLElement {
    const collapse = iconButton('sidebar', 'Hide sidebar', () => this.#actions.onCollapse())
    return h(
      'div',
      { class: 'sidebar-head' },
      logo(),
      h('span', { class: 'brand' }, 'nb'),
      collapse,
    )
  }

  #tools(): HTMLElement {
    const create = textButton('New chat', () => this.#newChat(), {
      class: 'new-chat',
      icon: 'plus',
    })
    return h(
      'div',
      { class: 'sidebar-tools' },
      create,
      h('div', { class: 'search' }, icon('search'), this.#search),
    )
  }

  #foot(): HTMLElement {
    const themeButton = iconButton('screen', '', nextTheme)
    theme.watch((value) => {
      const { icon: name, label } = THEMES[value]
      themeButton.replaceChildren(icon(name))
      themeButton.title = label
      themeButton.setAttribute('aria-label', label)
    })
    const model = h('span', { class: 'model-name' })
    this.#app.workspace.watch((workspace) => {
      setText(model, workspace ? modelLabel(workspace.model) : '')
      model.title = workspace ? `${workspace.model.name} (${workspace.model.why})` : ''
    })
    const help = iconButton('help', 'Keyboard shortcuts', () => this.#actions.onHelp())
    return h('div', { class: 'sidebar-foot' }, model, themeButton, help)
  }

  #newChat(): void {
    this.#app.newChat()
    this.#actions.onNavigate()
  }

  #onSearchKey(event: KeyboardEvent): void {
    if (event.key === 'Escape' && this.#search.value) {
      event.stopPropagation()
      this.#search.value = ''
      this.#app.conversations.setSearch('')
    } else if (event.key === 'ArrowDown' || event.key === 'Enter') {
      event.preventDefault()
      this.#list.querySelector('a')?.focus()
    }
  }

  #draw(): void {
    const { items, nextCursor } = this.#app.conversations
    const openId = this.#app.chat.value?.id
    const views: { element: HTMLElement }[] = []
    const used = new Map<string, Row>()
    let label = ''
    for (const item of items) {
      const day = dayLabel(item.updatedAt)
      if (day !== label) views.push({ element: h('h2', { class: 'day' }, day) })
      label = day
      const row = this.#rows.get(item.id) ?? new Row(item.id, () => this.#actions.onNavigate())
      row.update(item, item.id === openId)
      used.set(item.id, row)
      views.push(row)
    }
    this.#rows = used
    if (nextCursor) {
      const more = () => void this.#app.conversations.loadMore()
      views.push({ element: textButton('Load more', more, { class: 'more' }) })
    }
    const note = this.#note()
    if (note) views.push({ element: note })
    arrange(this.#list, views)
  }

  #note(): HTMLElement | null {
    const { items, state, search, error } = this.#app.conversations
    if (state === 'failed') return h('p', { class: 'list-note' }, error)
    if (items.length > 0 || state === 'loading') return null
    return h(
      'p',
      { class: 'list-note' },
      search ? 'Nothing found.' : 'Your conversations will be listed here.',
    )
  }
}

function modelLabel({ name, isDemo }: { name: string; isDemo: boolean }): string {
  return isDemo ? 'Demo model' : name.replace(/^[^:]*:/, '')
}

class Row {
  readonly element: HTMLAnchorElement
  #title = h('span', { class: 'row-title', dir: 'auto' })
  #time = h('time', { class: 'row-time' })
  #marks = h('span', { class: 'row-marks' })
  #shown = ''

  constructor(id: string, onClick: () => void) {
    const href = hrefOf({ name: 'conversation', id })
    this.element = h(
      'a',
      { class: 'row', href, on: { click: onClick } },
      this.#title,
      this.#marks,
      this.#time,
    )
  }

  update(item: Conversation, isOpen: boolean): void {
    const title = item.title ?? (item.preview.trim() || 'New conversation')
    const people = item.visibility === 'shared' ? item.participants.length : 0
    const shown = [title, item.updatedAt, item.isRunning, people, isOpen].join('\n')
    if (shown === this.#shown) return
    this.#shown = shown
    setText(this.#title, title)
    this.#title.title = title
    setText(this.#time, shortTime(item.updatedAt))
    this.#time.dateTime = item.updatedAt
    this.#time.title = fullTime(item.updatedAt)
    this.element.classList.toggle('is-open', isOpen)
    if (isOpen) this.element.setAttribute('aria-current', 'page')
    else this.element.removeAttribute('aria-current')
    this.#marks.replaceChildren()
    if (people > 0) {
      const title = `Shared by ${people} people`
      this.#marks.append(
        h('span', { class: 'mark-shared', title }, icon('people'), spoken('shared')),
      )
    }
    if (item.isRunning) {
      const title = 'The agent is answering'
      this.#marks.append(h('span', { class: 'mark-running', title }, spoken('answering')))
    }
  }
}
