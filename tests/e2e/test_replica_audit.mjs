// Two servers on one PostgreSQL: one audit log, which both write and which can be read on both.
import fs from 'node:fs'
import path from 'node:path'
import { execFileSync } from 'node:child_process'
import { after, assert, before, eventually, nb, startServer, test, tmpdir } from '../support/tap.mjs'
import { client, QUICK, writeOffice } from '../support/office.mjs'
import { startPostgres } from '../support/postgres.mjs'

let office, servers, dirs, env, postgres

const SHARED = { store: { type: 'postgres', replicas: true }, noDefaultBundles: true }
const write = (dir, settings) => fs.writeFileSync(path.join(dir, 'nimblebrain.json'), JSON.stringify(settings))
const run = async (dir, ...args) => {
    const { code, stdout, stderr } = await nb(['--workdir', dir, ...args], { env })
    assert.equal(code, 0, stderr + stdout)
    return stdout
}
const as = (i, name) => client(servers[i], office.tokens[name], 'ws_team')
const lines = async (i, query = '') => {
    const { status, text } = await as(i, 'ann').get(`/v1/audit?format=jsonl&limit=1000&after=0${query}`)
    assert.equal(status, 200, text)
    return text.split('\n').filter(Boolean)
}
const records = async (i, query) => (await lines(i, query)).map((l) => JSON.parse(l))
const verified = async (dir) => JSON.parse(await run(dir, 'audit', 'verify', '--json'))

before(async () => {
    postgres = await startPostgres('fsync=off')
    env = { ...QUICK, NB_STORE_URL: postgres.url }
    office = writeOffice({ ann: 'owner', adm: 'admin', bob: 'member' }, { ws_team: { ann: 'admin', bob: 'member' } })
    dirs = [office.workdir, tmpdir('nb-replica-')]
    fs.copyFileSync(path.join(dirs[0], 'instance.json'), path.join(dirs[1], 'instance.json'))
    // Records of the time with one server.
    write(dirs[0], { noDefaultBundles: true })
    await run(dirs[0], 'user', 'add', 'old@example.com', '--name', 'Old', '--no-password')
    for (const dir of dirs) write(dir, SHARED)
    await run(dirs[0], 'store', 'init')
    const moved = JSON.parse(await run(dirs[0], 'store', 'convert', '--to', 'postgres', '--json'))
    assert.ok(moved.audit >= 1, JSON.stringify(moved))
    servers = []
    for (const workdir of dirs) servers.push(await startServer({ workdir, env }))
})

after(() => Promise.all(servers.map((s) => s.stop('SIGTERM'))))

test('records of both servers are one chain, in order, and the same bytes on both', async () => {
    const attempts = Array.from({ length: 24 }, (_, n) => n)
    await Promise.all(attempts.map((n) => client(servers[n % 2]).post('/v1/auth/login', { email: `nobody${n}@example.com`, password: 'WRONG-PASSWORD' })))
    await eventually(async () => {
        const targets = new Set((await records(1, '&action=login')).map((r) => r.target))
        return attempts.every((n) => targets.has(`nobody${n}@example.com`))
    }, 'a record of each attempt')
    const [first, second] = [await lines(0), await lines(1)]
    assert.deepEqual(first.slice(0, second.length), second.slice(0, first.length))
    const all = first.map((l) => JSON.parse(l))
    assert.deepEqual(all.map((r) => r.seq), all.map((_, i) => i + 1), 'numbered without gaps')
    assert.equal(all[0].action, 'user.add', 'the records of the files come first')
    for (let i = 1; i < all.length; i++) assert.equal(all[i].prev, all[i - 1].hash)
    for (const dir of dirs) assert.deepEqual((await verified(dir)).problems, [])
    const newest = (await as(1, 'ann').get('/v1/audit?limit=5')).body
    assert.deepEqual(newest.records.map((r) => r.seq), [...newest.records.map((r) => r.seq)].sort((a, b) => b - a), 'newest first')
    const older = (await as(0, 'ann').get(`/v1/audit?limit=5&before=${newest.next}`)).body
    assert.equal(older.records[0].seq, newest.next - 1, 'the next page on the other server')
})

