// Rights are looked up when something happens, not remembered from when it began: requests whose body
// is still on its way, answers that are being prepared, documents that are being read, open streams.
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { after, assert, before, eventually, test, tmpdir } from '../support/tap.mjs'
import { listen, openOffice } from '../support/office.mjs'

const LONG = 'conv_00000000000000aa'
let office

/** A private conversation of eve's, long enough that reading it takes time. */
function writeLongTalk(workdir, megabytes) {
    const dir = path.join(workdir, 'workspaces/ws_team/conversations')
    fs.mkdirSync(dir, { recursive: true, mode: 0o700 })
    const ts = new Date().toISOString()
    const lines = [JSON.stringify({ id: LONG, createdAt: ts, format: 'events', workspaceId: 'ws_team', ownerId: 'usr_eve', visibility: 'private', participants: [] })]
    for (let i = 0; i < megabytes * 20; i++) lines.push(JSON.stringify({ ts, type: 'user.message', userId: 'usr_eve', content: [{ type: 'text', text: `${i} `.padEnd(50000, 'x') }] }))
    lines.push(JSON.stringify({ ts, type: 'llm.response', runId: 'run_0000000000000001', model: 'demo:demo', content: [{ type: 'text', text: 'x' }], usage: { inputTokens: 4711, outputTokens: 1 } }))
    fs.writeFileSync(path.join(dir, `${LONG}.jsonl`), lines.join('\n') + '\n', { mode: 0o600 })
    return workdir
}

before(async () => {
    office = await openOffice(
        { ann: 'owner', sam: 'admin', fay: 'member', eve: 'member', bob: 'member' },
        { ws_team: { ann: 'admin', fay: 'admin', eve: 'member', bob: 'member' } },
        { workdir: writeLongTalk(tmpdir('nb-office-'), 20), env: { NB_DEMO_DELAY_MS: '20' }, tokens: { bob: [{ name: 'second' }] } },
    )
})

const setRole = async (name, role) => {
    const r = await office.as('ann').ask('PATCH', `/v1/workspaces/ws_team/members/usr_${name}`, { role })
    assert.equal(r.status, 200, r.text)
}

/** A request whose head is admitted now, and whose body is sent by finish(). */
async function begin(token, method, target, body) {
    const text = JSON.stringify(body)
    const socket = net.connect(office.server.port, '127.0.0.1')
    let got = ''
    socket.setEncoding('utf8').on('data', (d) => (got += d)).on('error', () => {})
    after(() => socket.destroy())
    socket.write(`${method} ${target} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nX-Workspace-Id: ws_team\r\nContent-Type: application/json\r\n` +
        `Content-Length: ${Buffer.byteLength(text)}\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n`)
    await eventually(() => got.startsWith('HTTP/1.1 100'))
    return async () => {
        socket.write(text)
        await eventually(() => /\r\n\r\nHTTP\/1\.1 \d/.test(got))
        return Number(/\r\n\r\nHTTP\/1\.1 (\d+)/.exec(got)[1])
    }
}

test('a request is decided by the rights at the end of its body', async () => {
    const add = await begin(office.tokens.sam, 'POST', '/v1/users', { email: 'late@example.com', displayName: 'Late' })
    assert.equal((await office.as('ann').ask('PATCH', '/v1/users/usr_sam', { orgRole: 'member' })).status, 200)
    assert.equal(await add(), 403)
    const people = await office.as('ann').get('/v1/users')
    assert.ok(!people.text.includes('late@example.com'))

    const rename = await begin(office.tokens.fay, 'PUT', '/v1/permissions', { default: 'deny' })
    await setRole('fay', 'member')
    assert.equal(await rename(), 403)
    await setRole('fay', 'admin')

    const chat = await begin(office.tokens.second, 'POST', '/v1/chat', { message: 'too late' })
    assert.equal((await office.as('bob').ask('DELETE', '/v1/tokens/tok_bob1')).status, 200)
    assert.equal(await chat(), 401)
    const list = await office.as('bob').get('/v1/conversations')
    assert.equal(list.body.totalCount, 0, list.text)
})

test('a change that waits is not made for a person who was demoted before its turn', async () => {
    const promoted = await office.as('ann').ask('PATCH', '/v1/users/usr_sam', { orgRole: 'admin' })
    assert.equal(promoted.status, 200, promoted.text)
    // Another process holds the lock of the directory, so that changes wait.
    const holder = spawn('flock', [path.join(office.workdir, 'directory.lock'), 'sh', '-c', 'echo held; read x'], { stdio: ['pipe', 'pipe', 'ignore'] })
    await new Promise((resolve) => holder.stdout.once('data', resolve))
    const requests = [
        await begin(office.tokens.ann, 'PATCH', '/v1/users/usr_ann', { displayName: 'Ann' }),
        await begin(office.tokens.sam, 'POST', '/v1/users', { email: 'late2@example.com', displayName: 'Late' }),
        await begin(office.tokens.ann, 'PATCH', '/v1/users/usr_sam', { orgRole: 'member' }),
    ]
    const answers = []
    for (const finish of requests) {
        answers.push(finish())
        for (let i = 0; i < 3; i++) await office.as('eve').get('/v1/health') // the body has been read by then
    }
    holder.stdin.end()
    assert.deepEqual(await Promise.all(answers), [200, 403, 200])
    assert.ok(!(await office.as('ann').get('/v1/users')).text.includes('late2@example.com'))
})

