// Conversations in PostgreSQL: set-up, chats, restarts, a database that goes away, a second server.
import fs from 'node:fs'
import path from 'node:path'
import { assert, before, completeLines, eventually, nb, run, startServer, test, tmpdir } from '../support/tap.mjs'
import { startPostgres } from '../support/postgres.mjs'
import { openOffice } from '../support/office.mjs'
import { sql } from '../support/stored.mjs'

const NO_KEYS = { NB_DEMO_DELAY_MS: '0', ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '' }
let postgres
let env

before(async () => {
    postgres = await startPostgres('fsync=off')
    env = { ...NO_KEYS, NB_STORE_URL: postgres.url }
    const made = await nb(['--workdir', workDirectory(), 'store', 'init'], { env })
    assert.equal(made.code, 0, made.stderr)
})

function workDirectory(store = { type: 'postgres' }) {
    const dir = tmpdir()
    fs.writeFileSync(path.join(dir, 'nimblebrain.json'), JSON.stringify({ store }))
    return dir
}

async function call(server, method, where, body) {
    const res = await fetch(server.url + where, {
        method,
        headers: { 'content-type': 'application/json' },
        body: body ? JSON.stringify(body) : undefined,
    })
    const text = await res.text()
    let parsed = {}
    try {
        parsed = JSON.parse(text)
    } catch {}
    return { status: res.status, text, body: parsed, retry: res.headers.get('retry-after') }
}

test('without tables nothing starts, and the error names the command that creates them', async () => {
    const dir = workDirectory()
    const env = { ...NO_KEYS, NB_STORE_URL: (await startPostgres('fsync=off')).url }
    const refused = await nb(['--workdir', dir, 'serve', '--port', '0'], { env })
    assert.equal(refused.code, 1)
    assert.match(refused.stderr, /no tables of nb yet; run: nb store init/)
    const status = await nb(['--workdir', dir, 'store', 'status', '--json'], { env })
    assert.equal(status.code, 1)
    assert.equal(JSON.parse(status.stdout).schema, 0)
    const both = await Promise.all([1, 2].map(() => nb(['--workdir', dir, 'store', 'init', '--json'], { env })))
    for (const one of both) assert.equal(one.code, 0, one.stderr)
    const made = both.map((b) => JSON.parse(b.stdout))
    const applied = made.map((m) => m.applied).sort((a, b) => a - b)
    assert.ok(applied[0] === 0 && applied[1] > 1, applied.join())
    const ready = await nb(['--workdir', dir, 'store', 'status', '--json'], { env })
    assert.equal(ready.code, 0, ready.stderr)
    const known = JSON.parse(ready.stdout)
    assert.equal(known.schema, known.knownSchema)
    assert.equal(known.writer, null)
})

test('the command is for this type of store only', async () => {
    const r = await nb(['--workdir', workDirectory({ type: 'jsonl' }), 'store', 'init'], { env })
    assert.equal(r.code, 1)
    assert.match(r.stderr, /store\.type is jsonl/)
})

test('without libpq the error names the package', async () => {
    const empty = tmpdir()
    fs.writeFileSync(path.join(empty, 'libpq.so.5'), '')
    const r = await nb(['--workdir', workDirectory(), 'store', 'status'], { env: { ...env, LD_LIBRARY_PATH: empty } })
    assert.equal(r.code, 1)
    assert.match(r.stderr, /needs libpq\.so\.5.*install the package libpq5/)
})

test('chat, list, search, rename, fork, trash, and everything is there after a restart', async () => {
    const dir = workDirectory()
    let server = await startServer({ workdir: dir, env })
    const first = await call(server, 'POST', '/v1/chat', { message: 'hello kingfisher' })
    assert.equal(first.status, 200, first.text)
    const id = first.body.conversationId
    assert.equal((await call(server, 'POST', '/v1/chat', { message: 'and again', conversationId: id })).status, 200)
    assert.equal((await call(server, 'PATCH', `/v1/conversations/${id}`, { title: 'Birds' })).status, 200)
    const fork = await call(server, 'POST', `/v1/conversations/${id}/fork`, {})
    assert.ok(fork.status < 300, fork.text)
    assert.equal((await call(server, 'DELETE', `/v1/conversations/${fork.body.id}`)).status < 300, true)
    const history = (await call(server, 'GET', `/v1/conversations/${id}/history`)).text
    await server.stop('SIGTERM')
    assert.ok(!fs.existsSync(path.join(dir, 'conversations')), 'no directory of conversations')
    server = await startServer({ workdir: dir, env })
    const list = (await call(server, 'GET', '/v1/conversations')).body.conversations
    assert.deepEqual(list.map((c) => [c.id, c.title]), [[id, 'Birds']])
    assert.equal((await call(server, 'GET', `/v1/conversations/${id}/history`)).text, history)
    const found = (await call(server, 'GET', '/v1/search?q=kingfisher')).text
    assert.ok(found.includes(id), found)
    const metrics = await (await fetch(server.url + '/metrics')).text()
    assert.match(metrics, /\nnb_database_up 1\n/)
    assert.match(metrics, /\nnb_database_writes_total \d+\n/)
})

