// tally.mjs - an MCP server over HTTP in this process, with one tool: mark {id}. It counts how often each id was marked.
import http from 'node:http'
import { after } from './tap.mjs'

const SCHEMA = { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] }
const ANSWERS = {
    initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'tally', version: '1.0.0' } }),
    ping: () => ({}),
    'tools/list': () => ({ tools: [{ name: 'mark', description: 'Marks an id.', inputSchema: SCHEMA }] }),
}

export async function startTally() {
    const marks = new Map()
    const mark = ({ arguments: { id } }) => {
        marks.set(id, (marks.get(id) ?? 0) + 1)
        return { content: [{ type: 'text', text: `marked ${id}` }] }
    }
    const answer = (text, res) => {
        const { id, method, params } = JSON.parse(text)
        const known = { ...ANSWERS, 'tools/call': mark }[method]
        if (id === undefined) return res.writeHead(202).end()
        const body = known ? { result: known(params ?? {}) } : { error: { code: -32601, message: `no ${method}` } }
        res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, ...body }))
    }
    const server = http.createServer((req, res) => {
        let text = ''
        if (req.method !== 'POST') return res.writeHead(405).end()
        req.setEncoding('utf8').on('data', (part) => (text += part)).on('end', () => answer(text, res))
    })
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
    after(() => {
        server.close()
        server.closeAllConnections()
    })
    return { url: `http://127.0.0.1:${server.address().port}/mcp`, marks }
}
