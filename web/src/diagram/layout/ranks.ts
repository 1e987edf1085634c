// Ranks: every edge leads downwards, edges are short, groups cover few ranks, and a group that edges lead to
// from another group is below it.
import type { Clock } from '../base/limits'
import { type Fence, type Input, pathOf } from './layers'
import { type Link, solve } from './simplex'

export interface Ranked {
  ranks: number[] // by block
  step: number // ranks between a block and the next
}

const EDGE_WEIGHT = 20
const GROUP_WEIGHT = 40
const ROOT_WEIGHT = 1

/** The variables of the solver: blocks, then top and bottom of each group, then a root above everything. */
class Variables {
  constructor(
    readonly blocks: number,
    readonly fences: number,
  ) {}

  top = (group: number) => this.blocks + 2 * group
  bottom = (group: number) => this.blocks + 2 * group + 1
  /** Where a tie that leads down begins or ends. */
  start = (end: number) => (end >= 0 ? end : this.bottom(-1 - end))
  finish = (end: number) => (end >= 0 ? end : this.top(-1 - end))

  get root(): number {
    return this.blocks + 2 * this.fences
  }
}

export function rank(input: Input, clock: Clock): Ranked {
  const { blocks, ties, fences } = input
  const step = ties.some(({ width }) => width > 0) ? 2 : 1
  const isTurned = turnedTies(input)
  const names = new Variables(blocks.length, fences.length)
  const links = new Links(names.root + 1)
  for (const link of groupLinks(input, names)) links.add(link)
  ties.forEach(({ from, to, length }, i) => {
    if (isWithin(input, from, to)) return
    const [upper, lower] = isTurned[i] ? [to, from] : [from, to]
    const linkOf = (a: number, b: number) => ({ from: names.start(a), to: names.finish(b), length: length * step, weight: EDGE_WEIGHT })
    // Blocks alone have no cycle any more; a group is above and below everything in it, which may close one.
    const isSafe = ({ from: a, to: b }: Link) => fences.length === 0 || !links.reaches(b, a)
    const link = [linkOf(upper, lower), linkOf(lower, upper)].find(isSafe)
    if (link) links.add(link)
  })
  addStripLinks(input, isTurned, names, links, step)
  for (let v = 0; v < names.root; v++) links.add({ from: names.root, to: v, length: 0, weight: ROOT_WEIGHT })
  const values = solve(names.root + 1, links.all, clock)
  const ranks = values.slice(0, blocks.length)
  const first = Math.min(...ranks)
  return { ranks: ranks.map((value) => value - first), step }
}

/** A loop, or an edge between a group and something in it. */
export function isWithin({ blocks, fences }: Input, from: number, to: number): boolean {
  if (from === to) return true
  const isIn = (end: number, group: number) => {
    const start = end >= 0 ? blocks[end]!.group : -1 - end
    return pathOf(fences, start).includes(group)
  }
  return (from < 0 && isIn(to, -1 - from)) || (to < 0 && isIn(from, -1 - to))
}

/** Edges that close a cycle, when edges are followed from the nodes that were written first: these are where people begin. */
function turnedTies({ blocks, ties, fences }: Input): boolean[] {
  const index = (end: number) => (end >= 0 ? end : blocks.length - 1 - end)
  const count = blocks.length + fences.length
  const out: number[][] = Array.from({ length: count }, () => [])
  ties.forEach(({ from, to }, i) => from !== to && out[index(from)]!.push(i))
  const state = new Array<number>(count).fill(0) // 0: not seen, 1: on the way, 2: done
  const isTurned = ties.map(() => false)
  const visit = (start: number) => {
    const way = [{ v: start, next: 0 }]
    state[start] = 1
    while (way.length > 0) {
      const here = way.at(-1)!
      const tie = out[here.v]![here.next++]
      if (tie === undefined) {
        state[here.v] = 2
        way.pop()
        continue
      }
      const to = index(ties[tie]!.to)
      if (state[to] === 1) isTurned[tie] = true
      else if (state[to] === 0) {
        state[to] = 1
        way.push({ v: to, next: 0 })
      }
    }
  }
  for (let v = 0; v < count; v++) if (state[v] === 0) visit(v)
  return isTurned
}

/** Members of a group are between its top and its bottom, which are close together. */
function groupLinks({ blocks, fences }: Input, { top, bottom }: Variables): Link[] {
  const links: Link[] = []
  const between = (from: number, to: number, weight = 0) => links.push({ from, to, length: 0, weight })
  fences.forEach(({ parent }, g) => {
    between(top(g), bottom(g), GROUP_WEIGHT)
    if (parent < 0) return
    between(top(parent), top(g))
    between(bottom(g), bottom(parent))
  })
  blocks.forEach(({ group }, b) => {
    if (group < 0) return
    between(top(group), b)
    between(b, bottom(group))
  })
  return links
}

/**
 * Where all edges between two groups lead from one to the beginnings of the other, the other is below it. An edge into the
 * middle of a group says nothing about where the group begins.
 */
function addStripLinks(input: Input, isTurned: boolean[], names: Variables, links: Links, step: number): void {
  const { fences } = input
  const pairs = new Map<string, { upper: number; lower: number; isStrip: boolean }>()
  const ordered = input.ties.map(({ from, to }, i) => (isTurned[i] ? { upper: to, lower: from } : { upper: from, lower: to }))
  const isBeginning = (end: number, group: number) =>
    !ordered.some(({ upper, lower }) => lower === end && upper !== end && pathOf(fences, groupOf(input, upper)).includes(group))
  for (const { upper, lower } of ordered) {
    const parted = partedGroups(fences, groupOf(input, upper), groupOf(input, lower))
    if (!parted) continue
    const back = pairs.get(`${parted.lower} ${parted.upper}`)
    const pair = back ?? pairs.get(`${parted.upper} ${parted.lower}`) ?? { ...parted, isStrip: true }
    if (back || !isBeginning(lower, parted.lower)) pair.isStrip = false
    if (!back) pairs.set(`${parted.upper} ${parted.lower}`, pair)
  }
  for (const { upper, lower, isStrip } of pairs.values()) {
    const link = { from: names.bottom(upper), to: names.top(lower), length: step, weight: 0 }
    if (isStrip && !links.reaches(link.to, link.from)) links.add(link)
  }
}

function groupOf({ blocks }: Input, end: number): number {
  return end >= 0 ? blocks[end]!.group : -1 - end
}

/** The outermost groups that have only one of two things in them. */
function partedGroups(fences: readonly Fence[], from: number, to: number): { upper: number; lower: number } | null {
  const [a, b] = [pathOf(fences, from), pathOf(fences, to)]
  let at = 0
  while (at < a.length && a[at] === b[at]) at++
  const [upper, lower] = [a[at], b[at]]
  return upper === undefined || lower === undefined ? null : { upper, lower }
}

class Links {
  readonly all: Link[] = []
  readonly #out: number[][]

  constructor(count: number) {
    this.#out = Array.from({ length: count }, () => [])
  }

  add(link: Link): void {
    this.all.push(link)
    this.#out[link.from]!.push(link.to)
  }

  reaches(from: number, to: number): boolean {
    const seen = new Set([from])
    const open = [from]
    for (let v = open.pop(); v !== undefined; v = open.pop()) {
      if (v === to) return true
      for (const next of this.#out[v]!) if (!seen.has(next)) open.push((seen.add(next), next))
    }
    return false
  }
}
