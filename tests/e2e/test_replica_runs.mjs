// Several servers on one PostgreSQL: what one of them does is seen on the others, and what becomes of its work when it dies.
import fs from 'node:fs'
import path from 'node:path'
import { assert, before, eventually, nb, startServer, test, tmpdir } from '../support/tap.mjs'
import { client, listen, QUICK, writeOffice } from '../support/office.mjs'
import { startPostgres } from '../support/postgres.mjs'

const ENDLESS = 'count to 10000' // longer than any test takes: until it is stopped
const PEOPLE = { ann: 'owner', bob: 'member', cat: 'member' }
const TEAM = { ws_team: { ann: 'admin', bob: 'member', cat: 'member' } }
const SLOW = { NB_DEMO_DELAY_MS: '30' }
let postgres, office

before(async () => {
    postgres = await startPostgres('fsync=off')
    office = writeOffice(PEOPLE, TEAM)
    fs.writeFileSync(path.join(office.workdir, 'nimblebrain.json'), JSON.stringify({ store: { type: 'postgres', replicas: true } }))
    const env = { ...QUICK, NB_STORE_URL: postgres.url }
    const made = await nb(['--workdir', office.workdir, 'store', 'init'], { env })
    assert.equal(made.code, 0, made.stderr)
    await (await startServer({ workdir: office.workdir, env })).stop('SIGTERM') // puts the people into the database
})

// A server with the people of the office, in a work directory of its own.
async function replica(env = {}) {
    const workdir = tmpdir('nb-replica-')
    for (const file of ['instance.json', 'nimblebrain.json']) fs.copyFileSync(path.join(office.workdir, file), path.join(workdir, file))
    const server = await startServer({ workdir, env: { ...QUICK, NB_STORE_URL: postgres.url, ...env } })
    server.as = (name) => client(server, office.tokens[name], 'ws_team')
    server.watch = (name, id, query = '?after=0') =>
        listen(server, `/v1/conversations/${id}/events${query}`, server.as(name).headers())
    return server
}

async function begin(server, name = 'bob', message = 'hello') {
    const begun = await server.as(name).post('/v1/chat', { message })
    assert.equal(begun.status, 200, begun.text)
    return begun.body.conversationId
}

/** Deltas and events of the queue travel to a stream as soon as the other server knows of it. */
const isKnown = (server, stream, id) =>
    eventually(async () => {
        await server.as('bob').post(`/v1/conversations/${id}/typing`, { isTyping: true })
        return stream.frames.some((f) => f.event === 'typing')
    })

const history = async (server, id) => (await server.as('ann').get(`/v1/conversations/${id}`)).body
const idsOf = (stream) => stream.frames.filter((f) => f.id).map((f) => Number(f.id))
// The text that a client shows: a snapshot replaces it, deltas append.
function textOf(stream, runId) {
    let text = ''
    for (const { event, data } of stream.frames.filter((f) => f.data.runId === runId)) {
        if (event === 'text.snapshot') text = data.text
        if (event === 'text.delta') text += data.text
    }
    return text
}
const consecutive = (ids) => ids.every((id, i) => i === 0 || id > ids[i - 1])
const ends = (stream) => stream.frames.filter((f) => f.event === 'run.error' || f.event === 'run.done')

test('streams of another server get the lines and the deltas of a run, in order and once', async () => {
    const [a, b] = await Promise.all([replica(SLOW), replica(SLOW)])
    const id = await begin(a)
    const here = a.watch('bob', id), there = b.watch('bob', id)
    await Promise.all([here.event('presence.snapshot'), there.event('presence.snapshot')])
    await isKnown(a, there, id)
    const answer = a.as('bob').post('/v1/chat', { message: 'count to 60', conversationId: id })
    const { data } = await there.event('run.start', (d) => d.runId !== there.frames.find((f) => f.event === 'run.start').data.runId)
    await there.event('run.done', (d) => d.runId === data.runId)
    assert.equal((await answer).status, 200)
    await here.event('run.done', (d) => d.runId === data.runId)
    await eventually(() => idsOf(here).length === idsOf(there).length)
    assert.deepEqual(idsOf(there), idsOf(here))
    const whole = there.frames.find((f) => f.event === 'llm.done' && f.data.runId === data.runId)
    assert.equal(textOf(there, data.runId), whole.data.content[0].text, 'deltas are complete and in order')
    const order = there.frames.map((f) => f.event)
    assert.ok(order.lastIndexOf('text.delta') < order.lastIndexOf('llm.done'), 'deltas come before the line that has their text')
    // A stream that opens on B in the middle of a run on A has the text so far.
    const endless = a.as('bob').post('/v1/chat', { message: ENDLESS, conversationId: id })
    await there.event('text.delta', (d) => d.runId !== data.runId)
    const late = b.watch('bob', id)
    const { data: snapshot } = await late.event('text.snapshot', (d) => d.runId)
    const next = await late.until((s) => s.frames.find((f) => f.event === 'text.delta' && f.at > s.frames.find((g) => g.data === snapshot).at), 'delta after the snapshot')
    assert.ok(next)
    assert.equal((await history(b, id)).lastRun, 'running')
    // Any server ends it.
    const cancelled = await b.as('bob').post(`/v1/conversations/${id}/cancel`)
    assert.equal(cancelled.body.cancelled, true)
    for (const s of [late, there]) await s.event('run.done', (d) => d.stopReason === 'cancelled' && d.runId === snapshot.runId)
    const full = late.frames.find((f) => f.event === 'llm.done' && f.data.runId === snapshot.runId).data.content[0].text
    assert.equal(textOf(late, snapshot.runId), full, 'snapshot and deltas are the whole text')
    assert.equal(textOf(there, snapshot.runId), full, 'also for a stream that was open before')
    await endless
    for (const s of [here, there, late]) s.drop()
})

