// The leading tab's side of the live connection: one stream of the workspace for all tabs of
// the browser, with the conversations that any of them has open.
//
// A watcher has loaded its conversation up to some position, and needs all that lies
// behind it. So the conversation is watched again from the oldest position that anybody waits
// at; what others know already they drop. When the server has caught up it sends a snapshot,
// and those who waited are told that they are in step.
import { address, call, type ApiError } from './client'
import { Stream } from './stream'
import type { Frame } from './sse'

/** From the leading tab to all. */
export type FromHub =
  | { kind: 'hello' } // a new leader: who watches what?
  | { kind: 'frame'; id: string; frame: Frame }
  | { kind: 'synced'; id: string; keys: string[] }
  | { kind: 'news'; frame: Frame }
  | { kind: 'lost' }
  | { kind: 'end'; status: number; code: string; message: string }
  | { kind: 'roll' } // who is still there?

/** From any tab to the leading one. */
export type ToHub =
  | { kind: 'watch'; key: string; id: string; after: number }
  | { kind: 'unwatch'; key: string }
  | { kind: 'here'; keys: string[] }

interface Watcher {
  id: string
  after: number // has all up to here
  isSynced: boolean
  missed: number // roll calls without an answer
}

const ROLL_MS = 30_000
const MISSED_MAX = 3 // tabs in the background are slow to answer

export class Hub {
  #emit: (message: FromHub) => void
  #watchers = new Map<string, Watcher>()
  #syncing = new Map<string, Set<string>>() // conversation → the watchers its snapshot is for
  #stream: Stream
  #streamId: string | null = null
  #lastNews = ''
  #roll: number

  constructor(emit: (message: FromHub) => void) {
    this.#emit = emit
    this.#stream = new Stream({
      address: () => this.#address(),
      onFrame: (frame) => this.#onFrame(frame),
      onLost: () => this.#onLost(),
      onEnd: (error) => this.#onEnd(error),
    })
    this.#roll = window.setInterval(() => this.#callRoll(), ROLL_MS)
    emit({ kind: 'hello' })
  }

  stop(): void {
    clearInterval(this.#roll)
    this.#stream.stop()
  }

  get stream(): Stream {
    return this.#stream
  }

  receive(message: ToHub): void {
    switch (message.kind) {
      case 'watch':
        this.#watchers.set(message.key, { ...message, isSynced: false, missed: 0 })
        this.#sync(message.id)
        break
      case 'unwatch':
        this.#drop(message.key)
        break
      case 'here':
        for (const key of message.keys) {
          const watcher = this.#watchers.get(key)
          if (watcher) watcher.missed = 0
        }
    }
  }

  #address(): string {
    this.#streamId = null
    this.#syncing.clear()
    const ids = new Set([...this.#watchers.values()].map(({ id }) => id))
    for (const id of ids) this.#syncing.set(id, this.#keysOf(id))
    const watch = [...ids].map((id) => `${id}@${this.#oldest(id)}`).join(',')
    return address('events', { watch, after: this.#lastNews })
  }

  #onFrame(frame: Frame): void {
    const data = frame.data as { conversationId?: string; position?: number; streamId?: string }
    if (frame.event === 'subscribed') {
      this.#streamId = data.streamId ?? null
      if (frame.id) this.#lastNews = frame.id
      this.#syncRest()
      this.#emit({ kind: 'news', frame })
    } else if (frame.event === 'heartbeat') {
      // It has shown that the link is alive.
    } else if (frame.id !== null || !data.conversationId || frame.event === 'conversation.marked') {
      // The last one is for this person alone, and has no number.
      if (frame.id) this.#lastNews = frame.id
      this.#emit({ kind: 'news', frame })
    } else {
      this.#onConversation(data.conversationId, frame, data.position ?? 0)
    }
  }

  #onConversation(id: string, frame: Frame, position: number): void {
    this.#emit({ kind: 'frame', id, frame })
    for (const watcher of this.#watchers.values()) {
      if (watcher.id === id && watcher.isSynced && position > watcher.after)
        watcher.after = position
    }
    if (frame.event === 'watch.ended')
      for (const key of this.#keysOf(id)) this.#watchers.delete(key)
    if (frame.event !== 'text.snapshot') return
    const keys = [...(this.#syncing.get(id) ?? [])]
    this.#syncing.delete(id)
    for (const key of keys) {
      const watcher = this.#watchers.get(key)
      if (watcher) watcher.isSynced = true
    }
    this.#emit({ kind: 'synced', id, keys })
    if ([...this.#watchers.values()].some((w) => w.id === id && !w.isSynced)) this.#sync(id)
  }

  /** Watches a conversation from the oldest position that somebody waits at. */
  #sync(id: string): void {
    if (this.#streamId === null || this.#syncing.has(id)) return // comes with the next chance
    const keys = this.#keysOf(id)
    this.#syncing.set(id, keys)
    const body = { remove: [id], add: [`${id}@${this.#oldest(id)}`] }
    call('POST', `events/${this.#streamId}/watch`, body).catch(() => this.#stream.restart())
  }

  /** Those who came while the stream was being opened. */
  #syncRest(): void {
    for (const { id, isSynced } of this.#watchers.values()) {
      if (!isSynced && !this.#syncing.has(id)) this.#sync(id)
    }
  }

  #drop(key: string): void {
    const watcher = this.#watchers.get(key)
    if (!watcher) return
    this.#watchers.delete(key)
    if (this.#keysOf(watcher.id).size > 0 || this.#streamId === null) return
    this.#syncing.delete(watcher.id)
    const body = { remove: [watcher.id] }
    call('POST', `events/${this.#streamId}/watch`, body).catch(() => {}) // it only costs bytes
  }

  #onLost(): void {
    for (const watcher of this.#watchers.values()) watcher.isSynced = false
    this.#emit({ kind: 'lost' })
  }

  #onEnd({ status, code, message }: ApiError): void {
    this.#emit({ kind: 'end', status, code, message })
  }

  #callRoll(): void {
    for (const [key, watcher] of this.#watchers) {
      if (watcher.missed++ > MISSED_MAX) this.#drop(key)
    }
    this.#emit({ kind: 'roll' })
  }

  #keysOf(id: string): Set<string> {
    return new Set([...this.#watchers].filter(([, w]) => w.id === id).map(([key]) => key))
  }

  #oldest(id: string): number {
    return Math.min(...[...this.#watchers.values()].filter((w) => w.id === id).map((w) => w.after))
  }
}
