// A table in a CSV file, as an MCP server with an interface. It speaks MCP over stdio: one JSON object a line.
import fs from 'node:fs'
import path from 'node:path'
import readline from 'node:readline'

const FILE = path.join(process.env.MPAK_WORKSPACE ?? '.', 'table.csv')
const VIEW = 'ui://table/view'
const MIME = 'text/html;profile=mcp-app'
const HTML = fs.readFileSync(new URL('view.html', import.meta.url), 'utf8')
const ROWS_MAX = 500
const CELL_MAX = 200
const FIRST = [
  ['Task', 'Owner', 'Days'],
  ['Write the outline', 'Ann', '2'],
  ['Draw the figures', 'Ben', '3'],
  ['Read it once more', 'Ann', '1'],
]

// ---- the file ----

const quote = (cell) => (/[",\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)
const toCsv = (rows) => rows.map((row) => row.map(quote).join(',') + '\n').join('')

function fromCsv(text) {
  const rows = [[]]
  for (const [, quoted, plain, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^,\n]*))(,|\n|$)/g)) {
    if (rows.at(-1).length === 0 && !quoted && !plain && end === '') break
    rows.at(-1).push(quoted?.replaceAll('""', '"') ?? plain)
    if (end === '\n') rows.push([])
    if (end === '') break
  }
  return rows.filter((row) => row.length > 0)
}

function load() {
  const [columns, ...rows] = fs.existsSync(FILE) ? fromCsv(fs.readFileSync(FILE, 'utf8')) : FIRST
  return { columns, rows }
}

/** Writes beside the file and renames, so that a reader never sees half of it. */
function save({ columns, rows }) {
  fs.writeFileSync(`${FILE}.new`, toCsv([columns, ...rows]))
  fs.renameSync(`${FILE}.new`, FILE)
}

// ---- the tools ----

const number = { type: 'integer', minimum: 1 }
const text = { type: 'string', maxLength: CELL_MAX }
const object = (properties, required = Object.keys(properties)) => ({ type: 'object', properties, required })

const TOOLS = [
  {
    name: 'show_table',
    title: 'Show the table',
    description: 'Shows the table to the person, in an interface where cells can be edited.',
    inputSchema: object({}),
    annotations: { readOnlyHint: true },
    _meta: { ui: { resourceUri: VIEW } },
    run: (table) => table,
  },
  {
    name: 'set_cell',
    title: 'Change a cell',
    description: 'Changes one cell. Rows are counted from 1; the column is its name.',
    inputSchema: object({ row: number, column: text, value: text }),
    annotations: { destructiveHint: false, idempotentHint: true },
    run(table, { row, column, value }) {
      table.rows[rowAt(table, row)][columnAt(table, column)] = value
      save(table)
      return table
    },
  },
  {
    name: 'add_row',
    title: 'Add a row',
    description: 'Adds a row at the end: one text for each column.',
    inputSchema: object({ cells: { type: 'array', items: text } }),
    annotations: { destructiveHint: false },
    run(table, { cells }) {
      if (table.rows.length >= ROWS_MAX) throw new Error(`The table is full: it holds ${ROWS_MAX} rows.`)
      table.rows.push(table.columns.map((_, i) => cells[i] ?? ''))
      save(table)
      return table
    },
  },
  {
    name: 'delete_row',
    title: 'Delete a row',
    description: 'Deletes one row. Rows are counted from 1.',
    inputSchema: object({ row: number }),
    annotations: { destructiveHint: true }, // so nb asks the person first
    run(table, { row }) {
      table.rows.splice(rowAt(table, row), 1)
      save(table)
      return table
    },
  },
]

function rowAt({ rows }, row) {
  if (!rows[row - 1]) throw new Error(`There is no row ${row}: the table has ${rows.length} rows.`)
  return row - 1
}

function columnAt({ columns }, name) {
  const at = columns.indexOf(name)
  if (at < 0) throw new Error(`There is no column "${name}": the columns are ${columns.join(', ')}.`)
  return at
}

function call({ name, arguments: args = {} }) {
  const tool = TOOLS.find((t) => t.name === name)
  if (!tool) throw new Error(`There is no tool ${name}.`)
  const table = tool.run(load(), args)
  // `content` is for the model and for hosts without interfaces, structuredContent for the interface.
  return { content: [{ type: 'text', text: toCsv([table.columns, ...table.rows]) }], structuredContent: table }
}

// ---- MCP ----

const METHODS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {}, resources: {} },
    serverInfo: { name: 'table', title: 'Table', version: '1.0.0' },
  }),
  ping: () => ({}),
  'tools/list': () => ({ tools: TOOLS.map(({ run, ...tool }) => tool) }),
  'tools/call'(params) {
    try {
      return call(params)
    } catch (error) {
      return { isError: true, content: [{ type: 'text', text: error.message }] } // for the model to read
    }
  },
  'resources/list': () => ({ resources: [{ uri: VIEW, name: 'Table', mimeType: MIME }] }),
  'resources/read'({ uri }) {
    if (uri !== VIEW) throw new Error(`There is no resource ${uri}.`)
    return { contents: [{ uri, mimeType: MIME, text: HTML, _meta: { ui: { prefersBorder: true } } }] }
  },
}

function answer({ method, params = {} }) {
  if (!METHODS[method]) return { error: { code: -32601, message: `There is no method ${method}.` } }
  try {
    return { result: METHODS[method](params) }
  } catch (error) {
    return { error: { code: -32602, message: error.message } }
  }
}

readline.createInterface({ input: process.stdin }).on('line', (line) => {
  const request = JSON.parse(line)
  if (request.id === undefined) return // a notification
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id: request.id, ...answer(request) }) + '\n')
})
