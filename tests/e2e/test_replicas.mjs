// Two servers on one PostgreSQL (store.replicas): who is logged in, who is a user and a member is the same on both.
import fs from 'node:fs'
import path from 'node:path'
import { after, assert, before, eventually, nb, startServer, test, tmpdir } from '../support/tap.mjs'
import { start as startDouble } from '../support/model_double.mjs'
import { startPostgres } from '../support/postgres.mjs'
import { client, QUICK, writeOffice } from '../support/office.mjs'

const PASSWORD = 'correct horse battery'
let postgres, env, office, a, b, dirs, double

const settings = () => ({
    store: { type: 'postgres', replicas: true },
    defaultModel: 'anthropic:claude-sonnet-4-5-20250929',
    models: { fast: 'demo:demo' },
    providers: { anthropic: { baseURL: double.url, apiKey: 'sk-ant-test-key' } },
    noDefaultBundles: true,
})

function nbAt(dir, args, more = {}) {
    return nb(['--workdir', dir, ...args], { env, ...more })
}

before(async () => {
    double = await startDouble({ port: 0, seed: 7 })
    postgres = await startPostgres('fsync=off')
    env = { ...QUICK, NB_STORE_URL: postgres.url }
    // The first server has files, the second one has the same instance.json and nothing else.
    office = writeOffice({ ann: 'owner', bob: 'member', cid: 'member' }, { ws_team: { ann: 'admin', bob: 'member', cid: 'member' } })
    dirs = [office.workdir, tmpdir()]
    for (const dir of dirs) fs.writeFileSync(path.join(dir, 'nimblebrain.json'), JSON.stringify(settings()))
    fs.copyFileSync(path.join(dirs[0], 'instance.json'), path.join(dirs[1], 'instance.json'))
    const made = await nbAt(dirs[0], ['store', 'init'])
    assert.equal(made.code, 0, made.stderr)
    for (const who of ['bob', 'cid']) {
        const set = await nbAt(dirs[0], ['user', 'passwd', `${who}@example.com`, '--password-stdin'], { input: PASSWORD + '\n' })
        assert.equal(set.code, 0, set.stderr)
    }
    a = await startServer({ workdir: dirs[0], env })
    b = await startServer({ workdir: dirs[1], env })
})

after(() => double.close())

const cookies = (res) => res.headers.getSetCookie().map((c) => c.split(';')[0]).join('; ')

async function logIn(server, who) {
    const res = await client(server).ask('POST', '/v1/auth/login', { email: `${who}@example.com`, password: PASSWORD })
    assert.equal(res.status, 200, res.text)
    return cookies(res)
}

const seenBy = (server, cookie) => client(server).get('/v1/auth/session', { cookie })
const work = (server, cookie) => client(server, null, 'ws_team').get('/v1/conversations', { cookie })
const byToken = (server, who) => client(server, office.tokens[who], 'ws_team').get('/v1/conversations')
const own = (server) => ({ origin: server.url, 'sec-fetch-site': 'same-origin' })

test('users of the first server are users of the second', async () => {
    for (const who of ['ann', 'bob', 'cid'])
        for (const server of [a, b]) assert.equal((await byToken(server, who)).status, 200)
})

test('a login on one server is one on the other, and so is its end', async () => {
    const cookie = await logIn(a, 'bob')
    const on = await seenBy(b, cookie)
    assert.equal(on.status, 200, on.text)
    assert.equal(on.body.userId, 'usr_bob')
    assert.equal((await work(b, cookie)).status, 200)
    const out = await client(b).ask('POST', '/v1/auth/logout', {}, { cookie, ...own(b) })
    assert.equal(out.status, 200, out.text)
    // The very next request.
    assert.equal((await work(a, cookie)).status, 401)
    assert.equal((await seenBy(a, cookie)).status, 401)
})

test('a refresh on one server counts on the other', async () => {
    const first = await logIn(a, 'bob')
    const res = await client(b).ask('POST', '/v1/auth/refresh', {}, { cookie: first, ...own(b) })
    assert.equal(res.status, 200, res.text)
    const second = cookies(res)
    assert.notEqual(second, first)
    // Another tab, on the other server, with the values of before: nothing new, and nobody is logged out.
    // First, because this works for some seconds only.
    const tab = await client(a).ask('POST', '/v1/auth/refresh', {}, { cookie: first, ...own(a) })
    assert.equal(tab.status, 200, tab.text)
    assert.equal(cookies(tab), '')
    for (const server of [a, b]) assert.equal((await work(server, second)).status, 200)
})

test('streams end on the server that did not hear of it', async () => {
    const cookie = await logIn(a, 'bob')
    const stream = await fetch(b.url + '/v1/events?workspace=ws_team', { headers: { cookie } })
    assert.equal(stream.status, 200)
    const ended = (async () => {
        for await (const piece of stream.body) void piece
    })()
    const out = await client(a).ask('POST', '/v1/auth/logout', {}, { cookie, ...own(a) })
    assert.equal(out.status, 200, out.text)
    await ended
})

test('a token that one server makes and revokes is known to the other', async () => {
    const cookie = await logIn(a, 'bob')
    const made = await client(a).ask('POST', '/v1/tokens', { name: 'script' }, { cookie, ...own(a) })
    assert.ok(made.status < 300, made.text)
    const { id, token } = made.body
    const use = (server) => client(server, token, 'ws_team').get('/v1/conversations')
    assert.equal((await use(b)).status, 200, made.text)
    const gone = await client(b).ask('DELETE', `/v1/tokens/${id}`, undefined, { cookie, ...own(b) })
    assert.ok(gone.status < 300, gone.text)
    assert.equal((await use(a)).status, 401)
})

