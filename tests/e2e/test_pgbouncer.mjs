// Two servers whose connections to PostgreSQL go through PgBouncer, in session mode: leases, live streams and the search of both work, also after PgBouncer was
// started again.
import fs from 'node:fs'
import path from 'node:path'
import { after, assert, before, eventually, freePort, nb, skip, start, startServer, test, tmpdir } from '../support/tap.mjs'
import { client, listen, QUICK, writeOffice } from '../support/office.mjs'
import { startPostgres } from '../support/postgres.mjs'

const PGBOUNCER = process.env.PGBOUNCER ?? '/usr/sbin/pgbouncer'
const isThere = fs.existsSync(PGBOUNCER)
let config, pool, port, office, a, b

// It does not run as root.
const asUser = (...command) => (process.getuid() === 0 ? ['setpriv', '--reuid=nobody', '--regid=nogroup', '--clear-groups', ...command] : command)

async function startPool() {
    const [command, ...args] = asUser(PGBOUNCER, config)
    pool = start(command, args)
    await pool.waitFor(/process up/)
}

async function replica() {
    const workdir = tmpdir('nb-replica-')
    for (const file of ['instance.json', 'nimblebrain.json']) fs.copyFileSync(path.join(office.workdir, file), path.join(workdir, file))
    const server = await startServer({ workdir, env: { ...QUICK, NB_STORE_URL: office.url, NB_DEMO_DELAY_MS: '20' } })
    server.bob = client(server, office.tokens.bob, 'ws_team')
    server.watch = (id) => listen(server, `/v1/conversations/${id}/events?after=0`, server.bob.headers())
    return server
}

before(async () => {
    if (!isThere) return
    const postgres = await startPostgres('fsync=off')
    port = await freePort()
    const dir = tmpdir('nb-pool-')
    fs.chmodSync(dir, 0o755)
    config = path.join(dir, 'pgbouncer.ini')
    fs.writeFileSync(config, `[databases]
postgres = host=${postgres.home} port=5432 user=nb
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = session
default_pool_size = 40
`)
    await startPool()
    office = writeOffice({ ann: 'owner', bob: 'member' }, { ws_team: { ann: 'admin', bob: 'member' } })
    office.url = `postgresql://nb@127.0.0.1:${port}/postgres`
    fs.writeFileSync(path.join(office.workdir, 'nimblebrain.json'), JSON.stringify({ store: { type: 'postgres', replicas: true }, noDefaultBundles: true }))
    const env = { ...QUICK, NB_STORE_URL: office.url }
    const made = await nb(['--workdir', office.workdir, 'store', 'init'], { env })
    assert.equal(made.code, 0, made.stderr)
    await (await startServer({ workdir: office.workdir, env })).stop('SIGTERM') // puts the people into the database
    ;[a, b] = await Promise.all([replica(), replica()])
})

async function answerIsSeenOnTheOther(message) {
    const begun = await a.bob.post('/v1/chat', { message: 'hello' })
    assert.equal(begun.status, 200, begun.text)
    const id = begun.body.conversationId
    const stream = b.watch(id)
    await stream.event('presence.snapshot')
    // Deltas travel as soon as the other server knows of the stream.
    await eventually(async () => {
        await a.bob.post(`/v1/conversations/${id}/typing`, { isTyping: true })
        return stream.frames.some((f) => f.event === 'typing')
    })
    const answer = a.bob.post('/v1/chat', { message, conversationId: id })
    await stream.event('text.delta')
    await stream.event('run.done', (d) => d.runId !== begun.body.runId)
    assert.equal((await answer).status, 200)
    const ids = stream.frames.filter((f) => f.id).map((f) => Number(f.id))
    assert.ok(ids.every((n, i) => i === 0 || n > ids[i - 1]), String(ids))
    stream.drop()
    return id
}

test('through PgBouncer in session mode: a run on one server is seen on the other, and found', async () => {
    if (!isThere) skip('the package pgbouncer is not installed')
    const id = await answerIsSeenOnTheOther('count to 30 kingfisher')
    // A search ends after some seconds, with what it has found by then.
    await eventually(async () => (await b.bob.get('/v1/search?q=kingfisher')).body.results.some((r) => r.conversationId === id))
    assert.equal((await b.bob.get('/v1/conversations')).body.totalCount, 1)
})

test('PgBouncer is started again: both servers connect again', async () => {
    if (!isThere) skip('the package pgbouncer is not installed')
    process.kill(pool.pid, 'SIGKILL')
    await pool.exited
    await startPool()
    await eventually(async () => (await a.bob.post('/v1/chat', { message: 'hello' })).status === 200)
    await eventually(async () => {
        const text = await (await fetch(b.url + '/metrics', { headers: client(b, office.tokens.ann).headers() })).text()
        return /^nb_database_listening 1$/m.test(text)
    })
    await answerIsSeenOnTheOther('count to 30')
})

after(() => {
    if (pool) pool.child.kill('SIGTERM')
})
