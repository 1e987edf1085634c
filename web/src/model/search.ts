// Full-text search as it is typed: the newest question wins. Titles come first, and hits of one conversation together.
import { messageOf } from '../api/client'
import { search } from '../api/conversations'
import type { SearchHit } from '../api/types'
import { Signal } from '../base/signal'

const DELAY_MS = 150
const HITS = 50
const TITLES = 5

export interface HitGroup {
  id: string
  title: string
  hits: SearchHit[]
}

/** The hits that the person walks through, and the one that is shown. */
export interface Walk {
  hits: readonly SearchHit[]
  at: number
}

export const walk = new Signal<Walk | null>(null)

/** The hit at this place, if the person came to it by a search. */
export function walkedHit(id: string, position: number): SearchHit | null {
  const hit = walk.value?.hits[walk.value.at]
  return hit?.conversationId === id && hit.position === position ? hit : null
}

export class Search {
  readonly changes = new Signal(0)
  text = ''
  hits: SearchHit[] = []
  groups: HitGroup[] = []
  total: number | null = null
  isIndexing = false // older conversations are still being read
  error = ''
  isLoading = false

  #abort: AbortController | null = null
  #timer = 0

  set(text: string): void {
    if (text === this.text) return
    this.text = text
    this.isLoading = text !== ''
    if (text === '') this.#take([])
    this.#abort?.abort()
    clearTimeout(this.#timer)
    if (text !== '') this.#timer = window.setTimeout(() => void this.#ask(text), DELAY_MS)
    this.changes.notify()
  }

  async #ask(text: string): Promise<void> {
    const { signal } = (this.#abort = new AbortController())
    try {
      const [titles, page] = await Promise.all([
        /\bin:title\b/i.test(text) ? [] : this.#titles(text, signal),
        search(text, HITS, signal),
      ])
      const known = new Set(titles.map(keyOf))
      this.#take([...titles, ...page.results.filter((hit) => !known.has(keyOf(hit)))])
      this.total = page.total
      this.isIndexing = page.indexing !== undefined
      this.error = ''
    } catch (error) {
      if (signal.aborted) return
      this.#take([])
      this.error = messageOf(error)
    }
    this.isLoading = false
    this.changes.notify()
  }

  /** Titles that match are there even when there are many newer hits. */
  async #titles(text: string, signal: AbortSignal): Promise<SearchHit[]> {
    const page = await search(`${text} in:title`, TITLES, signal).catch(() => null)
    return page?.results ?? []
  }

  #take(hits: SearchHit[]): void {
    const groups = new Map<string, HitGroup>()
    for (const hit of hits) {
      const { conversationId: id, title } = hit
      const group = groups.get(id) ?? { id, title, hits: [] }
      group.hits.push(hit)
      groups.set(id, group)
    }
    this.groups = [...groups.values()]
    this.hits = this.groups.flatMap((group) => group.hits)
  }
}

function keyOf({ conversationId, position }: SearchHit): string {
  return `${conversationId}/${position}`
}
