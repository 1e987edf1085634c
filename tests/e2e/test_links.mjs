// Links with which people without an account read a conversation: what they show, who makes and revokes them,
// and that they open nothing else.
import fs from 'node:fs'
import path from 'node:path'
import { assert, before, eventually, nb, startServer, test } from '../support/tap.mjs'
import { openOffice, QUICK } from '../support/office.mjs'

let office
before(async () => {
    office = await openOffice(
        { ann: 'owner', bob: 'member', cat: 'member', eve: 'member', fay: 'member', gus: 'member' },
        { ws_team: { fay: 'admin', bob: 'member', cat: 'member', gus: 'member' }, ws_other: { eve: 'admin' } },
        { settings: { features: { publicLinks: true } } },
    )
})

const bob = () => office.as('bob')
const open = (path_) => {
    const [workspaceId, secret] = path_.replace('shared.html#', '').split('/')
    return { workspaceId, secret }
}
/** As somebody without an account. */
async function read(body, headers = {}) {
    const res = await fetch(`${office.server.url}/v1/shared`, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) })
    return { status: res.status, headers: res.headers, body: await res.json() }
}

async function talk(who, ...messages) {
    let id
    for (const message of messages) {
        const r = await who.post('/v1/chat', { message, conversationId: id })
        assert.equal(r.status, 200, r.text)
        id = r.body.conversationId
    }
    return id
}

async function link(id, body = {}, who = bob()) {
    const made = await who.post(`/v1/conversations/${id}/links`, body)
    assert.equal(made.status, 200, made.text)
    return made.body
}

const isRefused = async (body) => {
    const { status, body: reply } = await read(body)
    assert.deepEqual([status, reply.error, reply.message], [404, 'not_found', 'There is no such link, or it has expired.'])
}

const linksFile = () => path.join(office.workdir, 'workspaces/ws_team/conversations/.people/links.json')

