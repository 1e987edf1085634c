// A stream of server-sent events that is kept up: reconnects with back-off, and takes a long
// silence for a dead link.
import { ApiError, request } from './client'
import { frames, type Frame } from './sse'

const RETRY_MIN_MS = 1000
const RETRY_MAX_MS = 30_000
const SILENCE_MAX_MS = 50_000 // the server pings every 20 s

export interface StreamEvents {
  /** Where to connect to now: it changes with what was received. */
  address(): string
  onFrame(frame: Frame): void
  onLost(): void
  /** No further attempt will be made. */
  onEnd(error: ApiError): void
}

export class Stream {
  #events: StreamEvents
  #stopped = new AbortController()
  #attempt: AbortController | null = null
  #wake: (() => void) | null = null
  #retryMs = RETRY_MIN_MS
  #silence = 0
  #isAsleep = false

  constructor(events: StreamEvents) {
    this.#events = events
    const options = { signal: this.#stopped.signal }
    addEventListener('online', () => this.#wake?.(), options)
    // A page that comes back does not wait for its back-off.
    document.addEventListener('visibilitychange', () => !document.hidden && this.#wake?.(), options)
    void this.#run()
  }

  stop(): void {
    this.#stopped.abort()
    this.#attempt?.abort()
    this.#wake?.()
    clearTimeout(this.#silence)
  }

  /** Reconnects, to the current address. */
  restart(): void {
    this.#retryMs = 0
    this.#attempt?.abort()
    this.#wake?.()
  }

  /** Gives the connection back until wake(). */
  sleep(): void {
    this.#isAsleep = true
    this.#attempt?.abort()
  }

  wake(): void {
    if (!this.#isAsleep) return
    this.#isAsleep = false
    this.#wake?.()
  }

  async #run(): Promise<void> {
    const isStopped = () => this.#stopped.signal.aborted
    while (!isStopped()) {
      try {
        await this.#connect()
      } catch (error) {
        if (isStopped()) return
        if (error instanceof ApiError && error.isFinal) {
          this.#events.onEnd(error)
          return
        }
      }
      clearTimeout(this.#silence)
      if (isStopped()) return
      if (!this.#isAsleep) this.#events.onLost()
      await this.#pause()
    }
  }

  async #connect(): Promise<void> {
    this.#attempt = new AbortController()
    this.#watchSilence()
    const response = await request(this.#events.address(), { signal: this.#attempt.signal })
    this.#retryMs = RETRY_MIN_MS
    for await (const frame of frames(response, () => this.#watchSilence())) {
      if (this.#stopped.signal.aborted) return
      this.#events.onFrame(frame)
    }
  }

  #watchSilence(): void {
    clearTimeout(this.#silence)
    this.#silence = window.setTimeout(() => this.#attempt?.abort(), SILENCE_MAX_MS)
  }

  #pause(): Promise<void> {
    const jittered = this.#retryMs * (0.75 + Math.random() / 2)
    this.#retryMs = Math.min(Math.max(RETRY_MIN_MS, this.#retryMs * 2), RETRY_MAX_MS)
    return new Promise((resolve) => {
      const timer = this.#isAsleep ? 0 : setTimeout(resolve, jittered)
      this.#wake = () => {
        clearTimeout(timer)
        this.#wake = null
        resolve()
      }
    })
  }
}
