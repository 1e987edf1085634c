// Uploads that come in several requests: dropped connections, restarts, wrong offsets, two writers, other people.
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import crypto from 'node:crypto'
import { test, before, assert, startServer, tmpdir, eventually } from '../support/tap.mjs'
import { openOffice } from '../support/office.mjs'

const MIB = 1024 * 1024
const sha = (bytes) => crypto.createHash('sha256').update(bytes).digest('hex')

let office, ann, bob
before(async () => {
    office = await openOffice({ ann: 'owner', bob: 'member' }, { ws_a: { ann: 'admin', bob: 'member' } }, { settings: { files: { maxMb: 8, quotaMb: 24 } } })
    ann = office.as('ann', 'ws_a')
    bob = office.as('bob', 'ws_a')
})

const filesDir = (workdir) => {
    const found = fs.readdirSync(workdir, { recursive: true }).find((p) => path.basename(p) === 'files')
    return found && path.join(workdir, found)
}
const parts = (workdir = office.workdir) => (filesDir(workdir) ? fs.readdirSync(filesDir(workdir)).filter((p) => p.startsWith('part_')) : [])
const begin = async (who, bytes, name = 'big.bin') => (await who.post('/v1/files/uploads', { name, bytes })).body
const look = async (who, id) => (await who.get('/v1/files/uploads/' + id)).body

async function send(who, id, offset, bytes, on = office.server) {
    const res = await fetch(`${on.url}/v1/files/uploads/${id}`, { method: 'PATCH', body: bytes, headers: who.headers({ 'Upload-Offset': String(offset) }) })
    return { status: res.status, ...(await res.json()) }
}

/** Sends the head of a request and the beginning of its body, and stays. */
function halfRequest(who, id, offset, length, bytes, on = office.server) {
    const socket = net.connect(on.port, '127.0.0.1')
    const headers = Object.entries(who.headers({ 'Upload-Offset': offset, 'Content-Length': length })).map(([k, v]) => `${k}: ${v}\r\n`).join('')
    socket.on('error', () => {})
    socket.write(`PATCH /v1/files/uploads/${id} HTTP/1.1\r\nHost: 127.0.0.1:${on.port}\r\n${headers}\r\n`)
    socket.write(bytes)
    return socket
}

test('a file in three pieces is one file', async () => {
    const bytes = crypto.randomBytes(5 * MIB + 17)
    const up = await begin(ann, bytes.length, '../Überblick.bin')
    assert.match(up.id, /^part_[0-9a-f]{16}$/)
    assert.deepEqual([up.name, up.bytes, up.offset], ['Überblick.bin', bytes.length, 0])
    assert.ok(Date.parse(up.expiresAt) > Date.now())
    assert.deepEqual(await send(ann, up.id, 0, bytes.subarray(0, 2 * MIB)), { status: 200, offset: 2 * MIB, file: null })
    assert.equal((await send(ann, up.id, 2 * MIB, bytes.subarray(2 * MIB, 4 * MIB))).offset, 4 * MIB)
    const last = await send(ann, up.id, 4 * MIB, bytes.subarray(4 * MIB))
    assert.deepEqual([last.status, last.offset, last.file.id, last.file.name], [200, bytes.length, 'file_' + sha(bytes), 'Überblick.bin'])
    assert.deepEqual(parts(), [])
    assert.equal((await ann.get('/v1/files/uploads/' + up.id)).status, 404)
    const back = await fetch(office.server.url + '/v1/files/' + last.file.id, { headers: ann.headers() })
    assert.equal(sha(Buffer.from(await back.arrayBuffer())), sha(bytes))
    assert.equal((await ann.ask('DELETE', '/v1/files/' + last.file.id)).status, 200)
})

test('a connection that drops loses little, and the upload goes on', async () => {
    const bytes = crypto.randomBytes(4 * MIB)
    const up = await begin(ann, bytes.length)
    const socket = halfRequest(ann, up.id, 0, bytes.length, bytes.subarray(0, 3 * MIB))
    await eventually(async () => (await look(ann, up.id)).offset > MIB)
    socket.destroy()
    let last
    await eventually(async () => {
        const { offset } = await look(ann, up.id)
        assert.ok(offset > MIB && offset <= 3 * MIB)
        last = await send(ann, up.id, offset, bytes.subarray(offset))
        return last.status === 200 // 409 until the server has noticed
    })
    assert.equal(last.file.id, 'file_' + sha(bytes))
    await ann.ask('DELETE', '/v1/files/' + last.file.id)
})

test('an upload outlives the server, also one that is killed', async () => {
    const workdir = tmpdir()
    const bytes = crypto.randomBytes(2 * MIB)
    const me = { headers: (h) => h }
    let server = await startServer({ workdir })
    const up = await (await fetch(server.url + '/v1/files/uploads', { method: 'POST', body: JSON.stringify({ name: 'x', bytes: bytes.length }) })).json()
    assert.equal((await send(me, up.id, 0, bytes.subarray(0, MIB), server)).offset, MIB)
    await server.kill9()
    server = await startServer({ workdir })
    const found = await (await fetch(`${server.url}/v1/files/uploads/${up.id}`)).json()
    assert.equal(found.offset, MIB)
    const last = await send(me, up.id, MIB, bytes.subarray(MIB), server)
    assert.equal(last.file.id, 'file_' + sha(bytes))
    assert.deepEqual(parts(workdir), [])
})

