// The client of MCP against servers that others wrote, over each transport.
import fs from 'node:fs'
import path from 'node:path'
import { connect, textOf } from '../support/mcp_driver.mjs'
import { assert, before, eventually, freePort, SRC_DIR, start, test, tmpdir } from '../support/tap.mjs'

const packages = path.join(SRC_DIR, 'node_modules/@modelcontextprotocol')
const everything = path.join(packages, 'server-everything/dist/index.js')
const loopback = path.join(SRC_DIR, 'tests/support/loopback.cjs')

const answers = {
    roots: { roots: [{ uri: 'file:///tmp', name: 'tmp' }] },
    sampling: ({ messages }) => ({
        role: 'assistant',
        model: 'double',
        stopReason: 'endTurn',
        content: { type: 'text', text: `heard: ${messages[0].content.text}` },
    }),
    elicitation: ({ requestedSchema }) => ({
        action: 'accept',
        content: requestedSchema.properties.interpretation ? { interpretation: 'snake' } : { name: 'Ada', check: true },
    }),
}

const TRANSPORTS = {
    stdio: async () => ({ command: [process.execPath, everything] }),
    streamableHttp: async () => ({ url: await serve('streamableHttp', '/mcp') }),
    sse: async () => ({ url: await serve('sse', '/sse') }),
}

async function serve(kind, place) {
    const port = await freePort()
    const server = start(process.execPath, ['--require', loopback, everything, kind], { env: { PORT: String(port) } })
    await server.waitFor(/on port/)
    return `http://127.0.0.1:${port}${place}`
}

for (const [name, open] of Object.entries(TRANSPORTS)) {
    let client
    before(async () => {
        client = await connect(await open(), { answers })
    })

    test(`${name}: opens with the newest revision that the server has`, () => {
        assert.equal(client.opened.event, 'ready', client.opened.message)
        assert.equal(client.opened.era, 'legacy')
        assert.equal(client.opened.version, '2025-11-25')
        assert.equal(client.opened.info.name, 'mcp-servers/everything')
        assert.match(client.opened.instructions, /Everything/)
        assert.equal(client.opened.pid > 0, name === 'stdio')
    })

    test(`${name}: lists and calls tools`, async () => {
        const tools = await client.list('tools/list', 'tools')
        assert.ok(tools.length >= 12)
        assert.ok(tools.find((tool) => tool.name === 'echo').inputSchema.$schema, 'schemas come as they are')
        assert.equal(textOf(await client.call('echo', { message: 'ünïcode ✓' })), 'Echo: ünïcode ✓')
        assert.match(textOf(await client.call('get-sum', { a: 2, b: 3 })), /5/)
        const { structuredContent } = await client.call('get-structured-content', { location: 'New York' })
        assert.ok(structuredContent.temperature !== undefined)
        const { error } = await client.request('no/such/method', {}).done
        assert.equal(error.code, -32601)
    })

    test(`${name}: resources, prompts, completion`, async () => {
        const [resource] = await client.list('resources/list', 'resources')
        const { result } = await client.request('resources/read', { uri: resource.uri }).done
        assert.equal(result.contents[0].uri, resource.uri)
        const prompts = await client.list('prompts/list', 'prompts')
        assert.ok(prompts.some((prompt) => prompt.name === 'simple-prompt'))
        const got = await client.request('prompts/get', { name: 'simple-prompt' }).done
        assert.equal(got.result.messages[0].role, 'user')
    })

    test(`${name}: progress comes in order and before the answer`, async () => {
        const { id, done } = client.startCall('trigger-long-running-operation', { duration: 0.4, steps: 4 }, { progress: true })
        const { result } = await done
        assert.match(textOf(result), /completed/)
        const mine = client.events.filter((event) => event.id === id)
        assert.deepEqual(mine.map(({ event }) => event), ['progress', 'progress', 'progress', 'progress', 'done'])
        assert.deepEqual(mine.slice(0, 4).map(({ params }) => params.progress), [1, 2, 3, 4])
        assert.equal('progressToken' in mine[0].params, false)
    })

    test(`${name}: sampling reaches the host and its answer the server`, async () => {
        const result = await client.call('trigger-sampling-request', { prompt: 'the prompt', maxTokens: 10 })
        assert.match(textOf(result), /heard: .*the prompt/)
        assert.equal(client.asks.findLast(({ kind }) => kind === 'sampling').hasCall, true)
    })

    test(`${name}: elicitation`, async () => {
        const result = await client.call('trigger-elicitation-request')
        assert.match(textOf(result), /Ada/)
    })

    test(`${name}: a cancelled call has no answer, and the next one works`, async () => {
        const { id } = client.startCall('trigger-long-running-operation', { duration: 30, steps: 300 }, { progress: true })
        await client.until('progress', (event) => event.id === id)
        client.send('cancel', { id })
        assert.match(textOf(await client.call('echo', { message: 'after' })), /after/)
        assert.equal(client.of('done').some((event) => event.id === id), false)
    })

    test(`${name}: silence ends a call; progress keeps it alive until the hard limit`, async () => {
        const silent = client.startCall('trigger-long-running-operation', { duration: 30, steps: 1 }, { timeoutMs: 300 })
        const late = await silent.done
        assert.equal(late.errno, -110)
        assert.match(late.message, /no answer .* 0.3 s/)
        // 0.2 s between two notifications. A server that a busy machine keeps from sending is given more time.
        let over
        for (let ms = 1500; ms < 40_000 && !/time limit/.test(over?.message); ms *= 2) {
            const began = performance.now()
            over = await client.startCall('trigger-long-running-operation', { duration: 90, steps: 450 }, { progress: true, timeoutMs: ms, maxMs: ms * 1.5 }).done
            assert.equal(over.errno, -110)
            assert.ok(performance.now() - began >= ms - 100)
        }
        assert.match(over.message, /time limit/)
    })

    test(`${name}: a tool that only runs as a task is waited for, questions included`, async () => {
        const result = await client.call('simulate-research-query', { topic: 'python', ambiguous: true })
        assert.match(textOf(result), /Research Report: python \(snake\)/)
    })

    test(`${name}: closes in order`, async () => {
        const { errno } = await client.close()
        assert.equal(errno, 0)
        if (client.opened.pid) assert.throws(() => process.kill(client.opened.pid, 0), { code: 'ESRCH' })
    })
}

