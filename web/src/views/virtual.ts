// A list of which only what is in view exists. Heights are known beforehand, so that ten
// thousand entries cost as much as twenty.
import { arrange, h, type Keyed } from '../base/dom'

const MARGIN_PX = 400 // drawn beyond the window, so that scrolling finds something there
const NEAR_END_PX = 1500

export interface Entry {
  key: string
  height: number
}

interface EntryView<E> extends Keyed {
  update(entry: E): void
}

export class VirtualList<E extends Entry> {
  readonly element: HTMLElement
  #space = h('div', { class: 'virtual' })
  #make: (entry: E) => EntryView<E>
  #onNearEnd: () => void
  #entries: readonly E[] = []
  #tops: number[] = []
  #height = 0
  #views = new Map<string, EntryView<E>>()

  constructor(element: HTMLElement, make: (entry: E) => EntryView<E>, onNearEnd: () => void) {
    this.element = element
    this.#make = make
    this.#onNearEnd = onNearEnd
    element.append(this.#space)
    element.addEventListener('scroll', () => this.#draw(), { passive: true })
    new ResizeObserver(() => this.#draw()).observe(element)
  }

  set(entries: readonly E[]): void {
    this.#entries = entries
    this.#tops = []
    let top = 0
    for (const { height } of entries) {
      this.#tops.push(top)
      top += height
    }
    this.#height = top
    this.#space.style.height = `${top}px`
    this.#draw()
  }

  /** Scrolls just so far that the entry is in view; returns its element. */
  reveal(key: string): HTMLElement | null {
    const at = this.#entries.findIndex((entry) => entry.key === key)
    if (at < 0) return null
    const top = this.#tops[at]!
    const bottom = top + this.#entries[at]!.height
    const { scrollTop, clientHeight } = this.element
    if (top < scrollTop) this.element.scrollTop = top
    else if (bottom > scrollTop + clientHeight) this.element.scrollTop = bottom - clientHeight
    this.#draw()
    return this.#views.get(key)?.element ?? null
  }

  #draw(): void {
    const { scrollTop, clientHeight } = this.element
    const [from, to] = [scrollTop - MARGIN_PX, scrollTop + clientHeight + MARGIN_PX]
    const used = new Map<string, EntryView<E>>()
    for (let i = this.#firstAt(from); i < this.#entries.length && this.#tops[i]! < to; i++) {
      const entry = this.#entries[i]!
      const view = this.#views.get(entry.key) ?? this.#make(entry)
      view.update(entry)
      view.element.style.top = `${this.#tops[i]}px`
      used.set(entry.key, view)
    }
    this.#views = used
    arrange(this.#space, [...used.values()])
    if (this.#height > 0 && scrollTop + clientHeight > this.#height - NEAR_END_PX) this.#onNearEnd()
  }

  /** The last entry that begins at or above y. */
  #firstAt(y: number): number {
    let [low, high] = [0, this.#tops.length - 1]
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if (this.#tops[middle]! <= y) low = middle
      else high = middle - 1
    }
    return Math.max(0, low)
  }
}