test('a link shows messages and answers up to its making, and neither people nor what tools returned', async () => {
    const id = await talk(bob(), 'say hello', 'calculate 6*7')
    await bob().post(`/v1/conversations/${id}/share`, { participants: ['usr_cat'] })
    await office.as('cat').post('/v1/chat/start', { conversationId: id, message: 'between us', forPeople: true })
    await eventually(async () => (await bob().get(`/v1/conversations/${id}/history`)).text.includes('between us'))
    await bob().post(`/v1/conversations/${id}/notes`, { content: 'a note' })
    const made = await link(id)
    assert.match(made.path, /^shared\.html#ws_team\/[\w-]{43}$/)
    await talk(bob(), 'unrelated')
    await bob().post('/v1/chat', { conversationId: id, message: 'say something later' })

    const { status, headers, body } = await read(open(made.path))
    assert.equal(status, 200)
    assert.match(headers.get('cache-control'), /no-store/)
    assert.match(headers.get('x-robots-tag'), /noindex/)
    assert.equal(headers.get('set-cookie'), null)
    assert.deepEqual(body.messages.map(({ role, content }) => [role, content]).filter(([role]) => role === 'user'), [['user', 'say hello'], ['user', 'calculate 6*7']])
    assert.match(body.messages[1].content, /hello/)
    assert.deepEqual(body.messages.flatMap(({ tools }) => tools), [{ name: 'nb__calculate' }])
    const text = JSON.stringify(body)
    for (const secret of ['usr_', 'Bob', 'Cat', 'between us', 'a note', 'later', '6*7"}', 'conv_']) assert.ok(!text.includes(secret), secret)
    const beyond = await read({ ...open(made.path), before: 1e9 }) // not behind its end
    assert.deepEqual(beyond.body.messages, body.messages)

    const whole = await link(id, { tools: true, expiresInDays: 1 })
    const [tool] = (await read(open(whole.path))).body.messages.flatMap(({ tools }) => tools)
    assert.deepEqual([tool.input, tool.output], [{ expression: '6*7' }, '42'])
    const stored = fs.readFileSync(linksFile(), 'utf8')
    assert.ok(!stored.includes(open(made.path).secret))
})

test('only the owner makes links; admins of the workspace list and revoke them', async () => {
    const id = await talk(bob(), 'say mine')
    await bob().post(`/v1/conversations/${id}/share`, { participants: ['usr_cat'] })
    const made = await link(id)
    for (const [name, status] of [['cat', 403], ['fay', 403], ['gus', 404], ['eve', 404]])
        for (const [method, tail, body] of [['GET', ''], ['POST', '', {}], ['DELETE', `/${made.id}`]])
            assert.equal((await office.as(name).ask(method, `/v1/conversations/${id}/links${tail}`, body)).status, status, `${name} ${method}`)
    assert.equal((await read(open(made.path))).status, 200)
    const all = (await office.as('fay').get('/v1/links')).body
    assert.ok(all.isOn && all.links.some((one) => one.id === made.id))
    assert.ok(!JSON.stringify(all).includes(open(made.path).secret))
    assert.equal((await office.as('cat').ask('DELETE', `/v1/links/${made.id}`)).status, 403)
    assert.equal((await office.as('eve').ask('DELETE', `/v1/links/${made.id}`)).status, 404) // of another workspace
    assert.equal((await office.as('fay').ask('DELETE', `/v1/links/${made.id}`)).status, 200)
    await isRefused(open(made.path))
    await eventually(async () => {
        const records = (await office.as('ann').get('/v1/audit')).text
        return records.includes('link.add') && records.includes('link.revoke')
    })
})

test('a link that is wrong, revoked, expired, or of a conversation that is gone: the same answer', async () => {
    const id = await talk(bob(), 'say soon gone')
    const made = await link(id)
    const { workspaceId, secret } = open(made.path)
    for (const body of [{ workspaceId, secret: secret.slice(1) }, { workspaceId: 'ws_other', secret }, { workspaceId: 'ws_none', secret }, { workspaceId: '../x', secret }, { workspaceId, secret: '' }, { workspaceId, secret: made.id }])
        await isRefused(body)
    const second = await link(id)
    assert.equal((await bob().ask('DELETE', `/v1/conversations/${id}/links/${second.id}`)).status, 200)
    assert.equal((await bob().ask('DELETE', `/v1/conversations/${id}/links/${second.id}`)).status, 404)
    await isRefused(open(second.path))
    assert.equal((await bob().ask('DELETE', `/v1/conversations/${id}`)).status, 200)
    await isRefused(open(made.path))
    assert.equal((await bob().post(`/v1/conversations/${id}/restore`, {})).status, 200)
    assert.equal((await read(open(made.path))).status, 200)

    const file = linksFile(), doc = JSON.parse(fs.readFileSync(file, 'utf8'))
    for (const one of doc.links) if (one.id === made.id) one.expires = '2026-01-01T00:00:00.000Z'
    fs.writeFileSync(file, JSON.stringify(doc))
    await isRefused(open(made.path))
    assert.deepEqual((await bob().get(`/v1/conversations/${id}/links`)).body.links, [])
    assert.equal((await bob().post(`/v1/conversations/${id}/links`, { expiresInDays: 366 })).status, 400)
})

test('a link opens its conversation and nothing else', async () => {
    const id = await talk(bob(), 'say root', 'say tail')
    const made = await link(id)
    const { workspaceId, secret } = open(made.path)
    const branch = (await bob().post(`/v1/conversations/${id}/fork`, { atMessage: 2, kind: 'branch' })).body.id
    await bob().post('/v1/chat', { conversationId: branch, message: 'say in the branch' })
    const fork = (await bob().post(`/v1/conversations/${id}/fork`, {})).body.id
    for (const other of [branch, fork]) assert.deepEqual((await bob().get(`/v1/conversations/${other}/links`)).body.links, [])
    assert.ok(!JSON.stringify((await read({ workspaceId, secret })).body).includes('in the branch'))
    const bare = (target, headers) => fetch(office.server.url + target, { headers: { 'x-workspace-id': workspaceId, ...headers } })
    for (const target of ['/v1/conversations', `/v1/conversations/${id}`, `/v1/conversations/${id}/history`, `/v1/conversations/${id}/export`, '/v1/bootstrap', '/v1/files', '/mcp'])
        for (const headers of [{}, { authorization: `Bearer ${secret}` }, { 'x-api-key': secret }, { cookie: `nb_session=${secret}` }])
            assert.ok([401, 429].includes((await bare(target, headers)).status), target)
})

test('a link ends with the membership of the person who made it', async () => {
    const gus = office.as('gus')
    const made = await link(await talk(gus, 'say from gus'), {}, gus)
    assert.equal((await read(open(made.path))).status, 200)
    assert.equal((await office.as('fay').ask('DELETE', '/v1/workspaces/ws_team/members/usr_gus')).status, 200)
    await isRefused(open(made.path))
})

test('links are off unless the setting says so; the terminal makes, lists and revokes them', async () => {
    const server = await startServer({ env: QUICK })
    const at = (target, method = 'GET', body) => fetch(server.url + target, { method, headers: { 'content-type': 'application/json' }, body: body && JSON.stringify(body) })
    const { conversationId: id } = await (await at('/v1/chat', 'POST', { message: 'say hi' })).json()
    assert.equal((await at(`/v1/conversations/${id}/links`, 'POST', {})).status, 403)
    assert.equal((await (await at(`/v1/conversations/${id}/links`)).json()).isOn, false)
    const conv = (...args) => nb(['conversations', ...args, '--workdir', server.workdir], { env: QUICK })
    assert.match((await conv('link', id)).stderr, /features\.publicLinks/)
    await server.stop('SIGTERM')
    fs.writeFileSync(path.join(server.workdir, 'nimblebrain.json'), JSON.stringify({ features: { publicLinks: true } }))
    const made = await conv('link', id, '--days', '2', '--json')
    assert.equal(made.code, 0, made.stderr)
    const row = JSON.parse(made.stdout)
    assert.ok((await conv('links')).stdout.includes(row.id))
    assert.equal((await conv('unlink', id, row.id)).code, 0)
    assert.ok(!(await conv('links', id)).stdout.includes(row.id))
})

test('a stranger cannot make the server open a workspace', async () => {
    const own = await openOffice({ ann: 'owner' }, { ws_team: { ann: 'admin' } }, { settings: { features: { publicLinks: true } } })
    const logs = path.join(own.workdir, 'workspaces/ws_team/conversations')
    const ask = (secret) => fetch(`${own.server.url}/v1/shared`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ workspaceId: 'ws_team', secret }) })
    assert.equal((await ask('guess')).status, 404)
    assert.ok(!fs.existsSync(logs), 'it is not open')
    const { conversationId } = (await own.as('ann').post('/v1/chat', { message: 'say hello' })).body
    const made = await link(conversationId, {}, own.as('ann'))
    await own.server.stop('SIGTERM')
    const again = await startServer({ workdir: own.workdir, env: QUICK })
    const { secret } = open(made.path)
    const read = async (given) => (await fetch(`${again.url}/v1/shared`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ workspaceId: 'ws_team', secret: given }) })).status
    assert.equal(await read('guess'), 404)
    assert.equal(await read(secret), 200)
})

