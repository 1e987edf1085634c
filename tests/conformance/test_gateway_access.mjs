// Whose sessions, states, tasks and tools these are: several people on one gateway.
import fs from 'node:fs'
import path from 'node:path'
import { assert, before, eventually, startServer, test } from '../support/tap.mjs'
import { fixture, legacyClient, modernClient, P } from '../support/mcp.mjs'
import { client, QUICK, writeOffice } from '../support/office.mjs'

let office, url
const bearer = (name) => ({ authorization: `Bearer ${office.tokens[name]}`, 'x-workspace-id': 'ws_a' })
const INTERACTIVE = { elicitation: {} }
const SESSIONS = 20

before(async () => {
    const people = { ann: 'owner', bob: 'member', eve: 'member' }
    const workspaces = { ws_a: { ann: 'admin', bob: 'member', eve: 'member' }, ws_b: { ann: 'admin' } }
    const tokens = { ann: [{ name: 'few', tools: ['fx__gr*'] }, { name: 'reader', scopes: ['read'] }] }
    const { workdir } = writeOffice({}, {}) // a directory
    const made = writeOffice(people, workspaces, { workdir, tokens })
    const file = path.join(workdir, 'workspaces/ws_a/workspace.json')
    const settings = JSON.parse(fs.readFileSync(file))
    settings.bundles = [{ serverName: 'fx', ...fixture(['--era', 'legacy']) }, { serverName: 'md', ...fixture(['--era', 'modern']) }]
    fs.writeFileSync(file, JSON.stringify(settings))
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify({ mcp: { maxSessions: SESSIONS } }))
    const server = await startServer({ workdir, env: { ...QUICK, NB_MCP_RATE_LIMIT: '0' } })
    office = { ...made, server, as: (name, ws) => client(server, made.tokens[name], ws), nobody: client(server) }
    url = server.url + '/mcp'
    const running = async () => (await office.as('ann', 'ws_a').get('/v1/apps')).body.apps.filter((a) => a.status === 'running' && a.toolCount > 0).map((a) => a.name)
    await eventually(async () => {
        const names = await running()
        return names.includes('fx') && names.includes('md')
    })
})

test('nobody gets in without a token, nor with one for other things', async () => {
    const ask = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
    const { status, headers } = await office.nobody.post('/mcp', ask)
    assert.equal(status, 401)
    assert.match(headers.get('www-authenticate'), /^Bearer/)
    assert.equal((await office.as('reader', 'ws_a').post('/mcp', ask)).status, 403)
    assert.equal((await office.as('bob', 'ws_b').post('/mcp', ask)).status, 403, 'not a member there')
    assert.equal((await office.nobody.get('/.well-known/oauth-protected-resource')).status, 404)
})

