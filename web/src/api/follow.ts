// Following one conversation from a position in its log on, across lost connections. The
// position of the last stored event is where it resumes, so nothing is lost and nothing
// comes twice.
import { ApiError, eventsAddress, request } from './client'
import { frames } from './sse'
import type { ConversationEvent } from './types'

const RETRY_MIN_MS = 1000
const RETRY_MAX_MS = 30_000
const SILENCE_MAX_MS = 50_000 // the server pings every 20 s
const HIDDEN_MAX_MS = 20_000 // a browser has six connections; tabs in the background give theirs back

export type LinkState = 'connecting' | 'live' | 'lost' // lost: until it is live again

export interface FollowEvents {
  /** Loads what lies before the stream; returns the position to follow from. */
  onOpen(): Promise<string>
  onEvent(event: ConversationEvent): void
  onState(state: 'live' | 'lost'): void
  /** No further attempt will be made: it is gone, or access to it is. */
  onEnd(error: ApiError): void
}

export class Follow {
  #id: string
  #events: FollowEvents
  #position: string | null = null // unknown until onOpen has succeeded
  #abort = new AbortController()
  #attempt: AbortController | null = null
  #wake: (() => void) | null = null
  #retryMs = RETRY_MIN_MS
  #silence = 0
  #hiding = 0
  #isAsleep = false

  constructor(id: string, events: FollowEvents) {
    this.#id = id
    this.#events = events
    const options = { signal: this.#abort.signal }
    addEventListener('online', () => this.#wake?.(), options)
    document.addEventListener('visibilitychange', () => this.#onVisibility(), options)
    void this.#run()
  }

  stop(): void {
    this.#abort.abort()
    this.#attempt?.abort()
    this.#wake?.()
    clearTimeout(this.#silence)
    clearTimeout(this.#hiding)
  }

  /** A page that comes back does not wait for its back-off. */
  #onVisibility(): void {
    clearTimeout(this.#hiding)
    if (document.hidden) {
      this.#hiding = window.setTimeout(() => this.#fallAsleep(), HIDDEN_MAX_MS)
    } else {
      this.#isAsleep = false
      this.#wake?.()
    }
  }

  #fallAsleep(): void {
    this.#isAsleep = true
    this.#attempt?.abort()
  }

  async #run(): Promise<void> {
    const isStopped = () => this.#abort.signal.aborted
    while (!isStopped()) {
      try {
        await this.#connect()
      } catch (error) {
        if (isStopped()) return
        if (error instanceof ApiError && isFinal(error.status)) {
          this.#events.onEnd(error)
          return
        }
      }
      clearTimeout(this.#silence)
      if (isStopped()) return
      if (this.#isAsleep) {
        await new Promise<void>((resolve) => (this.#wake = resolve))
      } else {
        this.#events.onState('lost')
        await this.#pause()
      }
    }
  }

  async #connect(): Promise<void> {
    this.#attempt = new AbortController()
    const { signal } = this.#attempt
    this.#position ??= await this.#events.onOpen()
    if (this.#abort.signal.aborted) return
    this.#watchSilence()
    const response = await request(eventsAddress(this.#id, this.#position), { signal })
    for await (const frame of frames(response, () => this.#watchSilence())) {
      if (this.#abort.signal.aborted) return
      this.#deliver(frame as ConversationEvent)
    }
  }

  #deliver(event: ConversationEvent): void {
    if (event.event === 'reset') this.#position = '0'
    if (event.id !== null) this.#position = event.id
    this.#events.onEvent(event)
    if (event.event !== 'text.snapshot') return
    this.#retryMs = RETRY_MIN_MS // caught up: this link works
    this.#events.onState('live')
  }

  #watchSilence(): void {
    clearTimeout(this.#silence)
    this.#silence = window.setTimeout(() => this.#attempt?.abort(), SILENCE_MAX_MS)
  }

  #pause(): Promise<void> {
    const jittered = this.#retryMs * (0.75 + Math.random() / 2)
    this.#retryMs = Math.min(this.#retryMs * 2, RETRY_MAX_MS)
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, jittered)
      this.#wake = () => {
        clearTimeout(timer)
        this.#wake = null
        resolve()
      }
    })
  }
}

function isFinal(status: number): boolean {
  return status === 400 || status === 401 || status === 403 || status === 404
}
