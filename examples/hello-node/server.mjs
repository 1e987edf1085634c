// An MCP server in JavaScript, without packages. MPAK_WORKSPACE is the data directory of the bundle:
// the only place where it may write. It is kept between starts.
import fs from 'node:fs'
import path from 'node:path'
import readline from 'node:readline'

const FILE = path.join(process.env.MPAK_WORKSPACE ?? '.', 'notes.json')
const notes = fs.existsSync(FILE) ? JSON.parse(fs.readFileSync(FILE, 'utf8')) : []

const tools = {
    add_note: {
        description: 'Keeps a note',
        inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
        run({ text }) {
            notes.push(text)
            fs.writeFileSync(FILE, JSON.stringify(notes))
            return `note ${notes.length} is kept`
        },
    },
    list_notes: {
        description: 'Lists the notes',
        inputSchema: { type: 'object' },
        annotations: { readOnlyHint: true },
        run: () => notes.map((text, i) => `${i + 1}. ${text}`).join('\n') || 'no notes yet',
    },
}

const methods = {
    initialize: ({ protocolVersion }) => ({
        protocolVersion: protocolVersion ?? '2025-06-18',
        capabilities: { tools: {} },
        serverInfo: { name: 'hello-node', version: '1.0.0' },
    }),
    'tools/list': () => ({ tools: Object.entries(tools).map(([name, { run, ...tool }]) => ({ name, ...tool })) }),
    'tools/call': ({ name, arguments: input = {} }) => ({ content: [{ type: 'text', text: tools[name].run(input) }] }),
    ping: () => ({}),
}

for await (const line of readline.createInterface({ input: process.stdin })) {
    const { id, method, params = {} } = JSON.parse(line)
    if (id === undefined) continue // a notification expects no answer
    const answer = Object.hasOwn(methods, method)
        ? { result: methods[method](params) }
        : { error: { code: -32601, message: 'Method not found' } }
    console.log(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
}
