// Full-text search as it is typed: the newest question wins.
import { messageOf } from '../api/client'
import { search } from '../api/conversations'
import type { SearchHit } from '../api/types'
import { Signal } from '../base/signal'

const DELAY_MS = 150
const HITS = 50

export class Search {
  readonly changes = new Signal(0)
  text = ''
  hits: SearchHit[] = []
  total: number | null = null
  error = ''
  isLoading = false

  #abort: AbortController | null = null
  #timer = 0

  set(text: string): void {
    if (text === this.text) return
    this.text = text
    this.isLoading = text !== ''
    if (text === '') this.hits = []
    this.#abort?.abort()
    clearTimeout(this.#timer)
    if (text !== '') this.#timer = window.setTimeout(() => void this.#ask(text), DELAY_MS)
    this.changes.notify()
  }

  async #ask(text: string): Promise<void> {
    const abort = (this.#abort = new AbortController())
    try {
      const { results, total } = await search(text, HITS, abort.signal)
      this.hits = results
      this.total = total
      this.error = ''
    } catch (error) {
      if (abort.signal.aborted) return
      this.hits = []
      this.error = messageOf(error)
    }
    this.isLoading = false
    this.changes.notify()
  }
}
