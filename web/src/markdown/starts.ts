// How blocks begin: for each kind, what the first line must look like. The line is after the markers of
// the blocks around it, and is indented by fewer than four columns.

export interface Marker {
  kind: string // "-", "*", "+", "." or ")": items of one list have the same
  start: number
  width: number // characters
}

const HEADING = /^(#{1,6})(?:[ \t]+|$)/
const FENCE = /^(?:(`{3,})([^`]*)|(~{3,})(.*))$/
const RULE = /^(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$/
const SETEXT = /^(?:=+|-+)[ \t]*$/
const BULLET = /^([-*+])(?:[ \t]|$)/
const NUMBER = /^(\d{1,9})([.)])(?:[ \t]|$)/
const FOOTNOTE = /^\[\^([^\s[\]]{1,100})\]:[ \t]*/

export function headingOf(line: string): { level: number; text: string } | null {
  const match = HEADING.exec(line)
  if (!match) return null
  return { level: match[1]!.length, text: withoutClosing(line.slice(match[0].length).trim()) }
}

/** "Title ##" is "Title". */
function withoutClosing(text: string): string {
  let end = text.length
  while (text[end - 1] === '#') end--
  const isClosed = end === 0 || text[end - 1] === ' ' || text[end - 1] === '\t'
  return isClosed ? text.slice(0, end).trimEnd() : text
}

export function fenceOf(line: string): { marker: string; info: string } | null {
  const match = FENCE.exec(line)
  return match && { marker: match[1] ?? match[3]!, info: (match[2] ?? match[4] ?? '').trim() }
}

export function endsFence(line: string, marker: string): boolean {
  const text = line.trimEnd()
  return text.length >= marker.length && text === marker[0]!.repeat(text.length)
}

export function isRule(line: string): boolean {
  return RULE.test(line)
}

/** The level of the heading that this line makes of the lines before it. */
export function setextLevel(line: string): 1 | 2 | null {
  return SETEXT.test(line) ? (line[0] === '=' ? 1 : 2) : null
}

export function markerOf(line: string): Marker | null {
  const bullet = BULLET.exec(line)
  if (bullet) return { kind: bullet[1]!, start: 0, width: 1 }
  const number = NUMBER.exec(line)
  return number && { kind: number[2]!, start: Number(number[1]), width: number[1]!.length + 1 }
}

export function isOrdered({ kind }: Marker): boolean {
  return kind === '.' || kind === ')'
}

/** The label of a footnote, and how many characters its marker has. */
export function footnoteOf(line: string): { label: string; width: number } | null {
  const match = FOOTNOTE.exec(line)
  return match && { label: match[1]!, width: match[0].trimEnd().length }
}

/** A formula in one line, or the end that one which begins here must have. */
export function formulaOf(line: string): { text: string } | { end: string } | null {
  const text = line.trimEnd()
  const isDollars = text.startsWith('$$')
  if (!isDollars && !text.startsWith('\\[')) return null
  if (text.length >= 4 && text.endsWith(isDollars ? '$$' : '\\]')) {
    const inner = text.slice(2, -2)
    if ((isDollars ? /[^\s$]/ : /[A-Za-z\d]/).test(inner)) return { text: inner.trim() }
  }
  if (text === '$$') return { end: '$$' }
  return text === '\\[' ? { end: '\\]' } : null
}
