// Calls that go on after their answer: tasks of 2025-11-25 and the extension of 2026-07-28, for every
// pairing of client and server. Where both know tasks, they are passed on under ids of our own;
// where one does not, they do not show: the call is waited for.
import { assert, before, eventually, startServer, test } from '../support/tap.mjs'
import { gatewayWith, legacyClient, modernClient, P, ready } from '../support/mcp.mjs'

const TASKS = { extensions: { [P + 'tasks']: {} } }
const FORM = { elicitation: { form: {} } }
const textOf = (reply) => reply.result?.content?.[0]?.text
const yes = async () => ({ action: 'accept', content: { confirm: true } })
let url

before(async () => {
    const server = await startServer({ workdir: gatewayWith({ old: ['--era', 'legacy', '--page-size', '7'], older: ['--era', 'legacy'], new: ['--era', 'modern'] }) })
    url = server.url
    for (const name of ['old', 'older', 'new']) await ready(server, name)
})

const legacy = (source, options = {}) => legacyClient(`${url}/mcp${source}`, { listen: false, ...options })
const modern = (source, capabilities) => modernClient(`${url}/mcp${source}`, { capabilities })
const begin = async (client, name, args = {}) => (await client.request('tools/call', { name, arguments: args, task: { ttl: 60000 } })).result.task

// ---- both know the tasks of 2025-11-25 ----

test('session, older server: a task is begun, seen, listed, waited for and over', async () => {
    const client = await legacy('')
    assert.deepEqual(client.server.capabilities.tasks, { list: {}, cancel: {}, requests: { tools: { call: {} } } })
    const { tools } = (await client.request('tools/list')).result
    assert.equal(tools.find((t) => t.name === 'old__failing_job').execution.taskSupport, 'required')
    const { taskId, status, ttl } = await begin(client, 'old__slow_compute', { seconds: 0.2, label: 'a' })
    assert.deepEqual([status, ttl], ['working', 60000])
    assert.equal((await client.request('tasks/get', { taskId })).result.taskId, taskId)
    const waited = await client.request('tasks/result', { taskId })
    assert.equal(textOf(waited), 'computed a in 0.2 s')
    assert.deepEqual(waited.result._meta[P + 'related-task'], { taskId }, 'under the id the client knows')
    assert.equal((await client.request('tasks/get', { taskId })).result.status, 'completed')
    assert.equal((await client.request('tasks/cancel', { taskId })).error.code, -32602, 'it is over')
})

test('session, older server: failure, error, cancellation', async () => {
    const client = await legacy('/old')
    const failed = await begin(client, 'failing_job')
    assert.equal((await client.request('tasks/result', { taskId: failed.taskId })).result.isError, true)
    assert.equal((await client.request('tasks/get', { taskId: failed.taskId })).result.status, 'failed')
    const broken = await begin(client, 'protocol_error_job')
    assert.equal((await client.request('tasks/result', { taskId: broken.taskId })).error.code, -32603)
    const slow = await begin(client, 'slow_compute', { seconds: 60 })
    assert.equal((await client.request('tasks/cancel', { taskId: slow.taskId })).result.status, 'cancelled')
    assert.equal((await client.request('tools/call', { name: 'greet', arguments: {}, task: {} })).error.code, -32601, 'the gate of the tool')
})

test('session, older servers: one list, all pages of it, and ids that nobody can make up', async () => {
    const client = await legacy('')
    const begun = []
    for (let i = 0; i < 9; i++) begun.push(await begin(client, i === 4 ? 'older__slow_compute' : 'old__slow_compute'))
    const listed = (await client.request('tasks/list')).result.tasks.map((t) => t.taskId)
    for (const { taskId } of begun) assert.ok(listed.includes(taskId))
    assert.equal(new Set(listed).size, listed.length)
    const [one] = begun
    const raw = one.taskId.split('/')[1]
    for (const taskId of [raw, `old/${raw}`, one.taskId.replace(/^./, (c) => (c === 'a' ? 'b' : 'a')), one.taskId.replace('old/', 'older/')])
        assert.equal((await client.request('tasks/get', { taskId })).error.code, -32602, taskId)
    assert.equal((await (await legacy('/older')).request('tasks/get', { taskId: one.taskId })).error.code, -32602, 'of another source')
    assert.equal((await client.request('tasks/list', { cursor: 'x' })).error.code, -32602)
})

