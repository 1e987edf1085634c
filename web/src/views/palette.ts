// The command palette: every command and every conversation under one field.
import { closeBeside } from '../base/dialog'
import { h } from '../base/dom'
import { fuzzyFind } from '../base/fuzzy'
import { icon, type IconName } from '../base/icons'
import { go } from '../base/router'
import { shortTime } from '../base/time'
import { listConversations } from '../api/conversations'
import { t } from '../base/words'
import { titleOf } from '../model/actions'
import type { App } from '../model/app'

export interface Command {
  label: string
  icon: IconName
  keys?: string
  run(): void
}

const CONVERSATIONS = 8
const COMMANDS = 8
const DELAY_MS = 120

export class Palette {
  readonly element = h('dialog', { class: 'palette', aria: { label: t('Commands') } })
  #app: App
  #field = h('input', {
    type: 'text',
    class: 'palette-field',
    role: 'combobox',
    placeholder: t('Search commands and conversations'),
    autocomplete: 'off',
    aria: {
      label: t('Search commands and conversations'),
      controls: 'palette-list',
      expanded: true,
      autocomplete: 'list',
    },
  })
  #list = h('div', {
    id: 'palette-list',
    class: 'palette-list',
    role: 'listbox',
    aria: { label: t('Results') },
  })
  #shown: Command[] = []
  #found: Command[] = []
  #at = 0
  #timer = 0

  constructor(app: App) {
    this.#app = app
    this.element.append(
      h('div', { class: 'palette-head' }, icon('search'), this.#field),
      this.#list,
    )
    this.#field.addEventListener('input', () => this.#onInput())
    this.#field.addEventListener('keydown', (event) => this.#onKey(event))
    closeBeside(this.element)
  }

  toggle(): void {
    if (this.element.open) this.element.close()
    else this.open()
  }

  open(): void {
    this.#field.value = ''
    this.#found = this.#app.conversations.items
      .slice(0, CONVERSATIONS)
      .map((item) => this.#opener(item))
    this.element.showModal()
    this.#draw()
  }

  #opener(item: Parameters<typeof titleOf>[0] & { id: string; updatedAt: string }): Command {
    const run = () => go({ name: 'conversation', id: item.id })
    return { label: titleOf(item), icon: 'note', keys: shortTime(item.updatedAt), run }
  }

  #onInput(): void {
    this.#at = 0
    clearTimeout(this.#timer)
    this.#timer = window.setTimeout(() => void this.#find(), DELAY_MS)
    this.#draw()
  }

  async #find(): Promise<void> {
    const search = this.#field.value.trim()
    try {
      const page = await listConversations({ search, limit: CONVERSATIONS })
      if (search !== this.#field.value.trim()) return
      this.#found = page.conversations.map((item) => this.#opener(item))
      this.#draw()
    } catch {
      // The commands are there all the same.
    }
  }

  #draw(): void {
    const typed = this.#field.value.trim()
    const matching = fuzzyFind(this.#app.commands(), typed, ({ label }) => label).slice(0, typed ? COMMANDS : 6)
    this.#shown = [...matching, ...this.#found]
    this.#at = Math.min(this.#at, Math.max(0, this.#shown.length - 1))
    this.#list.replaceChildren(
      ...this.#group(t('Commands'), matching, 0),
      ...this.#group(t('Conversations'), this.#found, matching.length),
      ...(this.#shown.length === 0 ? [h('p', { class: 'list-note' }, t('Nothing found.'))] : []),
    )
    this.#mark()
  }

  #group(label: string, commands: Command[], from: number): HTMLElement[] {
    if (commands.length === 0) return []
    const rows = commands.map((command, i) =>
      h(
        'div',
        {
          id: `palette-${from + i}`,
          class: 'palette-row',
          role: 'option',
          on: { click: () => this.#run(command), pointermove: () => this.#move(from + i) },
        },
        icon(command.icon),
        h('span', { class: 'palette-label', dir: 'auto' }, command.label),
        command.keys !== undefined && h('span', { class: 'palette-keys' }, command.keys),
      ),
    )
    const group = h('div', { role: 'group', aria: { label } }, ...rows)
    return [h('p', { class: 'palette-group', role: 'presentation' }, label), group]
  }

  #move(to: number): void {
    const n = this.#shown.length
    if (n === 0 || to === this.#at) return
    this.#at = (to + n) % n
    this.#mark()
  }

  #mark(): void {
    const rows = this.#list.querySelectorAll('.palette-row')
    rows.forEach((row, i) => row.setAttribute('aria-selected', String(i === this.#at)))
    rows[this.#at]?.scrollIntoView({ block: 'nearest' })
    this.#field.setAttribute('aria-activedescendant', rows[this.#at]?.id ?? '')
  }

  #run(command: Command | undefined): void {
    if (!command) return
    this.element.close()
    command.run()
  }

  #onKey(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step) {
      event.preventDefault()
      this.#move(this.#at + step)
    } else if (event.key === 'Enter' && !event.isComposing) {
      event.preventDefault()
      this.#run(this.#shown[this.#at])
    }
  }
}
