// Budgets: what people and the workspace may spend in a month, and what happens when it is spent.
import { assert, before, eventually, startServer, test } from '../support/tap.mjs'
import { client, openOffice, QUICK } from '../support/office.mjs'

const PRICE = { modelInfo: { demo: { price: { input: 1000, output: 1000 } } } } // a thousandth of a dollar per token

let office
before(async () => {
    office = await openOffice(
        { ann: 'owner', fay: 'member', bob: 'member', cat: 'member', dan: 'member' },
        { ws_team: { fay: 'admin', bob: 'member', cat: 'member' }, ws_other: { dan: 'admin', ann: 'admin' } },
        { settings: PRICE },
    )
})

const set = (who, body) => office.as(who, who === 'dan' ? 'ws_other' : 'ws_team').ask('PUT', '/v1/budgets', body)
const get = async (who) => (await office.as(who).get('/v1/budgets')).body
/** The title is made after the answer, and costs something as well. */
const titled = (who, id) => eventually(async () => (await office.as(who).get(`/v1/conversations/${id}`)).body.title)
const chat = (who, message = 'say hello') => office.as(who).post('/v1/chat', { message })

test('without a limit nothing is counted; only admins of the workspace set one', async () => {
    const first = await chat('bob')
    assert.equal(first.status, 200)
    await titled('bob', first.body.conversationId)
    assert.deepEqual((await get('bob')).personal, { state: 'unlimited', limitUsd: null, spentUsd: 0 })
    for (const who of ['bob', 'cat']) assert.equal((await set(who, { personUsd: 1 })).status, 403)
    assert.equal((await office.as('ann', 'ws_team').ask('PUT', '/v1/budgets', { personUsd: 1 })).status, 403)
    for (const body of [{ personUsd: -1 }, { personUsd: '5' }, { people: { nobody: 5 } }, { people: { usr_bob: 'x' } }, { other: 1 }])
        assert.equal((await set('fay', body)).status, 400, JSON.stringify(body))
})

test('a person is warned at 80 % and stopped at 100 %; the month so far counts', async () => {
    assert.equal((await set('fay', { people: { usr_bob: 1000 } })).status, 200)
    await eventually(async () => (await get('bob')).personal.spentUsd > 0)
    const { spentUsd } = (await get('bob')).personal
    assert.equal((await get('cat')).personal.state, 'unlimited')
    assert.equal((await get('bob')).workspace.spentUsd, undefined, 'amounts of the workspace are for admins')
    assert.equal((await get('fay')).workspace.spentUsd, spentUsd)
    assert.equal((await set('fay', { people: { usr_bob: spentUsd * 1.2 } })).body.limits.people.usr_bob, spentUsd * 1.2)
    assert.equal((await get('bob')).personal.state, 'warning')
    assert.equal((await chat('bob')).status, 200)
    const after = (await get('bob')).personal
    assert.equal(after.state, 'stopped')
    assert.ok(after.spentUsd > spentUsd, 'each call is added')
    const refused = await chat('bob')
    assert.equal(refused.status, 402)
    assert.equal(refused.body.error, 'budget_exceeded')
    assert.match(refused.body.message, /Your budget of \$[\d.]+ for this month is used up/)
    assert.equal((await chat('cat')).status, 200)
    assert.equal((await office.as('bob').post('/v1/prompt', { message: 'x' })).status, 200, 'a preview costs nothing')
    assert.equal((await set('fay', { people: { usr_bob: null } })).status, 200)
    assert.equal((await chat('bob')).status, 200)
})

test('the budget of the workspace stops everybody in it, and nobody elsewhere; a run ends between its calls', async () => {
    assert.equal((await set('fay', { workspaceUsd: 1e6 })).status, 200)
    await eventually(async () => (await get('fay')).workspace.spentUsd > 0)
    const { spentUsd } = (await get('fay')).workspace
    // The first call of the run takes the rest: the second is not made.
    assert.equal((await set('fay', { workspaceUsd: spentUsd + 0.001 })).status, 200)
    const stopped = await chat('cat', 'call status {}')
    assert.equal(stopped.status, 402, stopped.text)
    assert.equal(stopped.body.error, 'budget_exceeded')
    assert.match((await chat('bob')).body.message, /budget of this workspace/)
    assert.equal((await get('cat')).workspace.state, 'stopped')
    assert.equal((await office.as('dan').post('/v1/chat', { message: 'say hello' })).status, 200)
    assert.equal((await set('fay', { workspaceUsd: null, personUsd: null })).status, 200)
    assert.equal((await chat('bob')).status, 200)
})

test('after a restart the month is read from the logs', async () => {
    assert.equal((await set('fay', { people: { usr_cat: 1e6 } })).status, 200)
    await eventually(async () => (await get('cat')).personal.spentUsd > 0)
    const { spentUsd } = (await get('cat')).personal
    assert.equal((await set('fay', { people: { usr_cat: spentUsd } })).status, 200)
    await office.server.stop()
    office.server = await startServer({ workdir: office.workdir, env: QUICK })
    office.as = (name, workspace) => client(office.server, office.tokens[name], workspace)
    await eventually(async () => (await get('cat')).personal.state === 'stopped')
    assert.equal((await chat('cat')).status, 402)
})
