// The list of conversations in the sidebar: pages of it, a search, and its freshness. Other
// tabs of this browser are told of changes at once; what happens elsewhere is found by
// asking again now and then while the page is visible.
import { ApiError, getConversation, listConversations } from '../api/client'
import type { Conversation } from '../api/types'
import { Signal } from '../base/signal'

const PAGE = 30
const REFRESH_MS = 20_000
const SOON_MS = 250 // changes come in bursts
const SEARCH_DELAY_MS = 150

export class Conversations {
  readonly changes = new Signal(0)
  items: Conversation[] = []
  nextCursor: string | null = null
  search = ''
  state: 'loading' | 'ready' | 'failed' = 'loading'
  error = ''

  #channel = new BroadcastChannel('nb.conversations')
  #abort: AbortController | null = null
  #soon = 0

  start(): void {
    this.#channel.onmessage = () => this.#refreshSoon()
    document.addEventListener('visibilitychange', () => this.#refreshIfVisible())
    setInterval(() => this.#refreshIfVisible(), REFRESH_MS)
    void this.refresh()
  }

  /** Something changed through this tab: look again, and let other tabs do so too. */
  touch(): void {
    this.#channel.postMessage('changed')
    this.#refreshSoon()
  }

  find(id: string): Conversation | undefined {
    return this.items.find((item) => item.id === id)
  }

  /** A change that is known before the server is asked, such as a title. */
  amend(id: string, change: Partial<Conversation>): void {
    const item = this.find(id)
    if (!item) return
    Object.assign(item, change)
    this.changes.notify()
  }

  setSearch(text: string): void {
    if (text === this.search) return
    this.search = text
    this.#refreshSoon(SEARCH_DELAY_MS)
  }

  /** Loads as much again as is shown, so that a long list does not jump back. */
  async refresh(): Promise<void> {
    const limit = Math.max(PAGE, Math.ceil(this.items.length / PAGE) * PAGE)
    await this.#load(limit, null)
  }

  async loadMore(): Promise<void> {
    if (this.nextCursor) await this.#load(PAGE, this.nextCursor)
  }

  /** One conversation, also when it lies beyond the part of the list that is loaded. */
  async get(id: string): Promise<Conversation | null> {
    return this.find(id) ?? (await getConversation(id).catch(() => null))
  }

  async #load(limit: number, cursor: string | null): Promise<void> {
    this.#abort?.abort()
    const abort = (this.#abort = new AbortController())
    try {
      const page = await listConversations(
        { search: this.search, limit: Math.min(limit, 1000), cursor },
        abort.signal,
      )
      this.items = cursor ? [...this.items, ...page.conversations] : page.conversations
      this.nextCursor = page.nextCursor
      this.state = 'ready'
    } catch (error) {
      if (abort.signal.aborted) return
      this.state = 'failed'
      this.error = error instanceof ApiError ? error.message : String(error)
    }
    this.changes.notify()
  }

  #refreshIfVisible(): void {
    if (document.visibilityState === 'visible') this.#refreshSoon(0)
  }

  #refreshSoon(delayMs = SOON_MS): void {
    clearTimeout(this.#soon)
    this.#soon = window.setTimeout(() => void this.refresh(), delayMs)
  }
}
