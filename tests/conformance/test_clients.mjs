// Real clients against the gateway: the official TypeScript SDK, both generations, over every
// transport it has, and the inspector's command line in both eras.
import fs from 'node:fs'
import path from 'node:path'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client'
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio'
import { assert, before, eventually, NB, run, SRC_DIR, start, startServer, test } from '../support/tap.mjs'
import { gatewayWith, modernClient, ready } from '../support/mcp.mjs'

const SOURCES = ['legacy', 'modern']
const INSPECTOR = fs.realpathSync(path.join(SRC_DIR, 'node_modules/@modelcontextprotocol/inspector/clients/cli/build/index.js')) // which runs only under its real name
const INFO = { name: 'real-client', version: '1.0.0' }
const served = (workdir) => ({ command: NB, args: ['mcp', 'serve', '--workdir', workdir] })
const stdio = () => served(gatewayWith({ legacy: ['--era', 'legacy'], modern: ['--era', 'modern'] }))
let server

before(async () => {
    server = await startServer({ workdir: gatewayWith({ legacy: ['--era', 'legacy'], modern: ['--era', 'modern'] }) })
    for (const source of SOURCES) await ready(server, source)
})

// List, call, progress, a question, a resource, a prompt, a completion.
async function exercise(client, { asked }) {
    const names = []
    for (let cursor; ; ) {
        const page = await client.listTools(cursor === undefined ? {} : { cursor })
        names.push(...page.tools.map((t) => t.name))
        cursor = page.nextCursor
        if (cursor === undefined) break
    }
    assert.ok(names.includes('nb__status'))
    for (const source of SOURCES) {
        assert.ok(names.includes(`${source}__greet`))
        const greeted = await client.callTool({ name: `${source}__greet`, arguments: { name: 'SDK' } })
        assert.equal(greeted.content[0].text, 'Hello, SDK!')
        const structured = await client.callTool({ name: `${source}__structured`, arguments: { n: 2 } })
        assert.deepEqual(structured.structuredContent, { n: 2, squares: [0, 1] })
        if (asked) {
            const reply = await client.callTool({ name: `${source}__test_elicitation`, arguments: { message: 'who?' } })
            assert.match(reply.content[0].text, /action=accept.*"username":"sdk"/)
        }
        const prompt = await client.getPrompt({ name: `${source}__test_prompt_with_arguments`, arguments: { arg1: 'a', arg2: 'b' } })
        assert.match(prompt.messages[0].content.text, /arg1='a'/)
    }
    const read = await client.readResource({ uri: 'test://template/77/data' })
    assert.match(read.contents[0].text, /77/)
    const { completion } = await client.complete({ ref: { type: 'ref/prompt', name: 'legacy__test_prompt_with_arguments' }, argument: { name: 'arg1', value: 'par' } })
    assert.deepEqual(completion.values, ['paris', 'park', 'party'])
}

async function withV1(transport, asked) {
    const client = new ClientV1(INFO, { capabilities: asked ? { elicitation: {} } : {} })
    if (asked) client.setRequestHandler(ElicitRequestSchema, async () => ({ action: 'accept', content: { username: 'sdk', email: 'a@b.c' } }))
    await client.connect(transport)
    try {
        await exercise(client, { asked })
        if (asked) {
            // Again, because it drops what comes together with the answer.
            await eventually(async () => {
                const seen = []
                await client.callTool({ name: 'legacy__test_tool_with_progress', arguments: {} }, undefined, { onprogress: (p) => seen.push(p.progress) })
                assert.deepEqual(seen.slice(0, 2), [0, 50])
                return true
            })
        }
    } finally {
        await client.close()
    }
}

test('SDK v1 over Streamable HTTP', () => withV1(new HttpV1(new URL(server.url + '/mcp')), true))
test('SDK v1 over HTTP+SSE', () => withV1(new SSEClientTransport(new URL(server.url + '/sse')), true))
test('SDK v1 over stdio', () => withV1(new StdioV1(stdio()), true))

async function withV2(transport, mode) {
    const client = new ClientV2(INFO, { capabilities: { elicitation: {} }, versionNegotiation: { mode } })
    client.setRequestHandler('elicitation/create', async () => ({ action: 'accept', content: { username: 'sdk', email: 'a@b.c' } }))
    await client.connect(transport)
    try {
        await exercise(client, { asked: true })
    } finally {
        await client.close()
    }
}

for (const mode of ['legacy', { pin: '2026-07-28' }]) {
    const name = typeof mode === 'string' ? mode : mode.pin
    test(`SDK v2 over Streamable HTTP, ${name}`, () => withV2(new HttpV2(new URL(server.url + '/mcp')), mode))
    test(`SDK v2 over stdio, ${name}`, () => withV2(new StdioV2(stdio()), mode))
}

// ---- nb mcp serve beside nb serve: one set of bundles for both ----

test('SDK v1 over stdio, beside a running server', () => withV1(new StdioV1(served(server.workdir)), true))
test('SDK v2 over stdio, stateless, beside a running server', () => withV2(new StdioV2(served(server.workdir)), { pin: '2026-07-28' }))

const line = (id, method, params) => JSON.stringify({ jsonrpc: '2.0', id, method, params }) + '\n'
const HELLO = line(1, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: INFO })

test('nb mcp serve shares the bundles of a running server', async () => {
    const args = ['mcp', 'serve', '--workdir', server.workdir, '--source', 'legacy']
    const input = HELLO + line(2, 'tools/call', { name: 'whoami', arguments: {} }) + 'no message\n' + line(3, 'tools/call', { name: 'greet', arguments: { name: 'x'.repeat(5 << 20) } })
    const { code, stdout } = await run(NB, args, { input })
    const replies = Object.fromEntries(stdout.trim().split('\n').map((l) => JSON.parse(l)).map((m) => [m.id, m]))
    const pid = (await modernClient(server.url + '/mcp/legacy').request('tools/call', { name: 'whoami', arguments: {} })).result.structuredContent.pid
    assert.equal(replies[2].result.structuredContent.pid, pid)
    assert.equal(replies.null.error.code, -32700)
    assert.equal(replies[3].error.code, -32600, 'what the server does not take is answered all the same')
    assert.equal(code, 0, 'the answers were waited for')
    const unknown = await run(NB, ['mcp', 'serve', '--workdir', server.workdir, '--source', 'nowhere'], { input: HELLO })
    assert.deepEqual([unknown.code, /Unknown tool source/.test(unknown.stderr)], [1, true])
})

test('nb mcp serve ends with the server that it was connected to', async () => {
    const other = await startServer({ workdir: gatewayWith({}) })
    const client = start(NB, ['mcp', 'serve', '--workdir', other.workdir])
    client.child.stdin.write(HELLO)
    await client.waitFor(/"protocolVersion":"2025-11-25"/)
    await other.stop()
    assert.equal((await client.exited).code, 1)
    assert.match(client.stderr, /closed the connection/)
})

for (const era of ['legacy', 'modern']) {
    test(`the inspector, ${era}`, async () => {
        const inspect = async (...args) => {
            const { code, stdout, stderr } = await run(process.execPath, [INSPECTOR, server.url + '/mcp', '--transport', 'http', '--protocol-era', era, '--header', `Authorization: Bearer ${server.key}`, ...args], { env: { HOME: server.workdir } })
            assert.equal(code, 0, stdout + stderr)
            return stdout
        }
        assert.match(await inspect('--method', 'tools/list'), /legacy__greet/)
        assert.match(await inspect('--method', 'tools/call', '--tool-name', 'modern__greet', '--tool-arg', 'name=inspector'), /Hello, inspector!/)
    })
}
