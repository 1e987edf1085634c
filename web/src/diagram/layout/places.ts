// Coordinates: along each rank from a linear program (edges as straight as their weights ask, nothing overlaps, groups are
// rectangles), across ranks from the heights of what is in them.
import type { Clock } from '../base/limits'
import type { Chains } from './chains'
import { type Fence, type Input, pathOf, type Vertex } from './layers'
import { type Link, solve } from './simplex'

export const BLOCK_GAP = 44
const EDGE_GAP = 22 // beside an edge that passes
const LABEL_GAP = 12
const GROUP_GAP = 24
const RANK_GAP = 52
const HALF_GAP = 28 // where labels have ranks of their own
const SLOPE = 0.14 // more room between ranks for edges that go far to the side
const GAP_MORE_MAX = 50
const WEIGHTS = [4, 8, 32] // of a piece of an edge between two blocks, at one, between others
const GROUP_WEIGHT = 12

export interface Band {
  top: number
  bottom: number
}
export interface Places {
  bands: Band[]
  sides: { left: number; right: number }[] // by group
  ends: Band[] // by group
}

export function place(input: Input, made: Chains, layers: number[][], clock: Clock): Places {
  const sides = placeAcross(input, made, layers, clock)
  return { sides, ...bandsOf(input, made, layers, sides) }
}

function gapBetween(a: Vertex, b: Vertex): number {
  if (a.block >= 0 && b.block >= 0) return BLOCK_GAP
  return a.right + b.left > 0 && a.block < 0 && b.block < 0 ? LABEL_GAP : EDGE_GAP
}

/** Sets x of all vertices; returns the sides of groups. */
function placeAcross(input: Input, made: Chains, layers: number[][], clock: Clock): Places['sides'] {
  const { vertices, segments } = made
  const { fences } = input
  const left = (g: number) => vertices.length + 2 * g
  const right = (g: number) => vertices.length + 2 * g + 1
  let count = vertices.length + 2 * fences.length
  const links: Link[] = []
  const apart = (from: number, to: number, length: number, weight = 0) => links.push({ from, to, length: Math.ceil(length), weight })
  fences.forEach((fence, g) => apart(left(g), right(g), fence.across, GROUP_WEIGHT))
  for (const layer of layers) {
    for (let i = 0; i <= layer.length; i++) separate(vertices, fences, layer[i - 1], layer[i], { left, right, apart })
  }
  for (const { from, to } of segments) {
    const weight = WEIGHTS[[from, to].filter((v) => vertices[v]!.block < 0).length]!
    apart(count, from, 0, weight)
    apart(count, to, 0, weight)
    count++
  }
  const values = solve(count, links, clock, true)
  const polish = new Polish(made, links, values)
  polish.straighten()
  polish.centre(layers)
  vertices.forEach((vertex, v) => (vertex.x = values[v]!))
  return fences.map((_, g) => ({ left: values[left(g)]!, right: values[right(g)]! }))
}

/** The solution may be one of many that are equally good: this prefers straight chains, and parents in the middle of children. */
class Polish {
  readonly #down: number[][]
  readonly #up: number[][]
  readonly #before: Link[][] // distances to keep, by vertex
  readonly #after: Link[][]

  constructor(
    readonly made: Chains,
    links: readonly Link[],
    readonly values: number[],
  ) {
    this.#down = made.vertices.map(() => [])
    this.#up = made.vertices.map(() => [])
    this.#before = made.vertices.map(() => [])
    this.#after = made.vertices.map(() => [])
    for (const { from, to } of made.segments) {
      this.#down[from]!.push(to)
      this.#up[to]!.push(from)
    }
    for (const link of links) {
      if (link.weight > 0) continue
      this.#before[link.to]?.push(link)
      this.#after[link.from]?.push(link)
    }
  }

