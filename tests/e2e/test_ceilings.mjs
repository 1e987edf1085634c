// One person, or somebody whom nobody knows, uses up everything there is: the others notice nothing.
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { assert, eventually, nb, test, tmpdir } from '../support/tap.mjs'
import { client, listen, openOffice, withBriefToken } from '../support/office.mjs'
import { run } from '../../bench/bench_hostile.mjs'

const PEOPLE = { ann: 'owner', bob: 'member', eve: 'member' }
const SPACES = { ws_team: { ann: 'admin', bob: 'member', eve: 'member' } }

/** A connection that has sent these bytes. */
function connection(server, bytes) {
    return new Promise((resolve, reject) => {
        const socket = net.connect(server.port, '127.0.0.1', () => socket.write(bytes, () => resolve(socket)))
        socket.isOver = false
        socket.on('close', () => (socket.isOver = true)).on('error', reject)
        socket.on('error', () => {})
        socket.setEncoding('latin1').on('data', (text) => (socket.said = (socket.said ?? '') + text))
    })
}

test('half heads of strangers make room for each other, and for somebody who is known', async () => {
    const office = await openOffice(PEOPLE, SPACES, { settings: { http: { connectionsPerAddress: 20 } } })
    const sockets = []
    for (let i = 0; i < 60; i++) sockets.push(await connection(office.server, 'G'))
    await eventually(() => sockets.filter((s) => s.isOver).length >= 40)
    assert.equal(sockets.slice(-10).filter((s) => s.isOver).length, 0, 'the oldest go first')
    assert.equal((await office.as('ann', 'ws_team').get('/v1/conversations')).status, 200)
    assert.equal((await office.operator('GET', '/v1/health')).status, 200)
    sockets.forEach((s) => s.destroy())
})

test('strangers behind one trusted proxy have places of their own', async () => {
    const office = await openOffice(PEOPLE, SPACES, { settings: { http: { connectionsPerAddress: 3, trustedProxies: ['127.0.0.1'] } } })
    const half = (client) => connection(office.server, `POST /v1/auth/login HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: ${client}\r\nContent-Length: 50\r\n\r\n{`)
    const other = await half('192.0.2.9')
    const sockets = []
    for (let i = 0; i < 8; i++) sockets.push(await half('192.0.2.1'))
    await eventually(() => sockets.filter((s) => s.isOver).length === 5)
    assert.equal(sockets.slice(-3).filter((s) => s.isOver).length, 0, 'its own oldest go first')
    assert.equal(other.isOver, false)
    for (const s of [other, ...sockets]) s.destroy()
})

test("one person's streams end at a ceiling, the oldest first, and nobody else's do", async () => {
    const office = await openOffice(PEOPLE, SPACES, { settings: { http: { streamsPerPerson: 5 } } })
    const headers = (name) => ({ authorization: `Bearer ${office.tokens[name]}`, 'x-workspace-id': 'ws_team' })
    const ann = listen(office.server, '/v1/events', headers('ann'))
    await ann.until(() => ann.isOpen, 'open')
    const streams = []
    for (let i = 0; i < 12; i++) {
        const s = listen(office.server, '/v1/events', headers('eve'))
        await s.until(() => s.isOpen, 'open')
        streams.push(s)
    }
    await eventually(() => streams.filter((s) => s.closed).length === 7)
    assert.deepEqual(streams.map((s) => Boolean(s.closed)), [...Array(7).fill(true), ...Array(5).fill(false)])
    assert.equal(ann.closed, null)
    assert.equal((await office.as('eve', 'ws_team').get('/v1/conversations')).status, 200)
    for (const s of [ann, ...streams]) s.drop()
})

