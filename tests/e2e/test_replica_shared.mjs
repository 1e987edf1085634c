// Two servers on one PostgreSQL, each with a work directory of its own: what a workspace has beside its conversations is the same on both.
import fs from 'node:fs'
import path from 'node:path'
import { after, assert, before, eventually, nb, startServer, test, tmpdir } from '../support/tap.mjs'
import { client, listen, QUICK, writeOffice } from '../support/office.mjs'
import { startPostgres } from '../support/postgres.mjs'

let postgres, office, a, b, dirs

before(async () => {
    postgres = await startPostgres('fsync=off')
    const env = { ...QUICK, NB_STORE_URL: postgres.url, NB_DEMO_DELAY_MS: '10' }
    office = writeOffice({ ann: 'owner', bob: 'member', cat: 'member' }, { ws_team: { ann: 'admin', bob: 'member', cat: 'member' } })
    dirs = [office.workdir, tmpdir('nb-replica-')]
    const settings = { store: { type: 'postgres', replicas: true }, files: { maxMb: 2, quotaMb: 3 }, noDefaultBundles: true }
    for (const dir of dirs) fs.writeFileSync(path.join(dir, 'nimblebrain.json'), JSON.stringify(settings))
    fs.copyFileSync(path.join(dirs[0], 'instance.json'), path.join(dirs[1], 'instance.json'))
    // Files of the first server, which the second one does not have.
    fs.mkdirSync(path.join(dirs[0], 'workspaces/ws_team/skills'), { recursive: true })
    fs.writeFileSync(skillOf(0, 'herons'), skill('herons', 'Herons stand still.'))
    const made = await nb(['--workdir', dirs[0], 'store', 'init'], { env })
    assert.equal(made.code, 0, made.stderr)
    a = await startServer({ workdir: dirs[0], env })
    b = await startServer({ workdir: dirs[1], env })
})

after(() => Promise.all([a, b].map((s) => s.stop('SIGTERM'))))

const skillOf = (i, name) => path.join(dirs[i], 'workspaces/ws_team/skills', `${name}.md`)
const skill = (name, text) => `---\nname: ${name}\ndescription: About ${name}\ntype: skill\npriority: 50\n---\n\n${text}\n`
const settingsOf = (i) => JSON.parse(fs.readFileSync(path.join(dirs[i], 'workspaces/ws_team/workspace.json'), 'utf8'))
const as = (server, name) => client(server, office.tokens[name], 'ws_team')
const raw = (server, name, method, target, body, headers = {}) =>
    fetch(server.url + target, { method, body, headers: as(server, name).headers(headers) })

async function give(server, name, bytes, fileName) {
    const res = await raw(server, name, 'POST', '/v1/files', bytes, { 'content-type': 'application/octet-stream', 'x-file-name': fileName })
    const text = await res.text()
    assert.equal(res.status < 300, true, text)
    return JSON.parse(text)
}

test('a file that one server got is listed, read, sent and removed on the other', async () => {
    const bytes = Buffer.alloc(1024 * 1024 + 17, 'kingfisher ')
    const file = await give(a, 'bob', bytes, 'birds.txt')
    const list = await as(b, 'bob').get('/v1/files')
    assert.ok(list.body.files.some((f) => f.id === file.id && f.bytes === bytes.length), list.text)
    assert.deepEqual(Buffer.from(await (await raw(b, 'bob', 'GET', `/v1/files/${file.id}`)).arrayBuffer()), bytes)
    assert.equal((await raw(b, 'cat', 'GET', `/v1/files/${file.id}`)).status, 404, 'not of somebody else')
    const sent = await as(b, 'bob').post('/v1/chat', { message: 'read it', files: [file.id] })
    assert.equal(sent.status, 200, sent.text)
    const whole = await raw(a, 'bob', 'GET', `/v1/conversations/${sent.body.conversationId}/files/${file.id}`)
    assert.deepEqual(Buffer.from(await whole.arrayBuffer()), bytes, 'the conversation has it, on any server')
    const other = await give(b, 'bob', 'short', 'short.txt')
    assert.equal((await raw(a, 'bob', 'DELETE', `/v1/files/${other.id}`)).status, 200)
    assert.equal((await raw(b, 'bob', 'GET', `/v1/files/${other.id}`)).status, 404)
    assert.equal((await raw(b, 'bob', 'DELETE', `/v1/files/${other.id}`)).status, 404)
})

test('all servers together keep the limit of a workspace', async () => {
    await give(a, 'ann', Buffer.alloc(1024 * 1024, 'a'), 'a.bin')
    const res = await raw(b, 'ann', 'POST', '/v1/files', Buffer.alloc(1536 * 1024, 'b'), { 'content-type': 'application/octet-stream' })
    assert.equal(res.status, 507, await res.text())
})

