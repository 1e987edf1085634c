// Confused deputies: every way in which one person's words can enter another's run, and the rights
// that must not widen. The model double does exactly what the newest message tells it to, so each
// test is the worst case of a model that follows anybody's words.
import { after, assert, before, eventually, test } from '../support/tap.mjs'
import { listen, openOffice } from '../support/office.mjs'
import { start as startDouble } from '../support/model_double.mjs'

const SECRET = 'the salary is 123456'
const say = (steps) => '@double ' + JSON.stringify(steps)
let double, office, adam, mia, otto, hidden

before(async () => {
    double = await startDouble({ port: 0, seed: 7 })
    office = await openOffice(
        { adam: 'owner', mia: 'member', otto: 'member', zoe: 'member' },
        { ws_a: { adam: 'admin', mia: 'member', otto: 'member', zoe: 'admin' } },
        {
            settings: {
                defaultModel: 'anthropic:claude-sonnet-4-5-20250929',
                models: { fast: 'demo:demo' },
                providers: { anthropic: { baseURL: double.url, apiKey: 'sk-ant-test-key' } },
                noDefaultBundles: true,
                agents: { reader: { description: 'reads', systemPrompt: 'Read.', tools: ['nb__time'] } },
            },
            tokens: {
                adam: [{ name: 'adam-writes', scopes: ['read', 'write'] }, { name: 'adam-time', tools: ['nb__time'] }, { name: 'adam-chat', tools: ['nb__chat', 'nb__delegate'] }],
                mia: [{ name: 'mia-time', tools: ['nb__time'] }],
            },
        },
    )
    adam = office.as('adam')
    mia = office.as('mia')
    otto = office.as('otto')
    hidden = (await chat(otto, SECRET)).conversationId
})
after(() => double.close())

async function chat(who, steps, more = {}) {
    const message = typeof steps === 'string' ? steps : say(steps)
    const r = await who.post('/v1/chat', { message, ...more })
    return { status: r.status, ...r.body }
}

async function share(owner, id, ...names) {
    const r = await owner.post(`/v1/conversations/${id}/share`, { participants: names.map((n) => office.ids[n]) })
    assert.ok(r.status < 300, r.text)
}

async function sharedBy(who, ...names) {
    const { conversationId } = await chat(who, 'hello')
    await share(who, conversationId, ...names)
    return conversationId
}

const read = () => [{ calls: [{ name: 'conversations__get', args: { id: hidden } }] }, { text: 'done' }]
const outputs = (r) => (r.toolCalls ?? []).map((c) => c.output).join('\n')
const history = async (who, id) => (await who.get(`/v1/conversations/${id}/history`)).text
const answer = (who, id, ask) => who.post('/v1/chat', { conversationId: id, answer: ask })
const begin = async (who, body) => {
    const r = await who.post('/v1/chat/start', body)
    assert.equal(r.status, 202, r.text)
    return r.body
}
const remove = { name: 'nb__manage_conversation', args: { action: 'share' } } // asks without a rule

/** Has the message of `who` answered while `other` sends one that steers or waits; returns when both have been answered. */
async function meanwhile(who, id, step, other, whenBusy) {
    const gate = `${whenBusy} ${id}`
    const slow = who.post('/v1/chat', { conversationId: id, message: say([{ text: 'a b c d e f g h', gate, ...step }, { text: 'end' }]) })
    await until('the first is answered', async () => (await who.get(`/v1/conversations/${id}`)).body.isRunning)
    const { queuedId } = await begin(other, { conversationId: id, whenBusy, message: say(read()) })
    assert.ok(queuedId, 'it came meanwhile')
    double.open(gate)
    assert.equal((await slow).status, 200)
    await until('the other is answered', async () => /"content":"[^"]*done"/.test(await history(who, id)))
}

/** The call was made, and it did not show the secret. */
async function triedInVain(who, id) {
    const text = await history(who, id)
    assert.match(text, /conversations__get/)
    assert.doesNotMatch(text, /salary is/)
}

const until = (what, poll) =>
    eventually(poll).catch((error) => {
        throw new Error(`${what}: ${error.message}`)
    })