test('server-filesystem: writes and reads within its directory, and only there', async () => {
    const dir = fs.realpathSync(tmpdir())
    const server = path.join(packages, 'server-filesystem/dist/index.js')
    const client = await connect({ command: [process.execPath, server, dir] }, { capabilities: {} })
    assert.equal(client.opened.event, 'ready', client.opened.message)
    const file = path.join(dir, 'note.txt')
    await client.call('write_file', { path: file, content: 'hello' })
    assert.equal(fs.readFileSync(file, 'utf8'), 'hello')
    assert.match(textOf(await client.call('read_text_file', { path: file })), /hello/)
    const { result } = await client.startCall('read_text_file', { path: '/etc/passwd' }).done
    assert.equal(result.isError, true)
    assert.equal((await client.close()).errno, 0)
})

test('server-memory: keeps what it is told', async () => {
    const server = path.join(packages, 'server-memory/dist/index.js')
    const memory = path.join(tmpdir(), 'memory.json')
    const client = await connect({
        command: [process.execPath, server],
        env: [`PATH=${process.env.PATH}`, `MEMORY_FILE_PATH=${memory}`],
    })
    assert.equal(client.opened.event, 'ready', client.opened.message)
    await client.call('create_entities', { entities: [{ name: 'Ada', entityType: 'person', observations: ['counts'] }] })
    assert.match(textOf(await client.call('search_nodes', { query: 'Ada' })), /counts/)
    assert.equal((await client.close()).errno, 0)
})

for (const wire of ['stdio', 'http']) {
    test(`the official SDK of the stateless revision over ${wire}`, async () => {
        const server = path.join(SRC_DIR, 'tests/fixtures/sdk-server.mjs')
        const dial = wire === 'stdio' ? { command: [process.execPath, server], timeoutMs: 240_000 } : { url: await serveSdk(server) }
        // A server that may take long to connect may also be slow to answer the probe: 20 s.
        const client = await eventually(async () => {
            const opened = await connect(dial)
            if (opened.opened.era === 'modern') return opened
            await opened.close()
        })
        assert.equal(client.opened.info.name, 'sdk')
        const [tool] = await client.list('tools/list', 'tools')
        assert.equal(tool.name, 'hello')
        assert.equal(textOf(await client.call('hello')), 'hello')
        assert.equal((await client.close()).errno, 0)
    })
}

async function serveSdk(server) {
    const [url] = await start(process.execPath, [server, '--http']).waitFor(/http:\S+/)
    return url
}
