// The rows of tables.
import type { Align, Table } from './tree'

const COLUMNS_MAX = 64
const DELIMITER = /^\|?[ \t]*:?-+:?(?:[ \t]*\|[ \t]*:?-+:?)*(?:[ \t]*\|)?$/ // of a line without white space at its end

/** A table of these two lines, without rows; null: they are none. */
export function tableOf(headLine: string, delimiterLine: string): Table | null {
  if (!DELIMITER.test(delimiterLine.trimEnd()) || !`${headLine}${delimiterLine}`.includes('|')) return null
  const head = cellsOf(headLine)
  const align = cellsOf(delimiterLine).map(alignOf)
  if (align.length !== head.length || head.length > COLUMNS_MAX) return null
  return { type: 'table', align, head, rows: [] }
}

/** While text grows: a table of which nothing but its first line has come, or half of its second. */
export function growingTableOf(lines: readonly string[]): Table | null {
  const [headLine = '', delimiterLine = ''] = lines
  if (lines.length > 2 || !headLine.startsWith('|') || !/^[ \t|:-]*$/.test(delimiterLine)) return null
  const head = cellsOf(headLine)
  return head.length > COLUMNS_MAX ? null : { type: 'table', align: cellsOf(delimiterLine).map(alignOf), head, rows: [] }
}

function alignOf(cell: string): Align {
  const isLeft = cell.startsWith(':')
  const isRight = cell.endsWith(':')
  if (isLeft && isRight) return 'center'
  return isRight ? 'right' : isLeft ? 'left' : null
}

/** The cells of a row; "\|" is a bar within one, and so is a bar in a code span. */
export function cellsOf(line: string): string[] {
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