test('an admin alone reads what an admin may read', async () => {
    assert.match(outputs(await chat(adam, read())), /salary/)
    assert.doesNotMatch(outputs(await chat(mia, read())), /salary/)
})

test('shared conversation: the admin’s run has the rights of everybody who wrote in it', async () => {
    const id = await sharedBy(mia, 'adam')
    const r = await chat(adam, read(), { conversationId: id })
    assert.equal(r.status, 200, JSON.stringify(r))
    assert.doesNotMatch(outputs(r), /salary/)
    assert.doesNotMatch(await history(mia, id), /salary/)
    const search = await chat(adam, [{ calls: [{ name: 'conversations__search', args: { query: 'salary' } }] }, { text: 'x' }], { conversationId: id })
    assert.doesNotMatch(outputs(search), /123456/)
    const list = await chat(adam, [{ calls: [{ name: 'conversations__list', args: {} }] }, { text: 'x' }], { conversationId: id })
    assert.ok(!outputs(list).includes(hidden))
})

test('a fork keeps the authors: their words do not gain the forker’s rights', async () => {
    const id = await sharedBy(mia, 'adam')
    const fork = (await adam.post(`/v1/conversations/${id}/fork`, {})).body.id
    assert.doesNotMatch(outputs(await chat(adam, read(), { conversationId: fork })), /salary/)
})

test('steering: the run continues with the rights of both', async () => {
    const id = await sharedBy(adam, 'mia')
    await meanwhile(adam, id, { calls: [{ name: 'nb__time' }] }, mia, 'steer')
    await triedInVain(mia, id)
})

test('queue: a waiting message runs with its sender’s rights', async () => {
    const id = await sharedBy(adam, 'mia')
    await meanwhile(adam, id, {}, mia, 'queue')
    await triedInVain(mia, id)
})

test('resume: an admin who answers lends no rights, and sees every call that would run', async () => {
    const id = await sharedBy(mia, 'adam')
    const asked = await chat(mia, [{ calls: [{ name: 'conversations__get', args: { id: hidden } }, remove] }, { text: 'done' }], { conversationId: id })
    assert.equal(asked.stopReason, 'waiting')
    assert.deepEqual(asked.ask.calls.map((c) => [c.name, c.needsPermission]), [['conversations__get', false], ['nb__manage_conversation', true]])
    const resumed = await answer(adam, id, { askId: asked.ask.askId, allow: true })
    assert.equal(resumed.status, 200, resumed.text)
    assert.doesNotMatch(resumed.text, /salary/)
    await triedInVain(mia, id)
})

test('decline: nothing of the response runs, with anybody’s rights', async () => {
    const id = await sharedBy(mia, 'adam')
    const asked = await chat(mia, [{ calls: [{ name: 'nb__time' }, remove] }, { text: 'done' }], { conversationId: id })
    const resumed = await answer(adam, id, { askId: asked.ask.askId, allow: false })
    assert.deepEqual(resumed.body.toolCalls.map((c) => c.ok), [false, false])
})

test('a question of a copied log is answered with the rights of the one who answers', async () => {
    const id = await sharedBy(adam, 'mia')
    const asked = await chat(adam, [{ calls: [{ name: 'conversations__get', args: { id: hidden } }, remove] }, { text: 'done' }], { conversationId: id })
    assert.equal(asked.stopReason, 'waiting')
    const fork = (await mia.post(`/v1/conversations/${id}/fork`, {})).body.id
    const resumed = await answer(mia, fork, { askId: asked.ask.askId, allow: true })
    assert.doesNotMatch(resumed.text, /salary/)
})

test('resume keeps the request’s allowedTools and its model', async () => {
    const asked = await chat(adam, [{ calls: [remove] }, { calls: [{ name: 'conversations__list', args: {} }] }, { text: 'done' }], { allowedTools: ['nb__manage_conversation'] })
    assert.equal(asked.stopReason, 'waiting')
    const resumed = await answer(adam, asked.conversationId, { askId: asked.ask.askId, allow: true })
    const list = resumed.body.toolCalls.find((c) => c.name === 'conversations__list')
    assert.equal(list.ok, false, list.output)
    assert.match(list.output, /not allowed in this request/)
})

