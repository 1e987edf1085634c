// Messages that wait while the agent answers: seen, changed and taken back by people, and still there
// after the server was killed.
import fs from 'node:fs'
import path from 'node:path'
import { after, assert, before, eventually, startServer, test, tmpdir } from '../support/tap.mjs'
import { start as startDouble } from '../support/model_double.mjs'
import { say } from '../support/agent.mjs'
import { client, listen, openOffice, QUICK } from '../support/office.mjs'
import { isDatabase } from '../support/stored.mjs'

let double, office
const settings = () => ({
    defaultModel: 'anthropic:claude-sonnet-4-5-20250929',
    models: { fast: 'demo:demo' },
    providers: { anthropic: { baseURL: double.url, apiKey: 'sk-ant-test-key' } },
    modelCalls: { idleTimeoutMs: 120000 },
})

before(async () => {
    double = await startDouble({ port: 0, seed: 7 })
    office = await openOffice(
        { ann: 'owner', bob: 'member', cat: 'member', dan: 'member', eve: 'member', fay: 'member' },
        { ws_team: { fay: 'admin', bob: 'member', cat: 'member', dan: 'member', eve: 'member' } },
        { settings: settings(), tokens: { cat: [{ name: 'stolen' }] } },
    )
})
after(() => double.close())

const BUSY = say({ text: 'x', hang: 'middle' }) // until it is cancelled

/** A conversation of bob's, shared with cat and dan, in which the agent answers and answers. */
async function busyConversation(on = office) {
    const bob = on.as('bob')
    const { body } = await bob.post('/v1/chat', { message: say({ text: 'hello' }) })
    const id = body.conversationId
    const shared = await bob.post(`/v1/conversations/${id}/share`, { participants: ['usr_cat', 'usr_dan'] })
    assert.equal(shared.status, 200, shared.text)
    const started = await bob.post('/v1/chat/start', { message: BUSY, conversationId: id })
    assert.equal(started.status, 202, started.text)
    assert.ok(started.body.runId)
    return id
}

const queueOf = async (id, who = 'bob') => (await office.as(who).get(`/v1/conversations/${id}/queue`)).body.messages
const wait = async (who, id, message, whenBusy = 'queue') => {
    const r = await office.as(who).post('/v1/chat/start', { message, conversationId: id, whenBusy })
    assert.equal(r.status, 202, r.text)
    assert.match(r.body.queuedId, /^msg_[0-9a-f]{16}$/)
    return r.body.queuedId
}
const cancel = (id, who = 'bob') => office.as(who).post(`/v1/conversations/${id}/cancel`, {})
const history = async (id, who = 'bob') =>
    (await office.as(who).get(`/v1/conversations/${id}/history`)).body.messages.filter((m) => m.role === 'user').map((m) => m.content)

test('the sender edits and withdraws a queued message; owner and admin withdraw it; others cannot see it', async () => {
    const id = await busyConversation()
    const tab = listen(office.server, `/v1/conversations/${id}/events`, office.as('dan').headers())
    assert.deepEqual((await tab.event('queue.snapshot')).data.messages, [])
    const all = listen(office.server, `/v1/events?watch=${id}`, office.as('bob').headers())
    await all.event('queue.snapshot')

    const first = await wait('cat', id, 'first')
    const second = await wait('cat', id, 'second', 'steer')
    const third = await wait('dan', id, 'third')
    const added = (await tab.event('queue.added', (d) => d.queuedId === first)).data
    assert.deepEqual([added.userId, added.displayName, added.message, added.mode], ['usr_cat', 'Cat', 'first', 'queue'])
    assert.equal((await all.event('queue.added', (d) => d.queuedId === second)).data.conversationId, id)
    assert.deepEqual((await queueOf(id, 'fay')).map((m) => [m.queuedId, m.message, m.mode]),
        [[first, 'first', 'queue'], [second, 'second', 'steer'], [third, 'third', 'queue']])
    const late = listen(office.server, `/v1/conversations/${id}/events`, office.as('cat').headers())
    assert.equal((await late.event('queue.snapshot')).data.messages.length, 3)
    late.drop()

    const at = (message) => `/v1/conversations/${id}/queue/${message}`
    const edit = (who, message, text) => office.as(who).ask('PATCH', at(message), { message: text })
    for (const [who, code] of [['dan', 404], ['bob', 404], ['fay', 403], ['eve', 404]]) assert.equal((await edit(who, first, 'not mine')).status, code, who)
    assert.equal((await edit('cat', first, '  ')).status, 400)
    assert.equal((await edit('cat', first, say({ text: 'edited answer' }))).status, 200)
    assert.match((await tab.event('queue.changed', (d) => d.queuedId === first)).data.message, /edited answer/)

    const withdraw = (who, message) => office.as(who).ask('DELETE', at(message))
    for (const who of ['dan', 'eve']) assert.equal((await withdraw(who, second)).status, 404, who)
    assert.equal((await withdraw('fay', second)).status, 200, 'an admin of the workspace')
    assert.equal((await withdraw('fay', second)).status, 404, 'it is not there any more')
    assert.equal((await withdraw('bob', third)).status, 200, 'the owner of the conversation')
    const gone = (await tab.event('queue.removed', (d) => d.queuedId === third)).data
    assert.deepEqual([gone.reason, gone.userId], ['withdrawn', 'usr_bob'])
    const own = await wait('dan', id, 'fourth')
    assert.equal((await withdraw('dan', own)).status, 200)

    await cancel(id)
    const message = await tab.event('user.message', (d) => d.queuedId === first)
    assert.match(message.data.content[0].text, /edited answer/)
    assert.equal((await tab.event('queue.removed', (d) => d.queuedId === first)).data.reason, 'taken')
    assert.equal((await edit('cat', first, 'too late')).status, 409)
    assert.equal((await withdraw('cat', first)).body.error, 'already_taken')
    assert.deepEqual(await queueOf(id), [])
    assert.equal((await history(id)).length, 3, 'what was withdrawn is nowhere')
    tab.drop()
    all.drop()
})