test("somebody else's session looks like none, whatever is done with it", async () => {
    const ann = await legacyClient(url, { headers: bearer('ann') })
    const stolen = { ...bearer('eve'), 'mcp-session-id': ann.session, 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    const ping = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
    for (const [method, body] of [['POST', ping], ['GET', undefined], ['DELETE', undefined]]) assert.equal((await fetch(url, { method, headers: stolen, body })).status, 404, method)
    assert.deepEqual((await ann.request('ping')).result, {}, 'and it lives on')
    ann.close()
})

test("somebody else's question cannot be answered, nor their task asked for", async () => {
    const as = (name, capabilities) => modernClient(url, { headers: bearer(name), capabilities })
    const params = { name: 'fx__test_elicitation', arguments: { message: 'who?' } }
    const { result } = await as('ann', INTERACTIVE).request('tools/call', params)
    assert.equal(result.resultType, 'input_required')
    const again = { ...params, requestState: result.requestState, inputResponses: { [Object.keys(result.inputRequests)[0]]: { action: 'accept', content: { username: 'x', email: 'y' } } } }
    assert.equal((await as('eve', INTERACTIVE).request('tools/call', again)).error.code, -32602)
    assert.match((await as('ann', INTERACTIVE).request('tools/call', again)).result.content[0].text, /accept/)

    const tasks = { extensions: { [P + 'tasks']: {} } }
    const task = (await as('ann', tasks).request('tools/call', { name: 'md__slow_compute', arguments: { seconds: 30 } })).result
    assert.equal(task.resultType, 'task')
    for (const method of ['tasks/get', 'tasks/cancel']) assert.equal((await as('eve', tasks).request(method, { taskId: task.taskId })).error.code, -32602)
    assert.equal((await as('ann', tasks).request('tasks/get', { taskId: task.taskId })).result.status, 'working')
    assert.equal((await as('ann', tasks).request('tasks/cancel', { taskId: task.taskId })).result.resultType, 'complete')
    await eventually(async () => (await as('ann', tasks).request('tasks/get', { taskId: task.taskId })).result.status === 'cancelled')

    // An older server lists all tasks to every client; each caller sees only their own.
    const [ann, eve] = await Promise.all(['ann', 'eve'].map((name) => legacyClient(url, { headers: bearer(name), listen: false })))
    const begun = (await ann.request('tools/call', { name: 'fx__slow_compute', arguments: { seconds: 0 }, task: {} })).result.task
    assert.deepEqual((await ann.request('tasks/list')).result.tasks.map((t) => t.taskId), [begun.taskId])
    assert.deepEqual((await eve.request('tasks/list')).result.tasks, [])
    for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel']) assert.equal((await eve.request(method, { taskId: begun.taskId })).error.code, -32602, method)
})

test('a token for some tools lists and calls those alone', async () => {
    const few = modernClient(url, { headers: bearer('few') })
    assert.deepEqual((await few.request('tools/list')).result.tools.map((t) => t.name), ['fx__greet'])
    assert.equal((await few.request('tools/call', { name: 'fx__greet', arguments: { name: 'x' } })).result.content[0].text, 'Hello, x!')
    for (const name of ['fx__echo', 'nb__status', 'nb__chat', 'md__greet']) assert.equal((await few.request('tools/call', { name, arguments: { message: 'x' } })).error?.code, -32602, name)
})

test('a token for some tools sees no resources and prompts beside them', async () => {
    const [all, few] = ['ann', 'few'].map((name) => modernClient(url, { headers: bearer(name) }))
    const [resource] = (await all.request('resources/list')).result.resources
    const [prompt] = (await all.request('prompts/list')).result.prompts
    assert.ok(resource.uri && prompt.name)
    assert.deepEqual((await few.request('resources/list')).result.resources, [])
    assert.deepEqual((await few.request('prompts/list')).result.prompts, [])
    assert.ok((await few.request('resources/read', { uri: resource.uri })).error)
    assert.ok((await few.request('prompts/get', { name: prompt.name, arguments: {} })).error)
})

test('a person who is removed loses sessions and streams immediately', async () => {
    const bob = await legacyClient(url, { headers: bearer('bob') })
    const res = await modernClient(url, { headers: bearer('bob') }).post('subscriptions/listen', { notifications: { toolsListChanged: true } })
    assert.equal(res.status, 200)
    const removed = await office.as('ann', 'ws_a').ask('DELETE', `/v1/workspaces/ws_a/members/${office.ids.bob}`)
    assert.ok(removed.status < 300, removed.text)
    await bob.listening // ends with the stream
    for await (const chunk of res.body) assert.ok(chunk)
    assert.ok([403, 404].includes((await bob.raw({ jsonrpc: '2.0', id: 1, method: 'ping' })).status))
})

test('sessions have a ceiling: the least recently used one of the same person makes room', async () => {
    const headers = { ...bearer('ann'), 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    const open = async () => {
        const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'many', version: '1' } } })
        const res = await fetch(url, { method: 'POST', headers, body })
        await res.arrayBuffer()
        return res.headers.get('mcp-session-id')
    }
    const ping = async (session) => (await fetch(url, { method: 'POST', headers: { ...headers, 'mcp-session-id': session }, body: '{"jsonrpc":"2.0","id":1,"method":"ping"}' })).status
    const [first, second] = [await open(), await open()]
    let last
    for (let i = 2; i <= SESSIONS; i++) {
        last = await open()
        assert.equal(await ping(first), 200, 'it was used just now')
    }
    assert.deepEqual([await ping(first), await ping(second), await ping(last)], [200, 404, 200])
})

test('the end of one token leaves the sessions of another token of that person', async () => {
    const [own, few] = [await legacyClient(url, { headers: bearer('ann') }), await legacyClient(url, { headers: bearer('few') })]
    const revoked = await office.as('ann').ask('DELETE', '/v1/tokens/tok_ann1')
    assert.equal(revoked.status, 200, revoked.text)
    await few.listening // ends with its token
    assert.deepEqual((await own.request('ping')).result, {})
    own.close()
})