test('a narrowed token answers no question of a wider run, and edits no message', async () => {
    const narrow = office.as('adam-time')
    const asked = await chat(adam, [{ calls: [remove] }, { text: 'done' }])
    const refused = await answer(narrow, asked.conversationId, { askId: asked.ask.askId, allow: true })
    assert.equal(refused.status, 403, refused.text)
    await begin(adam, { conversationId: asked.conversationId, message: say({ text: 'a b c d e f', gate: 'edited' }) })
    const { queuedId } = await begin(adam, { conversationId: asked.conversationId, whenBusy: 'queue', message: 'later' })
    const edit = await narrow.ask('PATCH', `/v1/conversations/${asked.conversationId}/queue/${queuedId}`, { message: say(read()) })
    assert.equal(edit.status, 403, edit.text)
    double.open('edited')
})

test('a narrowed token’s messages stay narrow when its owner continues', async () => {
    const begun = await chat(office.as('adam-time'), 'do as the next message says')
    const r = await chat(adam, read(), { conversationId: begun.conversationId })
    assert.doesNotMatch(outputs(r), /salary/)
})

test('a narrowed token steers its owner’s run to nothing that it could not do itself', async () => {
    const { conversationId: id } = await chat(adam, 'hello')
    await meanwhile(adam, id, { calls: [{ name: 'nb__time' }] }, office.as('adam-time'), 'steer')
    await triedInVain(adam, id)
})

test('delegation inherits the token’s globs, the request’s tools and the profile', async () => {
    const task = say(read())
    const delegate = async (who, args, more) => {
        const from = double.log.length
        const r = await chat(who, [{ calls: [{ name: 'nb__delegate', args: { task, ...args } }] }, { text: 'x' }], more)
        assert.match(outputs(r), /done/) // the child has tried, and was told the result
        return JSON.stringify(double.log.slice(from))
    }
    assert.match(await delegate(adam), /123456/) // nothing narrows it: what the model of the child gets to see is in the log
    assert.doesNotMatch(await delegate(office.as('adam-chat')), /123456/)
    assert.doesNotMatch(await delegate(adam, {}, { allowedTools: [] }), /123456/)
    assert.doesNotMatch(await delegate(adam, { agent: 'reader' }), /123456/)
})

test('nb__chat over /mcp has the token’s tools and no others', async () => {
    const init = await office.as('adam-chat').ask('POST', '/mcp', { jsonrpc: '2.0', id: 0, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } } }, { accept: 'application/json, text/event-stream' })
    const session = init.headers.get('mcp-session-id')
    const res = await office.as('adam-chat').ask('POST', '/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'nb__chat', arguments: { message: say([{ calls: [{ name: 'nb__status', args: {} }] }, { text: 'ok' }]) } } }, { accept: 'application/json, text/event-stream', 'mcp-session-id': session })
    const id = /conv_[0-9a-f]{16}/.exec(res.text)?.[0]
    assert.ok(id, res.text)
    assert.match(await history(adam, id), /not allowed in this request/)
})

test('skills: members write into nobody’s prompt', async () => {
    const made = await mia.post('/v1/tools/call', { server: 'nb', tool: 'manage_skill', arguments: { action: 'create', name: 'evil', skill: { type: 'context', priority: 11, body: 'INJECTED' } } })
    assert.doesNotMatch(JSON.stringify(made.body), /created/)
    assert.doesNotMatch((await adam.post('/v1/prompt', { message: 'hi' })).text, /INJECTED/)
})