test('two servers change one conversation at the same time: nothing is lost, nothing comes twice', async () => {
    const [a, b] = await Promise.all([replica(SLOW), replica(SLOW)])
    const id = await begin(a)
    const streams = [a.watch('bob', id), b.watch('bob', id)]
    await Promise.all(streams.map((s) => s.event('presence.snapshot')))
    await isKnown(a, streams[1], id)
    const answer = a.as('bob').post('/v1/chat', { message: 'count to 40', conversationId: id })
    await streams[1].event('text.delta')
    const notes = []
    for (let i = 0; i < 10; i++)
        for (const [name, server] of [['a', a], ['b', b]])
            notes.push(server.as('bob').ask('PATCH', `/v1/conversations/${id}`, { title: `${name} ${i}` }))
    for (const r of await Promise.all(notes)) assert.equal(r.status, 200, r.text)
    assert.equal((await answer).status, 200, 'a rename elsewhere does not end a run')
    const shares = await Promise.all([a, b].map((s, i) => s.as('bob').post(`/v1/conversations/${id}/share`, { participants: [i ? 'usr_ann' : 'usr_cat'] })))
    for (const r of shares) assert.equal(r.status, 200, r.text)
    for (const s of streams) await s.until((x) => x.frames.filter((f) => f.event === 'conversation.title').length >= 20, 'titles')
    await eventually(() => idsOf(streams[0]).length === idsOf(streams[1]).length)
    assert.deepEqual(idsOf(streams[0]), idsOf(streams[1]))
    assert.ok(consecutive(idsOf(streams[0])), String(idsOf(streams[0])))
    for (const s of streams) s.drop()
})

test('presence and typing are seen on other servers, and removal ends streams everywhere', async () => {
    const [a, b] = await Promise.all([replica(), replica()])
    const id = await begin(a)
    assert.equal((await a.as('bob').post(`/v1/conversations/${id}/share`, { participants: ['usr_cat'] })).status, 200)
    const bob = a.watch('bob', id)
    await bob.event('presence.snapshot')
    const cat = b.watch('cat', id), news = listen(b, '/v1/events', b.as('cat').headers())
    await Promise.all([cat.event('presence.snapshot'), news.event('subscribed')])
    await bob.event('presence', (d) => d.userId === 'usr_cat' && d.state === 'joined')
    // It is told as soon as the other server knows that somebody watches here.
    await eventually(async () => {
        await a.as('bob').post(`/v1/conversations/${id}/typing`, { isTyping: true })
        return cat.frames.some((f) => f.event === 'typing' && f.data.userId === 'usr_bob')
    })
    const renamed = await a.as('bob').ask('PATCH', `/v1/conversations/${id}`, { title: 'Kingfisher' })
    assert.equal(renamed.status, 200)
    await Promise.all([cat.event('conversation.title', (d) => d.title === 'Kingfisher'), news.event('conversation.renamed')])
    const gone = await a.as('bob').ask('DELETE', `/v1/conversations/${id}/participants/usr_cat`)
    assert.equal(gone.status, 200, gone.text)
    await cat.done
    assert.ok(!cat.frames.some((f) => f.event === 'conversation.participants' && !f.data.participants.includes('usr_cat')), 'nothing after the removal')
    await news.event('conversation.deleted')
    assert.equal((await b.as('cat').get(`/v1/conversations/${id}`)).status, 404)
    const own = b.watch('bob', id)
    await own.event('presence.snapshot')
    assert.ok((await a.as('bob').ask('DELETE', `/v1/conversations/${id}`)).status < 300)
    await own.done
    for (const s of [bob, news]) s.drop()
})

