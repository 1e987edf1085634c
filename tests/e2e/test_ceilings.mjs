// One person, or somebody whom nobody knows, uses up everything there is: the others notice nothing.
import net from 'node:net'
import { assert, eventually, test } from '../support/tap.mjs'
import { listen, openOffice } from '../support/office.mjs'

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
