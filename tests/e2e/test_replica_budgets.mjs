// Two servers on one PostgreSQL: what may be spent in a month is counted for both together.
import fs from 'node:fs'
import path from 'node:path'
import { after, assert, before, eventually, nb, startServer, test, tmpdir } from '../support/tap.mjs'
import { client, QUICK, writeOffice } from '../support/office.mjs'
import { startPostgres } from '../support/postgres.mjs'

let office, servers, dirs, env, postgres

before(async () => {
    postgres = await startPostgres('fsync=off')
    env = { ...QUICK, NB_STORE_URL: postgres.url }
    office = writeOffice({ ann: 'owner', bob: 'member', cat: 'member', dan: 'member' }, { ws_team: { ann: 'admin', bob: 'member', cat: 'member', dan: 'member' } })
    dirs = [office.workdir, tmpdir('nb-replica-')]
    const settings = { noDefaultBundles: true, modelInfo: { demo: { price: { input: 1000, output: 1000 } } } } // a thousandth of a dollar per token
    const write = (dir, more) => fs.writeFileSync(path.join(dir, 'nimblebrain.json'), JSON.stringify({ ...settings, ...more }))
    fs.copyFileSync(path.join(dirs[0], 'instance.json'), path.join(dirs[1], 'instance.json'))
    const run = async (...args) => {
        const { code, stderr } = await nb(['--workdir', dirs[0], ...args], { env })
        assert.equal(code, 0, stderr)
    }
    // The month begins with files and one server.
    write(dirs[0], { store: { type: 'postgres' } })
    await run('store', 'init')
    write(dirs[0])
    servers = [await startServer({ workdir: dirs[0], env })]
    assert.equal((await chat(0, 'bob')).status, 200)
    await servers[0].stop('SIGTERM')
    await run('conversations', 'convert', '--to', 'postgres', '--workspace', 'ws_team')
    for (const dir of dirs) write(dir, { store: { type: 'postgres', replicas: true } })
    servers = []
    for (const workdir of dirs) servers.push(await startServer({ workdir, env }))
})

after(() => Promise.all(servers.map((s) => s.stop('SIGTERM'))))

const as = (i, name) => client(servers[i], office.tokens[name], 'ws_team')
const budget = async (i, name) => (await as(i, name).get('/v1/budgets')).body
const limit = async (body) => {
    const res = await as(0, 'ann').ask('PUT', '/v1/budgets', body)
    assert.equal(res.status, 200, res.text)
    // The other server has the limits a moment later.
    await eventually(async () => JSON.stringify((await budget(1, 'ann')).limits) === JSON.stringify((await budget(0, 'ann')).limits), 'the limits on the other server')
}
/** One answer; with its title, which costs something as well. */
const chat = async (i, name) => {
    const res = await as(i, name).post('/v1/chat', { message: 'say hello' })
    if (res.status === 200) await eventually(async () => (await as(i, name).get(`/v1/conversations/${res.body.conversationId}`)).body.title, 'a title')
    return res
}
const spent = async (i, name) => (await budget(i, name)).personal.spentUsd
/** In the month in which the table began, older calls are read from the logs. */
const counted = (i) => eventually(async () => (await budget(i, 'ann')).isCounting === false, 'the logs are read')
const near = (a, b) => Math.abs(a - b) < 1e-6

test('what one server spends is known to the other at once, also what was spent before there was a limit, or a database', async () => {
    assert.equal((await chat(0, 'bob')).status, 200)
    assert.equal((await chat(1, 'bob')).status, 200)
    await limit({ personUsd: 1000 })
    for (const i of [0, 1]) await counted(i)
    const both = await spent(0, 'bob')
    assert.ok(both > 0)
    assert.ok(near(await spent(1, 'bob'), both), 'the same on both servers')
    const one = both / 3 // all answers are the same; one is older than the database
    for (const i of [0, 1, 1]) {
        const before = await spent(1 - i, 'bob')
        assert.equal((await chat(i, 'bob')).status, 200)
        assert.ok(near(await spent(1 - i, 'bob'), before + one), `server ${1 - i} counts what server ${i} spent`)
        assert.ok(near(await spent(i, 'bob'), before + one), 'and the server itself counts it once')
    }
    const all = (await budget(1, 'ann')).workspace.spentUsd
    assert.ok(near(all, 6 * one), 'the workspace is the sum of its people')
})

test('a person is warned and stopped on both servers, whichever is asked', async () => {
    assert.equal((await chat(0, 'cat')).status, 200)
    const one = await spent(1, 'cat')
    assert.ok(one > 0)
    await limit({ people: { usr_cat: one * 2.4 } })
    assert.equal((await budget(1, 'cat')).personal.state, 'ok')
    assert.equal((await chat(1, 'cat')).status, 200)
    for (const i of [0, 1]) assert.equal((await budget(i, 'cat')).personal.state, 'warning', 'above 80 % together')
    assert.equal((await chat(0, 'cat')).status, 200)
    for (const i of [1, 0]) {
        const refused = await as(i, 'cat').post('/v1/chat', { message: 'say hello' })
        assert.equal(refused.status, 402, refused.text)
        assert.equal(refused.body.error, 'budget_exceeded')
    }
    assert.ok(near(await spent(0, 'cat'), 3 * one), 'a refusal costs nothing')
})

test('asking servers in turn does not multiply a limit', async () => {
    const one = (await spent(0, 'cat')) / 3
    await limit({ people: { usr_dan: one * 3.5, usr_cat: null } })
    let answers = 0
    for (let i = 0; i < 12; i++) answers += (await as(i % 2, 'dan').post('/v1/chat', { message: 'say hello' })).status === 200
    assert.ok(answers >= 3 && answers <= 4, `${answers} answers for the price of 3.5`)
})

test('the limit of the workspace holds for all servers; a server that starts knows what was spent', async () => {
    const { spentUsd } = (await budget(0, 'ann')).workspace
    const one = (await spent(0, 'cat')) / 3
    await limit({ workspaceUsd: spentUsd + one / 2 })
    assert.equal((await chat(1, 'bob')).status, 200)
    for (const i of [0, 1]) assert.equal((await as(i, 'cat').post('/v1/chat', { message: 'say hello' })).status, 402)
    await servers[1].stop('SIGTERM')
    servers[1] = await startServer({ workdir: dirs[1], env })
    await counted(1)
    assert.equal((await as(1, 'bob').post('/v1/chat', { message: 'say hello' })).status, 402)
    assert.ok(near((await budget(1, 'ann')).workspace.spentUsd, (await budget(0, 'ann')).workspace.spentUsd))
    await limit({ workspaceUsd: null })
})

test('a server that is killed takes nothing with it that it has answered', async () => {
    servers[1] = await startServer({ workdir: dirs[1], env }) // one that a case starts ends with it
    const before = await spent(0, 'bob')
    assert.equal((await chat(1, 'bob')).status, 200)
    await servers[1].stop('SIGKILL')
    const after = await spent(0, 'bob')
    assert.ok(after > before)
    servers[1] = await startServer({ workdir: dirs[1], env })
    await counted(1)
    assert.ok(near(await spent(1, 'bob'), after))
})
