// The list of conversations: what is loaded of it, from the newest on, and its freshness. Other
// tabs of this browser are notified of changes immediately; what happens elsewhere is found by
// asking again now and then while the page is visible, or told by the workspace's stream.
import { messageOf } from '../api/client'
import { getConversation, listConversations } from '../api/conversations'
import type { Conversation } from '../api/types'
import { Signal } from '../base/signal'

const PAGE = 100
const REFRESH_MS = 20_000
const SOON_MS = 250 // changes come in bursts
const RUNNING_MS = 3000 // the end of an answer elsewhere is told by nobody

export class Conversations {
  readonly changes = new Signal(0)
  items: Conversation[] = []
  total = 0
  nextCursor: string | null = null
  state: 'loading' | 'ready' | 'failed' = 'loading'
  error = ''

  #channel = new BroadcastChannel('nb.conversations')
  #hidden = new Set<string>() // being deleted
  #isLoadingMore = false
  #soon = 0
  #running = 0

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

  /** The server says that something has changed. */
  refreshSoon(): void {
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

  /** Takes one out before the server has done so. */
  hide(id: string): void {
    this.#hidden.add(id)
    this.items = this.items.filter((item) => item.id !== id)
    this.changes.notify()
  }

  /** The server has done it, or will not. */
  unhide(id: string): void {
    this.#hidden.delete(id)
  }

  /** Looks at the newest page; what lies behind it has not moved, only been pushed down. */
  async refresh(): Promise<void> {
    try {
      const page = await listConversations({ limit: PAGE })
      this.#merge(page.conversations, page.nextCursor)
      this.total = page.totalCount
      this.state = 'ready'
      if (this.items.some(({ isRunning }) => isRunning)) this.#lookWhileRunning()
    } catch (error) {
      this.state = 'failed'
      this.error = messageOf(error)
    }
    this.changes.notify()
  }

  async loadMore(): Promise<void> {
    if (!this.nextCursor || this.#isLoadingMore) return
    this.#isLoadingMore = true
    try {
      const page = await listConversations({ limit: PAGE * 2, cursor: this.nextCursor })
      const known = new Set(this.items.map(({ id }) => id))
      this.items = [...this.items, ...page.conversations.filter(({ id }) => !known.has(id))]
      this.nextCursor = page.nextCursor
    } catch {
      // Scrolling on tries again.
    }
    this.#isLoadingMore = false
    this.changes.notify()
  }

  /** One conversation, also when it lies beyond the part of the list that is loaded. */
  async get(id: string): Promise<Conversation | null> {
    return this.find(id) ?? (await getConversation(id).catch(() => null))
  }

  #merge(newest: Conversation[], nextCursor: string | null): void {
    const shown = newest.filter(({ id }) => !this.#hidden.has(id))
    const oldest = newest.at(-1)
    if (!nextCursor || !oldest || this.items.length <= newest.length) {
      this.items = shown
      this.nextCursor = nextCursor
      return
    }
    const known = new Set(newest.map(({ id }) => id))
    const rest = this.items.filter((i) => !known.has(i.id) && i.updatedAt <= oldest.updatedAt)
    this.items = [...shown, ...rest]
  }

  #lookWhileRunning(): void {
    clearTimeout(this.#running)
    this.#running = window.setTimeout(() => this.#refreshIfVisible(), RUNNING_MS)
  }

  #refreshIfVisible(): void {
    if (document.visibilityState === 'visible') this.#refreshSoon(0)
  }

  #refreshSoon(delayMs = SOON_MS): void {
    clearTimeout(this.#soon)
    this.#soon = window.setTimeout(() => void this.refresh(), delayMs)
  }
}
