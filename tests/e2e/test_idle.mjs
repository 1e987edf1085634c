// A server that nobody uses does nothing: the kernel tells what happens, nothing is polled.
import fs from 'node:fs'
import path from 'node:path'
import { assert, eventually, NB, sleep, startServer, test, tmpdir } from '../support/tap.mjs'

const BUNDLES = 5
const WINDOW_MS = 10_000
const TIMERS = 4 // wake-ups in the window that are allowed: the memory of the machine, a connection that is closed

const wakeups = async (server) => Number(/^nb_loop_wakeups_total (\d+)/m.exec(await (await fetch(server.url + '/metrics')).text())[1])

/** A work directory with bundles that start within milliseconds. */
function withBundles() {
    const workdir = tmpdir('nb-idle-')
    const bundles = Array.from({ length: BUNDLES }, (_, i) => ({ serverName: `idle-${i}`, command: NB, args: ['mcp', 'bash'] }))
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify({ defaultModel: 'demo:demo', bundles }))
    return workdir
}

const running = (server) =>
    eventually(async () => (await (await fetch(server.url + '/v1/apps')).json()).apps.filter((app) => app.status === 'running').length >= BUNDLES)

test('an idle server with five bundles hardly wakes up', async () => {
    const server = await startServer({ workdir: withBundles() })
    await running(server)
    // It was used: a conversation, and a session of an MCP client.
    const post = (route, body, headers) => fetch(server.url + route, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) })
    assert.equal((await post('/v1/chat', { message: 'hello' })).status, 200)
    const hello = { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'idle', version: '1' } } }
    assert.equal((await post('/mcp', hello, { accept: 'application/json, text/event-stream' })).status, 200)
    let last
    // A while after the start: bundles are measured until they do not change any more.
    await eventually(async () => {
        const before = await wakeups(server)
        const own = (await wakeups(server)) - before
        await sleep(WINDOW_MS)
        last = (await wakeups(server)) - before - 2 * own
        return last <= TIMERS
    }).catch(() => assert.fail(`${last} wake-ups in ${WINDOW_MS} ms`))
})

test('a change of the settings is noticed all the same, however they are written', async () => {
    const workdir = withBundles()
    const file = path.join(workdir, 'nimblebrain.json')
    const server = await startServer({ workdir })
    await running(server)
    const has = (name) => eventually(async () => (await (await fetch(server.url + '/v1/apps')).json()).apps.some((app) => app.name === name))
    const settings = (name) => JSON.stringify({ bundles: [{ serverName: name, command: NB, args: ['mcp', 'bash'] }] })
    fs.writeFileSync(file, settings('in-place'))
    await has('in-place')
    fs.writeFileSync(file + '.new', settings('renamed'))
    fs.renameSync(file + '.new', file)
    await has('renamed')
    fs.writeFileSync(path.join(workdir, 'elsewhere.json'), settings('linked')) // the target of a link is examined
    fs.rmSync(file)
    fs.symlinkSync('elsewhere.json', file)
    await has('linked')
    fs.mkdirSync(path.join(workdir, 'far'))
    fs.rmSync(file)
    fs.writeFileSync(path.join(workdir, 'far/target.json'), settings('linked'))
    fs.symlinkSync('far/target.json', file)
    await sleep(1500)
    fs.writeFileSync(path.join(workdir, 'far/target.json'), settings('behind-the-link'))
    await has('behind-the-link')
})

test('a directory of the settings that is a link may be led elsewhere', async () => {
    const root = tmpdir('nb-idle-link-')
    const settings = (name) => JSON.stringify({ bundles: [{ serverName: name, command: NB, args: ['mcp', 'bash'] }] })
    for (const name of ['one', 'two']) {
        fs.mkdirSync(path.join(root, name))
        fs.writeFileSync(path.join(root, name, 'nimblebrain.json'), settings(`of-${name}`))
    }
    const link = path.join(root, 'current')
    fs.symlinkSync('one', link)
    const server = await startServer({ workdir: link })
    const has = (name) => eventually(async () => (await (await fetch(server.url + '/v1/apps')).json()).apps.some((app) => app.name === name))
    await has('of-one')
    await sleep(1500)
    fs.symlinkSync('two', link + '.new')
    fs.renameSync(link + '.new', link)
    await has('of-two')
})
