// The network simplex: numbers for variables, so that `to - from >= length` holds for every link and the sum of
// weight * (to - from) is as small as possible. Ranks of nodes and places within ranks are both found with it, after
// Gansner, Koutsofios, North and Vo, "A technique for drawing directed graphs". Links must not form a cycle.
import { Unreadable, type Clock } from '../base/limits'

export interface Link {
  from: number
  to: number
  length: number
  weight: number
}

const WORK_MAX = 20_000_000 // links that are looked at

/** Stops early when the time is over: every intermediate state satisfies all links. */
export function solve(count: number, links: readonly Link[], clock: Clock, isBalanced = false): number[] {
  if (count === 0) return []
  const solver = new Solver(count, connected(count, links), clock)
  solver.run()
  if (isBalanced) solver.balance()
  return solver.normalised()
}

/** Parts that nothing connects are tied to the first variable by links that cost nothing. */
function connected(count: number, links: readonly Link[]): Link[] {
  const parts = Array.from({ length: count }, (_, i) => i)
  const find = (v: number): number => {
    while (parts[v] !== v) v = parts[v] = parts[parts[v]!]!
    return v
  }
  for (const { from, to } of links) parts[find(from)] = find(to)
  const all = [...links]
  for (let v = 1; v < count; v++) {
    if (find(v) === find(0)) continue
    // A link from outside into a part never closes a cycle: nothing leads back.
    all.push({ from: 0, to: v, length: 0, weight: 0 })
    parts[find(v)] = find(0)
  }
  return all
}

class Solver {
  readonly #value: number[]
  readonly #at: number[][] // links at each variable
  readonly #isTree: boolean[]
  readonly #parent: number[] // the link to the parent in the tree, -1 at the root
  readonly #low: number[] // subtrees are ranges of `lim`
  readonly #lim: number[]
  readonly #cut: number[] // by link of the tree
  #order: number[] = [] // children before parents
  #next = 0

  constructor(
    readonly count: number,
    readonly links: readonly Link[],
    readonly clock: Clock,
  ) {
    this.#at = Array.from({ length: count }, () => [])
    links.forEach(({ from, to }, i) => {
      this.#at[from]!.push(i)
      this.#at[to]!.push(i)
    })
    this.#value = this.#longestPaths()
    this.#isTree = links.map(() => false)
    this.#parent = new Array<number>(count).fill(-1)
    this.#low = new Array<number>(count).fill(0)
    this.#lim = new Array<number>(count).fill(0)
    this.#cut = links.map(() => 0)
  }

  run(): void {
    this.#growTree()
    this.#walkTree()
    const pivots = WORK_MAX / (4 * this.links.length + 1)
    for (let i = 0; i < pivots && !this.clock.isLate; i++) {
      const leaving = this.#leaving()
      if (leaving < 0) return
      const entering = this.#entering(leaving)
      if (entering < 0) return
      this.#shift(leaving, this.#slack(entering))
      this.#isTree[leaving] = false
      this.#isTree[entering] = true
      this.#walkTree()
    }
  }

  /** Parts that can move without a change of the sum are moved to the middle of their room. */
  balance(): void {
    for (let i = 0; i < this.links.length; i++) {
      if (!this.#isTree[i] || this.#cut[i] !== 0 || this.clock.isLate) continue
      const entering = this.#entering(i)
      if (entering < 0) continue
      const room = this.#slack(entering)
      if (room > 1) this.#shift(i, Math.floor(room / 2))
    }
  }

  normalised(): number[] {
    const least = this.#value.reduce((a, b) => Math.min(a, b), Infinity)
    return this.#value.map((value) => value - least)
  }

  #slack(i: number): number {
    const { from, to, length } = this.links[i]!
    return this.#value[to]! - this.#value[from]! - length
  }

  /** A first solution. */
  #longestPaths(): number[] {
    const value = new Array<number>(this.count).fill(0)
    const waiting = new Array<number>(this.count).fill(0)
    for (const { to } of this.links) waiting[to]!++
    const ready = value.flatMap((_, v) => (waiting[v] === 0 ? [v] : []))
    let done = 0
    for (let v = ready.pop(); v !== undefined; v = ready.pop(), done++) {
      for (const i of this.#at[v]!) {
        const { from, to, length } = this.links[i]!
        if (from !== v) continue
        value[to] = Math.max(value[to]!, value[v]! + length)
        if (--waiting[to]! === 0) ready.push(to)
      }
    }
    if (done < this.count) throw new Unreadable() // a cycle
    const isFirst = new Array<boolean>(this.count).fill(true)
    for (const { to } of this.links) isFirst[to] = false
    // Close to what follows, so that most variables have a link without slack: the tree is found faster.
    for (let v = 0; v < this.count; v++) {
      if (isFirst[v] && this.#at[v]!.length > 0) value[v] = Math.min(...this.#at[v]!.map((i) => value[this.links[i]!.to]! - this.links[i]!.length))
    }
    return value
  }

