// Labels: what is written in the source as plain lines of text, and how much room they take.
import { demand, LABEL_MAX } from './limits'

export const SIZE = 14 // pixels
export const LINE = 1.3 // height of a line, in sizes

/** The width of a text in pixels. */
export type Measure = (text: string, size: number, isBold: boolean) => number

export interface Label {
  lines: string[]
  width: number
  height: number
  size: number
  isBold: boolean
}

export interface Style {
  size?: number
  isBold?: boolean
  width?: number // lines are broken here
}

const WIDTH_MAX = 220
const TAGS = /<\/?(?:b|i|u|s|em|strong|small|big|sub|sup|code|span|div|p|center|font|del|ins|mark)(?:\s[^<>]*)?\/?>/gi
const ICON = /(?:^|\s)(?:fa[bsrlk]?|mdi):[\w-]+\s*/g
const NAMED: Record<string, string> = {
  amp: '&',
  apos: "'",
  bull: '•',
  copy: '©',
  deg: '°',
  euro: '€',
  ge: '≥',
  gt: '>',
  hearts: '♥',
  hellip: '…',
  larr: '←',
  le: '≤',
  lt: '<',
  mdash: '—',
  nbsp: '\u00a0',
  ndash: '–',
  ne: '≠',
  quot: '"',
  rarr: '→',
  semi: ';',
  times: '×',
}

/** The text that a label shows: without quotes and tags, with its entities and line breaks. */
export function plain(source: string): string {
  demand(source.length <= LABEL_MAX)
  let text = source.trim()
  if (text.length > 1 && text.startsWith('"') && text.endsWith('"')) text = text.slice(1, -1).trim()
  if (text.length > 1 && text.startsWith('`') && text.endsWith('`')) text = withoutMarks(text.slice(1, -1))
  const broken = text.replace(/<br\s*\/?>|\\n/gi, '\n').replace(TAGS, '').replace(ICON, ' ')
  return withEntities(broken)
    .split('\n')
    .map((line) => line.replace(/[^\S\u00a0]+/g, ' ').trim())
    .join('\n')
    .trim()
}

/** Between backticks a label is Markdown; its emphasis is not shown. */
function withoutMarks(text: string): string {
  return text.replace(/(\*\*|__)(?=\S)(.*?\S)\1/g, '$2').replace(/(?<![\w*])([*_])(?=\S)([^*_]*\S)\1(?![\w*])/g, '$2')
}

/** "&amp;", and as diagrams write it: "#amp;", "#35;". */
function withEntities(text: string): string {
  return text.replace(/[&#](?:#?(\d{1,7})|#x([\da-f]{1,6})|([a-z]{2,8}));/gi, (whole, decimal?: string, hex?: string, name?: string) => {
    if (name) return Object.hasOwn(NAMED, name) ? NAMED[name]! : whole
    const code = decimal ? Number(decimal) : parseInt(hex!, 16)
    return code > 31 && code <= 0x10ffff ? String.fromCodePoint(code) : whole
  })
}

/** Puts texts into boxes. */
export class Pen {
  #widths = new Map<string, number>()

  constructor(readonly measure: Measure) {}

  width(text: string, size = SIZE, isBold = false): number {
    const key = `${size}${isBold ? 'b' : ''}:${text}`
    let width = this.#widths.get(key)
    if (width === undefined) this.#widths.set(key, (width = this.measure(text, size, isBold)))
    return width
  }

  /** The lines of a text that plain() has read, broken where they are too long. */
  label(text: string, { size = SIZE, isBold = false, width: max = WIDTH_MAX }: Style = {}): Label {
    const lines = text === '' ? [] : text.split('\n').flatMap((line) => this.#broken(line, size, isBold, max))
    const width = Math.max(0, ...lines.map((line) => this.width(line, size, isBold)))
    return { lines, width: Math.ceil(width), height: Math.ceil(lines.length * size * LINE), size, isBold }
  }

  /** At spaces; a word that is too long alone is broken anywhere. */
  #broken(line: string, size: number, isBold: boolean, max: number): string[] {
    const lines: string[] = []
    let current = ''
    for (const word of line.split(' ')) {
      const longer = current ? `${current} ${word}` : word
      if (this.width(longer, size, isBold) <= max) {
        current = longer
        continue
      }
      if (current) lines.push(current)
      const pieces = this.#pieces(word, size, isBold, max)
      current = pieces.pop()!
      lines.push(...pieces)
    }
    lines.push(current)
    return lines
  }

  #pieces(word: string, size: number, isBold: boolean, max: number): string[] {
    if (this.width(word, size, isBold) <= max * 1.25) return [word]
    const pieces: string[] = []
    let piece = ''
    for (const letter of word) {
      if (piece && this.width(piece + letter, size, isBold) > max) {
        pieces.push(piece)
        piece = ''
      }
      piece += letter
    }
    return [...pieces, piece]
  }
}
