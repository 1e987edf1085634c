// Several servers on one PostgreSQL: a tool that asks a person during a run of one server is answered on another.
import fs from 'node:fs'
import path from 'node:path'
import { assert, before, eventually, nb, SRC_DIR, startServer, test, tmpdir } from '../support/tap.mjs'
import { client, listen, QUICK, writeOffice } from '../support/office.mjs'
import { startPostgres } from '../support/postgres.mjs'

const FIXTURE = { serverName: 'fx', command: process.execPath, args: [path.join(SRC_DIR, 'tests/fixtures/mcp-fixture.mjs'), '--era', 'legacy'], sandbox: { read: [SRC_DIR] } }
const CALL = 'call fx__test_elicitation {"message":"Who are you?"}'
const TEAM = { ann: 'admin', bob: 'member', cat: 'member' }
const VALUES = { username: 'ann', email: 'a@example.com' }
let postgres, office, a, b

before(async () => {
    postgres = await startPostgres('fsync=off')
    office = writeOffice({ ann: 'owner', bob: 'member', cat: 'member' }, { ws_team: TEAM }, { bundles: { ws_team: [FIXTURE] } })
    fs.writeFileSync(path.join(office.workdir, 'nimblebrain.json'), JSON.stringify({ store: { type: 'postgres', replicas: true }, noDefaultBundles: true, maxDirectTools: 200 }))
    const made = await nb(['--workdir', office.workdir, 'store', 'init'], { env: { ...QUICK, NB_STORE_URL: postgres.url } })
    assert.equal(made.code, 0, made.stderr)
    a = await replica() // the first brings the people
    b = await replica()
    await eventually(async () => (await a.as('bob').get('/v1/bundles/health')).body.every((x) => x.state === 'running'))
})

async function replica() {
    const workdir = tmpdir('nb-replica-')
    fs.cpSync(office.workdir, workdir, { recursive: true })
    const server = await startServer({ workdir, env: { ...QUICK, NB_STORE_URL: postgres.url } })
    server.as = (name) => client(server, office.tokens[name], 'ws_team')
    return server
}

/** A run on `a` whose tool waits for an answer. */
async function ask() {
    const bob = a.as('bob')
    const begun = await bob.post('/v1/chat', { message: 'hello' })
    assert.equal(begun.status, 200, begun.text)
    const id = begun.body.conversationId
    const run = bob.post('/v1/chat', { message: CALL, conversationId: id, allowedTools: ['fx__*'] })
    const question = await eventually(async () => (await bob.get(`/v1/conversations/${id}/inputs`)).body.inputs?.[0])
    return { id, run, question, answer: (name, body) => b.as(name).post(`/v1/conversations/${id}/inputs/${question.inputId}`, body) }
}

const inputsOn = async (server, id) => (await server.as('bob').get(`/v1/conversations/${id}/inputs`)).body.inputs

test('a question is listed on the other server, checked and answered there, and the run goes on', async () => {
    const { id, run, question, answer } = await ask()
    const seen = (await inputsOn(b, id))[0]
    for (const member of ['inputId', 'kind', 'source', 'message', 'schema']) assert.deepEqual(seen[member], question[member], member)
    const page = await b.as('bob').get(`/v1/conversations/${id}/history`)
    assert.deepEqual(page.body.inputs.map((q) => q.inputId), [question.inputId])
    const wrong = await answer('bob', { action: 'accept', content: { username: 7 } })
    assert.deepEqual([wrong.status, wrong.body.error], [400, 'invalid_input'], wrong.text)
    assert.match(wrong.text, /username/)
    assert.equal((await answer('cat', { action: 'decline' })).status, 404, 'not a participant')
    const right = await answer('bob', { action: 'accept', content: VALUES })
    assert.deepEqual([right.status, right.body], [200, { inputId: question.inputId, action: 'accept' }], right.text)
    assert.match((await run).body.toolCalls[0].output, /ann/)
    for (const server of [a, b]) assert.deepEqual(await inputsOn(server, id), [])
    assert.equal((await answer('bob', { action: 'accept', content: VALUES })).status, 404, 'once')
})

test('a stream of the other server shows the question and its end', async () => {
    const { id, run, answer } = await ask()
    const stream = await listen(b, `/v1/conversations/${id}/events?after=0`, b.as('bob').headers())
    await eventually(() => stream.frames.some((f) => f.event === 'input.requested'))
    assert.equal((await answer('bob', { action: 'accept', content: VALUES })).status, 200)
    assert.match((await run).body.toolCalls[0].output, /ann/)
    await eventually(() => stream.frames.some((f) => f.event === 'input.answered'))
    stream.drop()
})
