// Parts of the screens: a column with sections, tables, and things that load.
import { messageOf } from '../api/client'
import { textButton } from '../base/controls'
import { h } from '../base/dom'
import { t } from '../base/words'

type Child = Node | string | null | undefined | false

export function screen(...children: Child[]): HTMLElement {
  return h('section', { class: 'screen' }, h('div', { class: 'screen-column' }, ...children))
}

export function section(title: string, ...children: Child[]): HTMLElement {
  return h('section', { class: 'section' }, h('h2', {}, title), ...children)
}

export function lead(text: string): HTMLElement {
  return h('p', { class: 'lead' }, text)
}

/** isStacked: on a phone each row is a block, with its headings beside the values. numbers: columns of figures, which end below each other. */
export function table(
  head: readonly string[],
  rows: readonly Child[][],
  { isStacked = false, numbers = [] }: { isStacked?: boolean; numbers?: readonly number[] } = {},
): HTMLElement {
  const label = head.filter(Boolean).join(', ')
  const kind = (i: number) => (numbers.includes(i) ? 'is-number' : '')
  const cell = (content: Child, i: number) =>
    h('td', { class: head[i] ? kind(i) : 'is-action', data: { label: head[i] ?? '' } }, content)
  return h(
    'div',
    { class: 'grid-scroll', tabindex: 0, role: 'region', aria: { label } },
    h(
      'table',
      { class: isStacked ? 'grid is-stacked' : 'grid' },
      h('thead', {}, h('tr', {}, ...head.map((text, i) => (text ? h('th', { class: kind(i) }, text) : h('td'))))),
      h('tbody', {}, ...rows.map((cells) => h('tr', {}, ...cells.map(cell)))),
    ),
  )
}

/** Names and values below each other. */
export function facts(entries: readonly (readonly [string, Child])[]): HTMLElement {
  const shown = entries.filter(([, value]) => value !== null && value !== undefined && value !== '')
  return h(
    'dl',
    { class: 'facts' },
    ...shown.flatMap(([name, value]) => [h('dt', {}, name), h('dd', {}, value)]),
  )
}

export function empty(text: string): HTMLElement {
  return h('p', { class: 'empty' }, text)
}

/** A place whose content comes from the server; it can be asked for again. */
export class Loading<T> {
  readonly element = h(
    'div',
    { class: 'loading', aria: { busy: true } },
    h('span', { class: 'spinner' }),
  )
  #load: () => Promise<T>
  #draw: (value: T) => Child[]
  #asked = 0 // what comes for an earlier question, or after show(), is not drawn

  constructor(load: () => Promise<T>, draw: (value: T) => Child[]) {
    this.#load = load
    this.#draw = draw
    void this.reload()
  }

  async reload(): Promise<void> {
    const asked = ++this.#asked
    try {
      const value = await this.#load()
      if (asked === this.#asked) this.show(value)
    } catch (error) {
      if (asked !== this.#asked) return
      this.#settle()
      const again = textButton(t('Try again'), () => void this.reload())
      this.element.replaceChildren(
        h('p', { class: 'form-failure', role: 'alert' }, messageOf(error)),
        again,
      )
    }
  }

  show(value: T): void {
    this.#asked++
    this.#settle()
    const children = this.#draw(value).filter(
      (child) => child !== null && child !== undefined && child !== false,
    )
    this.element.replaceChildren(...(children as (Node | string)[]))
  }

  #settle(): void {
    this.element.className = 'loaded'
    this.element.removeAttribute('aria-busy')
  }
}

export function badge(text: string, kind: 'ok' | 'bad' | 'warn' | 'plain' = 'plain'): HTMLElement {
  return h('span', { class: `badge is-${kind}` }, text)
}