  /** A spanning tree of links without slack. */
  #growTree(): void {
    const isIn = new Array<boolean>(this.count).fill(false)
    const members: number[] = []
    const add = (v: number) => {
      const open = [v]
      isIn[v] = true
      for (let next = open.pop(); next !== undefined; next = open.pop()) {
        members.push(next)
        for (const i of this.#at[next]!) {
          const { from, to } = this.links[i]!
          const other = from === next ? to : from
          if (isIn[other] || this.#slack(i) !== 0) continue
          isIn[other] = true
          this.#isTree[i] = true
          open.push(other)
        }
      }
    }
    add(0)
    while (members.length < this.count) {
      void this.clock.isLate // gives up in the end
      let best = -1
      for (let i = 0; i < this.links.length; i++) {
        const { from, to } = this.links[i]!
        if (isIn[from] !== isIn[to] && (best < 0 || this.#slack(i) < this.#slack(best))) best = i
      }
      const { from, to } = this.links[best]!
      const by = isIn[from] ? this.#slack(best) : -this.#slack(best)
      for (const v of members) this.#value[v]! += by
      this.#isTree[best] = true
      add(isIn[from] ? to : from)
    }
  }

  /** Parents, ranges and cut values of the tree as it is now. */
  #walkTree(): void {
    const { links } = this
    const order: number[] = []
    const open = [0]
    this.#parent[0] = -1
    for (let v = open.pop(); v !== undefined; v = open.pop()) {
      order.push(v)
      for (const i of this.#at[v]!) {
        if (!this.#isTree[i] || i === this.#parent[v]) continue
        const child = links[i]!.from === v ? links[i]!.to : links[i]!.from
        this.#parent[child] = i
        open.push(child)
      }
    }
    this.#order = order.reverse()
    this.#number()
    for (const v of this.#order) if (this.#parent[v]! >= 0) this.#cut[this.#parent[v]!] = this.#cutOf(v)
  }

  /** In the reverse of the order of a walk, every subtree is a range that ends with its root. */
  #number(): void {
    this.#order.forEach((v, i) => {
      this.#lim[v] = i
      this.#low[v] = i
    })
    for (const v of this.#order) {
      const i = this.#parent[v]!
      if (i < 0) continue
      const parent = this.links[i]!.from === v ? this.links[i]!.to : this.links[i]!.from
      this.#low[parent] = Math.min(this.#low[parent]!, this.#low[v]!)
    }
  }

  /** The cut value of the link between v and its parent: the cost of making that link longer by one. */
  #cutOf(v: number): number {
    const parent = this.#parent[v]!
    const isTail = this.links[parent]!.from === v
    let cut = this.links[parent]!.weight
    for (const i of this.#at[v]!) {
      if (i === parent) continue
      const isAlong = (this.links[i]!.from === v) === isTail
      const gain = this.links[i]!.weight - (this.#isTree[i] ? this.#cut[i]! : 0)
      cut += isAlong ? gain : -gain
    }
    return cut
  }

  #leaving(): number {
    for (let tried = 0; tried < this.links.length; tried++) {
      this.#next = (this.#next + 1) % this.links.length
      if (this.#isTree[this.#next] && this.#cut[this.#next]! < 0) return this.#next
    }
    return -1
  }

  /** The root of the part below a link of the tree. */
  #below(i: number): number {
    const { from, to } = this.links[i]!
    return this.#parent[from] === i ? from : to
  }

  #isBelow(v: number, root: number): boolean {
    return this.#low[root]! <= this.#lim[v]! && this.#lim[v]! <= this.#lim[root]!
  }

  /** The link with the least slack that leads from the part at the head of a link to that at its tail. */
  #entering(leaving: number): number {
    const root = this.#below(leaving)
    const isTailBelow = this.links[leaving]!.from === root
    let best = -1
    for (let i = 0; i < this.links.length; i++) {
      if (i === leaving) continue
      const { from, to } = this.links[i]!
      if (this.#isBelow(from, root) === isTailBelow || this.#isBelow(to, root) !== isTailBelow) continue
      if (best < 0 || this.#slack(i) < this.#slack(best)) best = i
    }
    return best
  }

  /** Makes a link of the tree longer, and every link in the other direction shorter. */
  #shift(i: number, by: number): void {
    if (by === 0) return
    const root = this.#below(i)
    const step = this.links[i]!.from === root ? -by : by
    for (let at = this.#low[root]!; at <= this.#lim[root]!; at++) this.#value[this.#order[at]!]! += step
  }
}