test("one person's connections end at a ceiling, and requests under way stay", async () => {
    const office = await openOffice(PEOPLE, SPACES, { settings: { http: { connectionsPerPerson: 6 } } })
    const request = (name, target) => `GET ${target} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${office.tokens[name]}\r\nX-Workspace-Id: ws_team\r\n\r\n`
    const stream = await connection(office.server, request('eve', '/v1/events'))
    await eventually(() => /200 OK/.test(stream.said))
    const sockets = []
    for (let i = 0; i < 20; i++) {
        const s = await connection(office.server, request('eve', '/v1/conversations'))
        await eventually(() => s.said)
        assert.match(s.said, /^HTTP\/1\.1 200/)
        sockets.push(s)
    }
    await eventually(() => sockets.filter((s) => s.isOver).length === 15)
    assert.equal(stream.isOver, false)
    assert.equal((await office.as('bob', 'ws_team').get('/v1/conversations')).status, 200)
    for (const s of [stream, ...sockets]) s.destroy()
})

test('preferences have a limit of bytes and of keys, and each person saves one change at a time', async () => {
    const office = await openOffice(PEOPLE, SPACES)
    const eve = office.as('eve', 'ws_team')
    const keys = (n) => Object.fromEntries(Array.from({ length: n }, (_, i) => [`k${i}`, 1]))
    assert.equal((await eve.ask('PATCH', '/v1/preferences', keys(90000))).status, 413)
    assert.equal((await eve.ask('PATCH', '/v1/preferences', keys(257))).status, 400)
    assert.equal((await eve.ask('PATCH', '/v1/preferences', { a: 'x'.repeat(17000) })).status, 400)
    assert.deepEqual((await eve.ask('PATCH', '/v1/preferences', { a: 1, b: 2, c: 3 })).body, { a: 1, b: 2, c: 3 })
    assert.deepEqual((await eve.ask('PATCH', '/v1/preferences', { b: null, d: 4, a: 5 })).body, { a: 5, c: 3, d: 4 })

    const flood = []
    for (let i = 0; i < 100; i++) flood.push(eve.ask('PATCH', '/v1/preferences', { [`x${i % 50}`]: i }))
    const removed = await office.as('ann').ask('DELETE', `/v1/workspaces/ws_team/members/${office.ids.eve}`)
    assert.equal(removed.status, 200)
    const got = (await Promise.all(flood)).map((r) => r.status)
    assert.deepEqual([...new Set(got)].sort(), [200, 429])
    assert.equal((await eve.get('/v1/conversations')).status, 403)
})

test('bodies are limited by what their route is for', async () => {
    const office = await openOffice(PEOPLE, SPACES)
    const ann = office.as('ann', 'ws_team')
    const big = 'x'.repeat(70000)
    assert.equal((await ann.post('/v1/users', { email: 'a@example.com', displayName: big })).status, 413)
    assert.equal((await office.nobody.post('/v1/auth/login', { email: 'ann@example.com', password: 'x'.repeat(5000) })).status, 413)
    assert.equal((await ann.post('/v1/chat/start', { message: big })).status, 202)
})

const INITIALIZE = { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } } }
const ACCEPT = { accept: 'application/json, text/event-stream' }

async function openSession(who) {
    const res = await who.post('/mcp', INITIALIZE, ACCEPT)
    assert.equal(res.status, 200, res.text)
    return res.headers.get('mcp-session-id')
}

const ping = async (who, id) => (await who.post('/mcp', { jsonrpc: '2.0', id: 2, method: 'ping' }, { ...ACCEPT, 'mcp-session-id': id })).status

test("one person's MCP sessions make room for each other, and nobody else's go", async () => {
    const office = await openOffice(PEOPLE, SPACES, { settings: { mcp: { maxSessions: 40 }, http: { rateLimits: { mcp: 0 } } } })
    const ann = office.as('ann', 'ws_team')
    const eve = office.as('eve', 'ws_team')
    const mine = await openSession(ann)
    const ids = []
    for (let i = 0; i < 60; i++) ids.push(await openSession(eve))
    assert.equal(await ping(ann, mine), 200)
    assert.equal(await ping(eve, ids[0]), 404)
    assert.equal(await ping(eve, ids.at(-1)), 200)
    assert.equal(await ping(eve, ids.at(-32)), 200)
    assert.equal(await ping(eve, ids.at(-33)), 404)
})