  #room(v: number): { least: number; most: number } {
    return {
      least: Math.max(...this.#before[v]!.map(({ from, length }) => this.values[from]! + length)),
      most: Math.min(...this.#after[v]!.map(({ to, length }) => this.values[to]! - length)),
    }
  }

  /** Where an edge and the only one that follows it could bend at any of several places, they bend at the last one. */
  straighten(): void {
    const isOnly = (v: number) => this.#up[v]!.length === 1 && this.#down[this.#up[v]![0]!]!.length === 1
    this.made.vertices.forEach((_, top) => {
      if (isOnly(top)) return
      let x = this.values[top]!
      for (let next = this.#down[top]!; next.length === 1 && isOnly(next[0]!); next = this.#down[next[0]!]!) {
        const { least, most } = this.#room(next[0]!)
        if (x < least || x > most) x = this.values[next[0]!]!
        this.values[next[0]!] = x
      }
    })
  }

  /** In trees, from their leaves up. A node above which something else is, too, is not part of a tree. */
  centre(layers: number[][]): void {
    const isTree = this.made.vertices.map(() => true)
    const isMoved = new Set<number>()
    for (const v of layers.toReversed().flat()) {
      const children = this.#down[v]!
      isTree[v] = children.every((child) => isTree[child] && this.#up[child]!.length === 1)
      const isParent = children.length > 1 || (children.length === 1 && isMoved.has(children[0]!))
      if (!isTree[v] || !isParent) continue
      const places = children.map((child) => this.values[child]!)
      const { least, most } = this.#room(v)
      this.values[v] = Math.round(Math.min(most, Math.max(least, (Math.min(...places) + Math.max(...places)) / 2)))
      isMoved.add(v)
    }
  }
}

interface Sides {
  left: (g: number) => number
  right: (g: number) => number
  apart: (from: number, to: number, length: number) => void
}

/** Between two neighbours of a rank: the borders of groups that end and begin there. Either may be the end of the rank. */
function separate(vertices: Vertex[], fences: readonly Fence[], a: number | undefined, b: number | undefined, { left, right, apart }: Sides): void {
  const before = a === undefined ? [] : pathOf(fences, vertices[a]!.group)
  const after = b === undefined ? [] : pathOf(fences, vertices[b]!.group)
  let shared = 0
  while (shared < before.length && before[shared] === after[shared]) shared++
  let from = a
  let room = a === undefined ? 0 : vertices[a]!.right
  for (const g of before.slice(shared).reverse()) {
    if (from !== undefined) apart(from, right(g), room + fences[g]!.right)
    from = right(g)
    room = 0
  }
  const opened = after.slice(shared)
  const isPlain = before.length === shared && opened.length === 0
  room += isPlain ? (a === undefined || b === undefined ? 0 : gapBetween(vertices[a]!, vertices[b]!)) : GROUP_GAP
  for (const g of opened) {
    if (from !== undefined) apart(from, left(g), room)
    from = left(g)
    room = fences[g]!.left
  }
  if (from !== undefined && b !== undefined) apart(from, b, room + vertices[b]!.left)
}

// ---- across ranks ----

function bandsOf(input: Input, made: Chains, layers: number[][], sides: Places['sides']): Pick<Places, 'bands' | 'ends'> {
  const { fences, ties } = input
  const { vertices, spans, count } = made
  const heights = layers.map((layer) => Math.max(0, ...layer.map((v) => vertices[v]!.height)))
  const gap = ties.some(({ width }) => width > 0) ? HALF_GAP : RANK_GAP
  const before = nested(fences, (g) => spans[g]!.first, (g) => fences[g]!.before)
  const after = nested(fences, (g) => spans[g]!.last, (g) => fences[g]!.after)
  const bands: Band[] = []
  let at = 0
  for (let rank = 0; rank < count; rank++) {
    const begin = Math.max(0, ...fences.map((_, g) => (spans[g]!.first === rank ? before[g]! : 0)))
    const end = Math.max(0, ...fences.map((_, g) => (spans[g]!.last === rank ? after[g]! : 0)))
    const top = at + begin
    const bottom = top + heights[rank]!
    bands.push({ top, bottom })
    at = bottom + end + gap + slopeBelow(made, rank) + missing(input, made, bands, rank)
  }
  const ends = fences.map((_, g) => ({ top: bands[spans[g]!.first]!.top - before[g]!, bottom: bands[spans[g]!.last]!.bottom + after[g]! }))
  widen(fences, ends, sides)
  return { bands, ends }
}

/** Room at the first or last rank of a group: its own, and that of groups in it which begin or end there too. */
function nested(fences: readonly Fence[], rankOf: (g: number) => number, own: (g: number) => number): number[] {
  const room = fences.map((_, g) => own(g))
  const depths = fences.map((_, g) => pathOf(fences, g).length)
  const inner = fences.map((_, g) => g).sort((a, b) => depths[b]! - depths[a]!)
  for (const g of inner) {
    const { parent } = fences[g]!
    if (parent >= 0 && rankOf(parent) === rankOf(g)) room[parent] = Math.max(room[parent]!, own(parent) + room[g]!)
  }
  return room
}

function slopeBelow({ vertices, segments }: Chains, rank: number): number {
  let far = 0
  for (const { from, to } of segments) {
    if (vertices[from]!.rank === rank) far = Math.max(far, Math.abs(vertices[from]!.x - vertices[to]!.x))
  }
  return Math.min(GAP_MORE_MAX, Math.max(0, far - 60) * SLOPE)
}

/** A group whose title is longer than its ranks are high (they run from left to right then) gets more room at its end. */
function missing({ fences }: Input, { spans }: Chains, bands: Band[], rank: number): number {
  let more = 0
  fences.forEach(({ along, before, after }, g) => {
    if (spans[g]!.last !== rank) return
    const size = bands[rank]!.bottom - bands[spans[g]!.first]!.top + before + after
    more = Math.max(more, along - size)
  })
  return more
}

function widen(fences: readonly Fence[], ends: Band[], sides: Places['sides']): void {
  const inner = fences.map((fence, g) => ({ ...fence, g })).reverse() // groups follow those around them
  inner.forEach(({ along, parent, g }) => {
    ends[g]!.bottom = Math.max(ends[g]!.bottom, ends[g]!.top + along)
    if (parent < 0) return
    ends[parent]!.bottom = Math.max(ends[parent]!.bottom, ends[g]!.bottom + fences[parent]!.after)
    sides[parent]!.right = Math.max(sides[parent]!.right, sides[g]!.right)
  })
}