test('an answer that took longer than a role lasted is not sent', async () => {
    assert.equal((await office.as('fay').get('/v1/usage')).body.total.inputTokens, 4711)
    let late = 0
    for (let many = 4; late === 0; many *= 2) { // more of them, until some take longer than the change
        assert.ok(many <= 256, 'every answer was faster than the change of the role')
        const asked = Array.from({ length: many }, async () => ({ ...(await office.as('fay').get('/v1/usage')), at: performance.now() }))
        await setRole('fay', 'member')
        for (let i = 0; i < 3; i++) await office.nobody.get('/v1/health') // what was sent before the change has been read by now
        const demoted = performance.now()
        const answers = (await Promise.all(asked)).filter((r) => r.at > demoted)
        await setRole('fay', 'admin')
        for (const r of answers) assert.ok([403, 429].includes(r.status) || r.body.total.inputTokens === 0, r.text)
        late += answers.filter((r) => r.status !== 429).length
    }
    console.log(`# ${late} answers were late`)
})

test('a document that is being read ends when its reader may not see it any more', async () => {
    const request = `GET /v1/conversations/${LONG}/export?format=jsonl HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${office.tokens.fay}\r\nX-Workspace-Id: ws_team\r\nConnection: close\r\n\r\n`
    const socket = net.connect(office.server.port, '127.0.0.1')
    socket.on('error', () => {})
    let first
    socket.once('readable', () => (first = socket.read(15)?.toString('latin1')))
    socket.write(request)
    await eventually(() => first)
    assert.equal(first, 'HTTP/1.1 200 OK')
    await setRole('fay', 'member')
    let bytes = 0, tail = ''
    socket.on('data', (data) => {
        bytes += data.length
        tail = (tail + data.toString('latin1')).slice(-10)
    })
    await new Promise((resolve) => socket.once('close', resolve))
    await setRole('fay', 'admin')
    assert.ok(bytes < 19 * 1000 * 1000, `${bytes} bytes`)
    assert.ok(!tail.endsWith('0\r\n\r\n'), 'a broken document, not a short one')
})

test('a stream of an admin who is demoted shows nothing private from then on', async () => {
    const talk = await office.as('bob').post('/v1/chat', { message: 'private matters' })
    const id = talk.body.conversationId
    const news = listen(office.server, `/v1/events?watch=${id}`, office.as('fay', 'ws_team').headers())
    const own = listen(office.server, `/v1/conversations/${id}/events`, office.as('fay', 'ws_team').headers())
    await Promise.all([news.event('text.snapshot'), own.event('text.snapshot')])
    await Promise.all([setRole('fay', 'member'), eventually(() => own.closed)])
    await news.event('watch.ended', (d) => d.conversationId === id)
    const before = news.frames.length
    assert.equal((await office.as('bob').post('/v1/chat', { message: 'more of it', conversationId: id })).status, 200)
    assert.equal((await office.as('bob').ask('PATCH', `/v1/conversations/${id}`, { title: 'Very private' })).status, 200)
    await setRole('fay', 'admin')
    assert.equal((await office.as('bob').ask('PATCH', `/v1/conversations/${id}`, { title: 'Seen again' })).status, 200)
    await news.until((s) => s.frames.some((f) => JSON.stringify(f.data).includes('Seen again')), 'news for an admin')
    const leaked = news.frames.slice(before).filter((f) => JSON.stringify(f.data).includes('Very private') || /^(text|user|llm|run)\./.test(f.event))
    assert.deepEqual(leaked, [])
    news.drop()
})

test('a person who is removed during an answer does not get it', async () => {
    const news = listen(office.server, '/v1/events', office.as('bob').headers())
    await news.event('subscribed')
    const asked = office.as('bob').post('/v1/chat', { message: 'count to 10000' })
    await news.event('conversation.created')
    assert.equal((await office.as('ann').ask('DELETE', '/v1/workspaces/ws_team/members/usr_bob')).status, 200)
    await news.until((s) => s.closed, 'end')
    const r = await asked
    assert.equal(r.status, 403, r.text)
    assert.equal((await office.as('bob', 'ws_team').get('/v1/conversations')).status, 403)
})