test('only owners read it, on any server', async () => {
    for (const i of [0, 1]) for (const who of ['adm', 'bob']) assert.equal((await as(i, who).get('/v1/audit')).status, 403)
})

test('commands record there and show it, on any machine; filters are the same', async () => {
    await run(dirs[1], 'user', 'add', 'eve@example.com', '--name', 'Eve', '--no-password')
    assert.ok((await records(0, '&action=user.*')).filter((r) => r.actor.via === 'cli').length === 2, 'of both machines')
    const list = async (dir, ...more) => (await run(dir, 'audit', '--json', '--action', 'user.add', ...more)).split('\n').filter(Boolean)
    assert.deepEqual(await list(dirs[0]), await list(dirs[1]))
    assert.equal((await list(dirs[0])).length, 2)
    assert.equal((await list(dirs[0], '--files')).length, 1, 'the file of the first machine has what was there before')
    assert.equal((await list(dirs[1], '--files')).length, 0)
})

test('a server that was killed and started again continues the chain', async () => {
    await servers[1].stop('SIGKILL')
    servers[1] = await startServer({ workdir: dirs[1], env })
    await client(servers[1]).post('/v1/auth/login', { email: 'again@example.com', password: 'WRONG-PASSWORD' })
    await eventually(async () => (await records(0)).some((r) => r.target === 'again@example.com'), 'the record')
    assert.deepEqual((await verified(dirs[0])).problems, [])
})

test('while the database is away the log cannot be read; what happens meanwhile is recorded later, once', async () => {
    servers[1] = await startServer({ workdir: dirs[1], env })
    await postgres.stop()
    assert.equal((await as(0, 'ann').get('/v1/audit')).status, 503)
    await client(servers[0]).post('/v1/auth/login', { email: 'meanwhile@example.com', password: 'WRONG-PASSWORD' })
    await postgres.start()
    const mine = async () => (await records(1)).filter((r) => r.target === 'meanwhile@example.com')
    await eventually(async () => (await as(1, 'ann').get('/v1/audit')).status === 200 && (await mine()).length > 0, 'the record')
    assert.equal((await mine()).length, 1)
    assert.deepEqual((await verified(dirs[1])).problems, [])
})

test('the log goes back into files, and a changed or missing row is found', async () => {
    const back = tmpdir('nb-back-')
    fs.copyFileSync(path.join(dirs[0], 'instance.json'), path.join(back, 'instance.json'))
    write(back, SHARED)
    const moved = JSON.parse(await run(back, 'store', 'convert', '--to', 'jsonl', '--json'))
    assert.equal(moved.failed, 0, JSON.stringify(moved))
    assert.ok(moved.people >= 8, 'users and workspaces are files again')
    const files = JSON.parse(await run(back, 'audit', 'verify', '--files', '--json'))
    assert.deepEqual([files.problems, files.records], [[], moved.audit])
    assert.equal(JSON.parse(await run(back, 'store', 'convert', '--to', 'jsonl', '--json')).people, 0, 'it can be repeated')
    write(back, { noDefaultBundles: true })
    const single = await startServer({ workdir: back, env: QUICK })
    assert.equal((await client(single, office.tokens.bob, 'ws_team').get('/v1/conversations')).status, 200, 'their tokens work there')

    const sql = (text) => execFileSync('psql', ['-X', '-q', '-c', text, postgres.url], { stdio: 'pipe' })
    sql(`UPDATE nb_audit SET line = replace(line, 'user.add', 'user.all') WHERE seq = 1`)
    sql(`DELETE FROM nb_audit WHERE seq = 5`)
    const { code, stdout } = await nb(['--workdir', dirs[0], 'audit', 'verify', '--json'], { env })
    assert.equal(code, 1)
    const { problems } = JSON.parse(stdout)
    assert.match(problems.join('\n'), /record 1 was changed/)
    assert.match(problems.join('\n'), /record 5 is missing/)
})
