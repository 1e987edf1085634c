// A disk that fills up: clear errors, nothing half-written, and life goes on once there is room.
import crypto from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { spawnSync } from 'node:child_process'
import { assert, eventually, NB, skip, start, test, tmpdir } from '../support/tap.mjs'
import { openOffice } from '../support/office.mjs'
import { useKeyOf } from '../support/dev_key.mjs'

const env = { NB_DEMO_DELAY_MS: '0', ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '' }

test('a full disk loses nothing that was acknowledged', async () => {
    if (spawnSync('unshare', ['-m', 'true']).status !== 0) skip('no mount namespaces here')
    const dir = tmpdir()
    // The mount lives in the server's own namespace; its files are reached through /proc.
    const script = 'mount -t tmpfs -o size=400k,mode=700 tmpfs "$1" && exec "$0" serve --port 0 --workdir "$1"'
    const server = start('unshare', ['-m', 'sh', '-c', script, NB, dir], { env })
    const m = await server.waitFor(/http:\/\/127\.0\.0\.1:(\d+)\//)
    const root = `/proc/${server.pid}/root${dir}`
    useKeyOf(m[1], root)
    const post = async (body) => {
        const res = await fetch(`http://127.0.0.1:${m[1]}/v1/chat`, {
            method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body),
        })
        return { status: res.status, ...(await res.json()) }
    }
    const first = await post({ message: 'hello' })
    const id = first.conversationId
    const file = path.join(root, 'conversations', id + '.jsonl')
    const acknowledged = []
    let failed
    for (let i = 0; i < 400 && !failed; i++) {
        const message = `message number ${i} ` + 'x'.repeat(3000)
        const r = await post({ message, conversationId: id })
        if (r.status === 200) acknowledged.push(message)
        else failed = r
    }
    assert.ok(failed, 'the disk never filled up')
    assert.match(failed.message, /no space left/i, JSON.stringify(failed))
    const check = () => {
        const text = fs.readFileSync(file, 'utf8')
        assert.ok(text.endsWith('\n'), 'no half line at the end')
        const events = text.trimEnd().split('\n').map((l) => JSON.parse(l))
        const said = events.filter((e) => e.type === 'user.message').map((e) => e.content[0].text)
        for (const a of acknowledged) assert.ok(said.includes(a), a.slice(0, 30))
        return events
    }
    check()
    assert.ok(!failed.message.includes(dir), failed.message)
    const health = async () => (await fetch(`http://127.0.0.1:${m[1]}/v1/health`)).json()
    assert.equal((await health()).status, 'degraded')
    await server.waitFor(/error store: .*no space left/)
    const listed = await (await fetch(`http://127.0.0.1:${m[1]}/v1/conversations`)).json()
    assert.ok(listed.conversations.some((c) => c.id === id))
    // make room: drop the caches, which may go at any time
    fs.rmSync(path.join(root, 'cache'), { recursive: true, force: true, maxRetries: 30, retryDelay: 100 })
    spawnSync('nsenter', ['-t', String(server.pid), '-m', 'mount', '-o', 'remount,size=4m', dir])
    const again = await post({ message: 'is there room now?', conversationId: id })
    assert.equal(again.status, 200, JSON.stringify(again))
    assert.equal((await health()).status, 'ok')
    acknowledged.push('is there room now?')
    check()
    await server.stop('SIGTERM')
})

test('a broken work directory: nobody is shown a path, the log says why, and health is degraded', async () => {
    const office = await openOffice({ ann: 'owner', bob: 'member' }, { ws_team: { ann: 'admin', bob: 'member' } })
    const bob = office.as('bob', 'ws_team')
    const begun = await bob.post('/v1/chat', { message: 'hello' })
    assert.equal(begun.status, 200, begun.text)
    const id = begun.body.conversationId
    const dir = path.join(office.workdir, 'workspaces', 'ws_team', 'conversations')
    const fails = async (what) => {
        const answers = [
            await bob.post('/v1/chat', { message: 'again' }),
            await bob.post('/v1/chat', { message: 'again', conversationId: id }),
            await bob.post('/v1/chat/stream', { message: 'again' }),
            await bob.get('/v1/conversations'),
            await bob.get(`/v1/conversations/${id}`),
            await bob.get(`/v1/conversations/${id}/history`),
            await bob.get(`/v1/conversations/${id}/export`),
            await bob.post(`/v1/conversations/${id}/fork`, {}),
            await bob.post(`/v1/conversations/${id}/notes`, { content: 'x' }),
            await bob.get('/v1/search?q=hello'),
            await bob.post('/v1/tools/call', { server: 'conversations', tool: 'list', arguments: {} }),
            await bob.post('/v1/tools/call', { server: 'conversations', tool: 'get', arguments: { id } }),
        ]
        for (const a of answers) {
            assert.ok(!a.text.includes(office.workdir) && !a.text.includes('/conversations/conv_'), `${what}: ${a.text}`)
            assert.notEqual(a.status, 404, `${what}: ${a.text}`)
        }
        assert.equal(answers[0].status, 500, `${what}: ${answers[0].text}`)
        assert.equal(answers[0].body.error, 'storage_error')
        const health = await office.nobody.get('/v1/health')
        assert.equal(health.body.status, 'degraded', what)
        assert.ok(!health.text.includes(office.workdir), health.text)
        await eventually(() => office.server.stderr.includes(dir))
    }
    fs.renameSync(dir, `${dir}.away`)
    await fails('removed')
    fs.writeFileSync(dir, '')
    await fails('a file')
    fs.rmSync(dir)
    fs.renameSync(`${dir}.away`, dir)
    // A server that nobody else uses finds out when it is asked how it is.
    await eventually(async () => (await office.nobody.get('/v1/health')).body.status === 'ok')
    assert.deepEqual(fs.readdirSync(dir).filter((name) => name.startsWith('.try')), [])
    const again = await bob.post('/v1/chat', { message: 'again', conversationId: id })
    assert.equal(again.status, 200, again.text)
    assert.equal((await bob.post('/v1/chat', { message: 'new' })).status, 200)
    assert.equal((await bob.get('/v1/conversations')).status, 200)
    assert.equal((await bob.get('/v1/search?q=hello')).status, 200)
})

