// Three servers on one PostgreSQL; the clock of one is ten minutes fast, that of another ten minutes slow. Leases, logins and the order of events do not
// depend on them.
import fs from 'node:fs'
import path from 'node:path'
import { assert, before, eventually, nb, NB_RELEASE, run, SRC_DIR, startServer, test, tmpdir } from '../support/tap.mjs'
import { client, listen, QUICK, writeOffice } from '../support/office.mjs'
import { startPostgres } from '../support/postgres.mjs'
import { sql } from '../support/stored.mjs'

const ENDLESS = 'count to 10000' // longer than any test takes: until it is stopped
const PASSWORD = 'correct horse battery'
const MINUTES = 10
const RENEWALS = 5 // at least 12 s, longer than a lease
let postgres, office, right, fast, slow

async function replica(wrongBy) {
    const workdir = tmpdir('nb-replica-')
    for (const file of ['instance.json', 'nimblebrain.json']) fs.copyFileSync(path.join(office.workdir, file), path.join(workdir, file))
    const clock = wrongBy ? { LD_PRELOAD: office.clock, WRONG_CLOCK: String(wrongBy * 60) } : {}
    // The release: the library would have to be loaded after that of the sanitizer.
    const server = await startServer({ workdir, nb: NB_RELEASE, env: { ...QUICK, NB_STORE_URL: postgres.url, NB_DEMO_DELAY_MS: '30', ...clock } })
    server.as = (name) => client(server, office.tokens[name], 'ws_team')
    server.watch = (id) => listen(server, `/v1/conversations/${id}/events?after=0`, server.as('bob').headers())
    return server
}

before(async () => {
    postgres = await startPostgres('fsync=off')
    office = writeOffice({ ann: 'owner', bob: 'member' }, { ws_team: { ann: 'admin', bob: 'member' } })
    fs.writeFileSync(path.join(office.workdir, 'nimblebrain.json'), JSON.stringify({ store: { type: 'postgres', replicas: true }, noDefaultBundles: true }))
    office.clock = path.join(tmpdir(), 'wrong_clock.so')
    const made = await run('cc', ['-shared', '-fPIC', '-O1', '-o', office.clock, path.join(SRC_DIR, 'tests/support/wrong_clock.c')])
    assert.equal(made.code, 0, made.stderr)
    const env = { ...QUICK, NB_STORE_URL: postgres.url }
    for (const args of [['store', 'init'], ['user', 'passwd', 'bob@example.com', '--password-stdin']]) {
        const r = await nb(['--workdir', office.workdir, ...args], { env, input: PASSWORD + '\n' })
        assert.equal(r.code, 0, r.stderr)
    }
    await (await startServer({ workdir: office.workdir, env })).stop('SIGTERM') // puts the people into the database
    ;[right, fast, slow] = await Promise.all([replica(0), replica(MINUTES), replica(-MINUTES)])
})

const leases = () => new Map(sql(postgres.home, 'postgres', 'SELECT conversation, epoch, expires FROM nb_lease').map(([id, epoch, expires]) => [id, { epoch, expires }]))
const ends = (stream, runId) => stream.frames.filter((f) => /^run\.(done|error)$/.test(f.event) && f.data.runId === runId)

test('a clock that is ten minutes wrong: no lease is taken too early, none is kept, and streams have every line once', async () => {
    const runs = []
    for (const server of [right, fast, slow]) {
        const id = (await server.as('bob').post('/v1/chat', { message: 'hello' })).body.conversationId
        const stream = (server === right ? fast : right).watch(id)
        await stream.event('presence.snapshot')
        const answer = server.as('bob').post('/v1/chat', { message: ENDLESS, conversationId: id }).catch(() => null)
        const { data } = await stream.event('text.delta')
        runs.push({ id, server, stream, answer, runId: data.runId })
    }
    // The clocks are wrong.
    const at = runs.map(({ stream, runId }) => Date.parse(stream.frames.find((f) => f.event === 'run.start' && f.data.runId === runId).data.ts))
    assert.ok(at[1] - at[0] > (MINUTES / 2) * 60_000 && at[0] - at[2] > (MINUTES / 2) * 60_000, String(at)) // one began after the other
    // Everybody works longer than a lease lasts, and keeps the one that it took.
    const first = leases(), seen = new Map(runs.map(({ id }) => [id, new Set()]))
    await eventually(() => {
        const now = leases()
        for (const { id } of runs) {
            assert.equal(now.get(id)?.epoch, first.get(id).epoch)
            seen.get(id).add(now.get(id).expires)
        }
        return [...seen.values()].every((times) => times.size > RENEWALS)
    })
    for (const { stream, runId } of runs) assert.deepEqual(ends(stream, runId), [], 'nobody has ended it')
    // The servers with the wrong clocks die: the others notice, and end their runs once.
    const late = slow.watch(runs[0].id) // this one dies too
    await late.event('text.delta')
    const died = performance.now()
    for (const server of [fast, slow]) server.kill9()
    const [, ...others] = runs
    for (const { stream, runId } of others) await stream.event('run.error', (d) => d.runId === runId && d.errorType === 'interrupted')
    console.log(`# noticed after ${((performance.now() - died) / 1000).toFixed(1)} s`)
    await right.as('bob').post(`/v1/conversations/${runs[0].id}/cancel`)
    for (const { id, runId, answer } of runs) {
        await answer
        const stream = right.watch(id)
        await stream.until(() => ends(stream, runId).length > 0, 'end')
        assert.equal(ends(stream, runId).length, 1)
        const again = await eventually(async () => {
            const r = await right.as('bob').post('/v1/chat', { message: 'again', conversationId: id })
            return r.status !== 409 && r
        })
        assert.equal(again.status, 200, again.text)
        await stream.event('run.done', (d) => d.stopReason === 'complete' && d.runId === again.body.runId)
        const ids = stream.frames.filter((f) => f.id).map((f) => Number(f.id))
        assert.ok(ids.every((n, i) => i === 0 || n > ids[i - 1]), String(ids))
        stream.drop()
    }
    for (const { stream } of runs) stream.drop()
}, { timeoutMs: 300_000 })

test('a login of a server with a wrong clock is valid on the others, and ends everywhere', async () => {
    const cookies = (res) => res.headers.getSetCookie().map((c) => c.split(';')[0]).join('; ')
    const wrong = [await replica(MINUTES), await replica(-MINUTES)]
    for (const server of wrong) {
        const login = await client(server).ask('POST', '/v1/auth/login', { email: 'bob@example.com', password: PASSWORD })
        assert.equal(login.status, 200, login.text)
        const cookie = cookies(login)
        const work = (s) => client(s, null, 'ws_team').get('/v1/conversations', { cookie })
        for (const s of [right, ...wrong]) assert.equal((await work(s)).status, 200)
        const out = await client(right).ask('POST', '/v1/auth/logout', {}, { cookie, origin: right.url, 'sec-fetch-site': 'same-origin' })
        assert.equal(out.status, 200, out.text)
        for (const s of [right, ...wrong]) assert.equal((await work(s)).status, 401)
    }
})
