// A graph in parts: everything outside and inside of groups is laid out together, except groups with a direction of their
// own that no edge enters: these are laid out first, and are then like a node.
import { type Clock, demand } from '../base/limits'
import type { Box, Point } from '../base/scene'
import type { Label } from '../base/text'
import { layered } from '../layout/layered'
import type { Block, Fence, Input, Output, Tie } from '../layout/layers'
import type { Direction, Edge, Graph } from './graph'
import type { Size } from './shapes'

export interface Sizes {
  node: (id: string) => Size & { reach: (isAcross: boolean) => number }
  title: (group: string) => Label
  label: (edge: Edge) => Label
}

export interface Routed {
  edge: Edge
  points: Point[] // empty: a loop
  label: Point | null
  isAcross: boolean // ranks run from left to right
}

export interface Arranged extends Size {
  nodes: Map<string, Point> // middles
  groups: Map<string, Box>
  edges: Routed[]
}

const PAD = 18
const LOOP = 36

export const isAcross = (direction: Direction) => direction === 'LR' || direction === 'RL'

export function arrange(graph: Graph, sizes: Sizes, clock: Clock): Arranged {
  return new Part(graph, sizes, clock, null, graph.direction).arrange()
}

class Part {
  readonly #ids: string[] = [] // of blocks: nodes, and groups that are parts of their own
  readonly #groups: string[] = []
  readonly #inner = new Map<string, Arranged>()
  readonly #edges: Edge[] = []

  constructor(
    readonly graph: Graph,
    readonly sizes: Sizes,
    readonly clock: Clock,
    readonly scope: string | null,
    readonly direction: Direction,
  ) {}

  arrange(): Arranged {
    this.#collect()
    const input = this.#input()
    const output = layered(input, this.clock)
    return this.#placed(output, input)
  }

