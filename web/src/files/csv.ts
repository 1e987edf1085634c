// Comma-separated values (RFC 4180), also with semicolons or tabs. Pure.

const SEPARATORS = [',', ';', '\t'] as const
const ROWS_MAX = 2001
const COLUMNS_MAX = 200

export type CsvRow = Record<string, string>

/** The first line names the columns. null: this is not a table. */
export function readCsv(text: string): CsvRow[] | null {
  const head = text.slice(0, text.search(/\r?\n|$/))
  const separator = [...SEPARATORS].sort((a, b) => head.split(b).length - head.split(a).length)[0]!
  const [names, ...rows] = fieldsOf(text, separator)
  if (!names || names.length < 2 || rows.length === 0) return null
  const keys = names.map((name, i) => (name && names.indexOf(name) === i ? name : `${name} (${i + 1})`.trim()))
  return rows.map((row) => Object.fromEntries(keys.map((key, i) => [key, row[i] ?? ''])))
}

function fieldsOf(text: string, separator: string): string[][] {
  const rows: string[][] = []
  let row: string[] = []
  const mark = separator === '\t' ? '\\t' : separator
  const field = new RegExp(`(?:"((?:[^"]|"")*)"|([^${mark}\\r\\n]*))(${mark}|\\r?\\n|$)`, 'y')
  while (field.lastIndex < text.length && rows.length < ROWS_MAX) {
    const found = field.exec(text)
    if (!found) break // a quote inside a field: what follows is not a table
    if (row.length < COLUMNS_MAX) row.push(found[1]?.replaceAll('""', '"') ?? found[2] ?? '')
    if (found[3] === separator) continue
    if (row.length > 1 || row[0] !== '') rows.push(row)
    row = []
  }
  if (row.length > 0) rows.push(row)
  return rows
}
