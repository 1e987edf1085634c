// The document of the API is valid, complete and true: every operation is called with requests that are made
// from it, those that fit and those that do not, and every answer is compared with it.
import fs from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { Validator } from '@seriousme/openapi-schema-validator'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import { after, assert, before, eventually, SRC_DIR, test, tmpdir } from '../support/tap.mjs'
import { openOffice } from '../support/office.mjs'
import { bodySchema, Contract, operationsOf, sample } from '../support/openapi.mjs'
import { paper } from '../support/pictures.mjs'
import { viewsBundle } from '../support/views.mjs'

const WS = 'ws_a'
let office, text, document, operations, contract

before(async () => {
    const people = { root: 'owner', ben: 'member' }
    const env = { NB_MCP_RATE_LIMIT: '0' }
    office = await openOffice(people, { [WS]: { root: 'admin', ben: 'member' } }, { bundles: { [WS]: [viewsBundle()] }, env })
    text = await (await fetch(office.server.url + '/v1/openapi.json')).text()
    document = JSON.parse(text)
    operations = operationsOf(document)
    contract = new Contract(document)
    await eventually(async () => (await root('GET', '/v1/apps/views')).json?.toolCount > 0)
})
after(() => office.server.stop())

// ---- the document ----

test('a validator that follows the published schema accepts the document', async () => {
    const validator = new Validator()
    const { valid, errors } = await validator.validate(structuredClone(document))
    assert.ok(valid, JSON.stringify(errors))
    assert.equal(validator.version, '3.1')
})

test('a validator with rules of its own accepts the document', async () => {
    const config = await createConfig({ extends: ['spec'], rules: { 'operation-operationId-unique': 'error', 'no-unresolved-refs': 'error', 'path-parameters-defined': 'error' } })
    const problems = await lintFromString({ source: text, absoluteRef: '/openapi.json', config })
    assert.deepEqual(problems.map((p) => `${p.ruleId}: ${p.message} at ${p.location[0]?.pointer}`), [])
})

test('both validators refuse a document with a mistake', async () => {
    const wrong = structuredClone(document)
    wrong.paths['/v1/health'].get.responses = 7
    assert.equal((await new Validator().validate(structuredClone(wrong))).valid, false)
    const config = await createConfig({ extends: ['spec'] })
    assert.notEqual((await lintFromString({ source: JSON.stringify(wrong), absoluteRef: '/openapi.json', config })).length, 0)
})

test('the document has the routes that are enforced, and nb prints the same', async () => {
    const table = JSON.parse((await office.nb(['access', '--json'])).stdout)
    const routes = table.routes.map((r) => `${r.method} ${r.path.replace(/:(\w+)/g, '{$1}').replace('*', '{path}')}`)
    assert.deepEqual(operations.map((op) => `${op.method} ${op.path}`).sort(), routes.sort())
    assert.equal((await office.nb(['openapi'])).stdout.trim(), text)
})