test('an upload in pieces belongs to the server where it began, and says so elsewhere', async () => {
    const begun = await as(a, 'bob').post('/v1/files/uploads', { name: 'long.txt', bytes: 10 })
    assert.ok(begun.status < 300, begun.text)
    const there = await as(b, 'bob').get(`/v1/files/uploads/${begun.body.id}`)
    assert.equal(there.status, 404)
    assert.match(there.text, /begun on another server/)
})

test('marks of two servers at the same moment are all kept, and told to streams of both', async () => {
    const ids = []
    for (let i = 0; i < 4; i++) ids.push((await as(a, 'bob').post('/v1/chat', { message: `bird ${i}` })).body.conversationId)
    const streams = [a, b].map((s) => listen(s, '/v1/events', as(s, 'bob').headers()))
    await Promise.all(streams.map((s) => s.event('subscribed')))
    const marked = await Promise.all(ids.map((id, i) => as(i % 2 ? b : a, 'bob').ask('PATCH', `/v1/conversations/${id}/marks`, { isPinned: true })))
    for (const m of marked) assert.equal(m.status, 200, m.text)
    for (const s of streams)
        await s.until((x) => ids.every((id) => x.frames.some((f) => f.event === 'conversation.marked' && f.data.conversationId === id && f.data.isPinned)), 'marks')
    const list = await as(b, 'bob').get('/v1/conversations')
    assert.deepEqual(ids.filter((id) => !list.body.conversations.find((c) => c.id === id)?.isPinned), [], 'none is lost')
    for (const s of streams) s.drop()
})

test('a person is notified on any server, and has read it everywhere', async () => {
    const id = (await as(a, 'bob').post('/v1/chat', { message: 'hello' })).body.conversationId
    const stream = listen(b, '/v1/events', as(b, 'cat').headers())
    await stream.event('subscribed')
    assert.equal((await as(a, 'bob').post(`/v1/conversations/${id}/share`, { participants: ['usr_cat'] })).status, 200)
    await stream.event('notice', (d) => d.kind === 'added')
    const of = async (server) => (await as(server, 'cat').get('/v1/notices')).body.notices.filter((n) => n.conversationId === id)
    assert.deepEqual((await of(b)).map((n) => [n.kind, n.by, n.seen]), [['added', 'usr_bob', false]])
    assert.equal((await as(b, 'cat').post('/v1/notices/seen', {})).status, 200)
    assert.deepEqual((await of(a)).map((n) => n.seen), [true])
    stream.drop()
})

test('skills and settings of a workspace follow on the other server, in both directions', async () => {
    await as(b, 'bob').get('/v1/conversations') // opens the workspace there
    await eventually(() => fs.existsSync(skillOf(1, 'herons')), 'the skill of the first server')
    assert.equal(fs.readFileSync(skillOf(1, 'herons'), 'utf8'), skill('herons', 'Herons stand still.'))
    fs.writeFileSync(skillOf(1, 'terns'), skill('terns', 'Terns dive.'))
    await eventually(() => fs.existsSync(skillOf(0, 'terns')), 'the skill of the second server')
    fs.unlinkSync(skillOf(0, 'terns'))
    await eventually(() => !fs.existsSync(skillOf(1, 'terns')), 'a removed skill')
    const doc = settingsOf(0)
    fs.writeFileSync(path.join(dirs[0], 'workspaces/ws_team/workspace.json'), JSON.stringify({ ...doc, identity: 'You are a heron.' }))
    await eventually(() => settingsOf(1).identity === 'You are a heron.', 'a setting')
    // Instructions and saved prompts of two servers at the same time: a change is made on what the others have.
    const puts = await Promise.all([a, b].map((server, i) => as(server, 'bob').ask('PUT', `/v1/prompts/personal/p${i}`, { text: `prompt ${i}` })))
    for (const p of puts) assert.ok(p.status < 300, p.text)
    for (const server of [a, b])
        await eventually(async () => {
            const { body } = await as(server, 'bob').get('/v1/prompts')
            return [0, 1].every((i) => body.prompts.some((p) => p.name === `p${i}`))
        }, 'both prompts')
    // Projects and limits of spending, likewise.
    const made = await Promise.all([a, b].map((server, i) => as(server, 'bob').post('/v1/projects', { name: `project ${i}` })))
    for (const m of made) assert.ok(m.status < 300, m.text)
    for (const server of [a, b])
        await eventually(async () => {
            const { body } = await as(server, 'bob').get('/v1/projects')
            return [0, 1].every((i) => body.projects.some((p) => p.name === `project ${i}`))
        }, 'both projects')
})

