// Several people in one live conversation: who sees what, when, and what happens to those who go.
import fs from 'node:fs'
import path from 'node:path'
import { EventSource } from 'eventsource'
import { SRC_DIR, assert, eventually, freePort, startServer, test } from '../support/tap.mjs'
import { client, listen, openOffice, QUICK, withBriefToken } from '../support/office.mjs'
import { storedEvents } from '../support/stored.mjs'

const PEOPLE = { ann: 'owner', bob: 'member', cat: 'member', dan: 'member' }
const TEAM = { ws_team: { ann: 'admin', bob: 'member', cat: 'member' }, ws_other: { dan: 'admin' } }
const open = (options) => openOffice(PEOPLE, TEAM, options)

const lines = (office, id) => storedEvents(office.workdir, 'ws_team', id).map(({ event }) => event)

// Every stored event that clients get to see, with its position: what a stream must bring.
const visible = (office, id) =>
    storedEvents(office.workdir, 'ws_team', id)
        .filter(({ event }) => !/^(aux\.usage|llm\.request|skills\.)/.test(event.type))
        .map(({ position }) => position)

async function startConversation(office, owner = 'bob', participants = ['usr_cat']) {
    const c = office.as(owner)
    const { body } = await c.post('/v1/chat', { message: 'hello' })
    assert.match(body.conversationId, /^conv_/, JSON.stringify(body))
    if (participants.length > 0) {
        const shared = await c.post(`/v1/conversations/${body.conversationId}/share`, { participants })
        assert.equal(shared.status, 200, shared.text)
    }
    await eventually(() => lines(office, body.conversationId).some((e) => e.type === 'metadata.title'))
    return body.conversationId
}

const ENDLESS = 'count to 10000' // longer than any test takes: until it is stopped
const idsOf = (stream) => stream.frames.filter((f) => f.id).map((f) => f.id)
const watch = (office, name, id, query = '') =>
    listen(office.server, `/v1/conversations/${id}/events${query}`, office.as(name).headers())

test('two people chat, one drops and resumes: nothing is missing and nothing comes twice', async () => {
    const office = await open({ env: { NB_DEMO_DELAY_MS: '40' } })
    const id = await startConversation(office)
    const bob = watch(office, 'bob', id, '?after=0')
    const first = watch(office, 'cat', id, '?after=0')
    await Promise.all([bob.event('text.snapshot'), first.event('text.snapshot')])

    const answer = office.as('cat').post('/v1/chat', { message: ENDLESS, conversationId: id })
    await first.event('text.delta')
    first.drop() // in the middle of the answer
    await first.done
    const last = idsOf(first).at(-1)
    const second = listen(office.server, `/v1/conversations/${id}/events`, { ...office.as('cat').headers(), 'last-event-id': last })
    await second.event('text.delta')
    assert.equal((await office.as('cat').post(`/v1/conversations/${id}/cancel`)).status, 200)
    assert.equal((await answer).status, 200)
    await office.as('bob').post('/v1/chat', { message: 'and mine', conversationId: id })
    const all = visible(office, id)
    await Promise.all([bob, second].map((s) => s.until(() => idsOf(s).at(-1) === all.at(-1), 'last event')))

    assert.deepEqual(idsOf(bob), all)
    assert.deepEqual([...idsOf(first), ...idsOf(second)], all)
    const said = bob.frames.filter((f) => f.event === 'user.message').map((f) => [f.data.userId, f.data.displayName])
    assert.deepEqual(said, [['usr_bob', 'Bob'], ['usr_cat', 'Cat'], ['usr_bob', 'Bob']])
    assert.ok(bob.frames.some((f) => f.event === 'text.delta'), 'answers to others stream as well')
    // A late watcher gets the text so far, and then the rest: together the whole answer.
    const snapshot = second.frames.find((f) => f.event === 'text.snapshot')
    const done = second.frames.find((f) => f.event === 'llm.done')
    const rest = second.frames.filter((f) => f.event === 'text.delta' && f.at <= done.at && f.data.runId === done.data.runId)
    assert.equal(snapshot.data.text + rest.map((f) => f.data.text).join(''), done.data.content[0].text)
    for (const s of [bob, second]) s.drop()
})