test('a client that waits for the answer is told what becomes of the message', async () => {
    const id = await busyConversation()
    const body = { message: 'never', conversationId: id, whenBusy: 'queue' }
    const plain = office.as('cat').post('/v1/chat', body)
    const stream = await fetch(office.server.url + '/v1/chat/stream', {
        method: 'POST', headers: { ...office.as('cat').headers(), 'content-type': 'application/json' }, body: JSON.stringify(body),
    })
    const waiting = await eventually(async () => ((await queueOf(id)).length === 2 ? queueOf(id) : null))
    for (const m of waiting) assert.equal((await office.as('cat').ask('DELETE', `/v1/conversations/${id}/queue/${m.queuedId}`)).status, 200)
    const refused = await plain
    assert.deepEqual([refused.status, refused.body.error], [409, 'withdrawn'])
    assert.match(await stream.text(), /^event: chat\.queued\ndata: .*"queuedId":"msg_[^]*event: error\ndata: {"error":"withdrawn"/)
    await cancel(id)
})

test('no more than 16 wait in a conversation, and no more than a megabyte', async () => {
    const id = await busyConversation()
    for (let i = 0; i < 16; i++) await wait('bob', id, `m${i}`)
    const more = await office.as('bob').post('/v1/chat/start', { message: 'one more', conversationId: id, whenBusy: 'queue' })
    assert.equal(more.status, 409)
    const first = (await queueOf(id))[0].queuedId
    const long = await office.as('bob').ask('PATCH', `/v1/conversations/${id}/queue/${first}`, { message: 'x'.repeat(1024 * 1024 - 30) })
    assert.equal(long.status, 400, 'nor more than a megabyte in all')
    assert.deepEqual((await queueOf(id)).map((m) => m.message), Array.from({ length: 16 }, (_, i) => `m${i}`))
    for (const m of await queueOf(id)) await office.as('bob').ask('DELETE', `/v1/conversations/${id}/queue/${m.queuedId}`)
    await cancel(id)
})

test('runs and queued messages of a token end when it is revoked', async () => {
    const id = await busyConversation()
    await cancel(id)
    const stolen = client(office.server, office.tokens.stolen)
    const tab = listen(office.server, `/v1/conversations/${id}/events`, office.as('bob').headers())
    await tab.ready()
    await eventually(async () => (await stolen.post('/v1/chat/start', { message: BUSY, conversationId: id })).status === 202)
    const { queuedId } = (await stolen.post('/v1/chat/start', { message: 'and more', conversationId: id, whenBusy: 'queue' })).body
    const own = await wait('cat', id, say({ text: 'goes on' }))
    assert.equal((await office.nb(['token', 'revoke', 'tok_cat1'])).code, 0)
    assert.equal((await tab.event('queue.removed', (d) => d.queuedId === queuedId)).data.reason, 'withdrawn')
    await tab.event('run.done', (d) => d.stopReason === 'cancelled')
    await tab.event('user.message', (d) => d.queuedId === own)
    tab.drop()
})

test('a person who leaves the workspace leaves no queued message behind', async () => {
    const id = await busyConversation()
    const tab = listen(office.server, `/v1/conversations/${id}/events`, office.as('bob').headers())
    await tab.event('queue.snapshot')
    const theirs = await wait('dan', id, 'of dan')
    const kept = await wait('cat', id, say({ text: 'of cat' }))
    assert.equal((await office.as('fay').ask('DELETE', '/v1/workspaces/ws_team/members/usr_dan')).status, 200)
    assert.equal((await tab.event('queue.removed', (d) => d.queuedId === theirs)).data.reason, 'withdrawn')
    assert.deepEqual((await queueOf(id)).map((m) => m.queuedId), [kept])
    await cancel(id)
    await tab.event('queue.removed', (d) => d.queuedId === kept)
    assert.ok(!(await history(id)).includes('of dan'))
    tab.drop()
})

// ---- restarts: messages in files; those in a database are adopted by other servers (test_replica_runs.mjs) ----

const onFiles = isDatabase ? () => {} : test

async function alone(workdir, more = {}) {
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify({ ...settings(), ...more }))
    const server = await startServer({ workdir, env: QUICK })
    return { server, me: client(server) }
}

