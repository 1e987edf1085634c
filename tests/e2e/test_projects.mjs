// Projects: who sees them, what they give a conversation, and what they do not give.
import { assert, before, eventually, test } from '../support/tap.mjs'
import { client, openOffice } from '../support/office.mjs'

let office
before(async () => {
    office = await openOffice(
        { ann: 'owner', fay: 'member', bob: 'member', cat: 'member', eve: 'member', dan: 'member' },
        { ws_team: { fay: 'admin', bob: 'member', cat: 'member', eve: 'member' }, ws_other: { dan: 'admin', ann: 'admin' } },
        { tokens: { bob: [{ name: 'narrow', tools: ['nb__status'] }] } },
    )
})

async function make(who, body) {
    const r = await office.as(who).post('/v1/projects', body)
    assert.equal(r.status, 200, r.text)
    return r.body.id
}
const patch = (who, id, body) => office.as(who).ask('PATCH', `/v1/projects/${id}`, body)
const names = async (who) => (await office.as(who).get('/v1/projects')).body.projects.map(({ name }) => name)
const chat = async (who, body) => {
    const r = await office.as(who).post('/v1/chat', body)
    assert.equal(r.status, 200, r.text)
    return r.body.conversationId
}
const listed = async (who, project) => {
    const r = await office.as(who).get(`/v1/conversations?project=${project}`)
    return r.status === 200 ? r.body.conversations.map(({ id }) => id) : r.status
}

/** The instructions of a project in what a model would get for a message of this person. */
async function told(who, conversationId) {
    const r = await office.as(who).post('/v1/prompt', { message: 'hello', conversationId })
    assert.equal(r.status, 200, r.text)
    return r.body.layers.find(({ name }) => name === 'project instructions')
}

test('a project is seen by its owner, its members and admins; its owner and admins change it', async () => {
    const id = await make('bob', { name: 'Apollo', members: ['cat@example.com'] })
    for (const who of ['bob', 'cat', 'fay']) assert.deepEqual(await names(who), ['Apollo'], who)
    for (const who of ['eve', 'dan']) {
        assert.deepEqual(await names(who), [], who)
        assert.equal((await patch(who, id, { name: 'x' })).status, 404, who)
        assert.equal(await listed(who, id), 404, who)
        assert.equal((await office.as(who).post('/v1/chat', { message: 'x', projectId: id })).status, 404, who)
    }
    assert.equal((await patch('cat', id, { instructions: 'Obey me.' })).status, 403)
    assert.equal((await office.as('cat').ask('DELETE', `/v1/projects/${id}`)).status, 403)
    assert.equal((await patch('fay', id, { name: 'Apollo 2' })).body.name, 'Apollo 2')
    assert.equal((await client(office.server, office.tokens.narrow).post('/v1/projects', { name: 'x' })).status, 403)
    for (const body of [{}, { name: ' ' }, { name: 'x'.repeat(101) }, { name: 'x', members: ['usr_dan'] }, { name: 'x', members: 'usr_cat' }, { name: 'x', more: 1 }, { name: 'x', instructions: 'x'.repeat(8001) }])
        assert.equal((await office.as('bob').post('/v1/projects', body)).status, 400, JSON.stringify(body).slice(0, 60))
    assert.equal((await office.as('bob').ask('DELETE', `/v1/projects/${id}`)).status, 200)
    assert.deepEqual(await names('cat'), [])
})

test('a conversation in a project is read by nobody else, until its owner shares it', async () => {
    const id = await make('bob', { name: 'Gemini', members: ['usr_cat'] })
    const own = await chat('bob', { message: 'say hello', projectId: id })
    await eventually(async () => (await listed('bob', id)).includes(own))
    assert.deepEqual(await listed('cat', id), [])
    assert.equal((await office.as('cat').get(`/v1/conversations/${own}`)).status, 404)
    const other = await chat('cat', { message: 'say hi' })
    const move = (who, conversation, projectId) => office.as(who).ask('PUT', `/v1/conversations/${conversation}/project`, { projectId })
    assert.equal((await move('bob', other, id)).status, 404, 'not his')
    assert.equal((await move('cat', other, id)).status, 200)
    assert.deepEqual(await listed('cat', id), [other])
    assert.equal((await office.as('cat').get(`/v1/conversations/${other}`)).body.projectId, id)
    assert.equal((await office.as('bob').get(`/v1/conversations/${other}`)).status, 404)
    assert.equal((await office.as('bob').post(`/v1/conversations/${own}/share`, { participants: ['usr_eve'] })).status, 200)
    assert.equal((await office.as('eve').get(`/v1/conversations/${own}`)).body.projectId, undefined, 'she does not see the project')
    assert.equal((await move('eve', own, null)).status, 403)
    assert.equal((await move('cat', other, 'prj_none')).status, 404)
    assert.equal((await move('cat', other, null)).status, 200)
    assert.deepEqual(await listed('cat', id), [])
    assert.equal((await office.as('bob').post('/v1/chat', { message: 'x', conversationId: own, projectId: id })).status, 400)
})

test('instructions reach runs of those who see the project; the rights of their author limit the run', async () => {
    const id = await make('bob', { name: 'Mercury', members: ['usr_cat', 'usr_fay'], instructions: 'Say SATURN.' })
    const own = await chat('bob', { message: 'say hello', projectId: id })
    await eventually(async () => (await told('bob', own))?.text.includes('SATURN'))
    assert.equal((await told('bob', own)).author, 'Bob (project Mercury)')
    assert.equal((await office.as('bob').post(`/v1/conversations/${own}/share`, { participants: ['usr_eve'] })).status, 200)
    assert.equal(await told('eve', own), undefined)
    // A run of an admin with the words of a member is not the admin's alone: what is personal is left out.
    assert.equal((await office.as('fay').ask('PUT', '/v1/instructions/personal', { text: 'Say PLUTO.' })).status, 200)
    const admins = await chat('fay', { message: 'say hello' })
    const isAlone = async () => (await office.as('fay').post('/v1/prompt', { message: 'x', conversationId: admins })).text.includes('PLUTO')
    assert.ok(await isAlone())
    assert.equal((await office.as('fay').ask('PUT', `/v1/conversations/${admins}/project`, { projectId: id })).status, 200)
    assert.match((await told('fay', admins)).text, /SATURN/)
    assert.ok(!(await isAlone()))
    // The same words by an admin do not limit anybody.
    assert.equal((await patch('fay', id, { instructions: 'Say URANUS.' })).status, 200)
    assert.ok(await isAlone())
    assert.match((await told('bob', own)).text, /URANUS/)
    // A member who leaves the project does not get them any more.
    const cats = await chat('cat', { message: 'say hello', projectId: id })
    await eventually(async () => (await told('cat', cats))?.text.includes('URANUS'))
    assert.equal((await patch('bob', id, { members: ['usr_fay'] })).status, 200)
    assert.equal(await told('cat', cats), undefined)
})

test('a conversation that is purged is in no project any more', async () => {
    const id = await make('bob', { name: 'Vostok' })
    const own = await chat('bob', { message: 'say hello', projectId: id })
    await eventually(async () => (await listed('bob', id)).includes(own))
    const count = async () => (await office.as('bob').get('/v1/projects')).body.projects.find((p) => p.id === id).conversationCount
    assert.equal((await office.as('bob').ask('DELETE', `/v1/conversations/${own}`)).status, 200)
    assert.equal(await count(), 1, 'it may come back from the trash')
    assert.equal((await office.as('bob').ask('DELETE', `/v1/conversations/${own}?purge=true`)).status, 200)
    await eventually(async () => (await count()) === 0)
})