  get #isAcross(): boolean {
    return isAcross(this.direction)
  }

  #collect(): void {
    const { graph } = this
    const isHere = (id: string) => this.scope === null || graph.isIn(id, this.scope)
    for (const { id, direction } of graph.groups.values()) {
      if (!isHere(id) || this.#partOf(id) !== null) continue
      if (direction && direction !== this.direction && this.#isClosed(id)) {
        this.#inner.set(id, new Part(graph, this.sizes, this.clock, id, direction).arrange())
        this.#ids.push(id)
      } else this.#groups.push(id)
    }
    for (const id of graph.nodes.keys()) if (isHere(id) && this.#partOf(id) === null) this.#ids.push(id)
    for (const edge of graph.edges) {
      const isMine = (id: string) => this.#ids.includes(id) || this.#groups.includes(id)
      if (isMine(edge.from) && isMine(edge.to)) this.#edges.push(edge)
    }
  }

  /** The part of its own that something is in. */
  #partOf(id: string): string | null {
    for (const part of this.#inner.keys()) if (this.graph.isIn(id, part)) return part
    return null
  }

  #isClosed(group: string): boolean {
    const { graph } = this
    return graph.edges.every(({ from, to }) => {
      const [isFromIn, isToIn] = [graph.isIn(from, group), graph.isIn(to, group)]
      return isFromIn === isToIn
    })
  }

  #sizeOf(id: string): Size & { reach: number } {
    const inner = this.#inner.get(id)
    if (!inner) {
      const { width, height, reach } = this.sizes.node(id)
      return { width, height, reach: reach(this.#isAcross) }
    }
    const title = this.sizes.title(id)
    const width = Math.max(inner.width, title.width) + 2 * PAD
    const height = inner.height + 2 * PAD + titleRoom(title)
    return { width, height, reach: (this.#isAcross ? height : width) / 2 - 10 }
  }

  #input(): Input {
    const { graph, sizes } = this
    const indexOf = (group: string | null) => (group === null ? -1 : this.#groups.indexOf(group))
    const blocks = this.#ids.map((id): Block => {
      const { width, height, reach } = this.#sizeOf(id)
      const group = indexOf(graph.groups.get(id)?.parent ?? graph.nodes.get(id)?.group ?? null)
      const [w, h] = this.#isAcross ? [height, width] : [width, height]
      return { width: w, height: h, group, reach, beside: this.#loopRoom(id) }
    })
    const endOf = (id: string) => (this.#ids.includes(id) ? this.#ids.indexOf(id) : -1 - this.#groups.indexOf(id))
    const ties = this.#edges.map((edge): Tie => {
      const { width, height } = sizes.label(edge)
      const [w, h] = this.#isAcross ? [height, width] : [width, height]
      const pad = width > 0 ? 12 : 0
      const more = width > 0 && (edge.tailLabel || edge.headLabel) ? 20 : 0
      return { from: endOf(edge.from), to: endOf(edge.to), width: w + pad, height: h + pad + more, length: edge.length }
    })
    const fences = this.#groups.map((id) => this.#fenceOf(id, indexOf(graph.groups.get(id)!.parent)))
    return { blocks, ties, fences }
  }

  /** Loops are drawn where the next node of the rank would be. */
  #loopRoom(id: string): number {
    const loops = this.#edges.filter(({ from, to }) => from === id && to === id)
    const sizes = loops.map((edge) => (this.#isAcross ? this.sizes.label(edge).height : this.sizes.label(edge).width))
    return loops.length === 0 ? 0 : LOOP + Math.max(...sizes)
  }

  /** The title of a group is above it, whatever the direction. */
  #fenceOf(id: string, parent: number): Fence {
    const title = this.sizes.title(id)
    const top = PAD + titleRoom(title)
    const size = title.width + 2 * PAD
    const level = { left: PAD, right: PAD, across: size, along: 0 }
    if (this.direction === 'TB') return { parent, ...level, before: top, after: PAD }
    if (this.direction === 'BT') return { parent, ...level, before: PAD, after: top }
    return { parent, left: top, right: PAD, before: PAD, after: PAD, across: 0, along: size }
  }

  #turned({ x, y }: Point): Point {
    if (this.direction === 'TB') return { x, y }
    if (this.direction === 'BT') return { x, y: -y }
    return this.direction === 'LR' ? { x: y, y: x } : { x: -y, y: x }
  }

  #turnedBox({ x, y, width, height }: Box): Box {
    const [a, b] = [this.#turned({ x, y }), this.#turned({ x: x + width, y: y + height })]
    return { x: Math.min(a.x, b.x), y: Math.min(a.y, b.y), width: Math.abs(a.x - b.x), height: Math.abs(a.y - b.y) }
  }

  #placed(output: Output, input: Input): Arranged {
    const placed: Arranged = { nodes: new Map(), groups: new Map(), edges: [], width: 0, height: 0 }
    output.fences.forEach((fence, g) => placed.groups.set(this.#groups[g]!, this.#turnedBox(fence)))
    output.blocks.forEach((middle, b) => this.#putBlock(placed, this.#ids[b]!, this.#turned(middle)))
    this.#edges.forEach((edge, i) => {
      const route = output.routes[i]
      const isLoop = edge.from === edge.to && input.ties[i]!.from >= 0
      if (!route && !isLoop) {
        placed.edges.push(this.#sideways(edge, placed))
        return
      }
      const label = route?.label ? this.#turned(route.label) : null
      placed.edges.push({ edge, points: route?.points.map((point) => this.#turned(point)) ?? [], label, isAcross: this.#isAcross })
    })
    return this.#measured(placed)
  }

  /** An edge between a group and something that has to be beside it. There is no room for a label. */
  #sideways(edge: Edge, placed: Arranged): Routed {
    const { from, to } = edge
    demand(edge.label === '' && from !== to && !this.graph.isIn(from, to) && !this.graph.isIn(to, from))
    const ends = [from, to].map((id): Box => {
      const group = placed.groups.get(id)
      if (group) return group
      const [{ x, y }, { width, height }] = [placed.nodes.get(id)!, this.#sizeOf(id)]
      return { x: x - width / 2, y: y - height / 2, width, height }
    }) as [Box, Box]
    // Seen so that ranks run from top to bottom.
    const [a, b] = (this.#isAcross ? ends.map(({ x, y, width, height }) => ({ x: y, y: x, width: height, height: width })) : ends) as [Box, Box]
    const level = (Math.max(a.y, b.y) + Math.min(a.y + a.height, b.y + b.height)) / 2
    const isRight = a.x < b.x
    const points = [
      { x: isRight ? a.x + a.width : a.x, y: level },
      { x: isRight ? b.x : b.x + b.width, y: level },
    ].map(({ x, y }) => (this.#isAcross ? { x: y, y: x } : { x, y }))
    return { edge, points, label: null, isAcross: !this.#isAcross }
  }

  #putBlock(placed: Arranged, id: string, middle: Point): void {
    placed.nodes.set(id, middle)
    const inner = this.#inner.get(id)
    if (!inner) return
    const { width, height } = this.#sizeOf(id)
    const box = { x: middle.x - width / 2, y: middle.y - height / 2, width, height }
    placed.groups.set(id, box)
    const x = middle.x - inner.width / 2
    const y = box.y + PAD + titleRoom(this.sizes.title(id))
    const moved = (point: Point) => ({ x: point.x + x, y: point.y + y })
    for (const [name, at] of inner.nodes) placed.nodes.set(name, moved(at))
    for (const [name, at] of inner.groups) placed.groups.set(name, { ...at, ...moved(at) })
    for (const routed of inner.edges) placed.edges.push({ ...routed, points: routed.points.map(moved), label: routed.label && moved(routed.label) })
  }

  /** With its upper left corner at 0, 0. */
  #measured(placed: Arranged): Arranged {
    const boxes: Box[] = [...placed.groups.values()]
    for (const [id, { x, y }] of placed.nodes) {
      const { width, height } = this.graph.nodes.has(id) ? this.sizes.node(id) : this.#sizeOf(id)
      const more = this.#loopRoom(id)
      const [aside, below] = this.#isAcross ? [0, more] : [more, 0]
      boxes.push({ x: x - width / 2, y: y - height / 2, width: width + aside, height: height + below })
    }
    for (const { points } of placed.edges) for (const { x, y } of points) boxes.push({ x, y, width: 0, height: 0 })
    const [left, top] = [Math.min(...boxes.map(({ x }) => x)), Math.min(...boxes.map(({ y }) => y))]
    for (const [id, { x, y }] of placed.nodes) placed.nodes.set(id, { x: x - left, y: y - top })
    for (const [id, box] of placed.groups) placed.groups.set(id, { ...box, x: box.x - left, y: box.y - top })
    for (const routed of placed.edges) {
      routed.points = routed.points.map(({ x, y }) => ({ x: x - left, y: y - top }))
      if (routed.label) routed.label = { x: routed.label.x - left, y: routed.label.y - top }
    }
    placed.width = Math.max(...boxes.map(({ x, width }) => x + width)) - left
    placed.height = Math.max(...boxes.map(({ y, height }) => y + height)) - top
    return placed
  }
}

export function titleRoom({ height }: Label): number {
  return height > 0 ? height + 6 : 0
}
