// Input and output of the layered layout. It knows neither texts nor shapes: boxes in ranks from top to bottom, edges between
// them, and groups that keep their boxes together. Other directions are this one, turned (graph/parts.ts).
import type { Point } from '../base/scene'

/** A box to be placed. */
export interface Block {
  width: number
  height: number
  group: number // index of the innermost group, or -1
  beside: number // room for loops, right of the box
  reach: number // edges may arrive so far from the middle
}

/** An end is the index of a block, or, below zero, that of a group: -1 - index. */
export interface Tie {
  from: number
  to: number
  width: number // of its label, or 0
  height: number
  length: number // ranks that it spans at least
}

export interface Fence {
  parent: number // index of the group around it, or -1
  before: number // room between its border and its first rank
  after: number
  left: number
  right: number
  across: number // its least size along a rank
  along: number // and in the direction of ranks
}

export interface Input {
  blocks: Block[]
  ties: Tie[]
  fences: Fence[]
}

/** A block, or a place where an edge passes a rank. */
export interface Vertex {
  rank: number
  group: number
  block: number // or -1
  tie: number // that passes here, or -1
  left: number // from its x to its left side
  right: number
  height: number
  x: number
}

/** A piece of an edge, from a rank to the next. */
export interface Segment {
  from: number // vertices
  to: number
  tie: number
}

export interface Route {
  points: Point[] // from the middle of the first block to that of the last, as the tie says
  label: Point | null
}

export interface Output {
  blocks: Point[] // middles
  routes: (Route | null)[] // null: the tie cannot be drawn
  fences: { x: number; y: number; width: number; height: number }[]
}

/** The groups around a vertex, the outermost first. */
export function pathOf(fences: readonly Fence[], group: number): number[] {
  const path: number[] = []
  for (let g = group; g >= 0; g = fences[g]!.parent) path.unshift(g)
  return path
}