test('wrong offsets, too many bytes and malformed requests change nothing', async () => {
    const up = await begin(ann, 10)
    assert.equal((await send(ann, up.id, 0, '12345')).offset, 5)
    for (const offset of [0, 4, 6, '18446744073709551615']) {
        const refused = await send(ann, up.id, offset, 'x')
        assert.deepEqual([refused.status, refused.error], [409, 'wrong_offset'], String(offset))
    }
    for (const offset of ['', '-1', '5x', '0x5', '18446744073709551616']) assert.equal((await send(ann, up.id, offset, 'x')).status, 400, offset)
    assert.equal((await send(ann, up.id, 5, '123456')).status, 413)
    assert.equal((await look(ann, up.id)).offset, 5)
    for (const body of [{}, { name: 'x' }, { name: 'x', bytes: 0 }, { name: 'x', bytes: -1 }, { name: 'x', bytes: 'many' }, { name: 'x', bytes: 1, more: 1 }, { bytes: 1 }])
        assert.equal((await ann.post('/v1/files/uploads', body)).status, 400, JSON.stringify(body))
    const done = await send(ann, up.id, 5, '67890')
    assert.equal(done.file.bytes, 10)
    await ann.ask('DELETE', '/v1/files/' + done.file.id)
})

test('an upload has one writer', async () => {
    const up = await begin(ann, 4 * MIB)
    const first = halfRequest(ann, up.id, 0, 4 * MIB, Buffer.alloc(2 * MIB, 1))
    await eventually(async () => (await look(ann, up.id)).offset > MIB)
    const { offset } = await look(ann, up.id)
    const second = await send(ann, up.id, offset, Buffer.alloc(16, 2))
    assert.deepEqual([second.status, second.error], [409, 'upload_busy'])
    assert.equal((await ann.ask('DELETE', '/v1/files/uploads/' + up.id)).status, 409)
    first.destroy()
    await eventually(async () => (await ann.ask('DELETE', '/v1/files/uploads/' + up.id)).status === 200)
    assert.deepEqual(parts(), [])
})

test("other people's uploads do not exist", async () => {
    const up = await begin(ann, 4)
    for (const method of ['GET', 'DELETE']) assert.equal((await bob.ask(method, '/v1/files/uploads/' + up.id)).status, 404)
    assert.equal((await send(bob, up.id, 0, 'evil')).status, 404)
    assert.equal((await look(ann, up.id)).offset, 0)
    for (const id of ['part_0000000000000000', 'part_..', 'part_' + 'g'.repeat(16)])
        assert.equal((await send(ann, id, 0, 'x')).status, 404, id)
    assert.equal((await fetch(`${office.server.url}/v1/files/uploads/${up.id}`, { method: 'PATCH', body: 'x' })).status, 401)
    assert.equal((await ann.ask('DELETE', '/v1/files/uploads/' + up.id)).status, 200)
})

test('an upload expires, and an unfinished one is counted', async () => {
    const up = await begin(ann, 8 * MIB), second = await begin(ann, 8 * MIB), third = await begin(ann, 8 * MIB)
    assert.equal((await ann.post('/v1/files/uploads', { name: 'x', bytes: 9 * MIB })).status, 413)
    const full = await ann.post('/v1/files/uploads', { name: 'x', bytes: 1 })
    assert.deepEqual([full.status, full.body.error], [507, 'quota_reached'])
    const file = path.join(filesDir(office.workdir), up.id)
    for (const p of [file, file + '.json']) fs.utimesSync(p, 1000, 1000)
    assert.equal((await ann.get('/v1/files/uploads/' + up.id)).status, 404)
    assert.equal((await send(ann, up.id, 0, 'x')).status, 404)
    for (const { id } of [second, third]) assert.equal((await ann.ask('DELETE', '/v1/files/uploads/' + id)).status, 200)
    assert.equal((await ann.post('/v1/files/uploads', { name: 'x', bytes: 1 })).status, 200)
})

test('a person has eight of them: a ninth takes the place of the one left alone the longest', async () => {
    const ids = []
    for (let i = 0; i < 8; i++) {
        ids.push((await begin(bob, 10)).id)
        const ago = Date.now() / 1000 - 1000 + i
        fs.utimesSync(path.join(filesDir(office.workdir), ids[i]), ago, ago)
    }
    assert.equal((await send(bob, ids[0], 0, 'x')).status, 200) // not the longest any more
    const ninth = await begin(bob, 10)
    const states = await Promise.all([...ids, ninth.id].map(async (id) => (await bob.get('/v1/files/uploads/' + id)).status))
    assert.deepEqual(states, [200, 404, 200, 200, 200, 200, 200, 200, 200])
})

test('a person who is removed while sending gets no file', async () => {
    const up = await begin(bob, 4 * MIB)
    const sending = halfRequest(bob, up.id, 0, 4 * MIB, Buffer.alloc(3 * MIB, 7))
    let answer = ''
    sending.on('data', (piece) => (answer += piece))
    await eventually(async () => (await look(bob, up.id)).offset > MIB)
    assert.equal((await ann.ask('DELETE', '/v1/workspaces/ws_a/members/usr_bob')).status, 200)
    sending.write(Buffer.alloc(MIB, 7))
    await eventually(() => /^HTTP\/1\.1 403/.test(answer))
    sending.destroy()
    assert.notEqual((await bob.get('/v1/files/uploads/' + up.id)).status, 200)
    assert.ok(!fs.existsSync(path.join(filesDir(office.workdir), sha(Buffer.alloc(4 * MIB, 7)).slice(0, 2), sha(Buffer.alloc(4 * MIB, 7)))))
})
