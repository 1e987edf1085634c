// A long list of messages of which only the part near the window exists. The list is cut into
// chunks; one that is far away is an empty box as high as it was, or as it is thought to be.
import { arrange, h, type Keyed } from '../base/dom'
import type { Item } from '../model/items'

const CHUNK_ITEMS = 16
const NEAR_PX = 1500 // beyond the window, in both directions
const ITEM_PX = 140 // guessed, until it was seen
const FIRST_SHOWN = 3 // chunks at the end, drawn immediately

export class Chunk implements Keyed {
  readonly element = h('div', { class: 'chunk' })
  items: Item[] = []
  isNear: boolean
  isDrawn = false

  constructor(isNear: boolean) {
    this.isNear = isNear
  }

  /** An element with the focus, an open editor or an app that runs must not be removed. */
  get isBusy(): boolean {
    return (
      this.element.contains(document.activeElement) ||
      this.element.querySelector('.is-editing, iframe') !== null
    )
  }

  draw(views: readonly Keyed[]): void {
    if (!this.isDrawn) this.element.style.height = ''
    this.isDrawn = true
    arrange(this.element, views)
  }

  empty(): void {
    const height = this.isDrawn ? this.element.offsetHeight : this.items.length * ITEM_PX
    if (!this.isDrawn && this.element.style.height) return
    this.isDrawn = false
    this.element.replaceChildren()
    this.element.style.height = `${height}px`
  }
}

export class Chunks {
  readonly list: Chunk[] = []
  #of = new Map<string, Chunk>() // by the key of an item
  #byElement = new WeakMap<Element, Chunk>()
  #observer: IntersectionObserver

  constructor(root: Element | null, onMoved: () => void) {
    const note = (entries: IntersectionObserverEntry[]) => {
      for (const { target, isIntersecting } of entries) {
        const chunk = this.#byElement.get(target)
        if (chunk) chunk.isNear = isIntersecting
      }
      onMoved()
    }
    this.#observer = new IntersectionObserver(note, { root, rootMargin: `${NEAR_PX}px 0px` })
  }

  close(): void {
    this.#observer.disconnect()
  }

  find(key: string): Chunk | undefined {
    return this.#of.get(key)
  }

  /** Sorts the items into chunks; those that were there stay where they were. */
  assign(items: readonly Item[]): void {
    const known = this.#of
    const isFirst = this.list.length === 0
    this.#of = new Map()
    this.list.length = 0
    let chunk: Chunk | null = null
    items.forEach((item, i) => {
      const own = known.get(item.key) ?? this.#place(chunk, known.get(items[i + 1]?.key ?? ''))
      if (own !== chunk) own.items = []
      if (own !== chunk) this.list.push(own)
      own.items.push(item)
      this.#of.set(item.key, own)
      chunk = own
    })
    if (isFirst) for (const last of this.list.slice(-FIRST_SHOWN)) last.isNear = true
    for (const old of new Set(known.values())) {
      if (!this.list.includes(old)) this.#observer.unobserve(old.element)
    }
  }

  /** Where a new item belongs: with the one before it, unless that chunk is full. */
  #place(before: Chunk | null, after: Chunk | undefined): Chunk {
    if (before && (before.items.length < CHUNK_ITEMS || before === after)) return before
    const chunk = new Chunk(false)
    this.#byElement.set(chunk.element, chunk)
    this.#observer.observe(chunk.element)
    return chunk
  }
}
