// The ceilings of a diagram. A diagram beyond one of them is shown as its source.

export const SOURCE_MAX = 50_000 // characters
export const LINES_MAX = 2000
export const LINE_MAX = 1000 // characters: patterns that look for several things in a line may need its length squared
export const NODES_MAX = 300
export const EDGES_MAX = 600
export const GROUPS_MAX = 60
export const DEPTH_MAX = 12 // of groups in groups, blocks in blocks
export const LABEL_MAX = 600 // characters
export const POINTS_MAX = 1500 // of a layout: nodes, and the places where edges pass between them
export const SIZE_MAX = 20_000 // pixels, of either side
const GOOD_MS = 300 // then a layout is not improved any more; common ones take a tenth of it, so they look the same everywhere
const HARD_MS = 1500 // then it is given up

/** The text is not a diagram that can be drawn here. */
export class Unreadable extends Error {}

export function demand(isRight: unknown): asserts isRight {
  if (!isRight) throw new Unreadable()
}

/** The time that one diagram has taken: the page waits for it. */
export class Clock {
  #began = performance.now()

  get isLate(): boolean {
    const ms = performance.now() - this.#began
    if (ms > HARD_MS) throw new Unreadable()
    return ms > GOOD_MS
  }
}
