// Events of the server, for every tab: one connection per browser. The tab that holds the
// lock has the stream and notifies the others; when it closes, another tab takes over. Where locks
// are not to be had (a page without TLS), every tab has its own.
import { t } from '../base/words'
import { ApiError, session } from './client'
import { Hub, type FromHub, type ToHub } from './hub'
import type { Frame } from './sse'
import type { ConversationEvent } from './types'

const HIDDEN_MAX_MS = 20_000 // a browser has six connections; lone tabs in the background give theirs back

export interface WatchEvents {
  onEvent(event: ConversationEvent): void
  onState(state: 'live' | 'lost'): void
  /** It is gone, or access to it is. */
  onEnd(error: ApiError): void
}

interface Watch extends WatchEvents {
  key: string
  id: string
  after: number
  waiting: Frame[] | null // what came before it was in step; null: it is
}

const tab = crypto.getRandomValues(new Uint32Array(2)).join('-')
let count = 0

export class Live {
  #watches = new Map<string, Watch>()
  #news = new Set<(event: string, data: unknown) => void>()
  #channel: BroadcastChannel | null = null
  #hub: Hub | null = null
  #ended: ApiError | null = null
  #hiding = 0

  start(): void {
    if ('locks' in navigator && 'BroadcastChannel' in globalThis) this.#share()
    else this.#standAlone()
    addEventListener('pagehide', () => {
      for (const { key } of this.#watches.values()) this.#send({ kind: 'unwatch', key })
    })
  }

  /** Calls back with everything behind the position; returns how to end it. */
  watch(id: string, after: number, events: WatchEvents): () => void {
    const key = `${tab}/${++count}`
    const watch: Watch = { ...events, key, id, after, waiting: [] }
    this.#watches.set(key, watch)
    if (this.#ended) queueMicrotask(() => events.onEnd(this.#ended!))
    else this.#send({ kind: 'watch', key, id, after })
    return () => {
      if (this.#watches.delete(key)) this.#send({ kind: 'unwatch', key })
    }
  }

  /** Calls back with what concerns the workspace; "subscribed" with each connection, "reset" when something was missed. */
  onNews(listener: (event: string, data: unknown) => void): () => void {
    this.#news.add(listener)
    return () => this.#news.delete(listener)
  }

  #share(): void {
    const name = `nb.live ${document.baseURI.split('#')[0]} ${session.workspaceId ?? ''}`
    const channel = (this.#channel = new BroadcastChannel(name))
    channel.onmessage = ({ data }: MessageEvent<{ to?: ToHub; from?: FromHub }>) => {
      if (data.to) this.#hub?.receive(data.to)
      if (data.from) this.#receive(data.from)
    }
    const lead = () => {
      this.#lead()
      return new Promise<never>(() => {}) // until the tab is closed
    }
    void navigator.locks.request(name, lead)
  }

  #lead(): void {
    this.#hub = new Hub((from) => {
      this.#channel?.postMessage({ from })
      this.#receive(from)
    })
  }

  #standAlone(): void {
    this.#lead()
    document.addEventListener('visibilitychange', () => {
      clearTimeout(this.#hiding)
      if (!document.hidden) this.#hub?.stream.wake()
      else this.#hiding = window.setTimeout(() => this.#hub?.stream.sleep(), HIDDEN_MAX_MS)
    })
  }

  #send(to: ToHub): void {
    if (this.#hub) this.#hub.receive(to)
    else this.#channel?.postMessage({ to })
  }

  #receive(message: FromHub): void {
    switch (message.kind) {
      case 'hello':
        queueMicrotask(() => this.#announce())
        break
      case 'roll':
        this.#send({ kind: 'here', keys: [...this.#watches.keys()] })
        break
      case 'frame':
        for (const watch of this.#of(message.id)) this.#take(watch, message.frame)
        break
      case 'synced':
        for (const key of message.keys) this.#catchUp(this.#watches.get(key))
        break
      case 'news':
        for (const listener of [...this.#news]) listener(message.frame.event, message.frame.data)
        break
      case 'lost':
        for (const watch of this.#watches.values()) this.#lose(watch)
        break
      case 'end':
        this.#end(new ApiError(message.status, message.code, message.message))
    }
  }

  /** Tells a new leader what this tab watches, and from where on. */
  #announce(): void {
    for (const { key, id, after } of this.#watches.values()) {
      this.#watches.get(key)!.waiting = []
      this.#send({ kind: 'watch', key, id, after })
    }
  }

  #of(id: string): Watch[] {
    return [...this.#watches.values()].filter((watch) => watch.id === id)
  }

  #take(watch: Watch, frame: Frame): void {
    if (frame.event === 'watch.ended') {
      this.#watches.delete(watch.key)
      const why = t('This conversation was deleted, or is no longer shared with you.')
      watch.onEnd(new ApiError(404, 'not_found', why))
    } else if (watch.waiting) {
      watch.waiting.push(frame)
    } else {
      this.#deliver(watch, frame)
    }
  }

  /**
   * Stored events arrive in the order of their positions, each once: events that another tab was sent
   * meanwhile may lie between. What was only streamed counts from the last snapshot on.
   */
  #catchUp(watch: Watch | undefined): void {
    if (!watch?.waiting) return
    const frames = watch.waiting.splice(0)
    const reset = frames.findLastIndex(({ event }) => event === 'reset')
    const snapshot = frames.findLastIndex(({ event }) => event === 'text.snapshot')
    const stored = frames
      .slice(reset + 1)
      .filter((frame) => positionOf(frame) > 0)
      .sort((a, b) => positionOf(a) - positionOf(b))
    const passing = frames.slice(Math.max(snapshot, 0)).filter((frame) => positionOf(frame) === 0)
    watch.waiting = null
    if (reset >= 0) this.#deliver(watch, frames[reset]!)
    for (const frame of [...stored, ...passing]) this.#deliver(watch, frame)
    watch.onState('live')
  }

  #deliver(watch: Watch, { event, data }: Frame): void {
    const position = positionOf({ event, data, id: null })
    if (event === 'reset') watch.after = 0
    if (position > 0 && position <= watch.after) return
    if (position > 0) watch.after = position
    const id = position > 0 ? String(position) : null
    watch.onEvent({ event, data, id } as ConversationEvent)
  }

  #lose(watch: Watch): void {
    watch.waiting = []
    watch.onState('lost')
  }

  #end(error: ApiError): void {
    this.#ended = error
    for (const watch of [...this.#watches.values()]) watch.onEnd(error)
    this.#watches.clear()
  }
}

function positionOf({ data }: Frame): number {
  return (data as { position?: number }).position ?? 0
}

export const live = new Live()
