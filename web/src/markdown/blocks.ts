// The block structure of Markdown: CommonMark with the tables, task lists, footnotes and alerts of GitHub, and
// with formulas. Line by line: first the open blocks that a line continues, then those it begins, then
// its text. Text that is not finished yet (still streaming) is read so that its last block looks like
// what it will become.
import { unescaped } from './escapes'
import { foldDetails } from './details'
import { htmlKind, type HtmlKind } from './html'
import { Line } from './line'
import { definitionAt } from './links'
import * as starts from './starts'
import { cellsOf, growingTableOf, tableOf } from './tables'
import { ALERTS, labelOf, type Block, type List, type ListItem, type Names, type Placed, type Table } from './tree'

const DEPTH_MAX = 24 // deeper quotes and lists are shown as text
const CODE_INDENT = 4

type Kind =
  | 'root'
  | 'quote'
  | 'list'
  | 'item'
  | 'footnote'
  | 'paragraph'
  | 'heading'
  | 'code' // indented
  | 'fence'
  | 'formula'
  | 'html'
  | 'table'
  | 'rule'
  | 'definitions' // of links; they are not shown

/** A block while it is read. What a field means depends on the kind. */
interface Node {
  kind: Kind
  from: number // first line
  to: number // last line
  children: Node[]
  lines: string[]
  indent: number // item: columns of its contents; fence: of its first line
  offset: number // item: columns of its marker
  marker: string // list: kind; fence: its characters; formula: its end
  info: string // fence: language; footnote: label
  number: number // list: first number; heading: level
  end: RegExp | null // html
  table: Table | null
  isClosed: boolean // fence, formula, html: its end has been seen
}

const CONTAINERS = new Set<Kind>(['root', 'quote', 'item', 'footnote'])
const VERBATIM = new Set<Kind>(['code', 'fence', 'formula', 'html'])

/** Reads lines that begin outside of any block; adds what they define to `names`. */
export function parseBlocks(
  lines: readonly string[],
  isOpenEnded: boolean,
  names: Names,
  firstLine = 0,
): Placed[] {
  const reader = new Reader(names, isOpenEnded)
  lines.forEach((line, n) => reader.add(line, firstLine + n))
  return foldDetails(reader.finish())
}

class Reader {
  #open: Node[] = [] // from the root to the innermost
  #line!: Line
  #n = 0 // of the line

  constructor(
    readonly names: Names,
    readonly isOpenEnded: boolean,
  ) {
    this.#open.push(node('root', 0))
  }

  add(text: string, n: number): void {
    this.#line = new Line(text)
    this.#n = n
    let depth = 1
    while (depth < this.#open.length) {
      const goesOn = this.#continues(this.#open[depth]!)
      if (goesOn === 'ended') {
        this.#touch(depth)
        this.#closeTo(depth)
        return
      }
      if (!goesOn) break
      depth++
    }
    this.#begin(depth)
  }

  finish(): Placed[] {
    const isGrowing = this.isOpenEnded
    const tip = this.#tip
    const table = isGrowing && tip.kind === 'paragraph' ? growingTableOf(tip.lines) : null
    if (table) {
      tip.kind = 'table'
      tip.table = table
    }
    if (isGrowing && tip.kind === 'formula') tip.isClosed = true
    this.#closeTo(1)
    const shown = this.#open[0]!.children.filter(isShown)
    return shown.map((child) => ({ block: blockOf(child), from: child.from, to: child.to + 1 }))
  }