test('a link shows the title of its moment, and numbers people the same on all pages', async () => {
    const id = await talk(bob(), 'say one')
    await bob().ask('PATCH', `/v1/conversations/${id}`, { title: 'Plans' })
    await bob().post(`/v1/conversations/${id}/share`, { participants: ['usr_cat'] })
    await office.as('cat').post('/v1/chat', { conversationId: id, message: 'say two' })
    const made = await link(id)
    await bob().ask('PATCH', `/v1/conversations/${id}`, { title: 'Who is to go' })
    const { body } = await read(open(made.path))
    assert.equal(body.title, 'Plans')
    assert.deepEqual(body.messages.filter(({ role }) => role === 'user').map(({ person }) => person), [1, 2])
})

const at = '2026-01-02T03:04:05Z'
const MESSAGES = [{ uuid: 'm1', sender: 'human', text: 'a secret of then', created_at: at }, { uuid: 'm2', sender: 'assistant', text: 'noted', created_at: at }]

/** Imports an export with one conversation, as bob; returns its id. */
async function bring(name = 'Brought along', messages = MESSAGES) {
    const talk_ = { uuid: name, name, created_at: at, updated_at: at, chat_messages: messages }
    const headers = { authorization: `Bearer ${office.tokens.bob}`, 'x-file-name': 'conversations.json' }
    const given = await (await fetch(`${office.server.url}/v1/files`, { method: 'POST', body: JSON.stringify([talk_]), headers })).json()
    const started = await bob().post('/v1/conversations/import', { file: given.id, kind: 'claude' })
    assert.equal(started.status, 200, started.text)
    await eventually(async () => !(await bob().get('/v1/conversations/import')).body.isRunning)
    const { conversations } = (await bob().get('/v1/conversations?limit=100')).body
    return conversations.find(({ title }) => title === name).id
}

test('a link ends with a conversation that is deleted permanently, also when it is imported again', async () => {
    const id = await bring()
    const made = open((await link(id)).path)
    const other = open((await link(await talk(bob(), 'say stay'))).path)
    assert.equal((await read(made)).body.messages[0].content, 'a secret of then')
    assert.equal((await bob().ask('DELETE', `/v1/conversations/${id}?purge=true`)).status, 200)
    await isRefused(made)
    await eventually(() => !fs.readFileSync(linksFile(), 'utf8').includes('Brought along'))
    assert.equal(await bring(), id, 'for the same person it has the same id')
    await isRefused(made)
    assert.equal((await read(other)).status, 200)
})

test('a conversation without messages has no links: they would show what comes later', async () => {
    const made = await bob().post(`/v1/conversations/${await bring('Nothing yet', [])}/links`)
    assert.equal(made.status, 400, made.text)
    assert.match(made.body.message, /no messages yet/)
})

test('the number of requests of one address is limited', async () => {
    const made = await link(await talk(bob(), 'say often'))
    // Counted per minute of the clock: again if one began meanwhile.
    const minute = () => Math.floor(Date.now() / 60000)
    let began, replies
    do {
        began = minute()
        replies = await Promise.all(Array.from({ length: 125 }, () => read(open(made.path))))
    } while (minute() !== began)
    const refused = replies.filter(({ status }) => status === 429)
    assert.ok(refused.length > 0)
    assert.ok(Number(refused[0].headers.get('retry-after')) > 0)
})
