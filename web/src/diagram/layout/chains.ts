// Edges as chains: one vertex in each rank that an edge passes, so that it keeps its distance from everything there.
import { demand, POINTS_MAX } from '../base/limits'
import { type Input, pathOf, type Segment, type Vertex } from './layers'
import { isWithin, type Ranked } from './ranks'

export interface Chain {
  way: number[] // vertices from top to bottom
  isDown: boolean // the tie leads from top to bottom, too
}
export interface Chains {
  vertices: Vertex[] // those of blocks first, in the order of blocks
  segments: Segment[]
  chains: (Chain | null)[] // by tie; null: it has no way from rank to rank
  spans: { first: number; last: number }[] // by group: its ranks
  count: number // of ranks
}

export function chain(input: Input, { ranks }: Ranked): Chains {
  const { blocks, ties } = input
  const vertices: Vertex[] = blocks.map(({ width, height, group, beside }, block) => ({
    rank: ranks[block]!,
    group,
    block,
    tie: -1,
    left: width / 2,
    right: width / 2 + beside,
    height,
    x: 0,
  }))
  const spans = spansOf(input, ranks)
  const made: Chains = { vertices, segments: [], chains: [], spans, count: Math.max(0, ...ranks) + 1 }
  ties.forEach((tie, i) => made.chains.push(isWithin(input, tie.from, tie.to) ? null : chainOf(input, made, i)))
  addSpacers(input, made)
  return made
}

function spansOf({ blocks, fences }: Input, ranks: number[]): Chains['spans'] {
  const spans = fences.map(() => ({ first: Infinity, last: -Infinity }))
  blocks.forEach(({ group }, b) => {
    for (const g of pathOf(fences, group)) {
      spans[g]!.first = Math.min(spans[g]!.first, ranks[b]!)
      spans[g]!.last = Math.max(spans[g]!.last, ranks[b]!)
    }
  })
  return spans
}

/** The block that stands for an end: of a group, one in the middle of its first or last rank. */
function standFor({ blocks, fences }: Input, { vertices, spans }: Chains, end: number, isStart: boolean): number {
  if (end >= 0) return end
  const group = -1 - end
  const wanted = isStart ? spans[group]!.last : spans[group]!.first
  const inside = blocks.flatMap((block, b) => (vertices[b]!.rank === wanted && pathOf(fences, block.group).includes(group) ? [b] : []))
  demand(inside.length > 0)
  return inside[Math.floor((inside.length - 1) / 2)]!
}

function topOf({ vertices, spans }: Chains, end: number, isStart: boolean): number {
  if (end >= 0) return vertices[end]!.rank
  return isStart ? spans[-1 - end]!.last : spans[-1 - end]!.first
}

function chainOf(input: Input, made: Chains, tie: number): Chain | null {
  const { from, to, width, height } = input.ties[tie]!
  const isDown = topOf(made, from, true) < topOf(made, to, false)
  if (!isDown && topOf(made, to, true) >= topOf(made, from, false)) return null // side by side
  const [upper, lower] = isDown ? [from, to] : [to, from]
  const [start, end] = [standFor(input, made, upper, true), standFor(input, made, lower, false)]
  const { vertices, segments } = made
  const [first, last] = [vertices[start]!.rank, vertices[end]!.rank]
  const labelled = isDown ? first + 1 : last - 1 // near the start of the edge
  const way = [start]
  for (let rank = first + 1; rank < last; rank++) {
    const half = rank === labelled && width > 0 ? width / 2 : 0
    const group = groupAt(input, made, start, end, rank)
    way.push(vertices.push({ rank, group, block: -1, tie, left: half, right: half, height: half > 0 ? height : 0, x: 0 }) - 1)
    demand(vertices.length <= POINTS_MAX)
  }
  way.push(end)
  for (let i = 1; i < way.length; i++) segments.push({ from: way[i - 1]!, to: way[i]!, tie })
  return { way, isDown }
}

/** An edge leaves the groups of its start at their ends, and enters those of its end where they begin. */
function groupAt({ fences, blocks }: Input, { spans }: Chains, start: number, end: number, rank: number): number {
  const [above, below] = [pathOf(fences, blocks[start]!.group), pathOf(fences, blocks[end]!.group)]
  const isShared = (g: number, i: number) => above[i] === g && below[i] === g
  const leaving = above.findLast((g, i) => isShared(g, i) || spans[g]!.last >= rank) ?? -1
  const entering = below.findLast((g, i) => isShared(g, i) || spans[g]!.first <= rank) ?? -1
  const isOut = leaving < 0 || below.includes(leaving)
  return isOut ? entering : leaving
}

/** A group has something in each of its ranks, so that nothing else comes between its parts. */
function addSpacers({ fences }: Input, { vertices, spans }: Chains): void {
  const present = fences.map(() => new Set<number>())
  for (const { group, rank } of vertices) for (const g of pathOf(fences, group)) present[g]!.add(rank)
  fences.forEach((_, group) => {
    const { first, last } = spans[group]!
    for (let rank = first; rank <= last; rank++) {
      if (present[group]!.has(rank)) continue
      vertices.push({ rank, group, block: -1, tie: -1, left: 0, right: 0, height: 0, x: 0 })
      for (const g of pathOf(fences, group)) present[g]!.add(rank)
    }
  })
  demand(vertices.length <= POINTS_MAX)
}
