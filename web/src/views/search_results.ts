// Hits of the full-text search: where, and the words that were found.
import type { SearchHit } from '../api/types'
import { h, setText } from '../base/dom'
import { hrefOf } from '../base/router'
import { count, fullTime, shortTime } from '../base/time'
import type { Search } from '../model/search'

export class SearchResults {
  readonly element = h('nav', { class: 'hits', aria: { label: 'Search results' } })
  #search: Search
  #onNavigate: () => void
  #note = h('p', { class: 'list-note', role: 'status' })
  #list = h('div', {})

  constructor(search: Search, onNavigate: () => void) {
    this.#search = search
    this.#onNavigate = onNavigate
    this.element.append(this.#note, this.#list)
    this.element.addEventListener('keydown', (event) => this.#onKey(event))
    search.changes.watch(() => this.#draw())
  }

  focus(): void {
    this.element.querySelector('a')?.focus()
  }

  #draw(): void {
    const { text, hits, isLoading } = this.#search
    this.element.hidden = text === ''
    if (isLoading && hits.length === 0) setText(this.#note, 'Searching…')
    else setText(this.#note, this.#describe())
    this.#list.replaceChildren(...hits.map((hit) => this.#hit(hit)))
  }

  #describe(): string {
    const { hits, total, error } = this.#search
    if (error) return error
    if (hits.length === 0) return 'Nothing found.'
    const all = total ?? hits.length
    return all > hits.length
      ? `The newest ${hits.length} of ${count(all)} hits`
      : all === 1
        ? '1 hit'
        : `${all} hits`
  }

  #hit({
    conversationId: id,
    position: at,
    title,
    timestamp,
    role,
    parts,
  }: SearchHit): HTMLElement {
    const words = parts.map(({ text, isHit }) => (isHit ? h('mark', {}, text) : plain(text)))
    const time = h('time', { class: 'row-time', title: fullTime(timestamp) }, shortTime(timestamp))
    return h(
      'a',
      {
        class: 'hit',
        href: hrefOf({ name: 'conversation', id, at }),
        on: { click: () => this.#onNavigate() },
      },
      h(
        'span',
        { class: 'hit-head' },
        h('span', { class: 'row-title', dir: 'auto' }, title || 'Untitled'),
        time,
      ),
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

/** Without the signs of Markdown, which only disturb in so short a text. */
function plain(text: string): string {
  return text.replace(/[*`~]{2,}|`|^\s*(?:[>#|-]+\s+)+/gm, '')
}
