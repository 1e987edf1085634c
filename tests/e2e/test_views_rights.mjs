// Interfaces of tools and people: whose views they are, and when they end.
import { after, assert, bareFetch, before, eventually, test } from '../support/tap.mjs'
import { listen, openOffice } from '../support/office.mjs'
import { start as startDouble } from '../support/model_double.mjs'
import { call, called, open, opened, rpc, seen, stream, viewsBundle } from '../support/views.mjs'

let double, office, ann, bob, eve

before(async () => {
    double = await startDouble({ port: 0, seed: 7 })
    office = await openOffice(
        { ann: 'owner', bob: 'member', cat: 'member', eve: 'member' },
        { ws_a: { ann: 'admin', bob: 'member', cat: 'member', eve: 'member' }, ws_b: { eve: 'admin' } },
        {
            settings: {
                defaultModel: 'anthropic:claude-sonnet-4-5-20250929',
                models: { fast: 'demo:demo' },
                providers: { anthropic: { baseURL: double.url, apiKey: 'sk-ant-test-key' } },
                noDefaultBundles: true,
            },
            bundles: { ws_a: [viewsBundle(), viewsBundle('other')], ws_b: [viewsBundle()] },
            tokens: {
                bob: [
                    { name: 'bob-other', tools: ['other__*'] }, { name: 'bob-show', tools: ['views__show', 'views__secret'] },
                    { name: 'bob-all', tools: ['views__*'] }, { name: 'bob-read', scopes: ['read'] },
                ],
            },
        },
    )
    ;[ann, bob, eve] = ['ann', 'bob', 'eve'].map((name) => office.as(name, 'ws_a'))
})
after(() => double.close())

const share = async (owner, id, ...names) => {
    const r = await owner.post(`/v1/conversations/${id}/share`, { participants: names.map((n) => office.ids[n]) })
    assert.equal(r.status, 200, r.text)
}
const remove = (owner, id, name) => owner.ask('DELETE', `/v1/conversations/${id}/participants/${office.ids[name]}`)

/** A call of bob's, shared with these people. */
async function shared(...names) {
    const made = await called(bob)
    await share(bob, made.conversationId, ...names)
    return made
}

async function isGone(who, view) {
    const requests = [
        who.get(`/v1/views/${view.viewId}`), who.ask('DELETE', `/v1/views/${view.viewId}`),
        who.post(`/v1/views/${view.viewId}/rpc`, { method: 'tools/list' }), who.post(`/v1/views/${view.viewId}/asks/ask_1`, { decision: 'allow' }),
    ]
    for (const r of await Promise.all(requests)) assert.deepEqual([r.status, r.body.error], [404, 'view_not_found'], r.text)
}

test('a view belongs to one person and one login', async () => {
    const made = await shared('cat')
    const v = await open(bob, made)
    for (const who of [ann, eve, office.as('cat', 'ws_a'), office.as('bob-all', 'ws_a')]) await isGone(who, v)
    const none = await office.nobody.get(`/v1/views/${v.viewId}`)
    assert.equal(none.status, 401)
    const other = await office.as('eve', 'ws_b').get(`/v1/views/${v.viewId}`)
    assert.equal(other.status, 404)
    assert.ok((await call(bob, v, 'show')).result)
    assert.equal((await eve.post('/v1/views', made)).status, 404, 'a conversation that eve may not see')
    const hers = await open(office.as('cat', 'ws_a'), made)
    assert.notEqual(hers.viewId, v.viewId)
    assert.deepEqual(hers.result, v.result)
})

test('a token that is limited to some tools', async () => {
    const made = await called(bob)
    const refused = await office.as('bob-other', 'ws_a').post('/v1/views', made)
    assert.equal(refused.status, 403, refused.text)

    const some = office.as('bob-show', 'ws_a')
    const v = await open(some, made)
    assert.ok((await call(some, v, 'show')).result)
    for (const name of ['poll', 'destroy', 'secret']) assert.ok((await call(some, v, name)).error, name)
    assert.deepEqual((await rpc(some, v, 'tools/list')).result.tools.map((t) => t.name), ['show'])
    assert.equal((await rpc(some, v, 'resources/read', { uri: 'data://views/one' })).error.code, -32000)

    const all = office.as('bob-all', 'ws_a')
    const w = await open(all, made)
    assert.ok((await call(all, w, 'poll')).result)
    assert.ok((await rpc(all, w, 'resources/read', { uri: 'data://views/one' })).result)

    const reader = office.as('bob-read', 'ws_a')
    const x = await open(reader, made)
    assert.equal((await reader.get(`/v1/views/${x.viewId}`)).body.state, 'done')
    assert.equal((await reader.post(`/v1/views/${x.viewId}/rpc`, { method: 'tools/list' })).status, 403)
})