test('MCP streams and sessions end with their token, and only those of that token', async () => {
    const office = await openOffice(PEOPLE, SPACES, { tokens: { eve: [{ name: 'other' }] } })
    const who = { eve: office.as('eve', 'ws_team'), other: office.as('other', 'ws_team') }
    const ids = Object.fromEntries(await Promise.all(Object.entries(who).map(async ([name, w]) => [name, await openSession(w)])))
    const open = async (token, target, more = {}) => {
        const s = listen(office.server, target, { authorization: `Bearer ${token}`, 'x-workspace-id': 'ws_team', accept: 'text/event-stream', ...more })
        await s.until(() => s.status > 0, 'open')
        return s
    }
    const streams = {}
    for (const name of Object.keys(who)) streams[name] = [await open(office.tokens[name], '/mcp', { 'mcp-session-id': ids[name] }), await open(office.tokens[name], '/sse')]
    await withBriefToken(office, 'eve', async (token) => {
        const opened = await client(office.server, token, 'ws_team').post('/mcp', INITIALIZE, ACCEPT)
        const short = [await open(token, '/mcp', { 'mcp-session-id': opened.headers.get('mcp-session-id') }), await open(token, '/sse')]
        if (!short.every((s) => s.isOpen)) return false
        await eventually(() => short.every((s) => s.closed))
        return true
    })
    assert.ok(Object.values(streams).flat().every((s) => s.isOpen))
    assert.equal(streams.eve.concat(streams.other).some((s) => s.closed), false)

    const revoked = await office.as('eve').ask('DELETE', '/v1/tokens/tok_eve1')
    assert.equal(revoked.status, 200, revoked.text)
    await eventually(() => streams.other.every((s) => s.closed))
    assert.equal(streams.eve.some((s) => s.closed), false)
    assert.equal(await ping(who.eve, ids.eve), 200)

    const removed = await office.as('ann').ask('DELETE', `/v1/workspaces/ws_team/members/${office.ids.eve}`)
    assert.equal(removed.status, 200)
    await eventually(() => streams.eve.every((s) => s.closed))
})

test('a backup keeps holes as holes, and leaves the caches of workspaces out', async () => {
    const office = await openOffice(PEOPLE, SPACES)
    const data = path.join(office.workdir, 'workspaces/ws_team/data/x')
    const cache = path.join(office.workdir, 'workspaces/ws_team/cache')
    for (const dir of [data, cache]) fs.mkdirSync(dir, { recursive: true })
    fs.writeFileSync(path.join(cache, 'index.db'), 'CACHE-OF-A-WORKSPACE')
    const file = path.join(data, 'sparse')
    fs.writeFileSync(file, 'begin')
    fs.truncateSync(file, 1 << 28)
    fs.appendFileSync(file, 'end')
    const to = path.join(tmpdir('nb-backup-'), 'all.tar')
    const made = await office.nb(['backup', to])
    assert.equal(made.code, 0, made.stderr)
    assert.ok(fs.statSync(to).blocks * 512 < 50e6, `${fs.statSync(to).blocks} blocks`)

    const back = tmpdir('nb-restored-')
    const restored = await nb(['restore', to, '--workdir', back])
    assert.equal(restored.code, 0, restored.stderr)
    assert.equal(fs.existsSync(path.join(back, 'workspaces/ws_team/cache/index.db')), false)
    const copy = path.join(back, 'workspaces/ws_team/data/x/sparse')
    assert.equal(fs.statSync(copy).size, (1 << 28) + 3)
    assert.ok(fs.statSync(copy).blocks * 512 < 50e6)
    const tail = Buffer.alloc(3)
    const fd = fs.openSync(copy)
    fs.readSync(fd, tail, 0, 3, 1 << 28)
    fs.closeSync(fd)
    assert.equal(tail.toString(), 'end')
})

