// Nodes, edges and groups: what flowcharts, states, classes and entities have in common.
import { demand, DEPTH_MAX, EDGES_MAX, GROUPS_MAX, LABEL_MAX, NODES_MAX, Unreadable } from '../base/limits'

export type Direction = 'TB' | 'BT' | 'LR' | 'RL'
export type Shape =
  | 'rect'
  | 'round'
  | 'stadium'
  | 'subroutine'
  | 'cylinder'
  | 'circle'
  | 'double'
  | 'ellipse'
  | 'diamond'
  | 'hexagon'
  | 'lean-right'
  | 'lean-left'
  | 'trapezoid'
  | 'funnel' // a trapezoid with its long side above
  | 'flag'
  | 'start' // of states
  | 'end'
  | 'bar' // fork and join
  | 'note'
  | 'plain' // text alone
  | 'card' // with rows: classes and entities
export type Head =
  | 'none'
  | 'arrow'
  | 'circle'
  | 'cross'
  | 'open' // of classes: extends
  | 'thin' // depends on
  | 'diamond' // has
  | 'filled' // consists of
  | 'ring' // provides
  | 'one' // of entities
  | 'maybe-one'
  | 'many'
  | 'maybe-many'
export type Line = 'solid' | 'dotted' | 'thick' | 'hidden'

/** Rows of a card below its title; a row has cells. */
export type Section = string[][]

export interface Node {
  id: string
  label: string
  shape: Shape
  group: string | null
  isNamed: boolean // it has a label or a shape of its own
  above: string // a line above the title of a card
  sections: Section[]
}

export interface Edge {
  from: string
  to: string
  label: string
  line: Line
  tail: Head
  head: Head
  length: number
  tailLabel: string
  headLabel: string
}

export interface Group {
  id: string
  label: string
  parent: string | null
  direction: Direction | null
}

export class Graph {
  direction: Direction = 'TB'
  readonly nodes = new Map<string, Node>()
  readonly edges: Edge[] = []
  readonly groups = new Map<string, Group>()

  /** The node of this name, which is made if there is none. A node belongs to the first group that names it. */
  node(id: string, group: string | null = null): Node {
    let node = this.nodes.get(id)
    if (!node) {
      demand(this.nodes.size < NODES_MAX && id.length > 0 && id.length <= LABEL_MAX)
      node = { id, label: id, shape: 'rect', group, isNamed: false, above: '', sections: [] }
      this.nodes.set(id, node)
    }
    node.group ??= group
    return node
  }

  edge(edge: Pick<Edge, 'from' | 'to'> & Partial<Edge>): Edge {
    demand(this.edges.length < EDGES_MAX)
    const plain = { label: '', line: 'solid', tail: 'none', head: 'arrow', length: 1, tailLabel: '', headLabel: '' } as const
    const made: Edge = { ...plain, ...edge }
    this.edges.push(made)
    return made
  }

  group(id: string, label: string, parent: string | null): Group {
    const known = this.groups.get(id)
    if (known) return known
    demand(this.groups.size < GROUPS_MAX && this.depthOf(parent) < DEPTH_MAX)
    const group: Group = { id, label, parent, direction: null }
    this.groups.set(id, group)
    return group
  }

  depthOf(id: string | null): number {
    let depth = 0
    for (let at = id; at !== null; at = this.groups.get(at)?.parent ?? null) if (++depth > DEPTH_MAX) throw new Unreadable()
    return depth
  }

  /** Whether a node or a group is somewhere in a group. */
  isIn(id: string, group: string): boolean {
    for (let at = this.groups.get(id)?.parent ?? this.nodes.get(id)?.group ?? null; at !== null; at = this.groups.get(at)!.parent) {
      if (at === group) return true
    }
    return false
  }

  /** When everything is read: a name of a group that was first used in an edge is not a node; a group without nodes is one. */
  finish(): void {
    for (const id of this.groups.keys()) if (this.nodes.has(id)) this.nodes.delete(id)
    for (const { id, label, parent } of [...this.groups.values()].reverse()) {
      const isEmpty = ![...this.nodes.values()].some(({ group }) => group === id) && ![...this.groups.values()].some((group) => group.parent === id)
      if (!isEmpty) continue
      this.groups.delete(id)
      Object.assign(this.node(id, parent), { label, isNamed: true })
    }
    demand(this.nodes.size > 0)
  }
}

export function directionOf(word: string): Direction | null {
  const name = word.toUpperCase()
  if (name === 'TD' || name === 'TB') return 'TB'
  return name === 'BT' || name === 'LR' || name === 'RL' ? name : null
}
