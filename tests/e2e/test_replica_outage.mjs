// Two servers on one PostgreSQL that goes away for longer than a lease lasts, while one of them answers and clients go on asking.
import fs from 'node:fs'
import path from 'node:path'
import { assert, before, eventually, nb, sleep, startServer, test, tmpdir } from '../support/tap.mjs'
import { client, listen, QUICK, writeOffice } from '../support/office.mjs'
import { startPostgres } from '../support/postgres.mjs'

const ENDLESS = 'count to 10000' // longer than any test takes: until it is stopped
const LONG_MS = 13_000 // a lease lasts for 10 s
const LOG_LINES_MAX = 60 // not a line for each of hundreds of requests
let postgres, office, a, b

before(async () => {
    postgres = await startPostgres('fsync=off')
    office = writeOffice({ ann: 'owner', bob: 'member' }, { ws_team: { ann: 'admin', bob: 'member' } })
    fs.writeFileSync(path.join(office.workdir, 'nimblebrain.json'), JSON.stringify({ store: { type: 'postgres', replicas: true } }))
    const env = { ...QUICK, NB_DEMO_DELAY_MS: '30', NB_STORE_URL: postgres.url }
    const made = await nb(['--workdir', office.workdir, 'store', 'init'], { env })
    assert.equal(made.code, 0, made.stderr)
    const replica = async () => {
        const workdir = tmpdir('nb-replica-')
        fs.cpSync(office.workdir, workdir, { recursive: true })
        const server = await startServer({ workdir, env })
        server.bob = client(server, office.tokens.bob, 'ws_team')
        return server
    }
    a = await replica() // the first brings the people
    b = await replica()
})

const filesOf = (server) => fs.readdirSync(`/proc/${server.pid}/fd`).length
const linesOf = (server) => server.stderr.split('\n').length

const healthBecomes = (server, status) =>
    eventually(async () => (await Promise.all(['/readyz', '/v1/health'].map((p) => fetch(server.url + p)))).every((r) => r.status === status))

/** Asks until `over` is true; counts the answers. */
async function ask(server, over, counts) {
    while (!over()) {
        for (const r of [await server.bob.get('/v1/conversations'), await server.bob.post('/v1/chat', { message: 'not stored' })]) {
            const answer = `${r.status} ${r.body?.error} ${r.headers.get('retry-after')}`
            counts[answer] = (counts[answer] ?? 0) + 1
        }
        await sleep(20)
    }
}

test('a server that nobody has used yet tells its load balancer, too', async () => {
    await healthBecomes(a, 200)
    await postgres.stop()
    await healthBecomes(a, 503)
    const health = await fetch(`${a.url}/v1/health`)
    assert.deepEqual([(await health.json()).error, health.headers.get('retry-after')], ['storage_unavailable', '5'])
    await postgres.start()
    await healthBecomes(a, 200)
})

test('the database is away for longer than a lease: everybody is told, nothing piles up, and the run goes on and ends once', async () => {
    const begun = await a.bob.post('/v1/chat', { message: 'hello' })
    assert.equal(begun.status, 200, begun.text)
    const id = begun.body.conversationId
    const streams = [a, b].map((server) => listen(server, `/v1/conversations/${id}/events?after=0`, server.bob.headers()))
    const run = a.bob.post('/v1/chat', { message: ENDLESS, conversationId: id })
    await Promise.all(streams.map((s) => s.event('text.delta')))
    const before = [a, b].map((server) => ({ files: filesOf(server), lines: linesOf(server) }))
    await postgres.stop()
    const counts = {}, until = Date.now() + LONG_MS
    await Promise.all([a, b, a, b].map((server) => ask(server, () => Date.now() > until, counts)))
    console.log(`# ${JSON.stringify(counts)}`)
    assert.deepEqual(Object.keys(counts), ['503 storage_unavailable 5'])
    for (const [i, server] of [a, b].entries()) {
        assert.ok(filesOf(server) <= before[i].files + 16, `${filesOf(server)} files are open, ${before[i].files} were`)
        assert.ok(linesOf(server) <= before[i].lines + LOG_LINES_MAX, server.stderr)
    }
    await healthBecomes(b, 503)
    await postgres.start()
    for (const server of [a, b]) await healthBecomes(server, 200)
    // Its server was there all the time: nobody has taken the run away from it. The other one stops it.
    await eventually(async () => (await b.bob.post('/v1/chat', { message: 'another one' })).status === 200)
    await eventually(async () => {
        await b.bob.post(`/v1/conversations/${id}/cancel`)
        return streams[0].frames.some((f) => f.event === 'run.done')
    })
    assert.equal((await run).body.stopReason, 'cancelled')
    for (const s of streams) {
        await s.event('run.done', (d) => d.stopReason === 'cancelled')
        const ids = s.frames.filter((f) => f.id).map((f) => Number(f.id))
        assert.ok(ids.every((n, i) => i === 0 || n > ids[i - 1]), String(ids))
        assert.deepEqual(s.frames.filter((f) => f.event === 'run.error'), [])
        s.drop()
    }
    const list = (await b.bob.get('/v1/conversations')).text
    assert.ok(list.includes(id) && !list.includes('not stored'))
})
