// What concerns this person: mentions, and conversations they were added to or removed from. The server keeps the list,
// so that it is there after a while away, in every browser.
import { call, get } from '../api/client'
import type { Notice } from '../api/types'
import { Signal } from '../base/signal'
import { t } from '../base/words'
import { callBack } from './attention'
import { nameOf } from './people'

export class Notices {
  readonly changes = new Signal(0)
  items: Notice[] = []
  #isLoaded = false

  async refresh(): Promise<void> {
    const list = await get<{ notices: Notice[] }>('notices').catch(() => null)
    if (!list) return
    const known = new Set(this.items.map(keyOf))
    const fresh = list.notices.filter((notice) => !notice.seen && !known.has(keyOf(notice)))
    this.#set(list.notices)
    if (this.#isLoaded) for (const notice of fresh) callBack(notice.conversationId, wordsFor(notice))
    this.#isLoaded = true
  }

  /** What is new there; undefined: nothing. */
  newIn(conversationId: string): Notice | undefined {
    return this.items.find((notice) => !notice.seen && notice.conversationId === conversationId)
  }

  /** Who removed this person from the conversation, if that was the last that happened. */
  removedFrom(conversationId: string | null): Notice | undefined {
    const last = this.items.find((notice) => notice.conversationId === conversationId && notice.kind !== 'mention')
    return last?.kind === 'removed' ? last : undefined
  }

  async markSeen(conversationId?: string): Promise<void> {
    const isNew = conversationId ? this.newIn(conversationId) : this.items.some(({ seen }) => !seen)
    if (!isNew) return
    const body = conversationId ? { conversationId } : {}
    const list = await call<{ notices: Notice[] }>('POST', 'notices/seen', body).catch(() => null)
    if (list) this.#set(list.notices)
  }

  #set(items: Notice[]): void {
    this.items = items
    this.changes.notify()
  }
}

function keyOf({ kind, conversationId, timestamp }: Notice): string {
  return `${kind} ${conversationId} ${timestamp}`
}

export function wordsFor({ kind, by }: Notice): string {
  const values = { name: nameOf(by) }
  if (kind === 'removed') return t('{name} removed you from a conversation', values)
  return kind === 'mention' ? t('{name} mentioned you', values) : t('{name} added you', values)
}
