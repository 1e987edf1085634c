// The block structure of Markdown: CommonMark with tables and task lists, minus raw HTML and
// link definitions, which model answers do without. Text that is not finished yet (still
// streaming) is read so that its last block looks like what it will become.

export interface Heading {
  type: 'heading'
  level: number
  text: string
}
export interface Paragraph {
  type: 'paragraph'
  text: string
}
export interface Code {
  type: 'code'
  language: string
  text: string
}
export interface Quote {
  type: 'quote'
  blocks: Block[]
}
export interface ListItem {
  task: boolean | null // ticked or not, for "[x]" and "[ ]"
  blocks: Block[]
}
export interface List {
  type: 'list'
  isOrdered: boolean
  start: number
  isTight: boolean
  items: ListItem[]
}
export type Align = 'left' | 'center' | 'right' | null
export interface Table {
  type: 'table'
  align: Align[]
  head: string[]
  rows: string[][]
}
export interface Rule {
  type: 'rule'
}
export type Block = Heading | Paragraph | Code | Quote | List | Table | Rule

/** A block of the top level and the lines it was made from: [from, to). */
export interface Placed {
  block: Block
  from: number
  to: number
}

const DEPTH_MAX = 12 // deeper quotes and lists are shown as text
const COLUMNS_MAX = 64

const FENCE = /^ {0,3}(`{3,}|~{3,})[ \t]*([^`\n]*)$/
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+(.*))?$/
const RULE = /^ {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$/
const QUOTE = /^ {0,3}> ?/
const ITEM = /^( *)([-*+]|\d{1,9}[.)])(?: +|$)/
const SETEXT = /^ {0,3}(=+|-{2,})[ \t]*$/
const DELIMITER = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/
const TASK = /^\[([ xX])\][ \t]+/

export function parseBlocks(lines: readonly string[], isOpenEnded: boolean, depth = 0): Placed[] {
  const reader = new Reader(lines, isOpenEnded, depth)
  return reader.read()
}

class Reader {
  #at = 0

  constructor(
    readonly lines: readonly string[],
    readonly isOpenEnded: boolean,
    readonly depth: number,
  ) {}

