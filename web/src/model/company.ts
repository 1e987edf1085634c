// Other people in a conversation now, and those of them who are writing.
import { sayTyping } from '../api/conversations'
import type { ConversationEvent } from '../api/types'
import { nameOf } from './people'

const TYPING_SHOWN_MS = 6000
const TYPING_SAID_MS = 3000 // at most so often

export class Company {
  #me: string
  #onChange: () => void
  #present = new Map<string, string>() // id → name
  #typing = new Map<string, number>() // id → the timer that ends it
  #saidAt = 0

  constructor(me: string, onChange: () => void) {
    this.#me = me
    this.#onChange = onChange
  }

  close(): void {
    for (const timer of this.#typing.values()) clearTimeout(timer)
  }

  get present(): string[] {
    return [...this.#present.keys()]
  }

  get typing(): string[] {
    return [...this.#typing.keys()].map((id) => nameOf(id, this.#present.get(id) ?? null))
  }

  /** True when the event was about this. */
  apply({ event, data }: ConversationEvent): boolean {
    switch (event) {
      case 'presence.snapshot':
        this.#present = new Map(
          data.users.map((user) => [user.userId, nameOf(user.userId, user.displayName)]),
        )
        break
      case 'presence':
        if (data.state === 'joined')
          this.#present.set(data.userId, nameOf(data.userId, data.displayName))
        else this.#leave(data.userId)
        break
      case 'typing':
        this.#noteTyping(data.userId, data.isTyping)
        break
      case 'user.message':
        if (data.userId) this.#noteTyping(data.userId, false)
        return false
      default:
        return false
    }
    this.#onChange()
    return true
  }

  sayTyping(conversationId: string): void {
    const now = performance.now()
    if (this.#saidAt > 0 && now - this.#saidAt < TYPING_SAID_MS) return
    this.#saidAt = now
    sayTyping(conversationId, true).catch(() => {}) // nobody waits for it
  }

  #leave(userId: string): void {
    this.#present.delete(userId)
    this.#noteTyping(userId, false)
  }

  #noteTyping(userId: string, isTyping: boolean): void {
    if (userId === this.#me) return
    clearTimeout(this.#typing.get(userId))
    this.#typing.delete(userId)
    if (!isTyping) return
    const forget = () => {
      this.#typing.delete(userId)
      this.#onChange()
    }
    this.#typing.set(userId, window.setTimeout(forget, TYPING_SHOWN_MS))
  }
}