test('session, older server: a task asks its own client', async () => {
    const client = await legacy('/old', { capabilities: FORM, listen: true, asked: yes })
    const { taskId } = await begin(client, 'confirm_delete', { filename: 'x' })
    assert.equal(textOf(await client.request('tasks/result', { taskId })), 'Deleted x')
    assert.equal(client.asks.length, 1)
    client.close()
})

// ---- both know the extension ----

test('stateless, stateless server: the server decides, and only for who knows tasks', async () => {
    const client = modern('', { ...TASKS, ...FORM })
    const { result } = await client.request('tools/call', { name: 'new__slow_compute', arguments: { seconds: 0.1, label: 'b' } })
    assert.equal(result.resultType, 'task')
    const get = async (taskId) => (await client.request('tasks/get', { taskId })).result
    await eventually(async () => (await get(result.taskId)).status === 'completed')
    const done = await get(result.taskId)
    assert.deepEqual([done.taskId, done.result.content[0].text], [result.taskId, 'computed b in 0.1 s'])
    assert.equal((await modern('/new', TASKS).request('tasks/get', { taskId: result.taskId })).result.status, 'completed', 'the same at the source itself')
    const asking = (await client.request('tools/call', { name: 'new__confirm_delete', arguments: { filename: 'y' } })).result
    await eventually(async () => (await get(asking.taskId)).status === 'input_required')
    await client.request('tasks/update', { taskId: asking.taskId, inputResponses: { confirm: await yes() } })
    await eventually(async () => (await get(asking.taskId)).result?.content[0].text === 'Deleted y')
    assert.equal(textOf(await modern('', {}).request('tools/call', { name: 'new__slow_compute', arguments: { label: 'c' } })), 'computed c in 0 s')
    assert.equal((await modern('', {}).request('tasks/get', { taskId: result.taskId })).error.code, -32021)
    for (const method of ['tasks/list', 'tasks/result']) assert.deepEqual([(await client.request(method)).status, (await client.request(method)).error.code], [404, -32601])
})

// ---- only one of the two ----

test('session, stateless server: tasks do not show and are waited for, questions included', async () => {
    const client = await legacy('/new', { capabilities: FORM, asked: yes })
    assert.equal(client.server.capabilities.tasks, undefined)
    for (const task of [undefined, { ttl: 1000 }]) {
        const reply = await client.request('tools/call', { name: 'slow_compute', arguments: { seconds: 0.1, label: 'd' }, ...(task && { task }) })
        assert.equal(textOf(reply), 'computed d in 0.1 s')
        assert.ok(!('task' in reply.result) && !('taskId' in reply.result))
    }
    assert.equal(textOf(await client.request('tools/call', { name: 'confirm_delete', arguments: { filename: 'z' } })), 'Deleted z')
    assert.equal(client.asks.length, 1)
    assert.deepEqual((await client.request('tasks/list')).result.tasks, [])
})

test('stateless, older server: a tool that only runs as a task is run as one and waited for', async () => {
    for (const capabilities of [{}, { ...TASKS, ...FORM }]) {
        const client = modern('/old', capabilities)
        const { result } = await client.request('server/discover')
        assert.equal(result.capabilities.extensions, undefined)
        const failed = await client.request('tools/call', { name: 'failing_job', arguments: {} })
        assert.equal(failed.result?.isError, true, JSON.stringify(failed))
        assert.equal(failed.result.resultType, 'complete')
        assert.equal(textOf(await client.request('tools/call', { name: 'slow_compute', arguments: { label: 'e' } })), 'computed e in 0 s')
    }
})
