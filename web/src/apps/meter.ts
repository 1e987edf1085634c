// Bounds of what a view may send: how often, and how much. Pure.

const RATE_MAX = 100 // messages in a second
const SECONDS = 3 // in a row above the rate, until it counts as a flood
const BURST_MAX = 5000 // messages in one second

/** Notices a view that never stops sending; bursts are fine. */
export class FloodMeter {
  #second = -1
  #count = 0
  #busy = 0 // seconds before this one, in a row, above the rate

  /** Counts a message; false: it is a flood. */
  count(nowMs: number): boolean {
    const second = Math.floor(nowMs / 1000)
    if (second !== this.#second) {
      const isNext = second === this.#second + 1
      this.#busy = isNext && this.#count > RATE_MAX ? this.#busy + 1 : 0
      this.#second = second
      this.#count = 0
    }
    this.#count++
    if (this.#count > BURST_MAX) return false
    return this.#busy < SECONDS - 1 || this.#count <= RATE_MAX
  }
}

/**
 * Whether the value as JSON has at most about that many characters. Looks at no more of it than that,
 * so that a huge value costs no more than a large one; cycles count as huge.
 */
export function isWithin(value: unknown, limit: number): boolean {
  const rest: unknown[] = [value]
  let size = 0
  while (rest.length > 0) {
    const next = rest.pop()
    if (typeof next === 'string') size += next.length + 2
    else if (typeof next === 'object' && next !== null) {
      if (ArrayBuffer.isView(next)) size += next.byteLength
      else if (Array.isArray(next)) {
        size += next.length
        if (size <= limit) for (const item of next) rest.push(item)
      } else {
        for (const key in next) {
          size += key.length + 4
          if (size > limit) return false
          rest.push((next as Record<string, unknown>)[key])
        }
      }
      size += 2
    } else size += 4
    if (size > limit) return false
  }
  return true
}
