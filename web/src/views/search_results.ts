// Hits of the full-text search: by conversation, with the words that were found, and chips for the filters.
import type { SearchHit } from '../api/types'
import { h, setText } from '../base/dom'
import { hrefOf } from '../base/router'
import { fullTime, shortTime } from '../base/time'
import { t, tn } from '../base/words'
import { walk, type HitGroup, type Search } from '../model/search'

const FIRST = 2 // hits of a conversation that are shown first

interface Chip {
  label: string
  word(): string
}

export class SearchResults {
  readonly element = h('nav', { class: 'hits', aria: { label: t('Search results') } })
  #search: Search
  #onNavigate: () => void
  #note = h('p', { class: 'list-note', role: 'status' })
  #list = h('div', {})
  #open = new Set<string>() // conversations of which all hits are shown
  #asked = ''

  constructor(search: Search, field: HTMLInputElement, me: () => string, onNavigate: () => void) {
    this.#search = search
    this.#onNavigate = onNavigate
    this.element.append(chips(search, field, me), this.#note, this.#list)
    this.element.addEventListener('keydown', (event) => this.#onKey(event))
    search.changes.watch(() => this.#draw())
  }

  focus(): void {
    this.element.querySelector('a')?.focus()
  }

  #draw(): void {
    const { text, groups, hits, isLoading } = this.#search
    if (text !== this.#asked) this.#open.clear()
    this.#asked = text
    this.element.hidden = text === ''
    if (isLoading && hits.length === 0) setText(this.#note, t('Searching…'))
    else setText(this.#note, this.#describe())
    this.#list.replaceChildren(...groups.map((group) => this.#group(group)))
  }

  #describe(): string {
    const { hits, error, isIndexing } = this.#search
    if (error) return error
    if (!isIndexing) return this.#count()
    if (hits.length === 0) return t('Nothing found yet; older conversations are still being read')
    return t('{found}; older conversations are still being read', { found: this.#count() })
  }

  #count(): string {
    const { hits, total } = this.#search
    if (hits.length === 0) return t('Nothing found.')
    const shown = hits.length
    if (total === null) return tn(shown, 'The newest {n} hit', 'The newest {n} hits')
    if (total > shown) return tn(total, 'The newest {shown} of {n} hit', 'The newest {shown} of {n} hits', { shown })
    return tn(shown, '{n} hit', '{n} hits')
  }

  #group(group: HitGroup): HTMLElement {
    const isOpen = this.#open.has(group.id)
    const shown = isOpen ? group.hits : group.hits.slice(0, FIRST)
    const rest = group.hits.length - shown.length
    const more = h('button', { type: 'button', class: 'hit-more' }, tn(rest, '+{n} more', '+{n} more'))
    more.addEventListener('click', () => {
      const before = group.hits[shown.length]
      this.#open.add(group.id)
      this.#draw()
      this.element.querySelector<HTMLElement>(`a[href="${before ? hrefTo(before) : ''}"]`)?.focus()
    })
    return h(
      'section',
      { class: 'hit-group', aria: { label: group.title || t('Untitled') } },
      ...shown.map((hit, i) => this.#hit(hit, i === 0)),
      rest > 0 && more,
    )
  }

  #hit(hit: SearchHit, isFirst: boolean): HTMLElement {
    const { title, timestamp, role, parts } = hit
    const words = parts.map(({ text, isHit }) => (isHit ? h('mark', {}, text) : plain(text)))
    const time = h('time', { class: 'row-time', title: fullTime(timestamp) }, shortTime(timestamp))
    const name = h('span', { class: 'row-title', dir: 'auto' }, title || t('Untitled'))
    const onClick = () => {
      const { hits } = this.#search
      walk.value = { hits, at: hits.indexOf(hit) }
      this.#onNavigate()
    }
    return h(
      'a',
      { class: 'hit', href: hrefTo(hit), on: { click: onClick } },
      isFirst && h('span', { class: 'hit-head' }, name, time),
      h('span', { class: `hit-text is-${role}`, dir: 'auto' }, ...words),
    )
  }

  #onKey(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    const all = [...this.element.querySelectorAll('a')]
    const at = all.indexOf(document.activeElement as HTMLAnchorElement)
    if (!step || at < 0) return
    event.preventDefault()
    all[at + step]?.focus()
  }
}

function hrefTo({ conversationId: id, position: at }: SearchHit): string {
  return hrefOf({ name: 'conversation', id, at })
}

/** Buttons that put the words of a filter into the field, or take them out again. */
function chips(search: Search, field: HTMLInputElement, me: () => string): HTMLElement {
  const all: Chip[] = [
    { label: t('Titles'), word: () => 'in:title' },
    { label: t('From me'), word: () => `from:${me()}` },
    { label: t('From the agent'), word: () => 'from:assistant' },
    { label: t('Tool results'), word: () => 'from:tool' },
    { label: t('Last 7 days'), word: () => `after:${new Date(Date.now() - 7 * 86_400_000).toISOString().slice(0, 10)}` },
  ]
  const buttons = all.map(({ label, word }) => {
    const toggle = () => {
      const words = field.value.split(/\s+/).filter(Boolean)
      const [name] = word().split(':')
      const others = words.filter((w) => !w.toLowerCase().startsWith(`${name}:`))
      field.value = (words.includes(word()) ? others : [word(), ...others]).join(' ')
      search.set(field.value.trim())
      field.focus()
    }
    const button = h('button', { type: 'button', class: 'filter-chip', on: { click: toggle } }, label)
    search.changes.watch(() => {
      button.setAttribute('aria-pressed', String(search.text.split(/\s+/).includes(word())))
    })
    return button
  })
  return h('div', { class: 'filter-chips', role: 'group', aria: { label: t('Filters') } }, ...buttons)
}

/** Without the signs of Markdown, which only disturb in so short a text. */
function plain(text: string): string {
  return text.replace(/[*`~]{2,}|`|^\s*(?:[>#|-]+\s+)+/gm, '')
}
