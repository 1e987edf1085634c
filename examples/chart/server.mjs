// A chart, as an MCP server with an interface. It speaks MCP over stdio: one JSON object a line.
import fs from 'node:fs'
import readline from 'node:readline'

const VIEW = 'ui://chart/view'
const MIME = 'text/html;profile=mcp-app'
const HTML = fs.readFileSync(new URL('view.html', import.meta.url), 'utf8')

const TOOL = {
  name: 'show_chart',
  title: 'Draw a chart',
  description: 'Draws numbers as a bar or line chart that the person sees in the conversation.',
  inputSchema: {
    type: 'object',
    properties: {
      values: { type: 'array', items: { type: 'number' }, minItems: 1, maxItems: 200 },
      labels: { type: 'array', items: { type: 'string', maxLength: 60 }, description: 'One for each value' },
      title: { type: 'string', maxLength: 120 },
      kind: { type: 'string', enum: ['bar', 'line'] },
    },
    required: ['values'],
  },
  annotations: { readOnlyHint: true },
  _meta: { ui: { resourceUri: VIEW } },
}

/** The text is for the model, and for hosts without interfaces. */
function describe({ values = [], labels = [], title = 'Chart' }) {
  const sum = values.reduce((a, b) => a + b, 0)
  const rows = values.map((value, i) => `${labels[i] ?? i + 1}: ${value}`)
  return `${title}\n${rows.join('\n')}\nsum ${sum}, mean ${(sum / values.length).toFixed(2)}`
}

const METHODS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {}, resources: {} },
    serverInfo: { name: 'chart', title: 'Chart', version: '1.0.0' },
  }),
  ping: () => ({}),
  'tools/list': () => ({ tools: [TOOL] }),
  'tools/call': ({ arguments: args = {} }) => ({
    content: [{ type: 'text', text: describe(args) }],
    structuredContent: args,
  }),
  'resources/list': () => ({ resources: [{ uri: VIEW, name: 'Chart', mimeType: MIME }] }),
  'resources/read': () => ({
    contents: [{ uri: VIEW, mimeType: MIME, text: HTML, _meta: { ui: { prefersBorder: true } } }],
  }),
}

function answer({ method, params = {} }) {
  if (!METHODS[method]) return { error: { code: -32601, message: `There is no method ${method}.` } }
  return { result: METHODS[method](params) }
}

readline.createInterface({ input: process.stdin }).on('line', (line) => {
  const request = JSON.parse(line)
  if (request.id === undefined) return // a notification
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id: request.id, ...answer(request) }) + '\n')
})