  get #tip(): Node {
    return this.#open.at(-1)!
  }

  /** Whether the line continues an open block; it reads the block's marker. */
  #continues(block: Node): boolean | 'ended' {
    const line = this.#line
    switch (block.kind) {
      case 'quote':
        return this.#continuesQuote()
      case 'item':
        return this.#continuesItem(block)
      case 'footnote':
        if (!line.isBlank && line.indent < CODE_INDENT) return false
        line.skipIndent(CODE_INDENT)
        return true
      case 'list':
        return true
      case 'fence':
        if (line.indent < CODE_INDENT && starts.endsFence(line.content, block.marker)) return 'ended'
        line.skipIndent(block.indent)
        return true
      case 'code':
        if (!line.isBlank && line.indent < CODE_INDENT) return false
        line.skipIndent(CODE_INDENT)
        return true
      case 'formula':
        return this.#continuesFormula(block)
      case 'html':
        return block.end !== null || !line.isBlank
      case 'paragraph':
      case 'table':
        return !line.isBlank
      default:
        return false
    }
  }

  #continuesQuote(): boolean {
    const line = this.#line
    if (line.indent >= CODE_INDENT || !line.content.startsWith('>')) return false
    line.skip(1)
    line.skipIndent(1)
    return true
  }

  #continuesItem(item: Node): boolean {
    const line = this.#line
    if (line.isBlank) {
      if (item.children.length === 0) return false // it began with a blank line, and this is the second
    } else if (line.indent < item.indent) {
      if (!this.#isNestedBullet(item)) return false
      item.indent = line.indent
    }
    line.skipIndent(item.indent)
    return true
  }

  /** Models indent bullets by two, even below "1. "; that is less than CommonMark asks. */
  #isNestedBullet(item: Node): boolean {
    const { indent, content } = this.#line
    const marker = starts.markerOf(content)
    return indent >= item.offset + 2 && item.number >= 0 && marker !== null && !starts.isOrdered(marker)
  }

  #continuesFormula(formula: Node): boolean | 'ended' {
    if (this.#line.isBlank) return false
    const text = this.#line.rest.trim()
    if (!text.endsWith(formula.marker)) return true
    formula.lines.push(text.slice(0, -formula.marker.length))
    formula.isClosed = true
    return 'ended'
  }

  /** The blocks that the line begins below the first `depth` open ones, and its text. */
  #begin(depth: number): void {
    const isAllOpen = depth === this.#open.length
    const before = this.#tip
    let inner = this.#open[depth - 1]!
    let hasBegun = false
    while (!VERBATIM.has(inner.kind) && !this.#line.isBlank) {
      const begun = this.#start(inner, hasBegun ? this.#open.length : depth, before, isAllOpen || hasBegun)
      if (!begun) break
      hasBegun = true
      inner = this.#tip
      if (!CONTAINERS.has(inner.kind)) {
        this.#touch(this.#open.length - 1)
        this.#closeOneLiner(inner)
        return
      }
    }
    const isLazy = !isAllOpen && !hasBegun && before.kind === 'paragraph' && !this.#line.isBlank
    if (isLazy) {
      before.lines.push(this.#line.content)
      this.#touch(this.#open.length - 1)
      return
    }
    if (!hasBegun) this.#closeTo(depth)
    else this.#touch(this.#open.length - 1)
    this.#addText()
  }

  #closeOneLiner(block: Node): void {
    const isOver = block.kind === 'rule' || block.kind === 'heading' || block.isClosed
    if (isOver) this.#closeTo(this.#open.length - 1)
  }

  #addText(): void {
    const line = this.#line
    const tip = this.#tip
    const isText = !line.isBlank
    if (VERBATIM.has(tip.kind)) {
      tip.lines.push(line.rest)
      if (isText || tip.kind !== 'code') this.#touch(this.#open.length - 1)
      if (tip.end?.test(line.rest)) this.#closeTo(this.#open.length - 1)
      return
    }
    if (!isText) {
      this.#touch(this.#open.findLastIndex(({ kind }) => kind === 'quote'))
      return
    }
    if (tip.kind === 'table') tip.table!.rows.push(cellsOf(line.content).slice(0, tip.table!.head.length))
    else (tip.kind === 'paragraph' ? tip : this.#push('paragraph')).lines.push(line.content)
    this.#touch(this.#open.length - 1)
  }

  /** Begins a block, if the line does. Order matters: a rule may look like an item, a heading like a rule. */
  #start(inner: Node, depth: number, before: Node, isAllOpen: boolean): boolean {
    const line = this.#line
    const isParagraph = inner.kind === 'paragraph'
    const isInText = isParagraph || (!isAllOpen && before.kind === 'paragraph')
    if (line.indent >= CODE_INDENT) {
      if (isInText || inner.kind === 'table') return false
      line.skipIndent(CODE_INDENT)
      this.#closeTo(depth)
      this.#push('code').lines.push(line.rest)
      return true
    }
    const text = line.content
    const isDeep = this.#open.length > DEPTH_MAX
    const begun =
      (!isDeep && this.#startQuote(depth, text)) ||
      this.#startHeading(depth, text) ||
      this.#startFence(depth, text) ||
      this.#startFormula(depth, text) ||
      this.#startHtml(depth, htmlKind(text, isInText)) ||
      (isParagraph && (this.#startSetext(inner, depth, text) || this.#startTable(inner, depth, text))) ||
      this.#startRule(depth, text) ||
      (!isDeep && (this.#startItem(inner, depth, text) || this.#startFootnote(depth, text)))
    return begun
  }

  #startQuote(depth: number, text: string): boolean {
    if (!text.startsWith('>')) return false
    this.#closeTo(depth)
    this.#line.skip(1)
    this.#line.skipIndent(1)
    this.#push('quote')
    return true
  }

  #startHeading(depth: number, text: string): boolean {
    const heading = starts.headingOf(text)
    if (!heading) return false
    this.#closeTo(depth)
    const block = this.#push('heading')
    block.number = heading.level
    block.lines.push(heading.text)
    return true
  }

  #startFence(depth: number, text: string): boolean {
    const fence = starts.fenceOf(text)
    if (!fence) return false
    const { indent } = this.#line
    this.#closeTo(depth)
    Object.assign(this.#push('fence'), { indent, marker: fence.marker, info: fence.info })
    return true
  }

  #startFormula(depth: number, text: string): boolean {
    const formula = starts.formulaOf(text)
    if (!formula) return false
    this.#closeTo(depth)
    const block = this.#push('formula')
    if ('end' in formula) block.marker = formula.end
    else {
      block.lines.push(formula.text)
      block.isClosed = true
    }
    return true
  }

  #startHtml(depth: number, kind: HtmlKind | null): boolean {
    if (!kind) return false
    this.#closeTo(depth)
    const block = this.#push('html')
    block.end = kind.end ?? null
    block.lines.push(this.#line.rest)
    block.isClosed = kind.end?.test(this.#line.content) ?? false
    return true
  }

  #startSetext(paragraph: Node, depth: number, text: string): boolean {
    const level = starts.setextLevel(text)
    if (!level) return false
    this.#takeDefinitions(paragraph)
    if (paragraph.lines.length === 0) return false
    this.#closeTo(depth)
    paragraph.kind = 'heading'
    paragraph.number = level
    paragraph.lines = [paragraph.lines.join('\n').trim()]
    return true
  }

  #startTable(paragraph: Node, depth: number, text: string): boolean {
    const table = tableOf(paragraph.lines.at(-1) ?? '', text)
    if (!table) return false
    paragraph.lines.pop()
    if (paragraph.lines.length === 0) {
      this.#open.length = depth
      paragraph.kind = 'table'
      paragraph.table = table
      return true
    }
    paragraph.to--
    this.#closeTo(depth - 1)
    const block = this.#push('table')
    block.from--
    block.table = table
    return true
  }

  #startRule(depth: number, text: string): boolean {
    if (!starts.isRule(text)) return false
    this.#closeTo(depth)
    this.#push('rule')
    return true
  }

  #startItem(inner: Node, depth: number, text: string): boolean {
    const marker = starts.markerOf(text)
    if (!marker) return false
    const isOrdered = starts.isOrdered(marker)
    const hasText = text.slice(marker.width).trim() !== ''
    if (inner.kind === 'paragraph' && (!hasText || (isOrdered && marker.start !== 1))) return false
    this.#closeTo(depth)
    const line = this.#line
    const offset = line.indent
    line.skip(marker.width)
    const gap = line.isBlank || line.indent > CODE_INDENT ? 1 : line.indent
    line.skipIndent(gap)
    if (this.#tip.kind !== 'list' || this.#tip.marker !== marker.kind) {
      const list = this.#push('list')
      list.marker = marker.kind
      list.number = isOrdered ? marker.start : -1
    }
    const number = this.#tip.number
    Object.assign(this.#push('item'), { offset, number, indent: offset + marker.width + gap })
    return true
  }

  #startFootnote(depth: number, text: string): boolean {
    const footnote = starts.footnoteOf(text)
    if (!footnote) return false
    this.#closeTo(depth)
    this.#line.skip(footnote.width)
    this.#push('footnote').info = footnote.label
    const name = labelOf(footnote.label)
    if (!this.names.footnotes.has(name)) this.names.footnotes.set(name, this.#n)
    return true
  }

  /** Adds a block to the innermost one that can have it. */
  #push(kind: Kind): Node {
    while (!canHave(this.#tip.kind, kind)) this.#closeTo(this.#open.length - 1)
    const block = node(kind, this.#n)
    this.#tip.children.push(block)
    this.#open.push(block)
    return block
  }

  /** The open blocks up to this one have something in this line. */
  #touch(depth: number): void {
    for (let i = 0; i <= depth; i++) this.#open[i]!.to = this.#n
  }

  /** Closes the open blocks but the first `depth`. */
  #closeTo(depth: number): void {
    while (this.#open.length > depth) {
      const block = this.#open.pop()!
      if (block.kind === 'paragraph') this.#takeDefinitions(block)
    }
  }

  /** Definitions of links at the beginning of a paragraph. */
  #takeDefinitions(paragraph: Node): void {
    if (!paragraph.lines[0]?.startsWith('[')) return
    const text = paragraph.lines.join('\n')
    let at = 0
    for (let found; text[at] === '[' && (found = definitionAt(text, at)); at = found.end) {
      const { name, href, title } = found.value
      if (!this.names.links.has(name)) this.names.links.set(name, { href, title, line: paragraph.from })
    }
    if (at === 0) return
    const rest = text.slice(at)
    paragraph.lines = rest ? rest.split('\n') : []
    if (!rest) paragraph.kind = 'definitions'
  }
}

