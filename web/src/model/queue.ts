// Messages that wait until the agent has answered, of everybody in the conversation, as its stream
// tells of them.
import type { ConversationEvent, QueuedMessage } from '../api/types'
import type { UserItem } from './items'

export interface QueueEvents {
  /** One's own, or somebody else's, is in the server's hands. */
  onWaiting(item: UserItem): void
  /** It will not be sent. by: who took it back. */
  onDropped(item: UserItem, by: string | null, error: string | null): void
}

export class Queue {
  items: UserItem[] = []
  #events: QueueEvents

  constructor(events: QueueEvents) {
    this.#events = events
  }

  /** True when the event was about this and nothing else. */
  apply({ event, data }: ConversationEvent): boolean {
    switch (event) {
      case 'queue.snapshot':
        this.items = []
        for (const message of data.messages) this.#put(message)
        return true
      case 'queue.added':
      case 'queue.changed':
        this.#put(data)
        return true
      case 'queue.removed': {
        const item = this.#take(data.queuedId)
        if (item && data.reason !== 'taken')
          this.#events.onDropped(item, data.userId ?? null, data.error ?? null)
        return true
      }
      case 'user.message':
        if (data.queuedId) this.#take(data.queuedId)
        return false
      default:
        return false
    }
  }

  #put(message: QueuedMessage): void {
    const item = itemOf(message)
    const at = this.items.findIndex(({ key }) => key === item.key)
    this.items = at < 0 ? [...this.items, item] : this.items.with(at, item)
    if (at < 0) this.#events.onWaiting(item)
  }

  #take(queuedId: string): UserItem | undefined {
    const found = this.items.find(({ queued }) => queued?.id === queuedId)
    this.items = this.items.filter((item) => item !== found)
    return found
  }
}

function itemOf(message: QueuedMessage): UserItem {
  return {
    kind: 'user',
    key: `queued/${message.queuedId}`,
    userId: message.userId,
    displayName: message.displayName,
    text: message.message,
    files: message.files,
    forPeople: message.forPeople,
    at: message.queuedAt,
    position: null,
    queued: { id: message.queuedId, mode: message.mode },
  }
}