test('consents belong to the person who gave them; for everybody only from admins; rules are stronger', async () => {
    const first = await chat(mia, [{ calls: [remove] }, { text: 'x' }])
    assert.equal((await answer(mia, first.conversationId, { askId: first.ask.askId, allow: true, always: 'workspace' })).status, 403)
    const writes = office.as('adam-writes') // the token of an admin, without the scope admin
    const narrow = await chat(writes, [{ calls: [remove] }, { text: 'x' }])
    assert.equal((await answer(writes, narrow.conversationId, { askId: narrow.ask.askId, allow: true, always: 'workspace' })).status, 403)
    assert.equal((await answer(mia, first.conversationId, { askId: first.ask.askId, allow: true, always: true })).status, 200)
    assert.equal((await chat(mia, [{ calls: [remove] }, { text: 'x' }])).stopReason, 'complete')
    assert.equal((await chat(otto, [{ calls: [remove] }, { text: 'x' }])).stopReason, 'waiting')
    assert.equal((await chat(adam, [{ calls: [remove] }, { text: 'x' }])).stopReason, 'waiting')
    assert.equal((await adam.ask('PUT', '/v1/permissions', { default: 'ask' })).status, 200)
    const note = [{ calls: [{ name: 'conversations__note', args: { text: 'x' } }] }, { text: 'x' }]
    const own = await chat(mia, note)
    await answer(mia, own.conversationId, { askId: own.ask.askId, allow: true, always: true })
    assert.equal((await chat(mia, note)).stopReason, 'complete')
    const shared = await sharedBy(otto, 'mia')
    assert.equal((await chat(mia, note, { conversationId: shared })).stopReason, 'waiting', 'otto has not consented')
    assert.equal((await adam.ask('PUT', '/v1/permissions', { ask: ['nb__manage_conversation'] })).status, 200)
    assert.equal((await chat(mia, [{ calls: [remove] }, { text: 'x' }])).stopReason, 'waiting')
    assert.equal((await adam.ask('PUT', '/v1/permissions', {})).status, 200)
})

test('nobody is asked about a call that would be refused anyway', async () => {
    const id = await sharedBy(adam, 'mia')
    const refused = async (who, name, args, why, more) => {
        const r = await chat(who, [{ calls: [{ name, args }] }, { text: 'done' }], more)
        assert.equal(r.stopReason, 'complete', JSON.stringify(r))
        assert.match(outputs(r), why)
    }
    await refused(mia, 'nb__manage_conversation', { action: 'share' }, /^Only the owner/, { conversationId: id })
    await refused(mia, 'nb__manage_conversation', { action: 'unshare', conversationId: hidden }, /There is no conversation/)
    await refused(mia, 'conversations__delete', { id }, /^Only the owner/)
    await refused(mia, 'nb__manage_skill', { action: 'create', name: 'mias', skill: { body: 'x' } }, /^Only admins of the workspace/)
    await refused(mia, 'nb__manage_bundle', { action: 'install', name: '@x/y' }, /only admins of the workspace/)
    for (const args of [{ action: 'list' }, { action: 'show', name: 'soul' }]) {
        const r = await chat(mia, [{ calls: [{ name: 'nb__manage_skill', args }] }, { text: 'done' }])
        assert.deepEqual([r.stopReason, r.toolCalls[0].ok], ['complete', true], 'reading asks nobody')
    }
})

test('a delegated run has the access of its parent, also when that changes', async () => {
    const { conversationId: id } = await chat(otto, 'hello')
    await share(otto, id, 'mia')
    const task = 'say something, child'
    const r = await chat(mia, [{ calls: [{ name: 'nb__delegate', args: { task } }] }, { text: 'x' }], { conversationId: id })
    assert.equal(r.stopReason, 'complete', JSON.stringify(r))
    const child = [...(await otto.get(`/v1/conversations/${id}/export?format=jsonl`)).text.matchAll(/conv_[0-9a-f]{16}/g)].map((m) => m[0]).find((c) => c !== id)
    const status = async (who, c = child) => (await who.get(`/v1/conversations/${c}`)).status
    assert.deepEqual([await status(otto), await status(mia), await status(adam), await status(office.as('zoe'))], [200, 200, 200, 200])
    assert.equal((await otto.post(`/v1/conversations/${child}/share`, {})).status, 200, 'the owner of the parent manages it')
    const stream = listen(office.server, `/v1/conversations/${child}/events`, mia.headers())
    await stream.ready()
    assert.equal((await otto.ask('DELETE', `/v1/conversations/${id}/participants/usr_mia`)).status, 200)
    assert.equal(await status(mia), 404)
    assert.equal((await mia.post('/v1/chat', { conversationId: child, message: 'x' })).status, 404)
    assert.doesNotMatch((await mia.get('/v1/search?q=child')).text, new RegExp(child))
    await stream.done
    assert.equal(await status(otto), 200)
    assert.equal((await otto.ask('DELETE', `/v1/conversations/${id}`)).status, 200)
    assert.equal(await status(otto), 404, 'without its parent it belongs to nobody')
})