test('a person who is removed loses the stream immediately, and the conversation is gone for them', async () => {
    const office = await open()
    for (const [what, remove] of [
        ['removed', (id) => office.as('bob').ask('DELETE', `/v1/conversations/${id}/participants/usr_cat`)],
        ['unshared', (id) => office.as('bob').post(`/v1/conversations/${id}/unshare`)],
        ['out of the workspace', async () => {
            const r = await office.as('ann').ask('DELETE', '/v1/workspaces/ws_team/members/usr_cat')
            assert.equal(r.status, 200, r.text)
            return r
        }],
    ]) {
        const id = await startConversation(office)
        const own = watch(office, 'cat', id)
        const news = listen(office.server, `/v1/events?watch=${id}`, office.as('cat').headers())
        await Promise.all([own.event('text.snapshot'), news.event('text.snapshot')])
        const before = performance.now()
        assert.equal((await remove(id)).status, 200)
        // The same server answers these requests: on a busy machine they take longer as well.
        for (let i = 0; i < 20 && !own.closed; i++) await office.nobody.get('/v1/health')
        assert.ok(own.closed, `${what}: 20 requests after the answer the stream is still open`)
        const leaked = own.frames.filter((f) => /^conversation\./.test(f.event) && f.at > before)
        assert.deepEqual(leaked, [], 'nothing is told any more')
        if (what === 'out of the workspace') {
            await news.until((s) => s.closed, 'end of the workspace stream')
            assert.equal((await office.as('cat', 'ws_team').get(`/v1/conversations/${id}`)).status, 403)
        } else {
            await news.event('watch.ended', (d) => d.conversationId === id)
            await news.event('conversation.deleted', (d) => d.conversationId === id)
            assert.equal(news.closed, null)
            assert.equal((await office.as('cat').get(`/v1/conversations/${id}`)).status, 404)
            assert.equal((await office.as('cat').post('/v1/chat', { message: 'x', conversationId: id })).status, 404)
        }
        news.drop()
    }
})

test('a member who leaves loses runs, and a revoked token its streams', async () => {
    const office = await open({ env: { NB_DEMO_DELAY_MS: '200' }, tokens: { cat: [{ name: 'extra' }] } })
    const started = await office.as('cat').post('/v1/chat/start', { message: ENDLESS })
    assert.equal(started.status, 202, started.text)
    const id = started.body.conversationId
    const stream = listen(office.server, '/v1/events', client(office.server, office.tokens.extra).headers())
    await stream.event('subscribed')
    const revoked = await office.as('cat').ask('DELETE', '/v1/tokens/tok_cat1')
    assert.equal(revoked.status, 200, revoked.text)
    await stream.until((s) => s.closed, 'end of the stream')
    assert.equal((await client(office.server, office.tokens.extra).get('/v1/conversations')).status, 401)
    assert.equal((await office.nb(['workspace', 'remove-member', 'ws_team', 'usr_cat'])).code, 0)
    await eventually(() => lines(office, id).some((e) => e.type === 'run.done' && e.stopReason === 'cancelled'))
})

test('a stream ends with its token', async () => {
    const office = await open()
    const id = await startConversation(office)
    const lasting = listen(office.server, '/v1/events', office.as('bob').headers())
    await lasting.ready()
    await withBriefToken(office, 'bob', async (token, endsAt) => {
        const brief = client(office.server, token)
        const streams = [`/v1/conversations/${id}/events`, `/v1/events?watch=${id}`].map((target) => listen(office.server, target, brief.headers()))
        for (const s of streams) await s.ready()
        if (streams.some((s) => s.status !== 200)) return false
        for (const s of streams) await s.until((x) => x.closed, 'end')
        assert.ok(Date.now() >= endsAt)
        return true
    })
    assert.equal(lasting.closed, null)
    lasting.drop()
})

test('the workspace stream: news for those who may see them, resumed, reset after a restart', async () => {
    const office = await open()
    const seen = Object.fromEntries(['ann', 'bob', 'cat', 'dan'].map((name) => [name, listen(office.server, '/v1/events', office.as(name).headers())]))
    for (const s of Object.values(seen)) await s.event('subscribed')
    const id = await startConversation(office, 'bob', [])
    await office.as('bob').ask('PATCH', `/v1/conversations/${id}`, { title: 'Plans' })
    await seen.bob.event('conversation.renamed', (d) => d.title === 'Plans')
    await seen.ann.event('conversation.renamed', (d) => d.title === 'Plans') // an admin sees all
    assert.equal(seen.cat.frames.filter((f) => f.event.startsWith('conversation.')).length, 0)
    await office.as('bob').post(`/v1/conversations/${id}/share`, { participants: ['usr_cat'] })
    const shared = await seen.cat.event('conversation.shared')
    assert.deepEqual(shared.data.participants, ['usr_bob', 'usr_cat'])
    seen.cat.drop()
    await office.as('bob').ask('DELETE', `/v1/conversations/${id}`)
    const again = listen(office.server, '/v1/events', { ...office.as('cat').headers(), 'last-event-id': shared.id })
    await again.event('conversation.deleted', (d) => d.conversationId === id)
    const missed = again.frames.filter((f) => f.event !== 'bundle.state') // the shell starts when it likes
    assert.equal(missed[0].event, 'conversation.deleted', 'only what was missed')
    assert.equal(seen.dan.frames.filter((f) => /conversation|member/.test(f.event)).length, 0, 'another workspace hears nothing')
    const strange = listen(office.server, '/v1/events', { ...office.as('cat').headers(), 'last-event-id': 'b_0123456789abcdef-7' })
    await strange.event('reset')
    for (const s of [...Object.values(seen), again, strange]) s.drop()
})