test('a queued message is seen, changed and withdrawn on the server that does not have it', async () => {
    const id = (await as(a, 'bob').post('/v1/chat', { message: 'hello' })).body.conversationId
    const first = listen(a, `/v1/conversations/${id}/events?after=0`, as(a, 'bob').headers())
    const answer = as(a, 'bob').post('/v1/chat', { message: 'count to 10000', conversationId: id }) // until it is stopped
    await first.event('text.delta')
    const waiting = ['one', 'two'].map((message) => as(a, 'bob').post('/v1/chat', { message, conversationId: id, whenBusy: 'queue' }))
    await first.until((s) => s.frames.filter((f) => f.event === 'queue.added').length === 2, 'queued messages')
    // A stream on B that opens now knows of them.
    const late = listen(b, `/v1/conversations/${id}/events?after=0`, as(b, 'bob').headers())
    const added = (text) => late.event('queue.added', (d) => d.message === text)
    const [one, two] = [(await added('one')).data.queuedId, (await added('two')).data.queuedId]
    // So does the list, on both servers, and only for people who may see the conversation.
    const queue = async (server, name = 'bob') => (await as(server, name).get(`/v1/conversations/${id}/queue`)).body.messages
    const there = await queue(b)
    assert.deepEqual(there.map((m) => [m.queuedId, m.message, m.userId, m.displayName, m.mode]), [[one, 'one', 'usr_bob', 'Bob', 'queue'], [two, 'two', 'usr_bob', 'Bob', 'queue']])
    assert.deepEqual(there, await queue(a), 'the same objects')
    assert.equal((await as(b, 'cat').get(`/v1/conversations/${id}/queue`)).status, 404)
    const other = (await as(b, 'bob').post('/v1/chat', { message: 'hello' })).body.conversationId
    assert.deepEqual((await as(b, 'bob').get(`/v1/conversations/${other}/queue`)).body.messages, [], 'not of another conversation')
    // One that waits on B, for the run on A: both servers have the three in the order of their times.
    waiting.push(as(b, 'bob').post('/v1/chat', { message: 'three, with \0', conversationId: id, whenBusy: 'queue' }))
    for (const server of [a, b]) await eventually(async () => (await queue(server)).map((m) => m.message).join('|') === 'one|two|three, with \0', 'all three')
    const edit = (name, body) => as(b, name).ask('PATCH', `/v1/conversations/${id}/queue/${one}`, body)
    assert.equal((await edit('cat', { message: 'not mine' })).status, 404, 'who may not see the conversation')
    const changed = await edit('bob', { message: 'one, in other words' })
    assert.equal(changed.status, 200, changed.text)
    await first.event('queue.changed', (d) => d.queuedId === one && d.message === 'one, in other words')
    assert.equal((await edit('bob', { message: '' })).status, 400)
    const gone = await as(b, 'bob').ask('DELETE', `/v1/conversations/${id}/queue/${two}`)
    assert.equal(gone.status, 200, gone.text)
    assert.equal(gone.body.withdrawn, true)
    for (const server of [a, b]) await eventually(async () => (await queue(server)).length === 2, 'without the one that was withdrawn')
    await Promise.all([first, late].map((s) => s.event('queue.removed', (d) => d.queuedId === two && d.reason === 'withdrawn')))
    assert.equal((await as(b, 'bob').post(`/v1/conversations/${id}/cancel`)).status, 200)
    await answer
    await late.event('user.message', (d) => d.content?.[0]?.text === 'one, in other words')
    assert.equal((await Promise.all(waiting))[2].status, 200, 'the run was stopped, not the message that waits on the server that was asked')
    for (const s of [first, late]) s.drop()
})

test('metrics and nb doctor know the other server', async () => {
    await eventually(async () => {
        const text = await (await fetch(a.url + '/metrics', { headers: as(a, 'ann').headers() })).text()
        const of = (name) => Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1])
        return of('nb_database_servers') === 1 && of('nb_database_listening') === 1 && of('nb_database_listen_lag_microseconds') > 0 && of('nb_database_leases') >= 0
    })
    const doctor = await nb(['--workdir', dirs[1], 'doctor', '--json'], { env: { ...QUICK, NB_STORE_URL: postgres.url } })
    assert.match(doctor.stdout, /2 servers are alive/)
})

