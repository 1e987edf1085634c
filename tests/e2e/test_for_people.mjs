// Messages of people to each other in a conversation with the agent: no run, and context later.
import { after, assert, before, eventually, startServer, test } from '../support/tap.mjs'
import { client, listen, openOffice, QUICK } from '../support/office.mjs'

let office
before(async () => {
    office = await openOffice({ ann: 'owner', bob: 'member', cat: 'member', eve: 'member' }, { ws_team: { ann: 'admin', bob: 'member', cat: 'member', eve: 'member' } }, { env: { NB_DEMO_DELAY_MS: '20' } })
})
after(() => office.server.stop())

const bob = () => office.as('bob'), cat = () => office.as('cat')
const at = (id, rest = '') => `/v1/conversations/${id}${rest}`
const tell = (who, id, message, more = {}) => who.post('/v1/chat/start', { message, conversationId: id, forPeople: true, ...more })
const said = async (id, who = bob()) => (await who.get(at(id, '/history'))).body.messages.filter((m) => m.role === 'user').map((m) => [m.content, m.forPeople ?? false])

async function shared(text = 'say hello') {
    const r = await bob().post('/v1/chat', { message: text })
    assert.equal(r.status, 200, r.text)
    const id = r.body.conversationId
    assert.equal((await bob().post(at(id, '/share'), { participants: ['usr_cat', 'usr_eve'], readers: ['usr_eve'] })).status, 200)
    return { id, ...r.body }
}

test('a message for people is stored, starts no run, and the model reads it with the next message', async () => {
    const { id } = await shared()
    const r = await tell(bob(), id, 'shall we take the blue one?')
    assert.deepEqual([r.status, r.body], [202, { conversationId: id }], r.text)
    assert.equal((await tell(cat(), id, 'yes, blue')).status, 202)
    const seen = (await cat().get(at(id))).body
    assert.deepEqual([seen.isRunning, seen.lastRun, seen.messageCount], [false, 'complete', 4])
    assert.deepEqual(await said(id, cat()), [['say hello', false], ['shall we take the blue one?', true], ['yes, blue', true]])
    const preview = await cat().post('/v1/prompt', { message: 'which one?', conversationId: id })
    assert.match(preview.text, /\[usr_bob, to the other people\] shall we take the blue one\?/)
    const answered = await cat().post('/v1/chat', { message: 'say done', conversationId: id })
    assert.deepEqual([answered.status, answered.body.stopReason], [200, 'complete'], answered.text)
    const shown = await office.nb(['conv', 'show', id, '--workspace', 'ws_team'])
    assert.match(shown.stdout, /Bob, to people only/)
    const replayed = await office.nb(['replay', id, '--workspace', 'ws_team'])
    assert.equal(replayed.code, 0, replayed.stdout + replayed.stderr)
})

test('who may not write may not tell people either, and a message for people needs a conversation', async () => {
    const { id } = await shared()
    assert.equal((await tell(office.as('eve'), id, 'x')).status, 403)
    assert.equal((await tell(office.as('ann'), id, 'x')).status, 403)
    assert.equal((await tell(bob(), 'conv_0000000000000000', 'x')).status, 404)
    assert.equal((await tell(bob(), undefined, 'x')).status, 400)
    assert.equal((await tell(bob(), id, ' ')).status, 400)
    for (const path of ['/v1/chat', '/v1/chat/stream'])
        assert.equal((await bob().post(path, { message: 'x', conversationId: id, forPeople: true })).status, 400, path)
})

test('an open question stays open while people talk about it', async () => {
    const { id, ask } = await shared('call manage_conversation {"action":"unshare"}')
    assert.ok(ask?.askId, 'the demo model was asked for permission')
    assert.equal((await tell(cat(), id, 'do not allow it')).status, 202)
    const open = (await bob().get(at(id, '/history'))).body.ask
    assert.equal(open?.askId, ask.askId)
    const r = await bob().post('/v1/chat', { conversationId: id, answer: { askId: ask.askId, allow: false } })
    assert.equal(r.status, 200, r.text)
})

test('while the agent answers it waits, and follows the answer without a run of its own', async () => {
    const { id } = await shared()
    const began = await bob().post('/v1/chat/start', { message: 'count to 10000', conversationId: id })
    assert.equal(began.status, 202, began.text)
    assert.equal((await tell(cat(), id, 'x', { whenBusy: 'refuse' })).status, 409)
    const waiting = await tell(cat(), id, 'this takes long', { whenBusy: 'steer' })
    assert.ok(waiting.body.queuedId, waiting.text)
    const [queued] = (await bob().get(at(id, '/queue'))).body.messages
    assert.deepEqual([queued.mode, queued.forPeople], ['queue', true])
    await bob().post(at(id, '/cancel'), {})
    await eventually(async () => (await said(id)).some(([text, forPeople]) => text === 'this takes long' && forPeople))
    const { messages } = (await bob().get(at(id, '/history'))).body
    assert.equal(messages.at(-1).content, 'this takes long')
    assert.equal((await bob().get(at(id))).body.isRunning, false)
})

const noticesOf = async (name) => (await office.as(name).get('/v1/notices')).body.notices

