// One of two servers is cut off from PostgreSQL: it has a network namespace, whose cable is pulled. No connection is closed, packets vanish.
import fs from 'node:fs'
import path from 'node:path'
import { assert, before, eventually, nb, skip, startServer, test, tmpdir } from '../support/tap.mjs'
import { openMachine } from '../support/netns.mjs'
import { client, listen, QUICK, writeOffice } from '../support/office.mjs'
import { startPostgres } from '../support/postgres.mjs'
import { sql } from '../support/stored.mjs'

const ENDLESS = 'count to 10000' // longer than any test takes: until it is stopped
const PEOPLE = { ann: 'owner', bob: 'member' }
let postgres, office, machine, a, b

before(async () => {
    postgres = await startPostgres('fsync=off')
    machine = await openMachine(postgres)
    if (!machine) return
    office = writeOffice(PEOPLE, { ws_team: { ann: 'admin', bob: 'member' } })
    fs.writeFileSync(path.join(office.workdir, 'nimblebrain.json'), JSON.stringify({ store: { type: 'postgres', replicas: true } }))
    const env = { ...QUICK, NB_DEMO_DELAY_MS: '30' }
    const made = await nb(['--workdir', office.workdir, 'store', 'init'], { env: { ...env, NB_STORE_URL: postgres.url } })
    assert.equal(made.code, 0, made.stderr)
    const replica = async (start, more) => {
        const workdir = tmpdir('nb-replica-')
        fs.cpSync(office.workdir, workdir, { recursive: true })
        const server = await start({ workdir, env: { ...env, ...more } })
        server.bob = client(server, office.tokens.bob, 'ws_team')
        return server
    }
    b = await replica(startServer, { NB_STORE_URL: postgres.url })
    a = await replica(machine.startServer)
})

const isReady = async (server) => (await fetch(`${server.url}/readyz`)).status === 200
const linesOf = (id) =>
    sql(postgres.home, 'postgres', `SELECT e.line FROM nb_event e JOIN nb_conversation c ON c.key = e.conversation WHERE c.id = '${id}' ORDER BY e.seq`).map(([line]) => JSON.parse(line))

test('a server that is cut off from the database loses its run, says so, and works again when the network is back', async () => {
    if (!machine) skip('network namespaces cannot be made here')
    const begun = await a.bob.post('/v1/chat', { message: 'hello' })
    assert.equal(begun.status, 200, begun.text)
    const id = begun.body.conversationId
    const stream = listen(b, `/v1/conversations/${id}/events?after=0`, b.bob.headers())
    const run = a.bob.post('/v1/chat', { message: ENDLESS, conversationId: id })
    await stream.event('text.delta')
    await machine.cut()
    const began = performance.now()
    await stream.event('run.error', (d) => d.errorType === 'interrupted')
    console.log(`# the other server has ended the run after ${((performance.now() - began) / 1000).toFixed(1)} s`)
    await eventually(async () => !(await isReady(a)))
    console.log(`# the load balancer knows after ${((performance.now() - began) / 1000).toFixed(1)} s at most`)
    const refused = await a.bob.post('/v1/chat', { message: 'refused' })
    assert.deepEqual([refused.status, refused.body.error, refused.headers.get('retry-after')], [503, 'storage_unavailable', '5'], refused.text)
    const elsewhere = await eventually(async () => {
        const r = await b.bob.post('/v1/chat', { message: 'elsewhere', conversationId: id })
        return r.status !== 409 && r
    })
    assert.equal(elsewhere.status, 200, elsewhere.text)
    await machine.join()
    await eventually(() => isReady(a))
    assert.notEqual((await run).body?.stopReason, 'complete')
    const again = await eventually(async () => {
        const r = await a.bob.post('/v1/chat', { message: 'again', conversationId: id })
        return r.status === 200 && r
    })
    await stream.until((s) => s.frames.some((f) => f.event === 'run.done' && f.data.runId === again.body.runId) || s.frames.filter((f) => f.event === 'run.done').length >= 3, 'the last run')
    // One end for each run, nothing of a run behind its end, and the stream has every line once.
    const lines = linesOf(id)
    const interrupted = lines.findIndex((l) => l.type === 'run.error')
    assert.ok(interrupted > 0)
    assert.deepEqual(lines.slice(interrupted + 1).filter((l) => l.runId === lines[interrupted].runId), [])
    const text = JSON.stringify(lines)
    for (const word of ['elsewhere', 'again']) assert.ok(text.includes(word), word)
    assert.ok(!text.includes('refused'))
    const ids = stream.frames.filter((f) => f.id).map((f) => Number(f.id))
    assert.ok(ids.every((n, i) => i === 0 || n > ids[i - 1]), String(ids))
    assert.equal(stream.frames.filter((f) => f.event === 'run.error').length, 1)
    stream.drop()
})
