// Servers where each person signs in: every call goes out with the account of the person who asks, or not at all.
import fs from 'node:fs'
import path from 'node:path'
import { after, assert, before, eventually, NB, start, startServer, test } from '../support/tap.mjs'
import { readSealed } from '../support/sealed.mjs'
import { startGuarded } from '../support/guarded_server.mjs'
import { start as startDouble } from '../support/model_double.mjs'
import { client, QUICK, writeOffice } from '../support/office.mjs'

const say = (steps) => '@double ' + JSON.stringify(steps)
const call = (tool = 'who') => [{ calls: [{ name: `far__${tool}`, args: {} }] }, { text: 'done' }]
const TOOLS = ['who', 'ask'].map((name) => ({ name, description: `The tool ${name}`, inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } }))
TOOLS.push({ name: 'wipe', description: 'Deletes', inputSchema: { type: 'object' }, annotations: { destructiveHint: true } })

let g, double, office, server, people

const forms = new Map() // question id -> what to do with the answer

/** `ask` wants a form filled in, on the stream of its own answer; the others say whose account it is. */
function answerCall({ res, id, params, account, json }) {
    const reply = (text) => ({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text }] } })
    if (params.name !== 'ask') return json(res, 200, reply(`account of ${account}`))
    const send = (message) => res.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`)
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    const question = `q${forms.size}`
    forms.set(question, (answer) => (send(reply(`${account}: ${answer.result.action} ${answer.result.content?.amount}`)), res.end()))
    send({ jsonrpc: '2.0', id: question, method: 'elicitation/create', params: { message: 'How much?', requestedSchema: { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] } } })
}

before(async () => {
    double = await startDouble({ port: 0, seed: 7 })
    g = await startGuarded({ tools: () => TOOLS, call: answerCall, replied: (message) => forms.get(message.id)?.(message) })
    office = writeOffice({ own: 'owner', ann: 'member', bob: 'member', cat: 'member' }, { ws_team: { own: 'admin', ann: 'member', bob: 'member', cat: 'member' } })
    const file = path.join(office.workdir, 'workspaces/ws_team/workspace.json')
    const entry = { serverName: 'far', url: g.url, allowPrivate: true, transport: { auth: { type: 'oauth', per: 'person' } } }
    fs.writeFileSync(file, JSON.stringify({ ...JSON.parse(fs.readFileSync(file)), bundles: [entry] }))
    fs.writeFileSync(path.join(office.workdir, 'nimblebrain.json'), JSON.stringify({
        noDefaultBundles: true, defaultModel: 'anthropic:claude-sonnet-4-5-20250929', models: { fast: 'demo:demo' },
        providers: { anthropic: { baseURL: double.url, apiKey: 'sk-ant-test-key' } },
    }))
    await restart()
})
after(() => [g, double].forEach((one) => one?.close()))

async function restart() {
    await server?.stop()
    server = await startServer({ workdir: office.workdir, env: QUICK })
    people = Object.fromEntries(Object.entries(office.tokens).map(([name, token]) => [name, client(server, token, 'ws_team')]))
}

const app = async (name) => (await people[name].get('/v1/apps/far')).body
const tokenOf = (name) => path.join(office.workdir, `workspaces/ws_team/credentials/people/usr_${name}@far.json`)
const callAs = async (name, tool = 'who') => (await people[name].post('/v1/tools/call', { server: 'far', tool })).body
const textOf = (r) => r?.content?.[0]?.text ?? JSON.stringify(r)

/** The person's browser: begins at the page, signs in over there as `login`, and comes back. */
async function signIn(name, login = name) {
    const r = await people[name].post('/v1/apps/far/account')
    assert.equal(r.status, 200, r.text)
    const cookie = r.headers.getSetCookie().find((line) => line.startsWith('nb_bundle_auth=')).split(';')[0]
    const back = new URL((await fetch(`${r.body.url}&login=${login}`, { redirect: 'manual' })).headers.get('location'))
    const done = await people[name].get(back.pathname + back.search, { cookie })
    assert.equal(done.headers.get('location'), '/?signIn=ok#/apps/far')
    await eventually(async () => (await app(name)).toolCount === 3)
}

async function chat(name, steps, more = {}) {
    const r = await people[name].post('/v1/chat', { message: typeof steps === 'string' ? steps : say(steps), ...more })
    return { status: r.status, text: r.text, ...r.body }
}
const outputs = (r) => (r.toolCalls ?? []).map((c) => c.output).join('\n')

test('before anybody has signed in the bundle says who has to do what', async () => {
    await eventually(async () => (await app('ann')).status === 'running')
    assert.deepEqual((await app('ann')).auth, { type: 'oauth', per: 'person', needsSignIn: true })
    const r = await people.ann.post('/v1/tools/call', { server: 'far', tool: 'who' })
    assert.match(r.text, /signed in|sign in/i)
    assert.equal((await people.own.post('/v1/apps/far/auth')).status, 409, 'nobody signs in for all')
    assert.deepEqual(g.calls, [])
})

test('each person’s calls use that person’s account', async () => {
    await signIn('ann')
    await signIn('bob', 'robert')
    assert.equal((await app('ann')).auth.needsSignIn, false)
    assert.equal((await app('cat')).auth.needsSignIn, true, 'of others nothing follows')
    const both = await Promise.all([callAs('ann'), callAs('bob'), callAs('ann'), callAs('bob')])
    assert.deepEqual(both.map(textOf), ['account of ann', 'account of robert', 'account of ann', 'account of robert'])
    assert.match(outputs(await chat('ann', call())), /account of ann/)
    assert.match(outputs(await chat('bob', call())), /account of robert/)
    assert.deepEqual(g.faults, [])
})

test('a person without an account, an admin too, is told to sign in, also in a run', async () => {
    const n = g.calls.length
    for (const name of ['cat', 'own']) {
        assert.match(textOf(await callAs(name)), /sign in with an account of their own.*nb bundle auth far/)
        assert.match(outputs(await chat(name, call())), /sign in with an account of their own/)
    }
    assert.equal(g.calls.length, n)
})

test('tokens are sealed for each person, and one file cannot stand in for another', async () => {
    const ann = readSealed(server.workdir, tokenOf('ann'))['@oauth']
    assert.notEqual(ann.accessToken, readSealed(server.workdir, tokenOf('bob'))['@oauth'].accessToken)
    assert.ok(!fs.readFileSync(tokenOf('ann'), 'utf8').includes(ann.accessToken))
    assert.ok(!(server.stderr + JSON.stringify(await app('own'))).includes(ann.accessToken))
    const n = g.calls.length
    fs.copyFileSync(tokenOf('ann'), tokenOf('cat'))
    assert.equal((await callAs('cat')).isError, true)
    assert.equal(g.calls.length, n)
    await signIn('cat', 'kate') // in place of the file that nobody can read
    assert.equal(textOf(await callAs('cat')), 'account of kate')
    assert.equal((await people.cat.ask('DELETE', '/v1/apps/far/account')).status, 200)
})

async function shared(owner, ...names) {
    const { conversationId } = await chat(owner, 'hello')
    const r = await people[owner].post(`/v1/conversations/${conversationId}/share`, { participants: names.map((n) => office.ids[n]) })
    assert.ok(r.status < 300, r.text)
    return conversationId
}

/** Every way in which Bob's words enter Ann's run: the call is made, and no account is used. */
async function usesNobody(what) {
    const n = g.calls.length
    const text = await what()
    assert.match(text, /several people wrote/)
    assert.equal(g.calls.length, n)
}

test('other people’s messages: steering, history, a fork and delegation use nobody’s account', async () => {
    const id = await shared('ann', 'bob')
    assert.match(outputs(await chat('ann', call(), { conversationId: id })), /account of ann/, 'only Ann wrote so far')
    const slow = people.ann.post('/v1/chat', { conversationId: id, message: say([{ text: 'a b c d e f g h', gate: 'steered', calls: [{ name: 'nb__time' }] }, { text: 'end' }]) })
    await eventually(async () => (await people.ann.get(`/v1/conversations/${id}`)).body.isRunning)
    const steered = await people.bob.post('/v1/chat/start', { conversationId: id, whenBusy: 'steer', message: say(call()) })
    assert.ok(steered.body.queuedId, steered.text)
    await usesNobody(async () => {
        double.open('steered')
        await slow
        await eventually(async () => /several people/.test((await people.ann.get(`/v1/conversations/${id}/history`)).text))
        return (await people.ann.get(`/v1/conversations/${id}/history`)).text
    })
    await usesNobody(async () => outputs(await chat('ann', call(), { conversationId: id })))
    await usesNobody(async () => outputs(await chat('bob', call(), { conversationId: id })))
    const fork = (await people.ann.post(`/v1/conversations/${id}/fork`, {})).body.id
    await usesNobody(async () => outputs(await chat('ann', call(), { conversationId: fork })))
    const child = [{ calls: [{ name: 'nb__delegate', args: { task: say(call()) } }] }, { text: 'done' }]
    const n = g.calls.length
    await chat('ann', child, { conversationId: id })
    assert.equal(g.calls.length, n, 'a child has the authors of its parent')
})

test('nobody else allows a call that uses a person’s account', async () => {
    const id = await shared('ann', 'bob')
    const asked = await chat('ann', [{ calls: [{ name: 'far__wipe', args: {} }] }, { text: 'done' }], { conversationId: id })
    const { askId } = asked.ask
    const n = g.calls.length
    const refused = await people.bob.post('/v1/chat', { conversationId: id, answer: { askId, allow: true } })
    assert.equal(refused.status, 403, refused.text)
    assert.match(refused.text, /account, or an open app, of the person/)
    assert.equal(g.calls.length, n)
    const allowed = await people.ann.post('/v1/chat', { conversationId: id, answer: { askId, allow: true } })
    assert.equal(allowed.status, 200, allowed.text)
    assert.deepEqual(g.calls.at(-1), { account: 'ann', name: 'wipe' })
})

test('a question of a server during a person’s call is answered by that person only', async () => {
    const id = await shared('ann', 'bob')
    const run = chat('ann', call('ask'), { conversationId: id })
    const list = async (name) => (await people[name].get(`/v1/conversations/${id}/inputs`)).body.inputs ?? []
    await eventually(async () => (await list('ann')).length === 1)
    const [{ inputId, forUserId }] = await list('bob')
    assert.equal(forUserId, 'usr_ann')
    const answer = (name, amount) => people[name].post(`/v1/conversations/${id}/inputs/${inputId}`, { action: 'accept', content: { amount } })
    assert.equal((await answer('bob', 1000000)).status, 403)
    assert.equal((await answer('ann', 5)).status, 200)
    assert.match(outputs(await run), /ann: accept 5/)
})

test('at /mcp the account is that of the token’s owner', async () => {
    const ask = (name, method, params) => people[name].post('/mcp', { jsonrpc: '2.0', id: 1, method, params: { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientInfo': { name: 't', version: '1' }, 'io.modelcontextprotocol/clientCapabilities': {} }, ...params } }, { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, 'mcp-name': params.name })
    for (const [name, text] of [['ann', /account of ann/], ['bob', /account of robert/], ['cat', /sign in/]])
        assert.match((await ask(name, 'tools/call', { name: 'far__who', arguments: {} })).text, text, name)
})

test('a token that ends is refreshed for its person; one that is refused asks for a sign-in', async () => {
    for (const [access, account] of g.accounts) if (account === 'ann') g.access.delete(access)
    assert.equal(textOf(await callAs('ann')), 'account of ann', 'refreshed')
    for (const [access, account] of g.accounts) if (account === 'ann') (g.access.delete(access), g.refresh.delete(access))
    assert.match(textOf(await callAs('ann')), /sign in/)
    await eventually(async () => (await app('ann')).auth.needsSignIn)
    assert.equal(textOf(await callAs('bob')), 'account of robert', 'others do not notice')
    await signIn('ann')
    assert.equal(textOf(await callAs('ann')), 'account of ann')
})

test('signing out ends one’s own account only', async () => {
    assert.equal((await people.bob.ask('DELETE', '/v1/apps/far/account')).status, 200)
    assert.ok(!fs.existsSync(tokenOf('bob')))
    assert.match(textOf(await callAs('bob')), /sign in/)
    assert.equal(textOf(await callAs('ann')), 'account of ann')
    await signIn('bob', 'robert')
})

test('nb bundle auth signs one person in', async () => {
    const args = ['bundle', 'auth', 'far', '--paste', '--workspace', 'ws_team', '--workdir', office.workdir]
    const unnamed = start(NB, args, { env: QUICK })
    await eventually(() => unnamed.result)
    assert.match(unnamed.stderr, /pass --user USER/)
    const proc = start(NB, [...args, '--user', 'cat@example.com'], { env: QUICK })
    await eventually(() => /^ {2}(http\S+)\n/m.test(proc.stderr))
    const url = proc.stderr.match(/^ {2}(http\S+)\n/m)[1]
    proc.child.stdin.write((await fetch(`${url}&login=kate`, { redirect: 'manual' })).headers.get('location') + '\n')
    await eventually(() => proc.result)
    assert.equal(proc.result.code, 0, proc.stderr)
    await eventually(async () => textOf(await callAs('cat')) === 'account of kate')
})

test('accounts end with the membership and with the person', async () => {
    assert.equal((await people.own.ask('DELETE', '/v1/workspaces/ws_team/members/usr_bob')).status, 200)
    assert.ok(!fs.existsSync(tokenOf('bob')))
    assert.equal((await people.own.post('/v1/workspaces/ws_team/members', { userId: 'usr_bob', role: 'member' })).status, 200)
    assert.match(textOf(await callAs('bob')), /sign in/, 'who comes back signs in again')
    assert.equal((await people.own.ask('DELETE', '/v1/users/usr_cat')).status, 200)
    assert.ok(!fs.existsSync(tokenOf('cat')))
    assert.equal(textOf(await callAs('ann')), 'account of ann')
})

test('a person who leaves in the middle of a sign-in leaves no token', async () => {
    const r = await people.bob.post('/v1/apps/far/account')
    const cookie = r.headers.getSetCookie().find((line) => line.startsWith('nb_bundle_auth=')).split(';')[0]
    const back = new URL((await fetch(`${r.body.url}&login=robert`, { redirect: 'manual' })).headers.get('location'))
    await people.own.ask('DELETE', '/v1/workspaces/ws_team/members/usr_bob')
    const done = await people.bob.get(back.pathname + back.search, { cookie })
    assert.equal(done.headers.get('location'), '/?signIn=expired#/apps')
    assert.ok(!fs.existsSync(tokenOf('bob')))
})

test('after a restart the tools are known and the account is used; a bundle that is removed leaves no account behind', async () => {
    await restart()
    await eventually(async () => (await app('own')).toolCount === 3)
    assert.equal((await app('ann')).auth.needsSignIn, false)
    assert.equal((await app('own')).auth.needsSignIn, true)
    assert.equal(textOf(await callAs('ann')), 'account of ann')
    assert.ok(fs.existsSync(tokenOf('ann')))
    assert.equal((await people.own.ask('DELETE', '/v1/apps/far')).status, 200)
    await eventually(() => !fs.existsSync(tokenOf('ann')))
})
