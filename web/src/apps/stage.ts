// The apps of one conversation. Only those near the window are alive, and not too many at the same time;
// the others rest as cards of the same height.
import type { Chat } from '../model/chat'
import type { ToolCall } from '../model/items'
import { isObject } from './bridge'
import { AppCard } from './card'
import { onDataChanged } from './changes'
import type { PageActions } from './requests'

const NEAR_PX = 800 // beyond the window; less than messages are kept for
const ALIVE_MAX = 6
const LINGER_MS = 2000 // somebody who scrolls past may come back
const SCROLL_MS = 200

interface Entry {
  card: AppCard
  slot: HTMLElement
  isNear: boolean
  leavesAt: number // the timer; 0: none
}

export interface StageOptions {
  chat: Chat
  root: Element | null
  version: string
  page: PageActions
}

export class AppStage {
  #options: StageOptions
  #entries = new Map<string, Entry>()
  #bySlot = new WeakMap<Element, Entry>()
  #observer: IntersectionObserver
  #endChanges: () => void
  #scrollTimer = 0
  #isEnded = false

  constructor(options: StageOptions) {
    this.#options = options
    const { root } = options
    this.#observer = new IntersectionObserver((entries) => this.#onMoved(entries), {
      root,
      rootMargin: `${NEAR_PX}px 0px`,
    })
    this.#endChanges = onDataChanged((change) => {
      for (const { card } of this.#alive()) card.noteChange(change)
    })
    root?.addEventListener('scroll', this.#onScroll, { passive: true })
    addEventListener('pagehide', this.#onLeaving)
  }

  /** Shows the app of a call in its slot, or tells it how the call is getting on. */
  update(key: string, slot: HTMLElement, call: ToolCall): void {
    if (this.#isEnded) return
    const { card } = this.#entries.get(key) ?? this.#add(key, slot, call)
    const hasBegun = ['running', 'ok', 'error', 'declined'].includes(call.state)
    card.update(
      {
        partial: call.state === 'preparing' && isObject(call.partial) ? call.partial : undefined,
        input: hasBegun && isObject(call.input) ? call.input : undefined,
        isOver: call.output !== undefined || call.state === 'interrupted',
      },
      call.output ?? '',
    )
  }

  /** Ends all views; they may be removed when this has returned. */
  async close(): Promise<void> {
    this.#stop()
    const cards = [...this.#entries.values()].map(({ card }) => card)
    await Promise.all(cards.map((card) => card.leave('The conversation was left.'))) // not translated
  }

  /** Ends all views immediately: the conversation may not be seen any more. */
  end(): void {
    this.#stop()
    for (const { card } of this.#entries.values()) card.kill()
  }

  get hasAlive(): boolean {
    return this.#alive().length > 0
  }

  #stop(): void {
    this.#isEnded = true
    this.#observer.disconnect()
    this.#endChanges()
    this.#options.root?.removeEventListener('scroll', this.#onScroll)
    removeEventListener('pagehide', this.#onLeaving)
    clearTimeout(this.#scrollTimer)
    for (const { leavesAt } of this.#entries.values()) clearTimeout(leavesAt)
  }

  #add(key: string, slot: HTMLElement, call: ToolCall): Entry {
    const { chat, version, page } = this.#options
    const conversationId = chat.id!
    const card = new AppCard({
      label: call.name.replace(/^.*?__/, ''),
      target: () => ({ conversationId, callId: call.id, position: call.position }),
      conversationId,
      stateKey: `${conversationId} ${key}`,
      version,
      page,
      onChange: (changed) => this.#onChanged(changed),
    })
    const entry: Entry = { card, slot, isNear: false, leavesAt: 0 }
    this.#entries.set(key, entry)
    this.#bySlot.set(slot, entry)
    slot.replaceChildren(card.element)
    this.#observer.observe(slot)
    return entry
  }

  #alive(): Entry[] {
    return [...this.#entries.values()].filter(({ card }) => card.isAlive)
  }

  #onMoved(seen: IntersectionObserverEntry[]): void {
    for (const { target, isIntersecting } of seen) {
      const entry = this.#bySlot.get(target)
      if (entry) entry.isNear = isIntersecting
    }
    this.#settle()
  }

  /** At most one card covers the page, and one floats above it. */
  #onChanged(card: AppCard): void {
    if (card.isPinned) {
      for (const { card: other } of this.#entries.values())
        if (other !== card && other.mode === card.mode) other.setMode('inline')
    }
    queueMicrotask(() => this.#settle())
  }

  /** Decides who is alive: those the person has placed, then the nearest. */
  #settle(): void {
    if (this.#isEnded) return
    const canLive = [...this.#entries.values()].filter(
      ({ card, isNear }) => card.isPinned || (isNear && card.state !== 'closed' && card.state !== 'problem'),
    )
    const wanted = new Set(canLive.length > ALIVE_MAX ? this.#nearest(canLive) : canLive)
    for (const entry of this.#alive()) {
      if (wanted.has(entry)) this.#stay(entry)
      else if (canLive.includes(entry)) void this.#retire(entry)
      else this.#leaveSoon(entry)
    }
    let room = ALIVE_MAX - this.#alive().length
    for (const entry of wanted) {
      if (entry.card.isAlive) continue
      if (room <= 0) {
        const leaving = this.#alive().find((other) => !wanted.has(other))
        if (leaving) void this.#retire(leaving)
        continue
      }
      room--
      entry.card.open()
    }
  }

  #nearest(entries: Entry[]): Entry[] {
    const middle = innerHeight / 2
    const distance = ({ card, slot }: Entry) => {
      const { top, bottom } = slot.getBoundingClientRect()
      return card.isPinned ? -1 : Math.max(0, top - middle, middle - bottom)
    }
    return entries
      .map((entry) => ({ entry, far: distance(entry) }))
      .sort((a, b) => a.far - b.far)
      .slice(0, ALIVE_MAX)
      .map(({ entry }) => entry)
  }

  #stay(entry: Entry): void {
    clearTimeout(entry.leavesAt)
    entry.leavesAt = 0
  }

  #leaveSoon(entry: Entry): void {
    if (entry.leavesAt !== 0) return
    entry.leavesAt = window.setTimeout(() => {
      entry.leavesAt = 0
      if (!entry.isNear && !entry.card.isPinned) void this.#retire(entry)
    }, LINGER_MS)
  }

  async #retire(entry: Entry): Promise<void> {
    this.#stay(entry)
    await entry.card.rest()
    this.#settle()
  }

  #onScroll = (): void => {
    if (this.#scrollTimer !== 0) return
    this.#scrollTimer = window.setTimeout(() => {
      this.#scrollTimer = 0
      const near = [...this.#entries.values()].filter(({ isNear }) => isNear)
      if (near.length > ALIVE_MAX) this.#settle()
    }, SCROLL_MS)
  }

  #onLeaving = (): void => {
    for (const { card } of this.#alive()) card.forsake()
  }
}