for (const signal of ['SIGKILL', 'SIGTERM']) {
    onFiles(`queued messages are sent after a restart, once and in order: ${signal}`, async () => {
        const workdir = tmpdir()
        let { server, me } = await alone(workdir)
        const id = (await me.post('/v1/chat', { message: say({ text: 'hello' }) })).body.conversationId
        await me.post('/v1/chat/start', { message: BUSY, conversationId: id })
        const texts = ['one', 'two', 'three', 'four'].map((text) => say({ text }))
        const ids = []
        for (const message of texts)
            ids.push((await me.post('/v1/chat/start', { message, conversationId: id, whenBusy: 'queue' })).body.queuedId)
        const second = say({ text: 'two, edited' })
        assert.equal((await me.ask('PATCH', `/v1/conversations/${id}/queue/${ids[1]}`, { message: second })).status, 200)
        assert.equal((await me.ask('DELETE', `/v1/conversations/${id}/queue/${ids[2]}`)).status, 200)
        // As if the server had ended right behind the message: its file is still there.
        const log = path.join(workdir, 'conversations', `${id}.jsonl`)
        const isSent = JSON.parse(fs.readFileSync(path.join(workdir, 'queue', `${ids[3]}.json`), 'utf8'))
        await server.stop(signal)
        assert.equal(fs.readdirSync(path.join(workdir, 'queue')).length, 3)
        fs.appendFileSync(log, JSON.stringify({ ts: new Date().toISOString(), type: 'user.message', content: [{ type: 'text', text: isSent.message }], userId: isSent.userId, queuedId: ids[3] }) + '\n')

        ;({ server, me } = await alone(workdir))
        const said = () => fs.readFileSync(log, 'utf8').split('\n').filter((l) => l.includes('"user.message"')).map((l) => JSON.parse(l)).map((e) => e.queuedId).filter(Boolean)
        await eventually(async () => fs.readdirSync(path.join(workdir, 'queue')).length === 0)
        assert.deepEqual(said(), [ids[3], ids[0], ids[1]])
        const { messages } = (await me.get(`/v1/conversations/${id}/history`)).body
        const answers = messages.filter((m) => m.role === 'assistant').map((m) => JSON.stringify(m.content))
        assert.match(answers.at(-2), /one/)
        assert.match(answers.at(-1), /two, edited/)
        await server.stop()
    })
}

onFiles('a queued message that cannot be sent after a restart is kept for the next one', async () => {
    const workdir = tmpdir()
    let { server, me } = await alone(workdir)
    const id = (await me.post('/v1/chat', { message: say({ text: 'hello' }) })).body.conversationId
    await me.post('/v1/chat/start', { message: BUSY, conversationId: id })
    const { queuedId } = (await me.post('/v1/chat/start', { message: say({ text: 'at last' }), conversationId: id, whenBusy: 'queue' })).body
    await server.kill9()
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), '{}') // no key any more
    server = await startServer({ workdir, env: QUICK })
    await server.waitFor(/is kept for the next start/)
    await server.stop()
    assert.deepEqual(fs.readdirSync(path.join(workdir, 'queue')), [`${queuedId}.json`])
    ;({ server } = await alone(workdir))
    await eventually(() => fs.readdirSync(path.join(workdir, 'queue')).length === 0)
    assert.match(fs.readFileSync(path.join(workdir, 'conversations', `${id}.jsonl`), 'utf8'), new RegExp(queuedId))
    await server.stop()
})

onFiles('while bundles start, no message takes the place of one that is withdrawn', async () => {
    const workdir = tmpdir()
    let { server, me } = await alone(workdir)
    const id = (await me.post('/v1/chat', { message: say({ text: 'hello' }) })).body.conversationId
    await me.post('/v1/chat/start', { message: BUSY, conversationId: id })
    const ids = []
    for (const text of ['one', 'two'])
        ids.push((await me.post('/v1/chat/start', { message: say({ text }), conversationId: id, whenBusy: 'queue' })).body.queuedId)
    await server.kill9()
    ;({ server, me } = await alone(workdir, { bundles: [{ command: 'sleep', args: ['60'], serverName: 'slow' }] }))
    assert.equal((await me.ask('DELETE', `/v1/conversations/${id}/queue/${ids[0]}`)).status, 200)
    // A turn that had begun would be in the log by now: a whole one has ended in another conversation.
    assert.equal((await me.post('/v1/chat', { message: say({ text: 'meanwhile' }) })).status, 200)
    const waiting = (await me.get(`/v1/conversations/${id}/queue`)).body.messages
    assert.deepEqual(waiting.map((m) => m.queuedId), [ids[1]])
    await server.kill9()
    ;({ server } = await alone(workdir))
    await eventually(() => fs.readdirSync(path.join(workdir, 'queue')).length === 0)
    assert.match(fs.readFileSync(path.join(workdir, 'conversations', `${id}.jsonl`), 'utf8'), new RegExp(ids[1]))
    await server.stop()
})