test('parameters that are declared are read, and handlers read no others', () => {
    const sources = fs.readdirSync(path.join(SRC_DIR, 'src/api'), { recursive: true }).map(String).filter((name) => name.endsWith('.c'))
    const read = new Set(), around = []
    for (const name of sources) {
        const code = fs.readFileSync(path.join(SRC_DIR, 'src/api', name), 'utf8')
        for (const [, parameter] of code.matchAll(/(?:api_query(?:_int|_flag)?|query_time|parse_only)\(r, "(\w+)"/g)) read.add(parameter)
        if (/\bhttp_query\(/.test(code) && !['exchange.c', 'admit.c'].includes(name)) around.push(name)
    }
    assert.deepEqual(around, [], 'use api_query, so that the document shows the parameter')
    const declared = new Set(operations.flatMap((op) => op.parameters.filter((p) => p.in === 'query').map((p) => p.name)))
    declared.delete('session') // of the gateway
    assert.deepEqual([...declared].filter((name) => !read.has(name)), [], 'nobody reads these')
})

// ---- requests ----

function send({ method, target, body, headers = {}, way = 'token' }) {
    const options = { method, headers: { 'x-workspace-id': WS, ...headers }, agent: false }
    if (way === 'token') options.headers.authorization = `Bearer ${office.tokens.root}`
    if (body !== undefined && !options.headers['content-type']) options.headers['content-type'] = 'application/json'
    const on = (resolve) => (res) => {
        const type = res.headers['content-type'] ?? ''
        const answer = { status: res.statusCode, type, text: '', headers: res.headers }
        const done = () => {
            try {
                answer.json = JSON.parse(answer.text)
            } catch {
                // not everything is JSON
            }
            resolve(answer)
        }
        res.setEncoding('utf8').on('end', done).on('data', (part) => {
            answer.text += part
            const isEndless = /event-stream/.test(type) && !/\/chat\/stream|\/rpc/.test(target)
            if (isEndless && answer.text.includes('\n\n')) res.destroy(), done()
        })
        if (/event-stream/.test(type) && /^\/mcp/.test(target)) res.destroy(), done() // it may stay silent
    }
    return new Promise((resolve, reject) => {
        const req = way === 'socket'
            ? http.request({ ...options, socketPath: path.join(office.workdir, 'nb.sock'), path: target }, on(resolve))
            : http.request(office.server.url + target, options, on(resolve))
        req.on('error', reject)
        req.end(body)
    })
}

const root = (method, target, body) => send({ method, target, body: body === undefined ? undefined : JSON.stringify(body) })

async function made(method, target, body) {
    const answer = await send({ method, target, body: JSON.stringify(body), way: 'socket' })
    assert.ok(answer.status < 300, `${method} ${target}: ${answer.status} ${answer.text}`)
    return answer.json
}

const chat = (message) => made('POST', '/v1/chat', { message })
const conversation = async () => (await chat('hello')).conversationId
const called = async (message) => {
    const { conversationId, toolCalls } = await chat(message)
    return { id: conversationId, call: toolCalls[0].id }
}

let people = 0
const person = async () => (await made('POST', '/v1/users', { email: `walk${++people}@example.com` })).id
const workspace = async () => (await made('POST', '/v1/workspaces', { name: `Walk ${++people}` })).id
const upload = async () => (await send({ method: 'POST', target: '/v1/files?name=a.txt', body: 'some text', headers: { 'content-type': 'text/plain' } })).json.id
const projectFile = async (file) => {
    const project = await PARAMETERS.project()
    const added = await root('POST', `/v1/projects/${project}/files`, { file: file ?? (await upload()) })
    assert.equal(added.status, 200, added.text)
    return { project, file: added.json.id }
}
const thousandPages = async () => (await send({ method: 'POST', target: '/v1/files?name=a.pdf', body: paper(Array(1000).fill('page')), headers: { 'content-type': 'application/pdf' } })).json.id
const member = async () => {
    const user = await person()
    await made('POST', `/v1/workspaces/${WS}/members`, { userId: user, role: 'member' })
    return user
}
const view = async () => {
    const { id, call } = await called('call views__show {"text": "hi"}')
    return (await root('POST', '/v1/views', { conversationId: id, callId: call })).json.viewId // only its opener sees it
}
/** A conversation whose agent waits for a tool, with a message in the queue. */
const busy = async () => {
    const id = await conversation()
    await made('POST', '/v1/chat/start', { message: 'call views__slow {"text": "x"}', conversationId: id })
    const { queuedId } = await made('POST', '/v1/chat/start', { message: 'later', conversationId: id, whenBusy: 'queue' })
    assert.ok(queuedId, 'the message waits')
    return { id, message: queuedId }
}

// ---- what the document cannot know: things that exist, and values that mean something ----

const PARAMETERS = {
    user: person, ws: workspace, id: conversation, file: upload, view, name: () => 'views', tool: () => 'nb__time',
    token: async () => (await made('POST', '/v1/tokens', { name: 'walk' })).id,
    stream: async () => '1', blob: () => '0'.repeat(64), call: () => 'none', part: () => '0', input: () => 'none', message: () => 'none',
    link: () => 'link_none', ask: () => 'none', source: () => 'nb', path: () => 'views/show',
    project: async () => (await root('POST', '/v1/projects', { name: 'Walk' })).json.id,
    upload: async () => (await root('POST', '/v1/files/uploads', { name: 'a.txt', bytes: 9 })).json.id,
    response: async () => (await root('POST', '/v1/responses', { model: 'default', input: 'hello' })).json.id,
}
const RPC = { jsonrpc: '2.0', id: 1, method: 'ping' }
const MCP = { body: RPC, headers: { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-11-25' } }
// expect: the statuses of a right request, where something outside is missing and it cannot succeed here.
const REQUESTS = {
    logIn: () => ({ body: { email: 'root@example.com', password: 'not the password' }, expect: [401] }),
    getSession: () => ({}),
    refreshSession: () => ({ expect: [401] }),
    startSignIn: () => ({ expect: [400] }), // no identity provider
    finishSignIn: () => ({ expect: [302, 400] }),
    replaceLink: () => ({ expect: [400, 409] }), // people log in with accounts
    addUser: () => ({ body: { email: `walk${++people}@example.com`, orgRole: 'member' } }),
    changeUser: () => ({ body: { displayName: 'Walker' } }),
    setPassword: () => ({ body: { password: 'long enough, they say' } }),
    changePreferences: () => ({ body: { theme: 'dark' } }),
    revokeToken: async () => ({ way: 'socket', path: { token: await PARAMETERS.token() } }),
    createToken: () => ({ body: { name: 'walk', scopes: ['read'], tools: ['nb__*'], expiresInDays: 7, workspaceId: WS } }),
    addMember: async () => ({ path: { ws: WS }, body: { userId: await person(), role: 'member' } }),
    changeMember: async () => ({ path: { ws: WS, user: await member() } }),
    removeMember: async () => ({ path: { ws: WS, user: await member() } }),
    setPermissions: () => ({ body: { ask: ['views__destroy'] } }),
    withdrawConsent: () => ({ expect: [404] }),
    withdrawWorkspaceConsent: () => ({ expect: [404] }),
    finishAppSignIn: () => ({}),
    getOauthClient: () => ({ expect: [404] }), // no public address
    readAppConfiguration: () => ({ body: { text: '{"mcpServers": {"a": {"command": "node", "args": ["a.mjs"]}}}' } }),
    installApp: () => ({ way: 'socket', body: viewsBundle(`walk${++people}`) }), // commands are for the owner of the files
    startAppSignIn: () => ({ expect: [400, 409] }), // the app has no sign-in
    endAppSignIn: () => ({ expect: [400, 409] }),
    startOwnSignIn: () => ({ expect: [400, 409] }),
    endOwnSignIn: () => ({ expect: [400, 409] }),
    approveApp: () => ({ body: { tools: { show: 'none' } }, expect: [400, 404, 409] }), // nothing waits
    uninstallApp: () => ({ path: { name: 'none' }, expect: [404] }), // the others need it
    stopApp: () => ({ path: { name: 'none' }, expect: [404] }),
    restartApp: () => ({ path: { name: 'none' }, expect: [404] }),
    readResource: () => ({ body: { server: 'views', uri: 'ui://views/show' } }),
    callTool: () => ({ body: { server: 'nb', tool: 'calculate', arguments: { expression: '6*7' } } }),
    addProject: () => ({ body: { name: 'Walk' } }), changeProject: () => ({ body: { name: 'Walk on' } }), moveConversation: () => ({ body: { projectId: null } }),
    addProjectFile: async () => ({ body: { file: await upload() } }),
    getProjectFile: async () => ({ path: await projectFile(await thousandPages()) }), removeProjectFile: async () => ({ path: await projectFile() }),
    setBudgets: () => ({ body: { personUsd: 1000000 } }),
    saveSkill: () => ({ path: { name: 'walk-skill' }, body: { description: 'Walks', body: 'Walk.', type: 'skill', priority: 50, triggers: ['walk'] } }),
    deleteSkill: () => ({ path: { name: 'walk-skill' } }),
    saveOwnSkill: () => ({ path: { name: 'own-skill' }, body: { description: 'Walks', body: 'Walk.' } }),
    deleteOwnSkill: () => ({ path: { name: 'own-skill' } }),
    previewPrompt: () => ({ body: { message: 'hello' } }),
    setDefaultModel: () => ({ body: { model: 'demo:demo' } }),
    addProvider: () => ({ body: { name: 'mine', baseURL: 'https://127.0.0.1/v1', model: 'm' }, expect: [400] }), // no server to ask
    setProviderKey: () => ({ path: { name: 'openai' }, body: { apiKey: 'short' }, expect: [400] }), // no provider to ask
    deleteProviderKey: () => ({ path: { name: 'openai' }, expect: [404] }), // none is stored
    getModel: () => ({ path: { path: 'default' } }),
    createCompletion: () => ({ body: { model: 'default', messages: [{ role: 'user', content: 'hello' }] } }),
    createResponse: () => ({ body: { model: 'default', input: 'hello' } }),
    createMessage: () => ({ body: { model: 'default', max_tokens: 100, messages: [{ role: 'user', content: 'hello' }] } }),
    chat: () => ({ body: { message: 'call nb__calculate {"expression": "1+1"}', unattended: true, metadata: { a: 1 } } }),
    startChat: () => ({ body: { message: 'hello' } }),
    streamChat: () => ({ body: { message: 'hello' } }),
    answerQuestion: () => ({ expect: [400, 404, 409] }), // no tool asks
    changeQueued: async () => ({ path: await busy() }),
    withdrawQueued: async () => ({ path: await busy() }),
    restoreConversation: async () => {
        const id = await conversation()
        await made('DELETE', `/v1/conversations/${id}`)
        return { path: { id } }
    },
    getBlob: () => ({ expect: [404] }), // no result is that large
    getResultPart: async () => ({ path: { ...(await called('call views__show {"text": "hi"}')), part: '0' } }),
    leaveConversation: () => ({ expect: [403] }), // its owner cannot leave
    addParticipant: async () => ({ body: { userId: 'usr_ben' } }),
    removeParticipant: async () => {
        const id = await conversation()
        await made('POST', `/v1/conversations/${id}/participants`, { userId: 'usr_ben' })
        return { path: { id, user: 'usr_ben' } }
    },
    addLink: () => ({ body: { expiresInDays: 7, tools: true }, expect: [403] }), // off
    revokeLink: () => ({ expect: [404] }),
    revokeAnyLink: () => ({ expect: [404] }),
    readShared: () => ({ body: { workspaceId: WS, secret: 'none' }, expect: [404] }),
    importConversations: async () => ({ body: { file: await upload(), kind: 'claude' } }),
    getOwnImport: () => ({ expect: [200, 404] }),
    search: () => ({ query: { q: 'hello' } }),
    startImport: () => ({ body: { path: tmpdir('nb-walk-') } }),
    getImport: () => ({}),
    addFile: () => ({ text: 'some text', headers: { 'content-type': 'text/plain', 'x-file-name': 'a.txt' } }),
    getFile: async () => ({ path: { file: await thousandPages() } }),
    startUpload: () => ({ body: { name: 'a.txt', bytes: 9 } }),
    sendUpload: () => ({ text: 'some text', headers: { 'content-type': 'application/octet-stream', 'upload-offset': '0' } }),
    getConversationFile: () => ({ expect: [404] }), // it names no file
    changeWatch: () => ({ body: { add: [], remove: [] }, expect: [404] }), // no stream is open
    openView: async () => {
        const { id, call } = await called('call views__show {"text": "hi"}')
        return { body: { conversationId: id, callId: call } }
    },
    callFromView: () => ({ body: { method: 'ping' } }),
    answerView: () => ({ expect: [404] }), // no question is open
    offerViewTools: () => ({ body: { tools: [{ name: 'pick', description: 'Picks a row', inputSchema: { type: 'object' } }] } }),
    answerViewCall: () => ({ body: { error: 'closed' }, expect: [404] }), // the agent has called nothing
    getSandbox: () => ({ expect: [200, 404] }),
    sendMcp: () => MCP, sendMcpOf: () => MCP,
    openMcp: () => ({ expect: [400, 404, 405, 406] }), // no session
    openMcpOf: () => ({ expect: [400, 404, 405, 406] }),
    endMcp: () => ({ expect: [400, 404, 405] }),
    endMcpOf: () => ({ expect: [400, 404, 405] }),
    sendSse: () => ({ query: { session: 'none' }, body: RPC, expect: [404] }),
    getResourceMetadata: () => ({ expect: [404] }), // no authorization server
    getMcpMetadata: () => ({ expect: [404] }),
}

const wayOf = (op) => (op.security.some((s) => s.token) || op.security.length === 0 ? 'token' : 'socket')

async function requestFor(op) {
    const wish = (await REQUESTS[op.id]?.()) ?? {}
    const schema = bodySchema(op)
    const given = wish.path ?? {}
    let target = op.path
    for (const { name, in: where } of op.parameters)
        if (where === 'path') target = target.replace(`{${name}}`, given[name] ?? (await PARAMETERS[name](op)))
    const query = new URLSearchParams(wish.query ?? {}).toString()
    const body = wish.body ?? (schema ? sample(document, schema) : undefined)
    const content = wish.text ?? (body === undefined ? undefined : JSON.stringify(body))
    return { method: op.method, target, query, value: body, body: content, headers: wish.headers, way: wish.way ?? wayOf(op), expect: wish.expect }
}

const withQuery = ({ target, query, ...rest }) => ({ ...rest, target: query ? `${target}?${query}` : target })

function eventProblem(op, answer) {
    const known = op.responses[200]?.content?.['text/event-stream']?.['x-events']
    if (!known || !/event-stream/.test(answer.type)) return null
    for (const frame of answer.text.split('\n\n')) {
        const name = /^event: ?(.*)$/m.exec(frame)?.[1], data = /^data: ?(.*)$/m.exec(frame)?.[1]
        if (!name || !data) continue
        if (!known[name]) return `the event ${name} is not declared`
        const value = JSON.parse(data)
        const { required } = document.components.schemas[`event.${name}`]
        const missing = required.find((key) => value[key] === undefined)
        if (missing) return `the event ${name} has no ${missing}`
    }
    return null
}

// ---- the walk ----

test('every operation answers a right request as the document says', async () => {
    const wrong = []
    let successes = 0
    for (const op of operations) {
        const request = await requestFor(op)
        const schema = bodySchema(op)
        const unfit = schema && contract.problem(schema, request.value)
        if (unfit) wrong.push(`${op.id}: the request of this test does not fit: ${unfit}`)
        const answer = await send(withQuery(request))
        const expected = request.expect?.includes(answer.status) || (answer.status < 400 && !request.expect)
        const problem = contract.answerProblem(op, answer) ?? eventProblem(op, answer)
        if (problem) wrong.push(`${op.id}: ${op.method} ${request.target}: ${answer.status}: ${problem}`)
        else if (!expected) wrong.push(`${op.id}: ${op.method} ${request.target}: ${answer.status}, which is not expected: ${answer.text.slice(0, 200)}`)
        else if (answer.status < 400) successes++
    }
    console.log(`# ${operations.length} operations, ${successes} succeeded, the others were refused as declared`)
    assert.deepEqual(wrong, [])
})

test('every value that a parameter may have is taken', async () => {
    const wrong = []
    let n = 0
    for (const op of operations.filter((o) => o.method === 'GET'))
        for (const { name, schema } of op.parameters.filter((p) => p.in === 'query'))
            for (const value of schema?.enum ?? [schema?.minimum, schema?.maximum].filter((bound) => bound !== undefined)) {
                const request = await requestFor(op)
                const query = new URLSearchParams({ ...Object.fromEntries(new URLSearchParams(request.query)), [name]: value })
                const answer = await send({ ...request, target: `${request.target}?${query}` })
                const problem = contract.answerProblem(op, answer)
                n++
                if (problem || (answer.status >= 400 && !request.expect)) wrong.push(`${op.id}, ${name}=${value}: ${answer.status} ${problem ?? answer.text.slice(0, 100)}`)
            }
    console.log(`# ${n} values were taken, ${wrong.length} were not`)
    assert.deepEqual(wrong, [])
})

test('every operation refuses bodies that do not fit', async () => {
    const wrong = []
    let n = 0
    for (const op of operations.filter((o) => bodySchema(o))) {
        const request = await requestFor(op)
        for (const [what, body] of contract.wrongBodies(op, request.value)) {
            const answer = await send(withQuery({ ...request, body }))
            const problem = contract.answerProblem(op, answer)
            n++
            if (answer.status >= 500 || answer.status < 400) wrong.push(`${op.id}, ${what}: ${answer.status} ${answer.text.slice(0, 120)}`)
            else if (problem) wrong.push(`${op.id}, ${what}: ${problem}`)
        }
    }
    console.log(`# ${n} bodies were refused, ${wrong.length} were not`)
    assert.deepEqual(wrong, [])
})

test('every operation refuses parameters that do not fit', async () => {
    const wrong = []
    let n = 0
    for (const op of operations) {
        const checked = op.parameters.filter((p) => p.in === 'query' && Object.keys(p.schema).some((key) => ['enum', 'minimum', 'maximum'].includes(key)))
        if (checked.length === 0) continue
        const request = await requestFor(op)
        for (const { name, schema } of checked)
            for (const value of ['nonsense!', '-1', '1.5', '99999999999999999999', ...(schema.maximum ? [String(schema.maximum + 1)] : [])]) {
                const answer = await send({ ...request, target: `${request.target}?${new URLSearchParams({ ...Object.fromEntries(new URLSearchParams(request.query)), [name]: value })}` })
                n++
                if (answer.status !== 400) wrong.push(`${op.id}, ${name}=${value}: ${answer.status} ${answer.text.slice(0, 100)}`)
            }
    }
    console.log(`# ${n} parameters were refused, ${wrong.length} were not`)
    assert.deepEqual(wrong, [])
})

test('every operation says so when the credentials are missing or the thing does not exist', async () => {
    const wrong = []
    for (const op of operations) {
        if (op.security.length === 0) continue
        const target = op.path.replace(/\{\w+\}/g, 'none')
        const body = bodySchema(op) ? JSON.stringify(sample(document, bodySchema(op))) : undefined
        for (const way of ['none', 'token']) {
            const answer = await send({ method: op.method, target, body, way })
            const problem = contract.answerProblem(op, answer) ?? (way === 'none' && ![401, 404].includes(answer.status) ? `${answer.status} without credentials` : null)
            if (problem || answer.status >= 500) wrong.push(`${op.id}, ${way}: ${answer.status} ${problem ?? answer.text}`)
        }
    }
    assert.deepEqual(wrong, [])
})

test('the document is cached, and a foreign host does not get it', async () => {
    const first = await send({ method: 'GET', target: '/v1/openapi.json', way: 'none' })
    const again = await send({ method: 'GET', target: '/v1/openapi.json', way: 'none', headers: { 'if-none-match': first.headers.etag } })
    assert.deepEqual([first.status, again.status, again.text], [200, 304, ''])
    const foreign = await send({ method: 'GET', target: '/v1/openapi.json', way: 'none', headers: { host: 'evil.example' } })
    assert.equal(foreign.status, 403)
})
