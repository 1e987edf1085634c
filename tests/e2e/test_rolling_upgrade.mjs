// Servers of two versions on one PostgreSQL: NB_BEFORE is the binary of the version before (without it, nothing is tested). Each shows the runs of the other, ends
// those of the other when it dies, and takes its place.
import fs from 'node:fs'
import path from 'node:path'
import { assert, before, eventually, NB, nb, run, skip, startServer, test, tmpdir } from '../support/tap.mjs'
import { client, listen, QUICK, writeOffice } from '../support/office.mjs'
import { startPostgres } from '../support/postgres.mjs'

const OLD = process.env.NB_BEFORE
const ENDLESS = 'count to 10000' // longer than any test takes: until it is stopped
let postgres, office

before(async () => {
    if (!OLD) return
    postgres = await startPostgres('fsync=off')
    office = writeOffice({ ann: 'owner', bob: 'member' }, { ws_team: { ann: 'admin', bob: 'member' } })
    fs.writeFileSync(path.join(office.workdir, 'nimblebrain.json'), JSON.stringify({ store: { type: 'postgres', replicas: true }, noDefaultBundles: true }))
    const env = { ...QUICK, NB_STORE_URL: postgres.url }
    const made = await run(OLD, ['--workdir', office.workdir, 'store', 'init'], { env })
    assert.equal(made.code, 0, made.stderr)
    await (await startServer({ nb: OLD, workdir: office.workdir, env })).stop('SIGTERM') // puts the people into the database
})

async function replica(binary) {
    const workdir = tmpdir('nb-replica-')
    for (const file of ['instance.json', 'nimblebrain.json']) fs.copyFileSync(path.join(office.workdir, file), path.join(workdir, file))
    const server = await startServer({ nb: binary, workdir, env: { ...QUICK, NB_STORE_URL: postgres.url, NB_DEMO_DELAY_MS: '30' } })
    server.bob = client(server, office.tokens.bob, 'ws_team')
    server.watch = (id) => listen(server, `/v1/conversations/${id}/events?after=0`, server.bob.headers())
    return server
}

const isOrdered = (stream) => {
    const ids = stream.frames.filter((f) => f.id).map((f) => Number(f.id))
    return ids.every((n, i) => i === 0 || n > ids[i - 1])
}

// The text that a client shows: a snapshot replaces it, deltas append.
function textOf(stream, runId) {
    let text = ''
    for (const { event, data } of stream.frames.filter((f) => f.data.runId === runId)) {
        if (event === 'text.snapshot') text = data.text
        if (event === 'text.delta') text += data.text
    }
    return text
}

async function isSeen(from, to) {
    const id = (await from.bob.post('/v1/chat', { message: 'hello' })).body.conversationId
    const stream = to.watch(id)
    await stream.event('presence.snapshot')
    // Deltas travel as soon as the other server knows of the stream.
    await eventually(async () => {
        await from.bob.post(`/v1/conversations/${id}/typing`, { isTyping: true })
        return stream.frames.some((f) => f.event === 'typing')
    })
    const answer = await from.bob.post('/v1/chat', { message: 'count to 40', conversationId: id })
    assert.equal(answer.status, 200, answer.text)
    const { data } = await stream.until((s) => s.frames.filter((f) => f.event === 'run.done')[1], 'end of the second run')
    const whole = stream.frames.find((f) => f.event === 'llm.done' && f.data.runId === data.runId)
    assert.equal(textOf(stream, data.runId), whole.data.content[0].text)
    assert.ok(isOrdered(stream))
    stream.drop()
    return id
}

test('an old and a new server: each shows the runs of the other, and the new one takes the place of the old', async () => {
    if (!OLD) skip('NB_BEFORE does not name a binary of the version before')
    const old = await replica(OLD)
    const upgraded = await nb(['--workdir', office.workdir, 'store', 'init'], { env: { ...QUICK, NB_STORE_URL: postgres.url } })
    assert.equal(upgraded.code, 0, upgraded.stderr) // while the old one serves
    const next = await replica(NB)
    await isSeen(old, next)
    const id = await isSeen(next, old)
    for (const [dies, lives] of [[old, next], [next, null]]) {
        const other = lives ?? (await replica(OLD)) // and back again
        const begun = await dies.bob.post('/v1/chat', { message: 'hello' })
        const stream = other.watch(begun.body.conversationId)
        await stream.event('presence.snapshot')
        const lost = dies.bob.post('/v1/chat', { message: ENDLESS, conversationId: begun.body.conversationId }).catch(() => null)
        await stream.event('text.delta')
        dies.kill9()
        await lost
        await stream.event('run.error', (d) => d.errorType === 'interrupted')
        assert.ok(isOrdered(stream))
        stream.drop()
        const again = await eventually(async () => {
            const r = await other.bob.post('/v1/chat', { message: 'again', conversationId: id })
            return r.status !== 409 && r
        })
        assert.equal(again.status, 200, again.text)
    }
}, { timeoutMs: 300_000 })