test('a full disk: no part of a file is kept, neither of an upload nor of what the agent writes', async () => {
    if (spawnSync('unshare', ['-m', 'true']).status !== 0) skip('no mount namespaces here')
    const dir = tmpdir()
    const script = 'mount -t tmpfs -o size=3m,mode=700 tmpfs "$1" && exec "$0" serve --port 0 --workdir "$1"'
    const server = start('unshare', ['-m', 'sh', '-c', script, NB, dir], { env })
    const m = await server.waitFor(/http:\/\/127\.0\.0\.1:(\d+)\//)
    const url = `http://127.0.0.1:${m[1]}`
    const root = `/proc/${server.pid}/root${dir}`
    useKeyOf(m[1], root)
    const give = async (bytes) => {
        const res = await fetch(url + '/v1/files', { method: 'POST', body: Buffer.alloc(bytes, 'x') })
        return { status: res.status, ...(await res.json()) }
    }
    const write = async (bytes) => {
        const body = JSON.stringify({ server: 'files', tool: 'write', arguments: { name: 'a.txt', text: 'y'.repeat(bytes) } })
        return (await fetch(url + '/v1/tools/call', { method: 'POST', headers: { 'content-type': 'application/json' }, body })).json()
    }
    const all = () => (fs.existsSync(path.join(root, 'files')) ? fs.readdirSync(path.join(root, 'files'), { recursive: true }).filter((n) => n.length > 2) : [])
    const full = await give(8 * 1024 * 1024)
    assert.equal(full.status, 507, JSON.stringify(full))
    assert.match(full.message, /no space left/i)
    assert.ok(!full.message.includes(dir), full.message)
    await eventually(() => all().length === 0)
    const filler = path.join(root, 'filler')
    assert.throws(() => {
        for (;;) fs.appendFileSync(filler, Buffer.alloc(64 * 1024))
    }, /ENOSPC/)
    fs.truncateSync(filler, fs.statSync(filler).size - 256 * 1024)
    const refused = await write(700_000)
    assert.equal(refused.isError, true, JSON.stringify(refused).slice(0, 200))
    assert.match(refused.content[0].text, /no space left/i)
    assert.ok(!refused.content[0].text.includes(dir))
    await eventually(() => all().length === 0)
    fs.rmSync(filler)
    const kept = await give(100_000)
    assert.equal(kept.status, 200, JSON.stringify(kept))
    assert.equal((await write(100_000)).isError ?? false, false)
    assert.equal(all().length, 4)
    await server.stop()
})

test('files on a full disk: nothing half-kept, nobody is shown a path, and an upload goes on once there is room', async () => {
    if (spawnSync('unshare', ['-m', 'true']).status !== 0) skip('no mount namespaces here')
    const dir = tmpdir()
    const script = 'mount -t tmpfs -o size=3m,mode=700 tmpfs "$1" && exec "$0" serve --port 0 --workdir "$1"'
    const server = start('unshare', ['-m', 'sh', '-c', script, NB, dir], { env })
    const m = await server.waitFor(/http:\/\/127\.0\.0\.1:(\d+)\//)
    const url = `http://127.0.0.1:${m[1]}/v1/files`
    const root = `/proc/${server.pid}/root${dir}`
    useKeyOf(m[1], root)
    const ask = async (target, method, body, headers) => {
        const res = await fetch(url + target, { method, body, headers })
        return { status: res.status, ...(await res.json()) }
    }
    const bytes = Buffer.alloc(4_000_000, 'full ')
    const whole = await ask('', 'POST', bytes)
    assert.deepEqual([whole.status, whole.error], [507, 'storage_full'])
    assert.ok(!whole.message.includes(dir), whole.message)
    assert.deepEqual(fs.readdirSync(path.join(root, 'files')), [])
    const up = await ask('/uploads', 'POST', JSON.stringify({ name: 'x', bytes: bytes.length }))
    const refused = await ask(`/uploads/${up.id}`, 'PATCH', bytes, { 'Upload-Offset': '0' })
    assert.deepEqual([refused.status, refused.error], [507, 'storage_full'])
    assert.ok(!refused.message.includes(dir), refused.message)
    const { offset } = await ask(`/uploads/${up.id}`, 'GET')
    assert.ok(offset > 1_000_000 && offset < bytes.length)
    spawnSync('nsenter', ['-t', String(server.pid), '-m', 'mount', '-o', 'remount,size=20m', dir])
    const rest = await ask(`/uploads/${up.id}`, 'PATCH', bytes.subarray(offset), { 'Upload-Offset': String(offset) })
    assert.equal(rest.file.id, 'file_' + crypto.createHash('sha256').update(bytes).digest('hex'))
    await server.stop('SIGTERM')
})
