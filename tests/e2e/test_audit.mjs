// The audit log: what is recorded, who may read it, and that changes to it are found.
import fs from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { assert, eventually, nb, startServer, test, tmpdir } from '../support/tap.mjs'
import { client, QUICK, writeOffice } from '../support/office.mjs'

const env = { ...QUICK }

const people = { ann: 'owner', adm: 'admin', bob: 'member' }
const spaces = { ws_a: { ann: 'admin', bob: 'member' } }

async function open(settings) {
    const office = writeOffice(people, spaces)
    if (settings) fs.writeFileSync(path.join(office.workdir, 'nimblebrain.json'), JSON.stringify(settings))
    const server = await startServer({ env, workdir: office.workdir })
    const as = (name, ws = 'ws_a') => client(server, office.tokens[name], ws)
    const records = async (query = '') => {
        const r = await as('ann').get(`/v1/audit?limit=1000${query}`)
        assert.equal(r.status, 200, r.text)
        return r.body.records
    }
    const find = (want) =>
        eventually(async () => {
            const all = await records()
            const hit = all.find((e) => Object.entries(want).every(([k, v]) => (k === 'user' ? e.actor.user === v : e[k] === v)))
            assert.ok(hit, `no record ${JSON.stringify(want)} in ${JSON.stringify(all.map((e) => [e.action, e.target, e.outcome, e.actor.user]))}`)
            return hit
        })
    return { office, server, as, records, find }
}

test('logins, changes of people, tokens, bundles, permissions, sharing and exports are recorded', async () => {
    const { server, as, find, office } = await open()
    const ann = as('ann')
    const made = await ann.post('/v1/users', { email: 'eve@example.com', displayName: 'Eve', orgRole: 'member', password: 'SECRET-PASSWORD-1' })
    assert.ok(made.status < 300, made.text)
    const hit = await find({ action: 'user.add', target: 'eve@example.com', outcome: 'ok', user: 'usr_ann' })
    assert.equal(hit.actor.how, 'token')
    assert.equal(hit.actor.token, 'tok_ann0')
    assert.match(hit.actor.address, /127\.0\.0\.1|::/)

    const anonymous = client(server)
    assert.equal((await anonymous.post('/v1/auth/login', { email: 'eve@example.com', password: 'WRONG-PASSWORD' })).status, 401)
    await find({ action: 'login', target: 'eve@example.com', outcome: 'denied' })
    assert.equal((await anonymous.post('/v1/auth/login', { email: 'eve@example.com', password: 'SECRET-PASSWORD-1' })).status, 200)
    await find({ action: 'login', target: 'eve@example.com', outcome: 'ok', user: made.body.id })
    await client(server, 'nb_wrongtoken').get('/v1/conversations')
    await find({ action: 'auth.failed', outcome: 'denied' })

    const refused = await ann.post('/v1/tokens', { name: 'ci', scopes: ['read'] })
    assert.equal(refused.status, 403) // tokens do not make tokens
    await find({ action: 'token.add', outcome: 'denied' }) // refused before its body was read
    const made2 = await nb(['token', 'create', 'ci', '--user', 'bob@example.com', '--json', '--workdir', office.workdir], { env })
    assert.equal(made2.code, 0, made2.stderr)
    const token = JSON.parse(made2.stdout)
    await find({ action: 'token.add', outcome: 'ok' })
    await ann.ask('DELETE', `/v1/tokens/${token.id}?userId=usr_bob`)
    assert.equal((await find({ action: 'token.revoke', target: token.id })).detail, 'name=ci of=bob@example.com')
    await ann.ask('PATCH', '/v1/workspaces/ws_a/members/usr_bob', { role: 'admin' })
    assert.match((await find({ action: 'member.change', target: 'usr_bob', outcome: 'ok' })).detail, /ws_a.*role=admin/)
    await ann.ask('PUT', '/v1/permissions', { deny: ['bash__*'] })
    assert.match((await find({ action: 'permissions.set', outcome: 'ok' })).detail, /bash__/)
    await ann.post('/v1/apps/install', { name: '@nobody/nothing' })
    await find({ action: 'bundle.install', target: '@nobody/nothing' })
    await as('bob').ask('DELETE', '/v1/users/usr_ann')
    await find({ action: 'user.remove', target: 'usr_ann', outcome: 'denied', user: 'usr_bob' })

    const chat = await ann.post('/v1/chat', { message: 'MESSAGE-TEXT-OF-ANN' })
    const id = chat.body.conversationId
    await ann.post(`/v1/conversations/${id}/share`, { participants: ['usr_bob'] })
    await find({ action: 'conversation.share', target: id, outcome: 'ok' })
    await ann.get(`/v1/conversations/${id}/export?format=markdown`)
    await find({ action: 'conversation.export', target: id, outcome: 'ok' })
    await ann.ask('DELETE', `/v1/conversations/${id}`)
    await find({ action: 'conversation.delete', target: id, outcome: 'ok' })

    await ann.ask('DELETE', `/v1/users/${made.body.id}`)
    assert.equal((await find({ action: 'user.remove', target: made.body.id })).detail, 'email=eve@example.com')

    const dir = path.join(office.workdir, 'audit')
    const all = fs.readdirSync(dir).map((f) => fs.readFileSync(path.join(dir, f), 'utf8')).join('')
    for (const secret of ['SECRET-PASSWORD-1', 'WRONG-PASSWORD', 'MESSAGE-TEXT-OF-ANN', token.token, office.tokens.ann]) assert.ok(!all.includes(secret), secret)
    await server.stop()
    const verified = await nb(['audit', 'verify', '--workdir', office.workdir], { env })
    assert.equal(verified.code, 0, verified.stderr)
})