  read(): Placed[] {
    const placed: Placed[] = []
    while (this.#at < this.lines.length) {
      if (isBlank(this.lines[this.#at]!)) {
        this.#at++
        continue
      }
      const from = this.#at
      const block = this.#next()
      placed.push({ block, from, to: this.#at })
    }
    return placed
  }

  #next(): Block {
    const line = this.lines[this.#at]!
    return (
      this.#fence(line) ??
      this.#heading(line) ??
      this.#rule(line) ??
      (this.depth < DEPTH_MAX ? (this.#quote(line) ?? this.#list(line)) : null) ??
      this.#indented(line) ??
      this.#table(line) ??
      this.#paragraph()
    )
  }

  /** The blocks inside a container; only a last one can still be growing. */
  #inner(lines: string[]): Block[] {
    const isOpenEnded = this.isOpenEnded && this.#at >= this.lines.length
    return parseBlocks(lines, isOpenEnded, this.depth + 1).map(({ block }) => block)
  }

  #fence(line: string): Code | null {
    const open = FENCE.exec(line)
    if (!open) return null
    const [, marker = '', info = ''] = open
    const indent = indentOf(line)
    const text: string[] = []
    for (this.#at++; this.#at < this.lines.length; this.#at++) {
      const inner = this.lines[this.#at]!
      if (isFenceEnd(inner, marker)) {
        this.#at++
        break
      }
      text.push(dedent(inner, indent))
    }
    return { type: 'code', language: info.trim().split(/\s+/)[0] ?? '', text: text.join('\n') }
  }

  #heading(line: string): Heading | null {
    const match = HEADING.exec(line)
    if (!match) return null
    this.#at++
    const text = (match[2] ?? '').replace(/(?:^|[ \t]+)#+[ \t]*$/, '').trim()
    return { type: 'heading', level: match[1]!.length, text }
  }

  #rule(line: string): Rule | null {
    if (!RULE.test(line)) return null
    this.#at++
    return { type: 'rule' }
  }

  #quote(line: string): Quote | null {
    if (!QUOTE.test(line)) return null
    const inner: string[] = []
    for (; this.#at < this.lines.length; this.#at++) {
      const next = this.lines[this.#at]!
      if (QUOTE.test(next)) inner.push(next.replace(QUOTE, ''))
      else if (!isBlank(next) && !isBlank(inner.at(-1) ?? '') && !startsBlock(next))
        inner.push(next)
      else break
    }
    return { type: 'quote', blocks: this.#inner(inner) }
  }

  #indented(line: string): Code | null {
    if (indentOf(line) < 4) return null
    const text: string[] = []
    for (; this.#at < this.lines.length; this.#at++) {
      const next = this.lines[this.#at]!
      if (!isBlank(next) && indentOf(next) < 4) break
      text.push(dedent(next, 4))
    }
    return { type: 'code', language: '', text: text.join('\n').replace(/\s+$/, '') }
  }

  #list(line: string): List | null {
    const first = ITEM.exec(line)
    if (!first || first[1]!.length > 3) return null
    const kind = kindOf(first[2]!)
    const list: List = {
      type: 'list',
      isOrdered: kind === '.' || kind === ')',
      start: Number.parseInt(first[2]!, 10) || 0,
      isTight: true,
      items: [],
    }
    while (this.#at < this.lines.length) {
      const marker = ITEM.exec(this.lines[this.#at]!)
      if (
        !marker ||
        kindOf(marker[2]!) !== kind ||
        marker[1]!.length > 3 ||
        RULE.test(this.lines[this.#at]!)
      )
        break
      list.items.push(this.#item(list, marker))
    }
    return list
  }

  #item(list: List, marker: RegExpExecArray): ListItem {
    const outer = marker[1]!.length
    const padding = marker[0].length - outer - marker[2]!.length
    const gap = padding >= 1 && padding <= 4 ? padding : 1 // more spaces begin indented code
    const indent = outer + marker[2]!.length + gap
    const inner = [dedent(this.lines[this.#at]!.slice(outer + marker[2]!.length), gap)]
    let blanks = 0
    for (this.#at++; this.#at < this.lines.length; this.#at++) {
      const line = this.lines[this.#at]!
      if (isBlank(line)) {
        blanks++
        continue
      }
      const isInside = indentOf(line) >= indent || isNested(line, outer)
      const isLazy = blanks === 0 && !startsBlock(line) && !ITEM.test(line)
      if (!isInside && !isLazy) break
      if (blanks > 0) list.isTight = false
      while (blanks > 0) (inner.push(''), blanks--)
      inner.push(dedent(line, indent))
    }
    // A blank line before the next item, unlike one after the last, spreads the list out.
    if (blanks > 0 && this.#at < this.lines.length && ITEM.test(this.lines[this.#at]!))
      list.isTight = false
    const task = TASK.exec(inner[0]!)
    if (task) inner[0] = inner[0]!.slice(task[0].length)
    return { task: task ? task[1] !== ' ' : null, blocks: this.#inner(inner) }
  }

  #table(line: string): Table | null {
    const delimiter = this.lines[this.#at + 1]
    const isGrowing =
      this.isOpenEnded && /^ {0,3}\|/.test(line) && this.#at + 2 >= this.lines.length
    const isPending = isGrowing && (delimiter === undefined || /^[ \t|:-]*$/.test(delimiter))
    if (
      !isPending &&
      (!line.includes('|') || delimiter === undefined || !DELIMITER.test(delimiter))
    )
      return null
    const head = cells(line)
    const align = cells(delimiter ?? '').map(alignOf)
    if (!isPending && align.length !== head.length) return null
    if (head.length > COLUMNS_MAX) return null
    const rows: string[][] = []
    for (
      this.#at = Math.min(this.#at + 2, this.lines.length);
      this.#at < this.lines.length;
      this.#at++
    ) {
      const next = this.lines[this.#at]!
      if (isBlank(next) || startsBlock(next)) break
      rows.push(cells(next).slice(0, head.length))
    }
    return { type: 'table', align, head, rows }
  }

  #paragraph(): Paragraph | Heading {
    const text: string[] = []
    for (; this.#at < this.lines.length; this.#at++) {
      const line = this.lines[this.#at]!
      if (isBlank(line)) break
      if (text.length > 0) {
        const setext = SETEXT.exec(line)
        if (setext) {
          this.#at++
          return {
            type: 'heading',
            level: setext[1]![0] === '=' ? 1 : 2,
            text: text.join('\n').trim(),
          }
        }
        if (startsBlock(line) || interrupts(line) || this.#startsTable()) break
      }
      text.push(line.trimStart())
    }
    return { type: 'paragraph', text: text.join('\n').trimEnd() }
  }

  #startsTable(): boolean {
    const next = this.lines[this.#at + 1]
    return (
      next !== undefined &&
      next.includes('|') &&
      DELIMITER.test(next) &&
      this.lines[this.#at]!.includes('|')
    )
  }
}

function isBlank(line: string): boolean {
  return line.trim() === ''
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length
}

function dedent(line: string, columns: number): string {
  return line.slice(Math.min(indentOf(line), columns))
}

function isFenceEnd(line: string, marker: string): boolean {
  const text = line.trim()
  return (
    indentOf(line) < 4 && text.length >= marker.length && text === marker[0]!.repeat(text.length)
  )
}

/** Lines that end a paragraph or a lazy continuation. */
function startsBlock(line: string): boolean {
  return (
    FENCE.test(line) || /^ {0,3}#{1,6}(?:[ \t]|$)/.test(line) || QUOTE.test(line) || RULE.test(line)
  )
}

/** A list may interrupt a paragraph, unless it could be a number at the start of a line. */
function interrupts(line: string): boolean {
  const item = ITEM.exec(line)
  return (
    item !== null &&
    item[1]!.length < 4 &&
    line.length > item[0].length &&
    /^([-*+]|1[.)])$/.test(item[2]!)
  )
}

/** Models indent nested lists by two, even below "1. "; that is less than CommonMark asks. */
function isNested(line: string, outer: number): boolean {
  const item = ITEM.exec(line)
  return item !== null && item[1]!.length >= outer + 2
}

function kindOf(marker: string): string {
  return marker.at(-1)!
}

function alignOf(cell: string): Align {
  const isLeft = cell.startsWith(':')
  const isRight = cell.endsWith(':')
  if (isLeft && isRight) return 'center'
  return isRight ? 'right' : isLeft ? 'left' : null
}

/** The cells of a row; "\|" is a bar within one, and so is a bar in a code span. */
function cells(line: string): string[] {
  const row = line.trim().replace(/^\|/, '')
  const found: string[] = []
  let cell = ''
  let isCode = false
  for (let i = 0; i < row.length; i++) {
    const c = row[i]!
    if (c === '\\' && row[i + 1] === '|') {
      cell += '|'
      i++
    } else if (c === '|' && !isCode) {
      found.push(cell.trim())
      cell = ''
    } else {
      if (c === '`') isCode = !isCode && row.indexOf('`', i + 1) >= 0
      cell += c
    }
  }
  if (cell.trim() !== '') found.push(cell.trim())
  return found
}
