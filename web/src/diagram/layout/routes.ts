// Edges on their way: where they leave and enter blocks, and through which points they go.
import type { Point } from '../base/scene'
import type { Chains } from './chains'
import { type Input, pathOf, type Route, type Vertex } from './layers'
import type { Places } from './places'

const PORT_GAP = 14
const FAN = 0.55 // of the reach, for edges that go to the side

export function route(input: Input, made: Chains, layers: number[][], { bands, ends, sides }: Places): (Route | null)[] {
  const ports = portsOf(input, made)
  const rooms = roomsOf(input, made, layers, sides)
  return input.ties.map((tie, i) => {
    const chain = made.chains[i]
    if (!chain) return null
    const { vertices } = made
    const { way, isDown } = chain
    const [first, last] = [vertices[way[0]!]!, vertices[way.at(-1)!]!]
    const { start, finish } = ports[i]!
    const [upper, lower] = isDown ? [tie.from, tie.to] : [tie.to, tie.from]
    const points = [startPoint(first, start, upper, ends, bands, true)]
    points.push({ x: points[0]!.x, y: upper >= 0 ? bands[first.rank]!.bottom : points[0]!.y })
    let label: Point | null = null
    const gates: Gate[] = []
    for (const v of way.slice(1, -1)) {
      const { x, rank, height } = vertices[v]!
      const { top, bottom } = bands[rank]!
      const middle = (top + bottom) / 2
      if (height > 0) label = { x, y: middle }
      gates.push(height > 0 ? fixedGate(x, middle) : { x, top, bottom, ...rooms[v]! })
    }
    const end = startPoint(last, finish, lower, ends, bands, false)
    const arrival = lower >= 0 ? bands[last.rank]!.top : end.y
    gates.push(fixedGate(end.x, arrival))
    const direct = through(points[1]!, gates)
    if (direct.length > 1) align(points[1]!, gates)
    points.push(...(direct.length > 1 ? through(points[1]!, gates) : direct), end)
    return { points: isDown ? points : points.reverse(), label }
  })
}

/** The place where an edge passes a rank, and the room that it has there. */
interface Gate extends Room {
  x: number
  top: number
  bottom: number
}

/** At a label, or at the end of an edge. */
function fixedGate(x: number, y: number): Gate {
  return { x, top: y, bottom: y, left: x, right: x, least: x, most: x }
}

const CLEARANCE = 12
const BORDER = 8
const NUDGE = 24

interface Room {
  left: number // an edge may pass here in a bend
  right: number
  least: number // and here for long: other edges keep half of the way
  most: number
}

/** The room of each vertex in its rank: within its group, up to the next block, group or edge. */
function roomsOf({ fences }: Input, { vertices }: Chains, layers: number[][], sides: Places['sides']): Room[] {
  const rooms = vertices.map(({ group }): Room => {
    const [left, right] = group < 0 ? [-Infinity, Infinity] : [sides[group]!.left + BORDER, sides[group]!.right - BORDER]
    return { left, right, least: left, most: right }
  })
  for (const layer of layers) {
    for (let i = 1; i < layer.length; i++) {
      const [a, b] = [vertices[layer[i - 1]!]!, vertices[layer[i]!]!]
      const [before, after] = [rooms[layer[i - 1]!]!, rooms[layer[i]!]!]
      const [from, to] = [a.x + a.right, b.x - b.left]
      const [closed, opened] = [parted(fences, a.group, b.group), parted(fences, b.group, a.group)]
      before.right = Math.min(before.right, opened >= 0 ? sides[opened]!.left - BORDER : to - CLEARANCE)
      after.left = Math.max(after.left, closed >= 0 ? sides[closed]!.right + BORDER : from + CLEARANCE)
      before.most = Math.min(before.right, b.block >= 0 ? Infinity : (from + to) / 2 - 3)
      after.least = Math.max(after.left, a.block >= 0 ? -Infinity : (from + to) / 2 + 3)
    }
  }
  return rooms
}

/** The outermost group around the first that is not around the second, or -1. */
function parted(fences: Input['fences'], first: number, second: number): number {
  const others = pathOf(fences, second)
  return pathOf(fences, first).find((group) => !others.includes(group)) ?? -1
}

/** Gates near an end of the edge are moved to where the edge leaves its block: it bends once less. */
function align(start: Point, gates: Gate[]): void {
  const move = (gate: Gate, x: number, far: number) => {
    if (Math.abs(gate.x - x) > far || x < gate.least || x > gate.most) return false
    gate.x = x
    return true
  }
  const isStraight = ({ x }: Gate) => Math.abs(x - start.x) < 1
  let last = gates.length - 2
  while (last >= 0 && move(gates[last]!, gates[last + 1]!.x, isStraight(gates[last]!) ? NUDGE : Infinity)) last--
  for (let i = 0; i <= last && move(gates[i]!, start.x, NUDGE); i++);
}