/** A work directory with a conversation of eve's that is `megabytes` long. */
function writeLongTalk(id, megabytes) {
    const workdir = tmpdir('nb-office-')
    const dir = path.join(workdir, 'workspaces', 'ws_team', 'conversations')
    fs.mkdirSync(dir, { recursive: true, mode: 0o700 })
    const ts = new Date().toISOString()
    const lines = [JSON.stringify({ id, createdAt: ts, format: 'events', workspaceId: 'ws_team', ownerId: 'usr_eve', visibility: 'private', participants: [] })]
    for (let i = 0; i < megabytes * 20; i++) lines.push(JSON.stringify({ ts, type: 'user.message', userId: 'usr_eve', content: [{ type: 'text', text: `${i} `.padEnd(50000, 'x') }] }))
    fs.writeFileSync(path.join(dir, `${id}.jsonl`), lines.join('\n') + '\n', { mode: 0o600 })
    return workdir
}

test('a long export costs a page until it is read, and then it is whole', async () => {
    const id = 'conv_00000000000000aa'
    const office = await openOffice(PEOPLE, SPACES, { workdir: writeLongTalk(id, 20), env: { ASAN_OPTIONS: 'quarantine_size_mb=1' } })
    const rss = () => Number(fs.readFileSync(`/proc/${office.server.pid}/status`, 'utf8').match(/VmRSS:\s+(\d+)/)[1]) / 1024
    const request = (more = '') => `GET /v1/conversations/${id}/export?format=jsonl HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${office.tokens.eve}\r\nX-Workspace-Id: ws_team\r\n${more}\r\n`
    const sockets = []
    const open = () => {
        const s = net.connect(office.server.port, '127.0.0.1')
        s.on('error', () => {})
        s.once('readable', () => (s.first = s.read(12)?.toString('latin1')))
        s.write(request('Connection: close\r\n'))
        sockets.push(s)
        return s
    }
    open()
    await eventually(() => sockets[0].first)
    const before = rss()
    for (let i = 0; i < 9; i++) open()
    await eventually(() => sockets.every((s) => s.first))
    const refused = sockets.filter((s) => / 429$/.test(s.first)).length
    assert.equal(refused, 6, `${refused} of 10 refused`)
    assert.ok(rss() - before < 15, `${before} -> ${rss()} MB`)
    assert.equal((await office.as('ann', 'ws_team').get('/v1/conversations')).status, 200)
    let pages = 0, messages = 0
    for (let before = ''; before !== null; pages++) {
        const page = await office.as('eve', 'ws_team').get(`/v1/conversations/${id}/history${before && `?before=${before}`}`)
        assert.ok(page.text.length < 3 * 1024 * 1024, `a page of ${page.text.length} bytes`)
        messages += page.body.messages.length
        before = page.body.before
    }
    assert.equal(messages, 400)
    assert.ok(pages >= 20, `${pages} pages`)
    let bytes = 0, tail = ''
    sockets[0].on('data', (data) => {
        bytes += data.length
        tail = (tail + data.toString('latin1')).slice(-400)
    })
    await new Promise((resolve) => sockets[0].once('close', resolve))
    assert.ok(bytes > 20 * 1000 * 1000, `${bytes} bytes`)
    assert.match(tail, /x"\}\]\}\r?\n\r\n0\r\n\r\n$/)
    sockets.forEach((s) => s.destroy())
    await eventually(async () => (await office.as('eve', 'ws_team').get(`/v1/conversations/${id}/export?format=markdown`)).status === 200)
})

test("hostile people at full speed: nobody else's request fails, and memory stays", async () => {
    const { before, during, rssMb } = await run({ seconds: 8, quietSeconds: 1 })
    assert.deepEqual(before.failures, [])
    assert.deepEqual(during.failures, [])
    assert.ok(during.turns.length > 3 && during.removals.length > 3)
    assert.ok(rssMb < 500, `${rssMb} MB`)
})