test('a message to a conversation that runs on another server waits, and is sent when that run ends', async () => {
    const [a, b] = await Promise.all([replica(SLOW), replica(SLOW)])
    const id = await begin(a)
    const watch = a.watch('bob', id)
    await isKnown(b, watch, id)
    const running = a.as('bob').post('/v1/chat', { message: ENDLESS, conversationId: id })
    await watch.event('text.delta')
    const refused = await b.as('bob').post('/v1/chat', { message: 'now', conversationId: id, whenBusy: 'refuse' })
    assert.equal(refused.status, 409, refused.text)
    const waiting = b.as('bob').post('/v1/chat', { message: 'later', conversationId: id, whenBusy: 'queue' })
    for (const answer of [running, waiting]) answer.catch(() => {}) // of servers that end with a case that failed: its own error is the one to print
    await watch.event('queue.added', (d) => d.message === 'later')
    await a.as('bob').post(`/v1/conversations/${id}/cancel`)
    assert.equal((await running).status, 200)
    assert.equal((await waiting).status, 200)
    await watch.until((s) => s.frames.filter((f) => f.event === 'user.message' && JSON.stringify(f.data).includes('later')).length === 1, 'the message')
    watch.drop()
})

// All that takes the time of a lease, at the same time: A is killed, C is stopped, both in the middle of a run, with a message
// that waits on A. B is alive.
test('a server that dies or is stopped in mid-run: another one ends its run, once, and the first cannot write', async () => {
    const [a, b, c] = await Promise.all([replica(SLOW), replica(SLOW), replica(SLOW)])
    const [killed, stopped] = [await begin(a), await begin(c)]
    const streams = [b.watch('bob', killed), b.watch('bob', stopped)]
    await Promise.all(streams.map((s) => s.event('presence.snapshot')))
    const lost = a.as('bob').post('/v1/chat', { message: ENDLESS, conversationId: killed }).catch(() => null)
    const stale = c.as('bob').post('/v1/chat', { message: ENDLESS, conversationId: stopped }).catch(() => null)
    await Promise.all(streams.map((s) => s.event('text.delta')))
    const queued = a.as('bob').post('/v1/chat', { message: 'I wait', conversationId: killed, whenBusy: 'queue' }).catch(() => null)
    await streams[0].event('queue.added', (d) => d.message === 'I wait')
    a.kill9()
    process.kill(c.pid, 'SIGSTOP')
    const died = performance.now()
    await Promise.all(streams.map((s) => s.event('run.error', (d) => d.errorType === 'interrupted')))
    console.log(`# noticed after ${((performance.now() - died) / 1000).toFixed(1)} s`)
    await Promise.all([lost, queued])
    // The message that waited on A is sent by B, once.
    await streams[0].event('user.message', (d) => JSON.stringify(d).includes('I wait'))
    await streams[0].until((s) => ends(s).at(-1).data.stopReason === 'complete', 'the answer to the queued message')
    // C does not know yet that it has lost. It goes on, and nothing of it is stored.
    const before = (await b.as('bob').get(`/v1/conversations/${stopped}/history`)).text
    process.kill(c.pid, 'SIGCONT')
    await eventually(() => /taken over/.test(c.stderr))
    assert.notEqual((await stale)?.body?.stopReason, 'complete')
    assert.equal((await b.as('bob').get(`/v1/conversations/${stopped}/history`)).text, before)
    assert.equal((await history(b, stopped)).lastRun, 'error')
    for (const s of streams) {
        const interrupted = s.frames.filter((f) => f.event === 'run.error')
        assert.equal(interrupted.length, 1, JSON.stringify(interrupted))
        assert.ok(consecutive(idsOf(s)))
    }
    assert.equal(streams[0].frames.filter((f) => f.event === 'user.message' && JSON.stringify(f.data).includes('I wait')).length, 1)
    // Both conversations go on, on any server, as soon as B has let go of them.
    for (const id of [killed, stopped]) {
        const again = await eventually(async () => {
            const r = await c.as('bob').post('/v1/chat', { message: 'again', conversationId: id })
            return r.status !== 409 && r
        })
        assert.equal(again.status, 200, again.text)
    }
    for (const s of streams) s.drop()
})

test('streams go on when the connection that listens is lost', async () => {
    const [a, b] = await Promise.all([replica(), replica()])
    const id = await begin(a)
    const stream = b.watch('bob', id)
    await stream.event('presence.snapshot')
    await postgres.stop()
    await postgres.start()
    await eventually(async () => (await a.as('bob').post('/v1/chat', { message: 'after the restart', conversationId: id })).status === 200)
    await stream.event('user.message', (d) => JSON.stringify(d).includes('after the restart'))
    assert.ok(consecutive(idsOf(stream)), String(idsOf(stream)))
    stream.drop()
})