function node(kind: Kind, n: number): Node {
  return {
    kind,
    from: n,
    to: n,
    children: [],
    lines: [],
    indent: 0,
    offset: 0,
    marker: '',
    info: '',
    number: -1,
    end: null,
    table: null,
    isClosed: false,
  }
}

function canHave(parent: Kind, child: Kind): boolean {
  return parent === 'list' ? child === 'item' : child !== 'item' && CONTAINERS.has(parent)
}

function isShown(block: Node): boolean {
  return block.kind !== 'definitions'
}

function blocksOf({ children }: Node): Block[] {
  const placed = children.filter(isShown).map((child) => ({ block: blockOf(child), from: 0, to: 0 }))
  return foldDetails(placed).map(({ block }) => block)
}

function withoutBlankEnd(lines: string[]): string[] {
  const last = lines.findLastIndex((line) => /[^ \t]/.test(line))
  return lines.slice(0, Math.max(last, 0) + 1)
}

function blockOf(block: Node): Block {
  const text = () => block.lines.join('\n')
  switch (block.kind) {
    case 'heading':
      return { type: 'heading', level: block.number, text: text() }
    case 'code':
      return { type: 'code', language: '', text: withoutBlankEnd(block.lines).join('\n') }
    case 'fence':
      return { type: 'code', language: unescaped(block.info.split(/\s+/)[0]!), text: text() }
    case 'formula':
      if (block.isClosed) return { type: 'formula', text: text().trim() }
      return { type: 'paragraph', text: `${block.marker === '$$' ? '$$' : '\\['}\n${text()}`.trim() }
    case 'html':
      return { type: 'html', text: text() }
    case 'table':
      return block.table!
    case 'rule':
      return { type: 'rule' }
    case 'quote':
      return quoteOf(block)
    case 'list':
      return listOf(block)
    case 'footnote':
      return { type: 'footnote', label: block.info, blocks: blocksOf(block) }
    default:
      return { type: 'paragraph', text: text().trim() }
  }
}

