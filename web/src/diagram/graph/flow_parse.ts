// Flowcharts: "graph TD", nodes with shapes, chains of edges, subgraphs.
import { demand, Unreadable } from '../base/limits'
import { plain } from '../base/text'
import { directionOf, Graph, type Head, type Line, type Shape } from './graph'

/** Longest first: "((" would be found in "(((". */
const SHAPES: readonly (readonly [open: string, close: string, shape: Shape])[] = [
  ['(((', ')))', 'double'],
  ['((', '))', 'circle'],
  ['([', '])', 'stadium'],
  ['(-', '-)', 'ellipse'],
  ['(', ')', 'round'],
  ['[[', ']]', 'subroutine'],
  ['[(', ')]', 'cylinder'],
  ['[/', '/]', 'lean-right'],
  ['[/', '\\]', 'trapezoid'],
  ['[\\', '\\]', 'lean-left'],
  ['[\\', '/]', 'funnel'],
  ['[', ']', 'rect'],
  ['{{', '}}', 'hexagon'],
  ['{', '}', 'diamond'],
  ['>', ']', 'flag'],
]
/** Names of shapes in "A@{ shape: name }"; the others are rectangles. */
const NAMED: Record<string, Shape> = {
  rounded: 'round',
  event: 'round',
  stadium: 'stadium',
  pill: 'stadium',
  terminal: 'stadium',
  'fr-rect': 'subroutine',
  subprocess: 'subroutine',
  subproc: 'subroutine',
  cyl: 'cylinder',
  cylinder: 'cylinder',
  database: 'cylinder',
  db: 'cylinder',
  circle: 'circle',
  circ: 'circle',
  'dbl-circ': 'double',
  diam: 'diamond',
  diamond: 'diamond',
  decision: 'diamond',
  question: 'diamond',
  hex: 'hexagon',
  hexagon: 'hexagon',
  'lean-r': 'lean-right',
  'lean-l': 'lean-left',
  'trap-b': 'trapezoid',
  'trap-t': 'funnel',
  odd: 'flag',
  text: 'plain',
  'sm-circ': 'start',
  'fr-circ': 'end',
  fork: 'bar',
  join: 'bar',
}
const ID = /(?:[\p{L}\p{N}_.*+?#/$']|-(?![-.>])|=(?![=>])|:(?!:))+/uy
const LINK = /([<xo])?(?:(--+)([-xo>])|(==+)([=xo>])|-(\.+)-([xo>])?|(~~~+))/y
const LINK_START = /([<xo])?(--|==|-\.)(?![-=.>])/y
const LINK_END: Record<string, RegExp> = { '--': /(--+)([-xo>])/y, '==': /(==+)([=xo>])/y, '-.': /(\.+)-([xo>])?/y }
const IGNORED = /(?:classDef|class|style|linkStyle|click)[^\S\n]+[^\n]*/y
const HEADS: Record<string, Head> = { '<': 'arrow', '>': 'arrow', x: 'cross', o: 'circle' }

export function parseFlow(rest: string, body: string): Graph {
  const graph = new Graph()
  const [word] = /^[^\s;]*/.exec(rest)!
  const direction = directionOf({ '>': 'LR', '<': 'RL', '^': 'BT', v: 'TB' }[word] ?? word)
  graph.direction = direction ?? 'TB'
  const inline = direction ? rest.slice(word.length) : rest // "graph TD; A-->B"
  new FlowParser(graph, `${inline}\n${body}`).all()
  graph.finish()
  return graph
}

interface Link {
  line: Line
  tail: Head
  head: Head
  length: number
  label: string
}

class FlowParser {
  #at = 0
  #groups: string[] = []
  #anonymous = 0

  constructor(
    readonly graph: Graph,
    readonly text: string,
  ) {}

  all(): void {
    for (this.#skip(); this.#at < this.text.length; this.#skip()) this.#statement()
    demand(this.#groups.length === 0)
  }

  get #group(): string | null {
    return this.#groups.at(-1) ?? null
  }

  #match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.text)
    if (found) this.#at = pattern.lastIndex
    return found
  }

  /** Blank space, ends of statements, and comments at the end of a line. */
  #skip(): void {
    this.#match(/(?:[\s;]|%%[^\n]*)*/y)
  }

  #blank(): void {
    this.#match(/[^\S\n]*/y)
  }

  #statement(): void {
    if (this.#match(IGNORED)) return
    if (this.#match(/subgraph\b/y)) return this.#subgraph()
    if (this.#match(/end\b(?=[^\S\n]*(?:[;\n%]|$))/y)) {
      demand(this.#groups.pop())
      return
    }
    const direction = this.#match(/direction[^\S\n]+(\w+)/y)
    if (direction) return this.#setDirection(direction[1]!)
    if (this.#match(/\w{1,80}@\{[^}]{0,300}(?:animat|curve)[^}]{0,300}\}/y)) return // of an edge
    this.#chain()
    this.#blank()
    demand(this.#at >= this.text.length || /[\n;%]/.test(this.text[this.#at]!))
  }

  #setDirection(word: string): void {
    const direction = directionOf(word)
    demand(direction)
    const group = this.#group === null ? null : this.graph.groups.get(this.#group)!
    if (group) group.direction = direction
    else this.graph.direction = direction
  }

  /** "subgraph id [title]", "subgraph words of a title" */
  #subgraph(): void {
    const words = this.#match(/[^\n;]*/y)![0].replace(/\s%%.*/, '').trim()
    const named = /^([^\s["]+)\s*\[([^]*)\]$/.exec(words)
    const title = plain(named ? named[2]! : words)
    const id = named ? named[1]! : title || `subgraph ${++this.#anonymous}`
    this.graph.group(id, title, this.#group)
    this.#groups.push(id)
  }

  /** "A --> B & C --> D" */
  #chain(): void {
    let from = this.#nodes()
    for (;;) {
      this.#match(/[^\S\n]*(?=[<xo]?(?:--|==|-\.|~~~)|[\w-]+@[-<=xo~])|\s*(?=<?(?:--|==|-\.|~~~))/y)
      const link = this.#link()
      if (!link) return
      this.#match(/\s*/y)
      const to = this.#nodes()
      for (const a of from) for (const b of to) this.graph.edge({ from: a, to: b, ...link })
      from = to
    }
  }

  #nodes(): string[] {
    const ids = [this.#node()]
    while (this.#match(/\s*&\s*/y)) ids.push(this.#node())
    return ids
  }

  #node(): string {
    const id = this.#match(ID)?.[0]
    demand(id)
    const node = this.graph.node(id, this.#group)
    const isGroup = this.graph.groups.has(id)
    if (this.#match(/@\{/y)) this.#describe(id)
    const shape = this.#shape()
    if (shape && !isGroup) Object.assign(node, { ...shape, isNamed: true })
    this.#match(/:::[\w-]+/y)
    return id
  }

  /** A@{ shape: circle, label: "text" } */
  #describe(id: string): void {
    const found = this.#match(/((?:[^{}"]|"[^"]*")*)\}/y)
    demand(found)
    const node = this.graph.node(id)
    const valueOf = (name: string) => new RegExp(`(?:^|[,\\s])${name}\\s*:\\s*("[^"]*"|[^,\\n]*)`).exec(found[1]!)?.[1]
    const [shape, label] = [valueOf('shape')?.trim(), valueOf('label')]
    if (shape) node.shape = (Object.hasOwn(NAMED, shape) ? NAMED[shape] : undefined) ?? 'rect'
    if (label !== undefined) node.label = plain(label)
    else if (shape && /^(?:start|end|bar)$/.test(node.shape)) node.label = ''
    node.isNamed = true
  }

  #shape(): { label: string; shape: Shape } | null {
    for (const [open, close, shape] of SHAPES) {
      if (!this.text.startsWith(open, this.#at)) continue
      const end = this.#closing(this.#at + open.length, close)
      if (end < 0) continue
      const label = plain(this.text.slice(this.#at + open.length, end))
      this.#at = end + close.length
      return { label, shape }
    }
    return null
  }

  /** Where a label ends: behind its quotes, or at the sign that closes it, with brackets in pairs before it. */
  #closing(from: number, close: string): number {
    const quoted = /\s*"[^"]*"\s*/y
    quoted.lastIndex = from
    if (quoted.test(this.text)) return this.text.startsWith(close, quoted.lastIndex) ? quoted.lastIndex : -1
    const last = close.at(-1)!
    const opening = last === ']' ? '[' : last === ')' ? '(' : '{'
    let depth = 0
    for (let at = from; at < this.text.length && this.text[at] !== '\n'; at++) {
      if (depth === 0 && this.text.startsWith(close, at) && !this.text.startsWith(close, at + 1)) return at
      if (this.text[at] === opening) depth++
      else if (this.text[at] === last && --depth < 0) return -1
    }
    return -1
  }

  #link(): Link | null {
    this.#match(/[\w-]+@(?=[-<=xo~])/y) // a name of the edge
    const whole = this.#match(LINK)
    const link = whole ? linkOf(whole) : this.#linkWithText()
    if (!link) return null
    const label = this.#match(/\s*\|([^|]*)\|/y)
    return label ? { ...link, label: plain(label[1]!) } : link
  }

  /** "-- text -->" */
  #linkWithText(): Link | null {
    const start = this.#match(LINK_START)
    if (!start) return null
    const [, tail, sign] = start
    const end = LINK_END[sign!]!
    const from = this.#at
    for (; this.#at < this.text.length; this.#at++) {
      if (this.text[this.#at] === '"') this.#match(/"[^"]*(?=")/y)
      const found = this.#match(end)
      if (!found) continue
      const label = plain(this.text.slice(from, found.index))
      const length = sign === '-.' ? found[1]!.length : found[1]!.length - 1
      return { line: lineOf(sign!), tail: headOf(tail), head: headOf(found[2]), length, label }
    }
    throw new Unreadable()
  }
}

function linkOf([, tail, dashes, dashHead, equals, equalHead, dots, dotHead, hidden]: RegExpExecArray): Link {
  const body = dashes ?? equals ?? dots ?? hidden!
  const line = hidden ? 'hidden' : dots ? 'dotted' : equals ? 'thick' : 'solid'
  const length = dots ? dots.length : hidden ? hidden.length - 2 : body.length - 1
  return { line, tail: headOf(tail), head: headOf(dashHead ?? equalHead ?? dotHead), length: Math.min(length, 6), label: '' }
}

function lineOf(sign: string): Line {
  return sign === '==' ? 'thick' : sign === '-.' ? 'dotted' : 'solid'
}

function headOf(sign: string | undefined): Head {
  return (sign && HEADS[sign]) || 'none'
}
