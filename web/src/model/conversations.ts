// The list of conversations: what is loaded of it, from the newest on, and its freshness. Other
// tabs of this browser are notified of changes immediately; what happens elsewhere is found by
// asking again now and then while somebody looks or wants notifications, or told by the workspace's stream.
import { messageOf } from '../api/client'
import { getConversation, listConversations, type ListQuery } from '../api/conversations'
import type { Conversation } from '../api/types'
import { Signal } from '../base/signal'
import { wantsNotifications } from './attention'

const PAGE = 100
const REFRESH_MS = 20_000
const SOON_MS = 250 // changes come in bursts
const RUNNING_MS = 3000 // the end of an answer elsewhere is told by nobody
const INDEXING_MS = 1000 // more of the list is there

export type Filter = 'all' | 'unread' | 'own' | 'shared' | 'archived'

const QUERIES: Record<Filter, ListQuery> = {
  all: { archived: false, pinned: false }, // pins are asked for beside it
  unread: { archived: false, unread: true },
  own: { archived: false, own: true },
  shared: { archived: false, shared: true },
  archived: { archived: true },
}

export class Conversations {
  readonly changes = new Signal(0)
  items: Conversation[] = [] // pins first
  filter: Filter = 'all'
  project: { id: string; name: string } | null = null // whose conversations are shown, if any
  total = 0
  indexing: number | null = null // percent: the server is still reading older ones
  nextCursor: string | null = null
  state: 'loading' | 'ready' | 'failed' = 'loading'
  error = ''

  #channel = new BroadcastChannel('nb.conversations')
  #hidden = new Set<string>() // being deleted
  #askedAt = new WeakMap<Conversation, number>()
  #pins: Conversation[] = []
  #rest: Conversation[] = []
  #isLoadingMore = false
  #asked = 0 // refreshes so far
  #shown = 0 // the one whose answer is shown
  #soon = 0
  #again = 0

  start(): void {
    this.#channel.onmessage = () => this.#refreshSoon()
    document.addEventListener('visibilitychange', () => this.#refreshIfWatched())
    setInterval(() => this.#refreshIfWatched(), REFRESH_MS)
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

  /** When the server was asked for this item; 0: longer ago than the newest page. */
  askedAt(item: Conversation): number {
    return this.#askedAt.get(item) ?? 0
  }

  /** A change that is known before the server is asked, such as a title. */
  amend(id: string, change: Partial<Conversation>): void {
    const item = this.find(id)
    if (!item) return
    Object.assign(item, change)
    this.changes.notify()
  }

  /** Shows another part of the list. */
  setFilter(filter: Filter): void {
    if (filter !== this.filter || this.project) this.#show(filter, null)
  }

  /** Shows the conversations of a project; new ones begin in it. */
  setProject(project: { id: string; name: string } | null): void {
    this.#show('all', project)
  }

  #show(filter: Filter, project: { id: string; name: string } | null): void {
    this.filter = filter
    this.project = project
    this.#pins = this.#rest = this.items = []
    this.nextCursor = null
    this.state = 'loading'
    this.changes.notify()
    void this.refresh()
  }

  /** Takes one out before the server has done so. */
  hide(id: string): void {
    this.#hidden.add(id)
    this.#compose()
    this.changes.notify()
  }

  /** The server has done it, or will not. */
  unhide(id: string): void {
    this.#hidden.delete(id)
  }

  /** Looks at the newest page; what lies behind it has not moved, only been pushed down. */
  async refresh(): Promise<void> {
    const { filter, project } = this
    const number = ++this.#asked
    const askedAt = performance.now()
    try {
      const [page, pins] = await Promise.all([
        listConversations({ limit: PAGE, ...this.#query() }),
        filter === 'all' && !project ? listConversations({ limit: PAGE, pinned: true }) : null,
      ])
      if (filter !== this.filter || project !== this.project) return // somebody has chosen another meanwhile
      if (number < this.#shown) return // answers overtake each other: a newer one is shown
      this.#shown = number
      const wasIndexing = this.indexing !== null
      this.indexing = page.indexing?.percent ?? null
      // The end of what was counted so far is not that of the whole, nor is its order.
      if (wasIndexing && this.indexing === null) this.#rest = []
      this.#pins = pins?.conversations ?? []
      for (const item of [...this.#pins, ...page.conversations]) this.#askedAt.set(item, askedAt)
      this.#merge(page.conversations, page.nextCursor)
      this.total = page.totalCount + this.#pins.length
      this.state = 'ready'
      if (this.indexing !== null) this.#lookAgain(INDEXING_MS)
      else if (this.items.some(({ isRunning }) => isRunning)) this.#lookAgain(RUNNING_MS)
    } catch (error) {
      this.state = 'failed'
      this.error = messageOf(error)
    }
    this.changes.notify()
  }

  async loadMore(): Promise<void> {
    if (!this.nextCursor || this.#isLoadingMore) return
    this.#isLoadingMore = true
    let isLoaded = false
    try {
      const { filter, project, nextCursor: cursor } = this
      const page = await listConversations({ limit: PAGE * 2, cursor, ...this.#query() })
      if (filter === this.filter && project === this.project) {
        const known = new Set(this.#rest.map(({ id }) => id))
        this.#rest = [...this.#rest, ...page.conversations.filter(({ id }) => !known.has(id))]
        this.nextCursor = page.nextCursor
        this.#compose()
      }
      isLoaded = true
    } catch {
      // Scrolling on tries again. Drawing the list would ask again immediately.
    }
    this.#isLoadingMore = false
    if (isLoaded) this.changes.notify()
  }

  /** One conversation, also when it lies beyond the part of the list that is loaded. */
  async get(id: string): Promise<Conversation | null> {
    return this.find(id) ?? (await getConversation(id).catch(() => null))
  }

  #query(): ListQuery {
    return this.project ? { archived: false, project: this.project.id } : QUERIES[this.filter]
  }

  #merge(newest: Conversation[], nextCursor: string | null): void {
    const oldest = newest.at(-1)
    if (!nextCursor || !oldest || this.#rest.length <= newest.length) {
      this.#rest = newest
      this.nextCursor = nextCursor
    } else {
      const known = new Set(newest.map(({ id }) => id))
      const rest = this.#rest.filter((i) => !known.has(i.id) && i.updatedAt <= oldest.updatedAt)
      this.#rest = [...newest, ...rest]
    }
    this.#compose()
  }

  #compose(): void {
    const pinned = new Set(this.#pins.map(({ id }) => id))
    const rest = this.#rest.filter(({ id }) => !pinned.has(id))
    this.items = [...this.#pins, ...rest].filter(({ id }) => !this.#hidden.has(id))
  }

  #lookAgain(delayMs: number): void {
    clearTimeout(this.#again)
    this.#again = window.setTimeout(() => this.#refreshIfWatched(), delayMs)
  }

  /** Somebody looks at it, or wants to be told of what ends. */
  #refreshIfWatched(): void {
    if (document.visibilityState === 'visible' || wantsNotifications.value) this.#refreshSoon(0)
  }

  #refreshSoon(delayMs = SOON_MS): void {
    clearTimeout(this.#soon)
    this.#soon = window.setTimeout(() => void this.refresh(), delayMs)
  }
}