test('people who are added or mentioned get a notice, live and later, and nobody else does', async () => {
    const live = listen(office.server, '/v1/events', cat().headers())
    await live.ready()
    const { id } = await shared()
    const added = await eventually(async () => (await noticesOf('cat')).find((n) => n.conversationId === id))
    assert.deepEqual([added.kind, added.by, added.seen], ['added', 'usr_bob', false])
    await live.event('notice', (data) => data.kind === 'added')
    assert.ok(!(await noticesOf('bob')).some((n) => n.conversationId === id), 'not to the person who did it')
    const mentions = ['usr_cat', 'usr_eve', 'usr_bob', 'usr_ann', 'usr_nobody']
    assert.equal((await tell(bob(), id, '@Cat, @Eve, look', { mentions })).status, 202)
    for (const name of ['cat', 'eve']) {
        const mention = await eventually(async () => (await noticesOf(name)).find((n) => n.conversationId === id && n.kind === 'mention'))
        assert.equal(mention.by, 'usr_bob', name)
    }
    for (const name of ['ann', 'bob']) assert.ok(!(await noticesOf(name)).some((n) => n.conversationId === id), name)
    const seen = await cat().post('/v1/notices/seen', { conversationId: id })
    assert.ok(seen.body.notices.filter((n) => n.conversationId === id).every((n) => n.seen))
    assert.ok((await noticesOf('eve')).some((n) => n.conversationId === id && !n.seen), 'everybody has their own')
    // Who may not write cannot mention, and who does not see the conversation cannot be mentioned.
    assert.equal((await tell(office.as('eve'), id, 'x', { mentions: ['usr_cat'] })).status, 403)
    const secret = (await bob().post('/v1/chat', { message: 'say mine' })).body.conversationId
    assert.equal((await tell(bob(), secret, 'x', { mentions: ['usr_cat'] })).status, 202)
    assert.equal((await bob().post('/v1/chat/start', { message: 'x', conversationId: secret, mentions: Array(51).fill('usr_cat') })).status, 400)
    assert.equal((await tell(bob(), id, 'and now', { mentions: ['usr_cat'] })).status, 202)
    await eventually(async () => (await noticesOf('cat')).some((n) => n.conversationId === id && n.kind === 'mention' && !n.seen))
    assert.ok(!(await noticesOf('cat')).some((n) => n.conversationId === secret))
    live.drop()
})

test('a person who is removed is told by whom; one who leaves, the owner and others are not', async () => {
    const { id } = await shared()
    const removals = async (name) => (await noticesOf(name)).filter((n) => n.conversationId === id && n.kind === 'removed')
    assert.equal((await office.as('eve').post(at(id, '/leave'), {})).status, 200)
    assert.equal((await office.as('ann').post(at(id, '/unshare'), {})).status, 200) // an admin, not the owner
    const [removed] = await eventually(async () => {
        const found = await removals('cat')
        return found.length > 0 && found
    })
    assert.deepEqual([removed.by, removed.seen], ['usr_ann', false])
    assert.equal((await cat().get(at(id))).status, 404)
    for (const name of ['eve', 'bob', 'ann']) assert.deepEqual(await removals(name), [], name)
})

test('a server that is asked to stop while people are being told ends in order, and they are told later', async () => {
    const people = { ann: 'owner', bob: 'member', cat: 'member' }, env = { NB_DEMO_DELAY_MS: '0' }
    const own = await openOffice(people, { ws_team: { ann: 'admin', bob: 'member', cat: 'member' } }, { env })
    const shares = []
    for (let i = 0; i < 8; i++) {
        const { conversationId } = (await own.as('bob').post('/v1/chat', { message: `say ${i}` })).body
        shares.push(own.as('bob').post(at(conversationId, '/share'), { participants: ['usr_cat'] }))
    }
    const answers = await Promise.all(shares)
    const { code } = await own.server.stop()
    assert.deepEqual([code, ...new Set(answers.map(({ status }) => status))], [0, 200], own.server.stderr)
    const server = await startServer({ workdir: own.workdir, env: { ...QUICK, ...env } })
    const kept = (await client(server, own.tokens.cat, 'ws_team').get('/v1/notices')).body.notices
    assert.equal(kept.filter(({ kind }) => kind === 'added').length, 8)
})

test('one that waits survives a restart as what it is', async () => {
    const { id } = await shared()
    await bob().post('/v1/chat/start', { message: 'count to 10000', conversationId: id })
    assert.ok((await tell(cat(), id, 'after the restart', { whenBusy: 'queue' })).body.queuedId)
    await office.server.kill9()
    const server = await startServer({ env: { ...QUICK, NB_DEMO_DELAY_MS: '20' }, workdir: office.workdir })
    const again = client(server, office.tokens.bob, 'ws_team')
    await eventually(async () => (await said(id, again)).some(([text, forPeople]) => text === 'after the restart' && forPeople))
    const { messages } = (await again.get(at(id, '/history'))).body
    assert.equal(messages.at(-1).content, 'after the restart')
    assert.equal((await again.get(at(id))).body.isRunning, false)
    const kept = (await client(server, office.tokens.eve, 'ws_team').get('/v1/notices')).body.notices
    assert.ok(kept.some((n) => n.kind === 'mention'), 'notices are there after a restart')
    await server.stop()
})