test('a client that hangs up is recorded all the same', async () => {
    const { server, office, find } = await open()
    await new Promise((resolve) => {
        const req = http.request(server.url + '/v1/users', { method: 'POST', headers: { authorization: `Bearer ${office.tokens.ann}`, 'content-type': 'application/json' } })
        req.on('error', resolve)
        req.on('close', resolve)
        req.end(JSON.stringify({ email: 'mal@example.com', displayName: 'Mal', orgRole: 'member', password: 'long enough 1' }), () => setTimeout(() => req.destroy(), 2))
    })
    await find({ action: 'user.add', target: 'mal@example.com' })
    await server.stop()
})

test('with people.ownWorkspace a person without a workspace gets one, and it is recorded', async () => {
    const { server, as, find, records } = await open({ people: { ownWorkspace: true } })
    await as('ann').ask('DELETE', '/v1/workspaces/ws_a/members/usr_bob')
    const bob = as('bob', null)
    const both = await Promise.all([bob.get('/v1/bootstrap'), bob.get('/v1/conversations')])
    assert.deepEqual(both.map((r) => r.status), [200, 200])
    const mine = (await bob.get('/v1/workspaces')).body.workspaces
    assert.deepEqual(mine.map((w) => [w.name, w.role]), [['Bob', 'admin']], 'one, not two')
    const hit = await find({ action: 'workspace.add', target: mine[0].id, outcome: 'ok', user: 'usr_bob' })
    assert.match(hit.detail, /people\.ownWorkspace/)
    assert.equal((await records()).filter((e) => e.action === 'workspace.add').length, 1)
    // Deleting and asking again makes no endless row of workspaces; a new minute may begin meanwhile.
    let start = await bob.get('/v1/bootstrap')
    for (let i = 0; i < 6 && start.status === 200; i++) {
        await bob.ask('DELETE', `/v1/workspaces/${start.body.activeWorkspace}`)
        start = await bob.get('/v1/bootstrap')
    }
    assert.equal(start.status, 503, start.text)
    await server.stop()
})

test('the audit log is for owners of the server; collectors get its lines', async () => {
    const { server, as, find } = await open()
    for (const name of ['one', 'two']) await as('ann').post('/v1/workspaces', { name })
    await find({ action: 'workspace.add', target: 'two' })
    for (const who of ['adm', 'bob']) assert.equal((await as(who).get('/v1/audit')).status, 403, who)
    assert.equal((await client(server).get('/v1/audit')).status, 401)
    await find({ action: 'audit.read', outcome: 'denied', user: 'usr_bob' })
    const lines = await as('ann').get('/v1/audit?after=0&limit=2', { accept: 'application/x-ndjson' })
    assert.match(lines.headers.get('content-type'), /jsonl/)
    const [first, second] = lines.text.trim().split('\n').map((l) => JSON.parse(l))
    assert.equal(first.seq, 1)
    assert.equal(second.prev, first.hash)
    const page = await as('ann').get('/v1/audit?limit=1')
    assert.equal(page.body.records.length, 1)
    assert.equal(page.body.next, page.body.records[0].seq)
    const older = await as('ann').get(`/v1/audit?limit=1&before=${page.body.next}`)
    assert.equal(older.body.records[0].seq, page.body.next - 1)
    assert.equal((await as('ann').get('/v1/audit?since=yesterday-ish')).status, 400)
    await server.stop()
})

