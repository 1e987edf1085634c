// Cancellation on every transport: a client over a pipe, over the oldest transport and over HTTP, in
// front of servers over a pipe and over HTTP, of both eras. The server that slept says so itself.
import readline from 'node:readline'
import { assert, before, eventually, NB, start, startServer, test } from '../support/tap.mjs'
import { FIXTURE, gatewayWith, LEGACY, legacyClient, messagesOf, MODERN, modernClient, P, ready, streamEvents } from '../support/mcp.mjs'

const SOURCES = ['legacy', 'modern', 'legacyhttp', 'modernhttp']
const META = { [P + 'protocolVersion']: MODERN, [P + 'clientCapabilities']: {}, [P + 'clientInfo']: { name: 't', version: '1' } }
let bundles, settings, server

before(async () => {
    bundles = { legacy: ['--era', 'legacy'], modern: ['--era', 'modern'] }
    settings = { allowInsecureRemotes: true }
    for (const era of ['legacy', 'modern']) {
        const far = start(process.execPath, [FIXTURE, '--http', '0', '--era', era])
        const [address] = await far.waitFor(/http:\S+/)
        bundles[era + 'http'] = { url: address, allowPrivate: true }
    }
    server = await startServer({ workdir: gatewayWith(bundles, settings) })
    for (const source of SOURCES) await ready(server, source)
})

const nap = (source, tag, meta = {}) => ({ name: `${source}__sleep`, arguments: { ms: 20000, tag }, _meta: { progressToken: tag, ...meta } })

async function saysCancelled(source, tag) {
    const ask = () => modernClient(server.url + '/mcp').request('tools/call', { name: `${source}__whoami`, arguments: {} })
    await eventually(async () => (await ask()).result.structuredContent.cancelled.includes(tag))
}

test('over HTTP, stateless: the connection is closed', async () => {
    for (const source of SOURCES) {
        const stop = new AbortController(), tag = `closed-${source}`
        const res = await modernClient(server.url + '/mcp').post('tools/call', nap(source, tag), { signal: stop.signal })
        for await (const message of messagesOf(res)) {
            assert.equal(message.params.message, 'asleep')
            break
        }
        stop.abort()
        await saysCancelled(source, tag)
    }
})

test('over HTTP, with a session: a notification', async () => {
    const client = await legacyClient(server.url + '/mcp', { listen: false })
    for (const source of SOURCES) {
        const id = `said-${source}`
        const call = client.raw({ jsonrpc: '2.0', id, method: 'tools/call', params: nap(source, id) })
        const messages = messagesOf(await call)
        assert.equal((await messages.next()).value.params.message, 'asleep')
        await client.notify('notifications/cancelled', { requestId: id })
        assert.equal((await messages.next()).done, true, 'no answer')
        await saysCancelled(source, id)
    }
})

test('over the oldest transport: a notification', async () => {
    const stop = new AbortController()
    const res = await fetch(server.url + '/sse', { headers: { accept: 'text/event-stream' }, signal: stop.signal })
    const stream = streamEvents(res.body)
    const { data } = (await stream.next()).value
    const say = (message) => fetch(server.url + data, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ jsonrpc: '2.0', ...message }) })
    /** The next message that fits: there are also signs of life, and lists that have changed. */
    const until = async (fits) => {
        for (;;) {
            const event = (await stream.next()).value
            const message = event.data && JSON.parse(event.data)
            if (message && fits(message)) return message
        }
    }
    await say({ id: 1, method: 'initialize', params: { protocolVersion: '2024-11-05', capabilities: {}, clientInfo: { name: 'old', version: '1' } } })
    await until((m) => m.id === 1)
    await say({ method: 'notifications/initialized' })
    for (const source of SOURCES) {
        const id = `old-${source}`
        await say({ id, method: 'tools/call', params: nap(source, id) })
        assert.equal((await until((m) => m.params?.progressToken === id)).params.message, 'asleep')
        await say({ method: 'notifications/cancelled', params: { requestId: id } })
        await saysCancelled(source, id)
    }
    stop.abort()
})

/** `nb mcp serve` as a child: say(message), and until(test), the first line that fits. */
function pipe() {
    const proc = start(NB, ['mcp', 'serve', '--workdir', gatewayWith(bundles, settings)])
    const seen = []
    readline.createInterface({ input: proc.child.stdout }).on('line', (line) => seen.push(JSON.parse(line)))
    return {
        say: (message) => proc.child.stdin.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n'),
        until: (fits) => eventually(() => seen.find(fits)),
        end: () => proc.child.stdin.end(),
    }
}

for (const era of ['with a handshake', 'stateless'])
    test(`over a pipe, ${era}: a notification`, async () => {
        const nb = pipe(), isModern = era === 'stateless'
        const meta = isModern ? META : {}
        let n = 0
        const ask = async (method, params) => {
            const id = `ask-${++n}`
            nb.say({ id, method, params })
            return (await nb.until((m) => m.id === id)).result
        }
        if (!isModern) {
            await ask('initialize', { protocolVersion: LEGACY, capabilities: {}, clientInfo: { name: 't', version: '1' } })
            nb.say({ method: 'notifications/initialized' })
        }
        for (const source of SOURCES) {
            await eventually(async () => (await ask('tools/list', { _meta: meta })).tools.some((t) => t.name === `${source}__sleep`))
            const id = `pipe-${source}`
            nb.say({ id, method: 'tools/call', params: nap(source, id, meta) })
            await nb.until((m) => m.params?.progressToken === id)
            nb.say({ method: 'notifications/cancelled', params: { requestId: id } })
            const who = () => ask('tools/call', { name: `${source}__whoami`, arguments: {}, _meta: meta })
            await eventually(async () => (await who()).structuredContent.cancelled.includes(id))
        }
        nb.end()
    })
