// Conversations that were opened, stored in this browser: conversations that changed since are unread. Times
// are the server's own, so that clocks need not agree.
import type { Conversation } from '../api/types'
import { Signal } from '../base/signal'
import { recall, remember } from '../base/storage'

const SEEN_MAX = 500

type Entry = [id: string, updatedAt: string]

export class Seen {
  readonly changes = new Signal(0)
  #since = recall<string | null>('seenSince', null) // what is older counts as read
  #entries = new Map<string, string>(recall<Entry[]>('seen', []))

  constructor() {
    addEventListener('storage', ({ key }) => {
      if (key !== 'nb.seen') return
      this.#entries = new Map(recall<Entry[]>('seen', [])) // another tab has it open
      this.changes.notify()
    })
  }

  /** On the first visit nothing counts as unread. */
  begin(newest: Conversation | undefined): void {
    if (this.#since !== null) return
    this.#since = newest?.updatedAt ?? '0'
    remember('seenSince', this.#since)
  }

  isUnread({ id, updatedAt }: Conversation): boolean {
    return updatedAt > (this.#entries.get(id) ?? this.#since ?? updatedAt)
  }

  mark({ id, updatedAt }: Conversation): void {
    if (this.#entries.get(id) === updatedAt) return
    this.#entries.delete(id) // the newest are last, and stay
    this.#entries.set(id, updatedAt)
    const kept = [...this.#entries].slice(-SEEN_MAX)
    remember('seen', kept)
    this.changes.notify()
  }
}