test('commands record what they change, with and without a server, in one chain', async () => {
    const { server, office, find } = await open()
    const run = (...args) => nb([...args, '--workdir', office.workdir], { env })
    assert.equal((await run('user', 'add', 'zoe@example.com', '--no-password')).code, 0)
    const made = await find({ action: 'user.add', outcome: 'ok' })
    assert.equal(made.actor.how, 'terminal')
    await server.stop()
    assert.equal((await run('user', 'role', 'zoe@example.com', 'admin')).code, 0)
    const file = path.join(tmpdir('nb-backup-'), 'b.tar')
    assert.equal((await run('backup', file)).code, 0)
    assert.equal((await run('token', 'create', 'ci', '--user', 'zoe', '--tools', 'files__*', '--scope', 'read')).code, 0)
    assert.equal((await run('workspace', 'add-member', 'ws_a', 'zoe')).code, 0)
    assert.equal((await run('user', 'remove', 'zoe@example.com', '--yes')).code, 0)
    assert.match((await run('audit', '--action', 'token.add')).stdout, /name=ci of=zoe@example\.com scopes=read tools=files__\*/)
    assert.match((await run('audit', '--action', 'member.*')).stdout, /in=ws_a role=member zoe@example\.com/)
    assert.match((await run('audit', '--action', 'user.remove')).stdout, /user\.remove +usr_\w+ .*zoe@example\.com/)
    const shown = await run('audit')
    assert.match(shown.stdout, /user\.add/)
    assert.match(shown.stdout, /user\.change .*orgRole=admin/)
    assert.match(shown.stdout, /backup/)
    const some = await run('audit', '--action', 'backup', '--since', '1h', '--json')
    assert.equal(some.stdout.trim().split('\n').length, 1)
    assert.equal(JSON.parse(some.stdout).action, 'backup')
    assert.match((await run('audit', 'verify')).stdout, /the hash chain is intact/)
    const old = await run('audit', '--since', '2999-01-01')
    assert.equal(old.stdout, '')
})

test('an edited, cut or reordered audit log is found, with the place', async () => {
    const workdir = tmpdir('nb-audit-')
    const run = (...args) => nb([...args, '--workdir', workdir], { env, input: 'correct horse\n' })
    await run('init', '--mode', 'local', '--email', 'a@example.com', '--password-stdin', '-w', 'A')
    for (let i = 0; i < 3; i++) await run('backup', path.join(tmpdir('nb-backup-'), 'x.tar'))
    const dir = path.join(workdir, 'audit')
    const file = path.join(dir, fs.readdirSync(dir).find((f) => f.endsWith('.jsonl')))
    const good = fs.readFileSync(file, 'utf8')
    const lines = good.trim().split('\n')
    const verify = async (text, expected) => {
        fs.writeFileSync(file, text)
        const r = await run('audit', 'verify')
        assert.equal(r.code, 1)
        assert.match(r.stderr, expected)
    }
    const n = lines.length
    await verify(good.replace('"outcome":"ok"', '"outcome":"no"'), /line 1: record 1 was changed/)
    await verify(lines.slice(0, -1).join('\n') + '\n', /ends too early/)
    await verify([...lines.slice(0, n - 2), lines[n - 1], lines[n - 2]].join('\n') + '\n', /is missing|out of order/)
    await verify(lines.slice(1).join('\n') + '\n', /records 1 to 1 are not in this log/)
    fs.writeFileSync(file, good)
    assert.equal((await run('audit', 'verify')).code, 0)
})

test('an audit log that cannot be written degrades health and stops nobody', async () => {
    const office = writeOffice(people, spaces)
    fs.writeFileSync(path.join(office.workdir, 'audit'), 'in the way')
    const server = await startServer({ env, workdir: office.workdir })
    const ann = client(server, office.tokens.ann, 'ws_a')
    assert.ok((await ann.post('/v1/workspaces', { name: 'x' })).status < 300)
    await eventually(async () => {
        const health = (await client(server).get('/v1/health')).body
        assert.equal(health.status, 'degraded')
        assert.ok(!JSON.stringify(health).includes(office.workdir))
        return true
    })
    fs.unlinkSync(path.join(office.workdir, 'audit'))
    await eventually(async () => (await client(server).get('/v1/health')).body.status === 'ok')
    await server.stop()
})

test('attempts of unknown senders do not fill the disk', async () => {
    const { server, records } = await open()
    for (let i = 0; i < 400; i += 50) await Promise.all(Array.from({ length: 50 }, () => client(server, 'nb_wrong').get('/v1/conversations')))
    await eventually(async () => {
        const n = (await records()).filter((e) => e.action === 'auth.failed').length
        assert.ok(n >= 100 && n <= 241, `${n} records`)
        return true
    })
    await server.stop()
})
