// Following one conversation: what it holds is loaded first, then what happens behind it comes
// through the live connection, without a gap and nothing twice.
import { ApiError } from './client'
import { live } from './live'
import type { ConversationEvent } from './types'

const RETRY_MIN_MS = 1000
const RETRY_MAX_MS = 30_000

export type LinkState = 'connecting' | 'live' | 'lost' // lost: until it is live again

export interface FollowEvents {
  /** Loads what lies before the stream; returns the position to follow from. */
  onOpen(): Promise<number>
  onEvent(event: ConversationEvent): void
  onState(state: 'live' | 'lost'): void
  /** It is gone, or access to it is. */
  onEnd(error: ApiError): void
}

export class Follow {
  #id: string
  #events: FollowEvents
  #unwatch: (() => void) | null = null
  #isStopped = false

  constructor(id: string, events: FollowEvents) {
    this.#id = id
    this.#events = events
    void this.#open()
  }

  stop(): void {
    this.#isStopped = true
    this.#unwatch?.()
  }

  async #open(): Promise<void> {
    for (
      let retryMs = RETRY_MIN_MS;
      !this.#isStopped;
      retryMs = Math.min(retryMs * 2, RETRY_MAX_MS)
    ) {
      try {
        const position = await this.#events.onOpen()
        if (!this.#isStopped) this.#unwatch = live.watch(this.#id, position, this.#events)
        return
      } catch (error) {
        if (this.#isStopped) return
        if (error instanceof ApiError && error.isFinal) {
          this.#events.onEnd(error)
          return
        }
        this.#events.onState('lost')
        await new Promise((resolve) => setTimeout(resolve, retryMs))
      }
    }
  }
}
