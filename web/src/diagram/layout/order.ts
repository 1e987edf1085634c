// The order within ranks: few edges cross, and what belongs to a group stands together. Sweeps down and up sort each rank
// by the mean place of the neighbours in the rank before; neighbours are then exchanged where that helps.
import type { Clock } from '../base/limits'
import type { Chains } from './chains'
import { type Fence, pathOf } from './layers'

const SWEEPS_MAX = 24
const PATIENCE = 6 // sweeps without improvement
const BORDER_COST = 3 // of an edge that crosses a group from side to side

type Child = { key: number | null; group: number; members: number[] }

export function order(made: Chains, fences: readonly Fence[], clock: Clock): number[][] {
  return new Orderer(made, fences, clock).run()
}

class Orderer {
  #layers: number[][]
  readonly #up: number[][]
  readonly #down: number[][]
  readonly #place: number[]
  readonly #paths: number[][]
  #groupPlace: number[] // groups side by side keep this order in all ranks
  #isTurned = false // equal keys are sorted the other way round, which leads out of dead ends
  #groupSum: { sum: number; count: number }[] = []

  constructor(
    readonly made: Chains,
    readonly fences: readonly Fence[],
    readonly clock: Clock,
  ) {
    const { vertices, segments, count } = made
    this.#up = vertices.map(() => [])
    this.#down = vertices.map(() => [])
    for (const { from, to } of segments) {
      this.#down[from]!.push(to)
      this.#up[to]!.push(from)
    }
    this.#paths = vertices.map(({ group }) => pathOf(fences, group))
    this.#place = vertices.map(() => 0)
    this.#groupPlace = fences.map((_, g) => g)
    this.#layers = this.#first(count)
  }

  run(): number[][] {
    let best = this.#copy()
    let least = this.#cost()
    for (let sweep = 0, idle = 0; sweep < SWEEPS_MAX && idle < PATIENCE && least > 0 && !this.clock.isLate; sweep++) {
      this.#isTurned = sweep % 4 > 1
      this.#sweep(sweep % 2 === 0)
      this.#exchange()
      const cost = this.#cost()
      idle = cost < least ? 0 : idle + 1
      if (cost < least) [least, best] = [cost, this.#copy()]
    }
    return best
  }

  #copy(): number[][] {
    return this.#layers.map((layer) => [...layer])
  }

  /** As edges are found when they are followed from the top. */
  #first(count: number): number[][] {
    const { vertices } = this.made
    const seen = vertices.map(() => -1)
    let found = 0
    const visit = (start: number) => {
      const open = [start]
      for (let v = open.pop(); v !== undefined; v = open.pop()) {
        if (seen[v]! >= 0) continue
        seen[v] = found++
        open.push(...this.#down[v]!.filter((next) => seen[next]! < 0).reverse())
      }
    }
    const byRank = vertices.map((_, v) => v).sort((a, b) => vertices[a]!.rank - vertices[b]!.rank || a - b)
    for (const v of byRank) visit(v)
    const layers: number[][] = Array.from({ length: count }, () => [])
    byRank.forEach((v) => layers[vertices[v]!.rank]!.push(v))
    this.#layers = layers
    this.#beginKeys()
    for (const layer of layers) {
      layer.sort((a, b) => seen[a]! - seen[b]!)
      this.#sortLayer(layer, (v) => seen[v]!)
    }
    this.#endKeys()
    for (const layer of layers) this.#sortLayer(layer, (v) => seen[v]!)
    return layers
  }

  #sweep(isDown: boolean): void {
    const { count } = this.made
    const near = isDown ? this.#up : this.#down
    const key = (v: number) => {
      const all = near[v]!
      return all.length === 0 ? null : all.reduce((sum, u) => sum + this.#place[u]!, 0) / all.length
    }
    this.#beginKeys()
    for (let i = 0; i < count; i++) this.#sortLayer(this.#layers[isDown ? i : count - 1 - i]!, key)
    this.#endKeys()
  }