test('the workspace stream: tools, skills and settings, followed while nb runs', async () => {
    const office = await open()
    const file = path.join(office.workdir, 'workspaces/ws_team/workspace.json')
    const edit = (change) => fs.writeFileSync(file, JSON.stringify({ ...JSON.parse(fs.readFileSync(file, 'utf8')), ...change }))
    const bob = office.as('bob')
    const [seen, other] = ['bob', 'dan'].map((name) => listen(office.server, '/v1/events', office.as(name).headers()))
    await Promise.all([seen.event('subscribed'), other.event('subscribed')])
    const config = (field) => seen.event('config.changed', (d) => d.fields.includes(field))
    const count = (event) => seen.frames.filter((f) => f.event === event).length

    edit({ bundles: [{ serverName: 'tiny', command: process.execPath, args: [path.join(SRC_DIR, 'tests/fixtures/tiny-server.mjs')], sandbox: { read: [SRC_DIR] } }] })
    assert.deepEqual((await config('bundles')).data.fields, ['bundles'])
    await seen.event('bundle.state', (d) => d.name === 'tiny' && d.status === 'running')
    const health = async (who) => (await who.get('/v1/health')).body.bundles
    assert.deepEqual((await health(bob)).filter((b) => b.name === 'tiny'), [{ name: 'tiny', state: 'running', workspaceId: 'ws_team' }])
    assert.ok(!(await health(office.as('dan'))).some((b) => b.name === 'tiny'), 'another workspace')
    assert.equal(await health(office.nobody), undefined, 'a stranger is told nothing of them')

    assert.equal((await bob.post('/v1/tools/call', { server: 'tiny', tool: 'add', arguments: { a: 1, b: 2 } })).status, 200)
    await seen.event('bridge.tool.done')
    assert.equal(count('data.changed'), 0, 'a page does not cause its own reload')
    const call = () => bob.post('/v1/chat', { message: 'call tiny__add {"a":2,"b":3}', allowedTools: ['tiny__*'] })
    assert.equal((await call()).body.toolCalls[0].output, '5')
    const changed = await seen.event('data.changed')
    assert.deepEqual([changed.data.server, changed.data.tool], ['tiny', 'add'])

    const skill = path.join(office.workdir, 'workspaces/ws_team/skills/greet.md')
    fs.mkdirSync(path.dirname(skill), { recursive: true })
    for (const [event, body] of [['created', 'Say hello.'], ['updated', 'Say good day.'], ['deleted', '']]) {
        if (body) fs.writeFileSync(skill, `---\nname: greet\ntype: skill\npriority: 20\n---\n${body}\n`)
        else fs.rmSync(skill)
        await bob.get('/v1/skills')
        assert.equal((await seen.event(`skill.${event}`)).data.name, 'greet')
    }

    fs.mkdirSync(path.join(path.dirname(file), 'more'))
    fs.writeFileSync(path.join(path.dirname(file), 'more/knit.md'), '---\nname: knit\ntype: skill\npriority: 20\n---\nKnit.\n')
    edit({ skillDirs: ['more'] })
    await config('skillDirs')
    assert.ok((await bob.get('/v1/skills')).body.skills.some((s) => s.name === 'knit'))
    await seen.event('skill.created', (d) => d.name === 'knit')

    edit({ permissions: { deny: ['tiny__*'] }, identity: 'You are the clerk of this office.' })
    await config('permissions')
    assert.equal((await call()).body.toolCalls[0].ok, false, 'denied from now on')
    assert.match((await bob.post('/v1/prompt', { message: 'hello' })).text, /clerk of this office/)
    const changes = count('config.changed')
    edit({ permissions: ['tiny__*'], identity: undefined }) // no rules: those before stay
    await eventually(() => count('config.changed') > changes)
    assert.equal((await call()).body.toolCalls[0].ok, false)
    const rules = { default: 'allow', allow: ['tiny__*'], ask: [], deny: [] }
    assert.equal((await office.as('ann').ask('PUT', '/v1/permissions', rules, { 'x-workspace-id': 'ws_team' })).status, 200)
    assert.equal((await call()).body.toolCalls[0].output, '5')
    assert.equal(other.frames.filter((f) => !/^(subscribed|heartbeat|bundle\.state)$/.test(f.event)).length, 0, 'another workspace hears nothing')
    for (const s of [seen, other]) s.drop()
})