/** From a point through gates, in bends that are as long as the room at the gates allows. */
function through(start: Point, gates: readonly Gate[]): Point[] {
  const points: Point[] = []
  let from = start
  for (let next = 0; next < gates.length; ) {
    let to = gates.length - 1
    while (to > next && !gates.slice(next, to).every((gate) => isFree(from, gates[to]!, gate))) to--
    const { x, top, bottom } = gates[to]!
    points.push({ x, y: top })
    from = { x, y: bottom }
    if (bottom > top) points.push(from)
    next = to + 1
  }
  return points
}

/** Whether a bend from a point to the top of a gate has room at a gate between them. */
function isFree(from: Point, { x, top }: Gate, { top: above, bottom: below, left, right }: Gate): boolean {
  const at = (y: number) => from.x + (x - from.x) * eased((y - from.y) / (top - from.y))
  const ends = [at(above - CLEARANCE), at(below + CLEARANCE)]
  return Math.min(...ends) >= left - 0.5 && Math.max(...ends) <= right + 0.5
}

/** How far to the side a bend has gone after a part of its way (heads.ts draws it). */
function eased(part: number): number {
  let [low, high] = [0, 1]
  for (let i = 0; i < 12; i++) {
    const t = (low + high) / 2
    if (1.5 * t - 1.5 * t * t + t * t * t < part) low = t
    else high = t
  }
  return 3 * low * low - 2 * low * low * low
}

/** The middle of a block, or the border of a group, at the place of the port. */
function startPoint(vertex: Vertex, port: number, end: number, ends: Places['ends'], bands: Places['bands'], isStart: boolean): Point {
  const { top, bottom } = bands[vertex.rank]!
  const x = vertex.x + port
  if (end >= 0) return { x, y: (top + bottom) / 2 }
  return { x, y: isStart ? ends[-1 - end]!.bottom : ends[-1 - end]!.top }
}

interface Ports {
  start: number
  finish: number
}

/** Where edges meet a block, as distances from its middle: towards where they come from, and apart from each other. */
function portsOf(input: Input, { vertices, chains }: Chains): Ports[] {
  const ports: Ports[] = input.ties.map(() => ({ start: 0, finish: 0 }))
  const sides = new Map<string, { tie: number; wanted: number; towards: number; reach: number }[]>()
  const add = (tie: number, v: number, other: number, side: keyof Ports) => {
    const reach = reachOf(input, vertices[v]!)
    const towards = vertices[other]!.x - vertices[v]!.x
    const wanted = wantedPort(towards, reach, reachOf(input, vertices[other]!))
    const key = `${v} ${side}`
    const known = sides.get(key)
    if (known) known.push({ tie, wanted, towards, reach })
    else sides.set(key, [{ tie, wanted, towards, reach }])
  }
  chains.forEach((chain, tie) => {
    if (!chain) return
    const { way } = chain
    add(tie, way[0]!, way[1]!, 'start')
    add(tie, way.at(-1)!, way.at(-2)!, 'finish')
  })
  for (const [key, all] of sides) {
    const side = key.split(' ')[1] as keyof Ports
    all.sort((a, b) => a.towards - b.towards || a.tie - b.tie)
    const spread = spreadOut(all.map(({ wanted }) => wanted), all[0]!.reach)
    all.forEach(({ tie }, i) => (ports[tie]![side] = spread[i]!))
  }
  return ports
}

function reachOf({ blocks }: Input, { block }: Vertex): number {
  return block < 0 ? 0 : blocks[block]!.reach
}

/** The wider of two blocks makes the edge between them straight, if it can. */
function wantedPort(towards: number, reach: number, otherReach: number): number {
  if (towards === 0) return 0
  if (Math.abs(towards) <= reach && reach >= otherReach) return towards
  if (Math.abs(towards) <= otherReach) return 0
  return Math.sign(towards) * Math.min(reach * FAN, Math.abs(towards))
}

/** Keeps their order and a distance between them, moving them as little as possible. */
export function spreadOut(wanted: readonly number[], reach: number): number[] {
  const n = wanted.length
  if (n < 2) return [...wanted]
  const gap = Math.min(PORT_GAP, (2 * reach) / (n - 1))
  const pools: { sum: number; count: number }[] = []
  wanted.forEach((value, i) => {
    pools.push({ sum: value - i * gap, count: 1 })
    for (let last = pools.at(-1)!, before = pools.at(-2); before && before.sum / before.count > last.sum / last.count; before = pools.at(-2)) {
      pools.pop()
      before.sum += last.sum
      before.count += last.count
      last = before
    }
  })
  const most = reach - (n - 1) * gap
  const means = pools.flatMap(({ sum, count }) => new Array<number>(count).fill(Math.min(most, Math.max(-reach, sum / count))))
  return means.map((mean, i) => mean + i * gap)
}