test('a participant who is removed loses the view, and its call is cancelled', async () => {
    const cat = office.as('cat', 'ws_a')
    const made = await shared('cat')
    const [mine, hers] = [await open(bob, made), await open(cat, made)]
    const slow = stream(office.server, cat, hers, 'tools/call', { name: 'slow', arguments: {} })
    await slow.until('progress')
    const asking = stream(office.server, cat, hers, 'tools/call', { name: 'destroy' })
    const { askId } = await asking.until('ask')
    const { cancelled } = await seen(bob, mine)
    assert.equal((await remove(bob, made.conversationId, 'cat')).status, 200)
    for (const s of [slow, asking]) assert.ok((await s.until('done')).error)
    await isGone(cat, hers)
    assert.equal((await cat.post(`/v1/views/${hers.viewId}/asks/${askId}`, { decision: 'allow' })).status, 404)
    assert.equal((await bareFetch(hers.sandbox.url)).status, 404)
    await eventually(async () => (await seen(bob, mine)).cancelled === cancelled + 1)
    assert.ok((await call(bob, mine, 'show')).result, 'others keep theirs')
    assert.equal((await cat.post('/v1/views', made)).status, 404)
})

test('an admin who only reads may look, but not use the model or write', async () => {
    const made = await called(bob)
    const v = await open(ann, made)
    const sampled = stream(office.server, ann, v, 'sampling/createMessage', { messages: [{ role: 'user', content: { type: 'text', text: 'x' } }] })
    assert.equal((await sampled.until('done')).error.code, -32000)
    assert.equal((await rpc(ann, v, 'ui/message', { role: 'user', content: [{ type: 'text', text: 'x' }] }, { confirmed: true })).error.code, -32000)
    const { body } = await bob.get(`/v1/conversations/${made.conversationId}/history`)
    assert.equal(body.messages.filter((m) => m.role === 'user').length, 1)
})

test('a revoked token ends its views', async () => {
    const all = office.as('bob-all', 'ws_a')
    const v = await open(all, await called(bob))
    const slow = stream(office.server, all, v, 'tools/call', { name: 'slow', arguments: {} })
    await slow.until('progress')
    const { code, stderr } = await office.nb(['token', 'revoke', 'tok_bob3', '--user', 'bob@example.com'])
    assert.equal(code, 0, stderr)
    await eventually(() => slow.isOver)
    assert.ok(!slow.events.some((e) => e.event === 'done' && e.data.result))
    assert.equal((await bareFetch(v.sandbox.url)).status, 404)
})

test('a person who leaves the workspace loses their views', async () => {
    const made = await called(bob)
    const v = await open(bob, made)
    const slow = stream(office.server, bob, v, 'tools/call', { name: 'slow', arguments: {} })
    await slow.until('progress')
    assert.equal((await ann.ask('DELETE', `/v1/workspaces/ws_a/members/${office.ids.bob}`)).status, 200)
    await eventually(() => slow.isOver)
    assert.ok(!slow.events.some((e) => e.event === 'done' && e.data.result))
    assert.equal((await bareFetch(v.sandbox.url)).status, 404)
    assert.equal((await ann.post('/v1/workspaces/ws_a/members', { userId: office.ids.bob, role: 'member' })).status, 200)
    await isGone(bob, v)
})

test('what one person changes in an interface reaches the others and is in the log', async () => {
    const cat = office.as('cat', 'ws_a')
    const made = await shared('cat')
    const [mine, hers] = [await open(bob, made), await open(cat, made)]
    const news = listen(office.server, '/v1/events', cat.headers())
    const log = listen(office.server, `/v1/conversations/${made.conversationId}/events`, cat.headers())
    await Promise.all([news.ready(), log.ready()])
    await call(cat, hers, 'poll')
    await call(cat, hers, 'show')
    assert.ok((await call(bob, mine, 'change', { to: 'blue' })).result)
    const { data } = await news.event('data.changed')
    assert.deepEqual([data.server, data.tool, data.viewId], ['views', 'change', mine.viewId])
    const stored = await log.event('app.call')
    assert.deepEqual([stored.data.app, stored.data.tool, stored.data.callId, stored.data.userId, stored.data.ok], ['views', 'change', made.callId, office.ids.bob, true])
    assert.equal(log.frames.filter((f) => f.event === 'app.call').length, 1, 'reading is not recorded')
    news.drop()
    log.drop()
})

test('the audit log has the first call of each tool and refusals, without arguments', async () => {
    const v = await opened(bob)
    for (let i = 0; i < 3; i++) await call(bob, v, 'show', { text: 'private words' })
    await call(bob, v, 'secret')
    await call(bob, v, 'other__show')
    const find = async () => {
        const { body } = await office.as('ann').get('/v1/audit?action=app.call')
        const own = (body?.records ?? []).filter((e) => e.detail?.includes(v.viewId))
        return own.length >= 3 && own
    }
    const records = await eventually(find)
    assert.deepEqual(records.map((e) => `${e.target} ${e.outcome}`).sort(), ['other__show denied', 'views__secret denied', 'views__show ok'])
    assert.ok(records.every((e) => e.actor.user === office.ids.bob && !JSON.stringify(e).includes('private words')))
})

test('an interface that has itself refused without end does not fill the audit log', async () => {
    const v = await opened(bob)
    for (let i = 0; i < 55; i++) await call(bob, v, `none_${i}`)
    await call(bob, v, 'show')
    const find = async () => {
        const { body } = await office.as('ann').get('/v1/audit?action=app.call')
        const own = (body?.records ?? []).filter((e) => e.detail?.includes(v.viewId))
        return own.some((e) => e.target === 'views__show') && own
    }
    const denied = (await eventually(find)).filter((e) => e.outcome === 'denied')
    assert.equal(denied.length, 50)
    assert.equal(denied.filter((e) => /later refusals of this view are not recorded/.test(e.detail)).length, 1)
})