  #beginKeys(): void {
    this.#groupSum = this.fences.map(() => ({ sum: 0, count: 0 }))
  }

  /** The order of groups follows from where their members wanted to be in all ranks. */
  #endKeys(): void {
    const mean = this.#groupSum.map(({ sum, count }, g) => (count > 0 ? sum / count : this.#groupPlace[g]!))
    const sorted = this.fences.map((_, g) => g).sort((a, b) => mean[a]! - mean[b]! || this.#groupPlace[a]! - this.#groupPlace[b]!)
    sorted.forEach((g, i) => (this.#groupPlace[g] = i))
  }

  #sortLayer(layer: number[], key: (v: number) => number | null): void {
    const keys = new Map(layer.map((v) => [v, key(v)]))
    for (const [v, value] of keys) {
      if (value === null) continue
      for (const g of this.#paths[v]!) {
        this.#groupSum[g]!.sum += value
        this.#groupSum[g]!.count++
      }
    }
    const sorted = this.#sorted(layer, 0, keys)
    sorted.forEach((v, i) => {
      layer[i] = v
      this.#place[v] = i
    })
  }

  /** Members of one group, of which `depth` groups around are known. */
  #sorted(members: number[], depth: number, keys: Map<number, number | null>): number[] {
    const children: Child[] = []
    const groups = new Map<number, Child>()
    for (const v of members) {
      const group = this.#paths[v]![depth] ?? -1
      const known = group >= 0 ? groups.get(group) : undefined
      if (known) {
        known.members.push(v)
        continue
      }
      const child = { key: null, group, members: [v] }
      children.push(child)
      if (group >= 0) groups.set(group, child)
    }
    for (const child of children) child.key = meanKey(child.members, keys)
    const placed = this.#inGroupOrder(byKey(children, this.#isTurned))
    return placed.flatMap((child) => (child.group >= 0 ? this.#sorted(child.members, depth + 1, keys) : child.members))
  }

  #inGroupOrder(children: Child[]): Child[] {
    const groups = children.filter(({ group }) => group >= 0).sort((a, b) => this.#groupPlace[a.group]! - this.#groupPlace[b.group]!)
    return groups.length < 2 ? children : children.map((child) => (child.group >= 0 ? groups.shift()! : child))
  }

  #exchange(): void {
    for (let round = 0, isBetter = true; isBetter && round < 8 && !this.clock.isLate; round++) {
      isBetter = false
      for (const layer of this.#layers) {
        for (let i = 1; i < layer.length; i++) if (this.#tryExchange(layer, i)) isBetter = true
      }
    }
  }

  #tryExchange(layer: number[], i: number): boolean {
    const [a, b] = [layer[i - 1]!, layer[i]!]
    if (this.made.vertices[a]!.group !== this.made.vertices[b]!.group) return false
    const gain = this.#crossed(a, b) - this.#crossed(b, a)
    if (gain <= 0) return false
    layer[i - 1] = b
    layer[i] = a
    this.#place[a] = i
    this.#place[b] = i - 1
    return true
  }

  /** Crossings of the edges of two neighbours, the first on the left. */
  #crossed(a: number, b: number): number {
    let count = 0
    for (const near of [this.#up, this.#down]) {
      for (const u of near[a]!) for (const v of near[b]!) if (this.#place[u]! > this.#place[v]!) count++
    }
    return count
  }

  #cost(): number {
    let cost = 0
    for (let rank = 1; rank < this.#layers.length; rank++) cost += this.#crossings(rank) + BORDER_COST * this.#bordersCrossed(rank)
    return cost
  }

  /** Between a rank and the one above it: inversions, counted with a tree of sums. */
  #crossings(rank: number): number {
    const below = this.#layers[rank]!
    const size = this.#layers[rank - 1]!.length
    const sums = new Array<number>(size + 1).fill(0)
    let count = 0
    let seen = 0
    for (const v of below) {
      const places = this.#up[v]!.map((u) => this.#place[u]!)
      for (const place of places) {
        let upTo = 0
        for (let i = place + 1; i > 0; i -= i & -i) upTo += sums[i]!
        count += seen - upTo
      }
      for (const place of places) for (let i = place + 1; i <= size; i += i & -i) sums[i]!++
      seen += places.length
    }
    return count
  }

  /** Edges that are on different sides of a group in this rank and in the one above. */
  #bordersCrossed(rank: number): number {
    let count = 0
    this.fences.forEach((_, g) => {
      const { first, last } = this.made.spans[g]!
      if (rank <= first || rank > last) return
      const above = this.#middleOf(g, rank - 1)
      const below = this.#middleOf(g, rank)
      for (const v of this.#layers[rank]!) {
        if (this.#paths[v]!.includes(g)) continue
        for (const u of this.#up[v]!) {
          if (!this.#paths[u]!.includes(g) && this.#place[u]! < above !== this.#place[v]! < below) count++
        }
      }
    })
    return count
  }

  #middleOf(group: number, rank: number): number {
    return this.#layers[rank]!.findIndex((v) => this.#paths[v]!.includes(group))
  }
}

function meanKey(members: number[], keys: Map<number, number | null>): number | null {
  const known = members.map((v) => keys.get(v) ?? null).filter((key) => key !== null)
  return known.length === 0 ? null : known.reduce((sum, key) => sum + key, 0) / known.length
}

/** Children without a key stay where they are. */
function byKey(children: Child[], isTurned: boolean): Child[] {
  const keyed = children.filter(({ key }) => key !== null)
  const sorted = (isTurned ? keyed.reverse() : keyed).sort((a, b) => a.key! - b.key!)
  return children.map((child) => (child.key === null ? child : sorted.shift()!))
}