test('several conversations in one stream, changed without reconnecting', async () => {
    const office = await open()
    const a = await startConversation(office), b = await startConversation(office)
    const mine = await startConversation(office, 'bob', [])
    const cat = office.as('cat')
    const stream = listen(office.server, `/v1/events?watch=${a}@0,${mine}`, cat.headers())
    const { data } = await stream.event('subscribed')
    await stream.event('watch.ended', (d) => d.conversationId === mine) // private: as if it were not there
    await stream.event('user.message', (d) => d.conversationId === a && d.position > 0)
    const change = (body, who = cat) => who.post(`/v1/events/${data.streamId}/watch`, body)
    assert.equal((await change({ add: [`${b}@0`], remove: [a] })).status, 204)
    await stream.event('text.snapshot', (d) => d.conversationId === b)
    assert.equal((await change({ add: ['../x'] })).status, 400)
    assert.equal((await change({ add: [a] }, office.as('bob'))).status, 404, 'the stream of somebody else')
    await office.as('bob').post('/v1/chat', { message: 'one more', conversationId: b })
    await stream.event('run.done', (d) => d.conversationId === b)
    assert.equal((await cat.get('/v1/events?watch=x@y')).status, 400)
    assert.equal((await cat.get('/v1/events?watch=' + Array(51).fill(a).join(','))).status, 400)
    stream.drop()
})

test('typing and presence are sent and not stored', async () => {
    const office = await open()
    const id = await startConversation(office)
    const bob = watch(office, 'bob', id)
    await bob.event('presence.snapshot')
    const cat = watch(office, 'cat', id)
    const here = await cat.event('presence.snapshot')
    assert.deepEqual(here.data.users.map((u) => u.displayName).sort(), ['Bob', 'Cat'])
    assert.deepEqual((await bob.event('presence')).data, { userId: 'usr_cat', displayName: 'Cat', state: 'joined' })
    assert.equal((await office.as('cat').post(`/v1/conversations/${id}/typing`)).status, 204)
    await bob.event('typing', (d) => d.userId === 'usr_cat' && d.isTyping)
    assert.equal((await office.as('ann').post(`/v1/conversations/${id}/typing`)).status, 403, 'an admin reads, and does not write')
    cat.drop()
    await bob.event('presence', (d) => d.state === 'left')
    assert.ok(!JSON.stringify(lines(office, id)).match(/typing|presence/))
    bob.drop()
})

test('the standard EventSource resumes automatically after the server was killed in mid-answer', async () => {
    const port = String(await freePort())
    const office = await open({ env: { NB_DEMO_DELAY_MS: '30' }, args: ['--port', port] })
    const id = await startConversation(office)
    const got = []
    const source = new EventSource(`${office.server.url}/v1/conversations/${id}/events?after=0`, {
        fetch: (url, init) => fetch(url, { ...init, headers: { ...init.headers, ...office.as('bob').headers() } }),
    })
    for (const name of ['user.message', 'run.start', 'llm.done', 'run.done', 'run.error', 'conversation.title', 'conversation.visibility', 'conversation.participants', 'tool.done'])
        source.addEventListener(name, (e) => got.push(e.lastEventId))
    let isStreaming = false
    source.addEventListener('text.delta', () => (isStreaming = true))
    await eventually(() => got.length > 0)
    await office.as('bob').post('/v1/chat/start', { message: 'explain yourself at length', conversationId: id })
    await eventually(() => isStreaming)
    await office.server.kill9()
    const server = await startServer({ workdir: office.workdir, env: QUICK, args: ['--port', port] })
    // In a database the lease of the killed server has to expire first.
    const after = await eventually(async () => {
        const r = await client(server, office.tokens.bob).post('/v1/chat', { message: 'still there?', conversationId: id })
        return r.status !== 409 && r
    })
    assert.equal(after.status, 200, after.text)
    await eventually(() => got.at(-1) === visible(office, id).at(-1))
    source.close()
    assert.deepEqual(got, visible(office, id))
})

test('a workspace that is deleted ends for everybody in it, and its data are out of reach', async () => {
    const office = await open({ env: { NB_DEMO_DELAY_MS: '100' } })
    const id = await startConversation(office)
    const bob = watch(office, 'bob', id)
    const news = listen(office.server, '/v1/events', office.as('cat').headers())
    await Promise.all([bob.event('text.snapshot'), news.event('subscribed')])
    const chat = office.as('bob').post('/v1/chat', { message: 'explain yourself at length', conversationId: id })
    await bob.event('text.delta')
    assert.equal((await office.as('ann').ask('DELETE', '/v1/workspaces/ws_team')).status, 200)
    await Promise.all([bob, news].map((s) => s.until(() => s.closed, 'end of the stream')))
    await chat // answered one way or the other
    assert.equal((await office.as('bob', 'ws_team').get('/v1/conversations')).status, 403)
    assert.equal(fs.existsSync(path.join(office.workdir, 'workspaces/ws_team')), false)
    assert.equal((await office.as('dan').get('/v1/conversations')).status, 200)
})
