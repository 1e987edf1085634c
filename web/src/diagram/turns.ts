// Work that the page does bit by bit, however much of it there is: one piece at a time, then a rest in proportion to what the
// piece took, and first what the reader sees.

const REST = 4 // times as long as the work: at most a fifth of the time is spent here
const AHEAD_MS = 400 // of rest that is still due, before nothing is done immediately any more
const UNSEEN_MS_MAX = 3000 // of work for what nobody has looked at; beyond it, a piece that is not near the window is dropped

export interface Time {
  now(): number
  pause(ms: number): Promise<void>
}

export const realTime: Time = {
  now: () => performance.now(),
  pause: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
}

export class Turns<K> {
  #work: (key: K) => void
  #time: Time
  #waiting = new Map<K, boolean>() // near the window?
  #isRunning = false
  #restsUntil = 0
  #unseenMs = 0

  constructor(work: (key: K) => void, time: Time = realTime) {
    this.#work = work
    this.#time = time
  }

  /** It is worked on when its turn comes. To be called again when it comes near the window. */
  add(key: K, isNear = false): void {
    this.#waiting.set(key, isNear)
    if (!this.#isRunning) void this.#run()
  }

  drop(key: K): void {
    this.#waiting.delete(key)
  }

  /** Works on it immediately; false: too much was done lately. */
  takeNow(key: K): boolean {
    if (this.#restsUntil - this.#time.now() > AHEAD_MS) return false
    this.#waiting.delete(key)
    this.#measure(key)
    return true
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    for (;;) {
      await this.#time.pause(Math.max(0, this.#restsUntil - this.#time.now()))
      const next = this.#next()
      if (!next) break
      const [key, isNear] = next
      this.#waiting.delete(key)
      const ms = this.#measure(key)
      if (!isNear) this.#unseenMs += ms
    }
    this.#isRunning = false
  }

  #next(): [K, boolean] | undefined {
    for (const entry of this.#waiting) if (entry[1]) return entry
    if (this.#unseenMs >= UNSEEN_MS_MAX) this.#waiting.clear()
    const [first] = this.#waiting
    return first
  }

  #measure(key: K): number {
    const began = this.#time.now()
    try {
      this.#work(key)
    } catch {
      // the others are still worked on
    }
    const ended = this.#time.now()
    this.#restsUntil = Math.max(this.#restsUntil, ended) + REST * (ended - began)
    return ended - began
  }
}