test('personal skills: everybody has their own, and only in their own runs', async () => {
    const prompt = async (who, more = {}) => (await who.post('/v1/prompt', { message: 'hi', ...more })).text
    const body = { type: 'context', description: 'mine', body: 'MIAS-OWN-WORDS' }
    const put = await mia.ask('PUT', '/v1/skills/personal/mine', body)
    assert.equal(put.status, 200, put.text)
    assert.match(await prompt(mia), /MIAS-OWN-WORDS/)
    assert.doesNotMatch(await prompt(adam), /MIAS-OWN-WORDS/)
    const shared = await sharedBy(otto, 'mia')
    assert.doesNotMatch(await prompt(mia, { conversationId: shared }), /MIAS-OWN-WORDS/, 'otto wrote in it as well')
    const names = async (who) => (await who.get('/v1/skills')).body.skills.map((s) => s.name)
    assert.ok((await names(mia)).includes('mine'))
    assert.ok(!(await names(adam)).includes('mine'))
    assert.equal((await mia.ask('PUT', '/v1/skills/workspace/mine', body)).status, 403)
    assert.equal((await mia.ask('PUT', '/v1/skills/personal/summarize', body)).status, 409, 'it replaces no skill of the workspace')
    const args = { action: 'create', scope: 'personal', name: 'second', skill: { body: 'SECOND-WORDS', type: 'context' } }
    const asked = await chat(mia, [{ calls: [{ name: 'nb__manage_skill', args }] }, { text: 'x' }])
    assert.equal(asked.stopReason, 'waiting', 'the person herself is asked')
    await answer(mia, asked.conversationId, { askId: asked.ask.askId, allow: true })
    assert.match(await prompt(mia), /SECOND-WORDS/)
    assert.equal((await mia.ask('DELETE', '/v1/skills/personal/second')).status, 200)
    assert.equal((await mia.ask('DELETE', '/v1/skills/personal/second')).status, 404)
    assert.doesNotMatch(await prompt(mia), /SECOND-WORDS/)
})

test('consents never cover tools that change the workspace', async () => {
    const change = { name: 'nb__manage_skill', args: { action: 'create', name: 'mine', skill: { body: 'x', description: 'y' } } }
    const asked = await chat(adam, [{ calls: [change] }, { text: 'x' }])
    assert.equal(asked.ask.calls[0].canRemember, false)
    await answer(adam, asked.conversationId, { askId: asked.ask.askId, allow: true, always: true })
    assert.equal((await chat(adam, [{ calls: [change] }, { text: 'x' }])).stopReason, 'waiting')
})

test('a demoted admin’s run loses the rights with its next call', async () => {
    const zoe = office.as('zoe')
    const asked = await chat(zoe, [{ calls: [{ name: 'conversations__get', args: { id: hidden } }, remove] }, { text: 'x' }])
    const demoted = await adam.ask('PATCH', `/v1/workspaces/ws_a/members/${office.ids.zoe}`, { role: 'member' })
    assert.equal(demoted.status, 200, demoted.text)
    const resumed = await answer(zoe, asked.conversationId, { askId: asked.ask.askId, allow: true })
    assert.doesNotMatch(resumed.text, /salary/)
})

test('a removed member’s consents and questions end with the membership', async () => {
    const asked = await chat(mia, [{ calls: [remove] }, { text: 'x' }])
    assert.equal(asked.stopReason, 'complete') // her own consent
    const gone = await adam.ask('DELETE', `/v1/workspaces/ws_a/members/${office.ids.mia}`)
    assert.equal(gone.status, 200, gone.text)
    assert.equal((await adam.post('/v1/workspaces/ws_a/members', { userId: office.ids.mia, role: 'member' })).status < 300, true)
    assert.equal((await chat(mia, [{ calls: [remove] }, { text: 'x' }])).stopReason, 'waiting')
})