test('a second server on the same database is refused, commands that read are not', async () => {
    const first = await startServer({ workdir: workDirectory(), env })
    const other = workDirectory()
    const second = await nb(['--workdir', other, 'serve', '--port', '0'], { env })
    assert.equal(second.code, 1)
    assert.match(second.stderr, /another nb process already writes to this database \(nb .*One database serves one nb server/)
    const status = JSON.parse((await nb(['--workdir', other, 'store', 'status', '--json'], { env })).stdout)
    assert.match(status.writer, new RegExp(`nb .* ${first.pid} `))
    const exported = await nb(['--workdir', other, 'conversations', 'export', '--format', 'jsonl', '--out', tmpdir()], { env })
    assert.ok(!/another nb process/.test(exported.stderr), exported.stderr)
    const doctor = await nb(['--workdir', first.workdir, 'doctor'], { env })
    assert.match(doctor.stdout, /database +PostgreSQL \d+, not encrypted, schema \d+; writer: nb /)
    assert.ok(!/another nb process/.test(doctor.stdout), doctor.stdout)
    await first.stop('SIGTERM')
    const third = await startServer({ workdir: other, env })
    assert.equal((await call(third, 'GET', '/v1/health')).status, 200)
})

test('a database that goes away: 503, no addresses for users, and life goes on when it is back', async () => {
    const office = await openOffice({ ann: 'owner', bob: 'member' }, { ws_team: { ann: 'admin', bob: 'member' } },
        { env, settings: { store: { type: 'postgres' } } })
    const bob = office.as('bob', 'ws_team')
    const begun = await bob.post('/v1/chat', { message: 'hello' })
    assert.equal(begun.status, 200, begun.text)
    const id = begun.body.conversationId
    assert.equal((await office.nobody.get('/v1/health')).status, 200)
    await postgres.stop()
    // Nobody used it meanwhile: health finds out alone.
    await eventually(async () => (await office.nobody.get('/v1/health')).status === 503)
    for (const [what, answer] of Object.entries({
        list: await bob.get('/v1/conversations'),
        get: await bob.get(`/v1/conversations/${id}`),
        history: await bob.get(`/v1/conversations/${id}/history`),
        search: await bob.get('/v1/search?q=hello'),
        chat: await bob.post('/v1/chat', { message: 'again', conversationId: id }),
        create: await bob.post('/v1/chat', { message: 'new' }),
    })) {
        assert.equal(answer.status, 503, `${what}: ${answer.text}`)
        assert.equal(answer.body.error, 'storage_unavailable', what)
        assert.equal(answer.headers.get('retry-after'), '5', what)
        assert.ok(!answer.text.includes(postgres.home), `${what}: ${answer.text}`)
    }
    await office.server.waitFor(/cannot connect to the database|cannot be reached/)
    await postgres.start()
    await eventually(async () => (await office.nobody.get('/v1/health')).status === 200)
    await eventually(async () => (await bob.post('/v1/chat', { message: 'again', conversationId: id })).status === 200)
    assert.equal((await bob.get(`/v1/conversations/${id}`)).status, 200)
})

test('the disk of the database is full: the run ends, messages are refused, what was acknowledged is there, and life goes on when there is room', async () => {
    const office = await openOffice({ ann: 'owner', bob: 'member' }, { ws_team: { ann: 'admin', bob: 'member' } },
        { env: { ...env, NB_DEMO_DELAY_MS: '20' }, settings: { store: { type: 'postgres' } } })
    const bob = office.as('bob', 'ws_team')
    const begun = await bob.post('/v1/chat', { message: 'the first' })
    assert.equal(begun.status, 200, begun.text)
    const conversationId = begun.body.conversationId
    const order = (text) => sql(postgres.home, 'postgres', text)
    const running = bob.post('/v1/chat', { message: 'count to 10000', conversationId })
    await eventually(async () => (await bob.get(`/v1/conversations/${conversationId}`)).body.lastRun === 'running')
    order(`CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$;
           CREATE TRIGGER no_room BEFORE INSERT ON nb_event FOR EACH ROW EXECUTE FUNCTION no_room()`)
    await bob.post(`/v1/conversations/${conversationId}/cancel`)
    const refused = [await running, await bob.post('/v1/chat', { message: 'lost', conversationId }), await bob.post('/v1/chat', { message: 'lost too' })]
    for (const r of refused) assert.deepEqual([r.status, r.body.error], [500, 'storage_error'], r.text)
    const renamed = await bob.ask('PATCH', `/v1/conversations/${conversationId}`, { title: 'lost as well' })
    assert.deepEqual([renamed.status, renamed.body.error], [507, 'storage_full'], renamed.text)
    assert.equal((await bob.get('/v1/conversations')).status, 200, 'reading needs no room')
    order('DROP TRIGGER no_room ON nb_event')
    assert.equal((await bob.post('/v1/chat', { message: 'the last', conversationId })).status, 200)
    const { text } = await bob.get(`/v1/conversations/${conversationId}/history`)
    for (const word of ['the first', 'count to 10000', 'the last']) assert.ok(text.includes(word), word)
    assert.ok(!text.includes('lost'))
})

test('the last use of a token is in the database, not in a file', async () => {
    const office = await openOffice({ ann: 'owner', bob: 'member' }, { ws_team: { ann: 'admin', bob: 'member' } },
        { env, settings: { store: { type: 'postgres' } } })
    const uses = async () => {
        const list = await office.nb(['token', 'list', '--json'], { env: { ...NO_KEYS, ...env } })
        assert.equal(list.code, 0, list.stderr)
        return Object.fromEntries(list.stdout.trim().split('\n').map((line) => JSON.parse(line)).map((t) => [t.id, t.lastUsedAt]))
    }
    const before = Date.now()
    assert.equal((await office.as('bob', 'ws_team').get('/v1/conversations')).status, 200)
    await office.server.stop('SIGTERM') // writes what the minute would have written
    const { tok_bob0: bob, tok_ann0: ann } = await uses()
    assert.equal(ann, null)
    assert.ok(Date.parse(bob) >= before - 1000 && Date.parse(bob) <= Date.now(), bob)
    assert.ok(!fs.existsSync(path.join(office.workdir, 'auth', 'token-use.json')))
    // Another server on the database shows it, whatever is in its work directory.
    const next = await startServer({ workdir: office.workdir, env })
    const shown = await fetch(next.url + '/v1/tokens?userId=usr_bob', { headers: { authorization: `Bearer ${office.tokens.ann}` } })
    assert.deepEqual((await shown.json()).tokens.map((t) => [t.id, t.lastUsedAt]), [['tok_bob0', bob]])
})

test('conversations move into the database and back, and the way can be repeated', async () => {
    const dir = workDirectory({ type: 'jsonl' })
    for (const text of ['one', 'two', 'three']) await nb(['--workdir', dir, '-p', text], { env })
    const files = path.join(dir, 'conversations')
    const ids = fs.readdirSync(files).filter((f) => f.endsWith('.jsonl'))
    assert.equal(ids.length, 3)
    const convert = async (...args) => {
        const r = await nb(['--workdir', dir, ...args, '--json'], { env })
        assert.equal(r.code, 0, r.stderr)
        return JSON.parse(r.stdout)
    }
    // What a deleted conversation has cost stays, and is counted once.
    await nb(['--workdir', dir, '-p', 'four'], { env })
    const [deleted] = fs.readdirSync(files).filter((f) => f.endsWith('.jsonl') && !ids.includes(f))
    assert.equal((await nb(['--workdir', dir, 'conversations', 'rm', deleted.replace('.jsonl', ''), '--yes'], { env })).code, 0)
    const usage = (at) => fs.readFileSync(path.join(at, '.deleted-usage'), 'utf8').trim().split('\n')
    const first = await convert('conversations', 'convert', '--to', 'postgres')
    assert.deepEqual([first.converted, first.deletedUsage], [3, usage(files).length])
    const again = await convert('conversations', 'convert', '--to', 'postgres')
    assert.deepEqual([again.converted, again.existing, again.lost, again.deletedUsage], [0, 3, 0, 0])
    fs.writeFileSync(path.join(dir, 'nimblebrain.json'), JSON.stringify({ store: { type: 'postgres' } }))
    const back = tmpdir()
    const returned = await convert('conversations', 'convert', '--to', 'jsonl', '--dir', back)
    assert.ok(returned.converted >= 3)
    assert.equal(returned.deletedUsage, usage(back).length)
    for (const line of usage(files)) assert.equal(usage(back).filter((l) => l === line).length, 1)
    for (const name of ids) {
        const before = completeLines(path.join(files, name)).slice(1)
        const after = completeLines(path.join(back, name)).slice(1)
        assert.deepEqual(after, before, name)
    }
})

test('a backup says what it does not contain', async () => {
    const r = await nb(['--workdir', workDirectory(), 'backup', path.join(tmpdir(), 'b.tar')], { env })
    assert.equal(r.code, 0, r.stderr)
    assert.match(r.stderr, /not in this backup: the conversations.*pg_dump/s)
    assert.match(r.stderr, /In it, in plain text: skills/)
})

test('a password in the address is in no log and no error', async () => {
    const dir = workDirectory()
    const secret = 'hunter2hunter2'
    for (const url of [`postgresql://nb:${secret}@/postgres?host=/nowhere`, `postgresql://nb:${secret}%zz@/postgres`]) {
        const r = await nb(['--workdir', dir, '--debug', 'serve', '--port', '0'], { env: { ...env, NB_STORE_URL: url } })
        assert.equal(r.code, 1)
        assert.ok(!(r.stdout + r.stderr).includes('hunter2'), r.stderr)
    }
    const shown = await run('grep', ['-r', 'hunter2', dir])
    assert.equal(shown.code, 1, shown.stdout)
})