/** "> [!NOTE]" makes an alert of a quote. */
function quoteOf(block: Node): Block {
  const [first] = block.children
  const name = first?.kind === 'paragraph' && /^\[!(\w+)\][ \t]*$/.exec(first.lines[0] ?? '')?.[1]
  const alert = ALERTS.find((known) => name && known === name.toLowerCase()) ?? null
  if (alert) {
    first!.lines.shift()
    if (first!.lines.length === 0) block.children.shift()
  }
  return { type: 'quote', alert, blocks: blocksOf(block) }
}

function listOf(block: Node): List {
  const { children: items, number } = block
  const isApart = (nodes: Node[]) => nodes.some((next, i) => i > 0 && next.from > nodes[i - 1]!.to + 1)
  return {
    type: 'list',
    isOrdered: number >= 0,
    start: Math.max(number, 0),
    isTight: !isApart(items) && !items.some(({ children }) => isApart(children)),
    items: items.map(itemOf),
  }
}

function itemOf(item: Node): ListItem {
  const [first] = item.children
  const task = first?.kind === 'paragraph' ? /^\[([ xX])\][ \t]+(?=\S)/.exec(first.lines[0] ?? '') : null
  if (task) first!.lines[0] = first!.lines[0]!.slice(task[0].length)
  return { task: task ? task[1] !== ' ' : null, blocks: blocksOf(item) }
}