test('members, roles and passwords', async () => {
    const ann = (server) => client(server, office.tokens.ann)
    const cookie = await logIn(b, 'cid')
    const left = await ann(a).ask('DELETE', '/v1/workspaces/ws_team/members/usr_cid')
    assert.ok(left.status < 300, left.text)
    assert.equal((await work(b, cookie)).status, 403)
    const back = await ann(b).post('/v1/workspaces/ws_team/members', { userId: 'usr_cid' })
    assert.ok(back.status < 300, back.text)
    assert.equal((await work(a, cookie)).status, 200)
    const set = await ann(a).post('/v1/users/usr_cid/password', { password: PASSWORD + ' new' })
    assert.ok(set.status < 300, set.text)
    assert.equal((await work(b, cookie)).status, 401)
    const old = await client(b).ask('POST', '/v1/auth/login', { email: 'cid@example.com', password: PASSWORD })
    assert.equal(old.status, 401, old.text)
})

test('what a person allows permanently on one server counts on the other, and so does its end', async () => {
    const call = { name: 'nb__manage_conversation', args: { action: 'share' } } // asks without a rule
    const message = '@double ' + JSON.stringify([{ calls: [call] }, { text: 'ok' }])
    const bob = (server) => client(server, office.tokens.bob, 'ws_team')
    const asked = await bob(a).post('/v1/chat', { message })
    assert.equal(asked.body.stopReason, 'waiting', asked.text)
    const { conversationId, ask } = asked.body
    const on = await bob(a).post('/v1/chat', { conversationId, answer: { askId: ask.askId, allow: true, always: true } })
    assert.equal(on.body.stopReason, 'complete', on.text)
    const allowed = async (server) => (await bob(server).get('/v1/permissions')).body.consents
    assert.deepEqual(await allowed(a), [call.name])
    await eventually(async () => (await allowed(b)).length === 1)
    assert.equal((await bob(b).post('/v1/chat', { message })).body.stopReason, 'complete')
    const gone = await bob(b).ask('DELETE', `/v1/permissions/consents/${call.name}`)
    assert.ok(gone.status < 300, gone.text)
    await eventually(async () => (await allowed(a)).length === 0)
    assert.equal((await bob(a).post('/v1/chat', { message })).body.stopReason, 'waiting')
})

test('commands work on the same users, with and beside servers', async () => {
    const listed = await nbAt(dirs[1], ['user', 'list', '--json'])
    assert.equal(listed.code, 0, listed.stderr)
    assert.match(listed.stdout, /bob@example\.com/)
    const added = await nbAt(dirs[1], ['user', 'add', 'dan@example.com', '--no-password'])
    assert.equal(added.code, 0, added.stderr)
    const made = await nbAt(dirs[0], ['token', 'create', 'x', '--user', 'dan@example.com', '--json'])
    assert.equal(made.code, 0, made.stderr)
    const dan = JSON.parse(made.stdout)
    const ask = (server) => client(server, dan.token).get('/v1/users/me')
    assert.equal((await ask(a)).status, 200)
    assert.equal((await ask(b)).status, 200)
    const removed = await nbAt(dirs[1], ['user', 'remove', 'dan@example.com', '--yes'])
    assert.equal(removed.code, 0, removed.stderr)
    assert.equal((await ask(a)).status, 401)
    assert.equal((await ask(b)).status, 401)
})

test('a server that believes to be alone is refused', async () => {
    const dir = tmpdir()
    fs.writeFileSync(path.join(dir, 'nimblebrain.json'), JSON.stringify({ store: { type: 'postgres' } }))
    const alone = await nbAt(dir, ['serve', '--port', '0'])
    assert.equal(alone.code, 1)
    assert.match(alone.stderr, /another nb process already writes/)
    fs.writeFileSync(path.join(dir, 'nimblebrain.json'), JSON.stringify({ store: { replicas: true } }))
    const wrong = await nbAt(dir, ['serve', '--port', '0'])
    assert.equal(wrong.code, 1)
    assert.match(wrong.stderr, /store\.replicas needs a database/)
    fs.writeFileSync(path.join(dir, 'nimblebrain.json'), JSON.stringify(settings()))
    const open = await nbAt(dir, ['serve', '--port', '0'])
    assert.equal(open.code, 1, 'without instance.json everybody would be the owner')
    assert.match(open.stderr, /instance\.json is missing, but the database has/)
})

test('without the database nobody is logged out and nobody comes in', async () => {
    const cookie = await logIn(a, 'bob')
    await postgres.stop()
    for (const server of [a, b]) {
        for (const res of [await work(server, cookie), await seenBy(server, cookie), await byToken(server, 'bob')]) {
            assert.equal(res.status, 503, res.text)
            assert.equal(res.body.error.code ?? res.body.error, 'storage_unavailable', res.text)
            assert.ok(res.headers.get('retry-after'))
        }
        const out = await client(server).ask('POST', '/v1/auth/logout', {}, { cookie, ...own(server) })
        assert.equal(out.status, 503, out.text)
        assert.equal(cookies(out), '')
    }
    await postgres.start()
    for (const server of [a, b]) await eventually(async () => (await work(server, cookie)).status === 200)
})