test('nb store convert carries files, notices, marks and skills into the tables and back', async () => {
    const old = writeOffice({ dan: 'owner', eve: 'member' }, { ws_old: { dan: 'admin', eve: 'member' } })
    fs.writeFileSync(path.join(old.workdir, 'nimblebrain.json'), JSON.stringify({ noDefaultBundles: true }))
    const root = (dir) => path.join(dir, 'workspaces/ws_old')
    fs.mkdirSync(path.join(root(old.workdir), 'skills'))
    fs.writeFileSync(path.join(root(old.workdir), 'skills/owls.md'), skill('owls', 'Owls hear.'))
    const consents = [{ tool: 'birds__list', userId: 'usr_dan' }, { tool: 'birds__all' }, { tool: 'birds__count', userId: 'usr_gone' }]
    fs.writeFileSync(path.join(root(old.workdir), 'permissions.json'), JSON.stringify({ consents }))
    const single = await startServer({ workdir: old.workdir, env: QUICK })
    const dan = client(single, old.tokens.dan, 'ws_old')
    const given = await fetch(single.url + '/v1/files', { method: 'POST', body: 'old bytes', headers: dan.headers({ 'x-file-name': 'old.txt' }) })
    const sha = (await given.json()).id.slice('file_'.length)
    const id = (await dan.post('/v1/chat', { message: 'hello' })).body.conversationId
    assert.equal((await dan.ask('PATCH', `/v1/conversations/${id}/marks`, { isPinned: true })).status, 200)
    assert.equal((await dan.post(`/v1/conversations/${id}/share`, { participants: ['usr_eve'] })).status, 200)
    await eventually(async () => (await client(single, old.tokens.eve, 'ws_old').get('/v1/notices')).body.notices.length === 1)
    await single.stop('SIGTERM')

    const convert = async (workdir, to, expected = 0) => {
        const r = await nb(['--workdir', workdir, 'store', 'convert', '--to', to, '--json'], { env: { ...QUICK, NB_STORE_URL: postgres.url } })
        assert.equal(r.code, expected, r.stderr + r.stdout)
        return JSON.parse(r.stdout)
    }
    // A permission of somebody who is not a member must not come back with a copy.
    const refused = await convert(old.workdir, 'postgres', 1)
    assert.deepEqual([refused.permissions, refused.failed], [2, 1])
    assert.match(refused.problems[0], /permission of usr_gone for birds__count was not copied/)
    fs.writeFileSync(path.join(root(old.workdir), 'permissions.json'), JSON.stringify({ consents: consents.slice(0, 2) }))
    assert.equal((await convert(old.workdir, 'postgres')).permissions, 0)
    const first = refused
    assert.deepEqual([first.files, first.notices, first.existing], [1, 1, 0])
    assert.ok(first.stays.some((s) => /audit log of this work directory/.test(s)) && first.stays.some((s) => /trash/.test(s)) && first.stays.some((s) => /logins/.test(s)), 'it says what stays')
    assert.ok(first.marks >= 1)
    const again = await convert(old.workdir, 'postgres')
    assert.deepEqual([again.files, again.notices, again.marks, again.failed], [0, 0, 0, 0], 'it can be repeated')

    // Back into a work directory that has the people and nothing else.
    const back = tmpdir('nb-back-')
    for (const name of ['instance.json', 'nimblebrain.json', 'users', 'workspaces/ws_old/workspace.json']) fs.cpSync(path.join(old.workdir, name), path.join(back, name), { recursive: true })
    const returned = await convert(back, 'jsonl')
    assert.deepEqual([returned.files, returned.notices, returned.marks, returned.failed], [1, 1, first.marks, 0])
    const same = [`files/${sha.slice(0, 2)}/${sha}`, 'conversations/.people/usr_dan.json', 'skills/owls.md']
    for (const name of same) assert.equal(fs.readFileSync(path.join(root(back), name), 'utf8'), fs.readFileSync(path.join(root(old.workdir), name), 'utf8'), name)
    const notices = (dir) => JSON.parse(fs.readFileSync(path.join(root(dir), 'notices.json'), 'utf8'))
    assert.deepEqual(notices(back), notices(old.workdir))
    assert.equal(returned.permissions, 2)
    const kept = JSON.parse(fs.readFileSync(path.join(root(back), 'permissions.json'), 'utf8')).consents
    assert.deepEqual(kept.map((c) => [c.userId, c.tool]), [[undefined, 'birds__all'], ['usr_dan', 'birds__list']])
    // One that was withdrawn on the side that is copied would be valid again on the other one.
    const only = ({ problems }) => problems.filter((p) => p.includes('it was withdrawn, or is new'))
    fs.writeFileSync(path.join(root(back), 'permissions.json'), JSON.stringify({ consents: [...kept, { tool: 'birds__feed', userId: 'usr_eve' }] }))
    assert.match(only(await convert(back, 'jsonl', 1)).join(), /^the permission of usr_eve for birds__feed is only in permissions\.json/)
    fs.writeFileSync(path.join(root(old.workdir), 'permissions.json'), JSON.stringify({ consents: consents.slice(0, 1) }))
    assert.match(only(await convert(old.workdir, 'postgres', 1)).join(), /^the permission of everybody for birds__all is only in the database/)
})
