// The complete walk: every row of the tables that `nb access --json` prints, for every kind of identity
// and every kind of target. What is expected is computed from the row by the small model below, which
// knows nothing of the server's code; what happens is asked of a real server.
import http from 'node:http'
import { after, assert, before, eventually, test } from '../support/tap.mjs'
import { modernClient } from '../support/mcp.mjs'
import { openOffice } from '../support/office.mjs'

const WS = 'ws_a'
const ALL = ['read', 'write', 'mcp', 'admin']
const LANES = 16 // requests under way together

// ---- who asks ----
// name: [person, the token's limits]

const PEOPLE = { root: 'owner', adm: 'admin', fay: 'member', bob: 'member', cat: 'member', red: 'member', eve: 'member', gil: 'member', out: 'member', rem: 'member', vic: 'member' }
const SPACES = {
    [WS]: { fay: 'admin', bob: 'member', cat: 'member', red: 'member', eve: 'member', rem: 'member', vic: 'member' },
    ws_b: { gil: 'member', bob: 'member', fay: 'admin' },
    ws_home: { root: 'admin' },
    ws_out: { out: 'admin' },
}
const IDENTITIES = {
    anonymous: [null],
    expired: ['bob', { expiresAt: '2020-01-01T00:00:00.000Z', unknown: true }],
    revoked: ['bob', { unknown: true }],
    serverOwner: ['root', {}],
    serverOwnerBound: ['root', { workspaceId: 'ws_home' }],
    serverOwnerNarrowed: ['root', { tools: ['nb__time'] }],
    serverAdmin: ['adm', {}],
    workspaceAdmin: ['fay', {}],
    workspaceAdminNarrowed: ['fay', { tools: ['nb__time'] }],
    workspaceAdminBound: ['fay', { workspaceId: WS }],
    workspaceAdminNoAdminScope: ['fay', { scopes: ['read', 'write', 'mcp'] }],
    conversationOwner: ['bob', {}],
    readOnly: ['bob', { scopes: ['read'] }],
    mcpOnly: ['bob', { scopes: ['mcp'] }],
    writeWithoutAdmin: ['bob', { scopes: ['read', 'write'] }],
    narrowed: ['bob', { tools: ['nb__time'] }],
    bound: ['bob', { workspaceId: WS }],
    boundElsewhere: ['bob', { workspaceId: 'ws_b' }],
    participant: ['cat', {}],
    reader: ['red', {}],
    otherMember: ['eve', {}],
    memberElsewhere: ['gil', {}],
    outsider: ['out', {}],
    removed: ['rem', { wasRemoved: true }],
}

let office, table
const who = {} // name -> {person, scopes, isNarrowed, bound, org, role, isKnown, token}

before(async () => {
    const tokens = {}
    for (const [name, [person, t]] of Object.entries(IDENTITIES)) {
        if (!person) continue
        const { unknown, wasRemoved, ...limits } = t
        ;(tokens[person] ??= []).push({ name, scopes: ALL, ...limits })
    }
    office = await openOffice(PEOPLE, SPACES, { tokens, env: { NB_MCP_RATE_LIMIT: '0' } })
    const printed = await office.nb(['access', '--json'])
    table = JSON.parse(printed.stdout)
    for (const [name, [person, t]] of Object.entries(IDENTITIES)) {
        const removed = t?.wasRemoved
        who[name] = {
            name, person, isKnown: Boolean(person) && !t.unknown, token: office.tokens[name], org: PEOPLE[person],
            role: removed ? undefined : SPACES[WS][person], scopes: t?.scopes ?? ALL, isNarrowed: Boolean(t?.tools), bound: t?.workspaceId,
        }
    }
    assert.equal((await office.operator('DELETE', `/v1/workspaces/${WS}/members/usr_rem`)).status, 200)
    const list = (await office.operator('GET', '/v1/tokens?userId=usr_bob')).body.tokens
    const revoked = list.find((t) => t.name === 'revoked')
    assert.equal((await office.operator('DELETE', `/v1/tokens/${revoked.id}?userId=usr_bob`)).status, 200)
})

// ---- the model ----

const ORG = ['member', 'admin', 'owner']
const RELATION = { bob: 'owner', cat: 'participant', red: 'reader', fay: 'admin' }
const RIGHTS = {
    private: { owner: ['view', 'send', 'manage', 'share'], admin: ['view', 'share'] },
    shared: { owner: ['view', 'send', 'manage', 'share'], admin: ['view', 'share'], participant: ['view', 'send', 'leave'], reader: ['view', 'leave'] },
}
const PASS = 'pass'

function expectToken(row, id) {
    if (row.scope === 'open') return PASS
    if (!id.isKnown) return 401
    if (!id.scopes.includes(row.scope)) return 403
    if (row.tokens === 'none') return 403
    if (row.tokens !== 'any' && id.isNarrowed) return 403
    if (row.tokens === 'whole' && id.bound) return 403
    if (row.local) return 404
    if (ORG.indexOf(id.org) < ORG.indexOf(row.server) && !row.own) return 403
    return PASS
}

const hasWorkspace = (id) => Object.entries(SPACES).some(([ws, members]) => members[id.person] && (ws !== WS || id.role))
const isOrgAdmin = (id) => id.org !== 'member' && !id.bound

function expectConversation(row, id, target) {
    if (target === 'missing' || target === 'foreign') return 404
    const rights = RIGHTS[target === 'trash' ? 'private' : target][RELATION[id.person]] ?? []
    const isOfTrash = /restore|\?purge=true/.test(row.call ?? row.path)
    if (target === 'trash') return isOfTrash && rights.includes('manage') ? PASS : 404
    if (row.path.endsWith('/restore')) return rights.includes('manage') ? PASS : 404 // nothing is in the trash
    if (!rights.includes('view')) return 404
    return rights.includes(row.conversation) ? PASS : 403
}

function expect(row, id, target) {
    const first = expectToken(row, id)
    if (first !== PASS || row.scope === 'open') return first
    if (row.target === 'workspace') {
        const role = id.bound && id.bound !== WS ? undefined : isOrgAdmin(id) ? 'admin' : id.role
        if (!role || (id.bound && target === 'elsewhere')) return 404
        return row.workspace === 'admin' && role !== 'admin' ? 403 : PASS
    }
    if (row.target === 'user') {
        if (target === 'self') return PASS
        if (!isOrgAdmin(id)) return 404
        return target === 'owner' && id.org !== 'owner' && row.scope !== 'read' ? 403 : PASS
    }
    if (row.path === '/v1/bootstrap' && !hasWorkspace(id)) return 403
    if (['account', 'server'].includes(row.target)) return PASS
    if (!id.role || (id.bound && id.bound !== WS)) return 403 // of the workspace that the request names
    if (row.workspace === 'admin' && id.role !== 'admin') return 403
    return row.conversation && target !== 'none' ? expectConversation(row, id, target) : PASS
}

// ---- asking ----

const agent = new http.Agent({ keepAlive: true, maxSockets: LANES })
after(() => {
    agent.destroy()
    return office.server.stop()
})

// Wrong credentials are limited for each client address; the walk sends thousands of them.
const isWrong = (id) => id?.name === 'expired' || id?.name === 'revoked'
const way = (id) => (isWrong(id) ? { agent: false, localAddress: nextAddress() } : { agent })
let from = 0
const nextAddress = () => `127.0.${(from >> 8) & 127}.${(from++ & 127) + 1}`

function ask(id, method, target, body, workspace = WS, more = {}) {
    const headers = { 'x-workspace-id': workspace, accept: '*/*', ...more }
    if (id?.token) headers.authorization = `Bearer ${id.token}`
    if (body !== undefined) headers['content-type'] = 'application/json'
    return new Promise((resolve, reject) => {
        const req = http.request(office.server.url + target, { method, headers, ...way(id) }, (res) => {
            if (/event-stream/.test(res.headers['content-type'] ?? '')) {
                res.destroy()
                resolve({ status: res.statusCode, body: null, text: '' })
                return
            }
            let text = ''
            res.setEncoding('utf8').on('data', (part) => (text += part)).on('end', () => {
                let parsed = null
                try {
                    parsed = JSON.parse(text)
                } catch {
                    // not everything is JSON
                }
                resolve({ status: res.statusCode, body: parsed, text })
            })
        })
        req.on('error', reject)
        req.end(body === undefined ? undefined : JSON.stringify(body))
    })
}

async function inLanes(cells, run) {
    let at = 0
    const lane = async () => {
        while (at < cells.length) await run(cells[at++])
    }
    await Promise.all(Array.from({ length: LANES }, lane))
}

// ---- targets ----

const bob = () => who.conversationOwner

async function makeConversation(kind) {
    if (kind === 'missing') return 'conv_0000000000000000'
    const space = kind === 'foreign' ? 'ws_b' : WS
    const made = await ask(bob(), 'POST', '/v1/chat', { message: 'hello' }, space)
    assert.equal(made.status, 200, made.text)
    const id = made.body.conversationId
    if (kind === 'shared') assert.equal((await ask(bob(), 'POST', `/v1/conversations/${id}/share`, { participants: ['usr_cat', 'usr_red'], readers: ['usr_red'] })).status, 200)
    if (kind === 'trash') assert.equal((await ask(bob(), 'DELETE', `/v1/conversations/${id}`)).status, 200)
    return id
}

let people = 0
async function makePerson() {
    const made = await office.operator('POST', '/v1/users', { email: `throwaway${++people}@example.com` })
    assert.equal(made.status, 200, JSON.stringify(made.body))
    return made.body.id
}

async function makeWorkspace(person) {
    const made = await office.operator('POST', '/v1/workspaces', { name: 'Throw away' })
    assert.equal(made.status, 200, JSON.stringify(made.body))
    await office.operator('POST', `/v1/workspaces/${made.body.id}/members`, { userId: `usr_${person}`, role: 'admin' })
    return made.body.id
}

async function makeMember() {
    const id = await makePerson()
    const r = await office.operator('POST', `/v1/workspaces/${WS}/members`, { userId: id, role: 'member' })
    assert.equal(r.status, 200, JSON.stringify(r.body))
    return id
}

// ---- requests that would work: [body, statuses besides 2xx, what the path is filled with] ----

const CONVERSATIONS = ['private', 'shared', 'trash', 'foreign', 'missing']
const REQUESTS = {
    'POST /v1/auth/login': { body: { email: 'x@example.com', password: 'wrong-password' }, okay: [401, 429] },
    'POST /v1/auth/logout': { body: {} },
    'GET /v1/auth/session': { okay: [401] },
    'POST /v1/auth/refresh': { body: {}, okay: [401] },
    'GET /v1/auth/authorize': { okay: [400] },
    'GET /v1/auth/callback': { okay: [302, 400] },
    'POST /v1/users': { body: { email: 'not an address' }, okay: [400] },
    'PATCH /v1/users/:user': { body: { displayName: 'X' } },
    'POST /v1/users/:user/password': { body: { password: 'long enough, they say' }, okay: [403], isSlow: true },
    'POST /v1/users/:user/sign-out': { body: {} },
    'PATCH /v1/preferences': { body: { theme: 'dark' } },
    'POST /v1/tokens': { body: { name: 'x' } },
    'DELETE /v1/tokens/:token': { path: '/v1/tokens/tok_none', okay: [404] },
    'POST /v1/workspaces': { body: { name: '' }, okay: [400] },
    'PATCH /v1/workspaces/:ws': { body: { name: 'A' } },
    'POST /v1/workspaces/:ws/members': { body: { userId: 'usr_none' }, okay: [404] },
    'PATCH /v1/workspaces/:ws/members/:user': { body: { role: 'member' } },
    'POST /v1/apps/import': { body: { text: '{}' }, okay: [400] },
    'POST /v1/apps/install': { body: {}, okay: [400] },
    'GET /v1/apps/oauth/callback': { okay: [302] },
    'GET /v1/apps/oauth/client.json': { okay: [404] },
    'POST /v1/apps/:name/auth': { body: {}, okay: [404] },
    'DELETE /v1/apps/:name/auth': { okay: [404] },
    'POST /v1/apps/:name/account': { body: {}, okay: [404] },
    'DELETE /v1/apps/:name/account': { okay: [404] },
    'POST /v1/apps/:name/approve': { body: {}, okay: [400, 404] },
    'GET /v1/apps/:name': { okay: [404] },
    'DELETE /v1/apps/:name': { okay: [404] },
    'POST /v1/apps/:name/start': { body: {}, okay: [404] },
    'POST /v1/apps/:name/stop': { body: {}, okay: [404] },
    'POST /v1/apps/:name/restart': { body: {}, okay: [404] },
    'GET /v1/apps/:name/logs': { okay: [404] },
    'GET /v1/apps/:name/resources/*': { path: '/v1/apps/none/resources/primary', okay: [404] },
    'POST /v1/projects': { body: { name: '' }, okay: [400] },
    'PATCH /v1/projects/:project': { body: { name: 'x' }, okay: [404] },
    'DELETE /v1/projects/:project': { okay: [404] },
    'GET /v1/projects/:project/files': { okay: [404] },
    'POST /v1/projects/:project/files': { body: { file: 'file_none' }, okay: [404] },
    'GET /v1/projects/:project/files/:file': { okay: [404] },
    'DELETE /v1/projects/:project/files/:file': { okay: [404] },
    'PUT /v1/conversations/:id/project': { body: { projectId: null } },
    'PUT /v1/budgets': { body: { workspaceUsd: -1 }, okay: [400] },
    'PUT /v1/instructions/workspace': { body: { text: '' } },
    'PUT /v1/instructions/personal': { body: { text: '' } },
    'PUT /v1/prompts/workspace/:name': { path: '/v1/prompts/workspace/none', body: {}, okay: [400] },
    'DELETE /v1/prompts/workspace/:name': { path: '/v1/prompts/workspace/none', okay: [404] },
    'PUT /v1/prompts/personal/:name': { path: '/v1/prompts/personal/none', body: {}, okay: [400] },
    'DELETE /v1/prompts/personal/:name': { path: '/v1/prompts/personal/none', okay: [404] },
    'PUT /v1/skills/workspace/:name': { path: '/v1/skills/workspace/none', body: {}, okay: [400] },
    'DELETE /v1/skills/workspace/:name': { path: '/v1/skills/workspace/none', okay: [404] },
    'PUT /v1/skills/personal/:name': { path: '/v1/skills/personal/none', body: {}, okay: [400] },
    'DELETE /v1/skills/personal/:name': { path: '/v1/skills/personal/none', okay: [404] },
    'POST /v1/files': { body: {} },
    'POST /v1/files/uploads': { body: { name: 'x', bytes: 1 } },
    'GET /v1/files/uploads/:upload': { path: '/v1/files/uploads/part_none', okay: [404] },
    'PATCH /v1/files/uploads/:upload': { path: '/v1/files/uploads/part_none', okay: [400] },
    'DELETE /v1/files/uploads/:upload': { path: '/v1/files/uploads/part_none', okay: [404] },
    'GET /v1/conversations/:id/files/:file': { okay: [404] },
    'GET /v1/files/:file': { path: '/v1/files/file_none', okay: [404] },
    'DELETE /v1/files/:file': { path: '/v1/files/file_none', okay: [404] },
    'POST /v1/tools/call': { body: { server: 'nb', tool: 'time' } },
    'POST /v1/chat': { body: (id) => ({ message: 'x', conversationId: id }), okay: [409] },
    'POST /v1/chat/start': { body: (id) => ({ message: 'x', conversationId: id, whenBusy: 'queue' }) },
    'POST /v1/chat/stream': { body: (id) => ({ message: 'x', conversationId: id, whenBusy: 'queue' }) },
    'POST /v1/chat/completions': { body: { model: 'default', messages: [{ role: 'user', content: 'x' }] } },
    'POST /v1/responses': { body: { model: 'default', input: 'x' } },
    'GET /v1/responses/:response': { path: '/v1/responses/resp_none', okay: [404] },
    'POST /v1/messages': { body: { model: 'default', max_tokens: 100, messages: [{ role: 'user', content: 'x' }] } },
    'POST /v1/prompt': { body: (id) => ({ message: 'x', conversationId: id }) },
    'POST /v1/conversations/import': { body: { file: `file_${'0'.repeat(64)}`, kind: 'claude' }, okay: [404] },
    'GET /v1/conversations/import': { okay: [404] },
    'PATCH /v1/conversations/:id': { body: { title: 'x' }, isDestructive: true },
    'DELETE /v1/conversations/:id': { isDestructive: true },
    'PATCH /v1/conversations/:id/marks': { body: { isUnread: false } },
    'POST /v1/conversations/:id/restore': { body: {}, isDestructive: true, okay: [404] },
    'POST /v1/conversations/:id/fork': { body: {} },
    'POST /v1/conversations/:id/promote': { body: {} },
    'POST /v1/conversations/:id/notes': { body: { content: 'x' } },
    'POST /v1/conversations/:id/share': { body: {}, isDestructive: true },
    'POST /v1/conversations/:id/unshare': { body: {}, isDestructive: true },
    'POST /v1/conversations/:id/leave': { isDestructive: true },
    'POST /v1/conversations/:id/participants': { body: { userId: 'usr_cat' }, isDestructive: true },
    'DELETE /v1/conversations/:id/participants/:user': { tail: '/participants/usr_eve', isDestructive: true, okay: [404] },
    'POST /v1/conversations/:id/links': { body: {}, okay: [403] }, // off
    'DELETE /v1/conversations/:id/links/:link': { tail: '/links/link_none', okay: [404] },
    'DELETE /v1/links/:link': { path: '/v1/links/link_none', okay: [404] },
    'POST /v1/shared': { body: { workspaceId: 'ws_none', secret: 'x' }, okay: [404] },
    'GET /v1/conversations/:id/blobs/:blob': { tail: `/blobs/${'0'.repeat(64)}`, okay: [404] },
    'GET /v1/conversations/:id/calls/:call/parts/:part': { tail: '/calls/call_none/parts/0', okay: [404] },
    'POST /v1/conversations/:id/typing': { body: {} },
    'POST /v1/conversations/:id/cancel': { body: {} },
    'POST /v1/conversations/:id/inputs/:input': { tail: '/inputs/inp_none', body: { action: 'decline' }, okay: [400, 404, 409] },
    'PATCH /v1/conversations/:id/queue/:message': { tail: '/queue/msg_none', body: { message: 'x' }, okay: [404] },
    'DELETE /v1/conversations/:id/queue/:message': { tail: '/queue/msg_none', okay: [404] },
    'POST /v1/events/:stream/watch': { path: '/v1/events/1/watch', body: {}, okay: [404] },
    'POST /v1/notices/seen': { body: {} },
    'GET /v1/models/*': { path: '/v1/models/default' },
    'POST /v1/models/look': { body: {} },
    'PUT /v1/models/default': { body: { model: '' }, okay: [400] },
    'PUT /v1/permissions': { body: { deny: ['no glob!'] }, okay: [400] },
    'DELETE /v1/permissions/consents/:tool': { path: '/v1/permissions/consents/none', okay: [404] },
    'DELETE /v1/permissions/workspace-consents/:tool': { path: '/v1/permissions/workspace-consents/none', okay: [404] },
    'POST /v1/providers': { body: { name: 'x', baseURL: 'none', model: 'x' }, okay: [400] },
    'DELETE /v1/providers/:name/key': { path: '/v1/providers/openai/key', okay: [404] },
    'PUT /v1/providers/:name/key': { path: '/v1/providers/openai/key', body: { apiKey: 'short' }, okay: [400] },
    'GET /v1/search': { path: '/v1/search?q=x' },
    'POST /v1/import': { body: { path: '/none' } },
    'POST /v1/resources/read': { body: { server: 'none', uri: 'ui://x' }, okay: [404] },
    'POST /v1/views': { body: (id) => ({ conversationId: id, callId: 'none' }), okay: [400, 404] },
    'GET /v1/views/:view': { okay: [404] },
    'DELETE /v1/views/:view': { okay: [404] },
    'POST /v1/views/:view/rpc': { body: { method: 'ping' }, okay: [404] },
    'POST /v1/views/:view/asks/:ask': { body: { decision: 'deny' }, okay: [404] },
    'PUT /v1/views/:view/tools': { body: { tools: [] }, okay: [404] },
    'GET /v1/views/:view/calls': { okay: [404] },
    'POST /v1/views/:view/calls/:call': { body: { error: 'no' }, okay: [404] },
    'GET /sandbox/:view': { okay: [404] },
    'POST /v1/skills/match': { body: { message: 'x' } },
    'POST /mcp': { body: { jsonrpc: '2.0', id: 1, method: 'tools/list' }, okay: [400, 406, 415] },
    'GET /mcp': { okay: [400, 405, 406] },
    'DELETE /mcp': { okay: [400, 404, 405] },
    'POST /mcp/:source': { path: '/mcp/nb', body: { jsonrpc: '2.0', id: 1, method: 'tools/list' }, okay: [400, 406, 415] },
    'GET /mcp/:source': { path: '/mcp/nb', okay: [400, 405, 406] },
    'DELETE /mcp/:source': { path: '/mcp/nb', okay: [400, 404, 405] },
    'POST /sse/message': { path: '/sse/message?session=none', body: {}, okay: [400, 404] },
    'GET /.well-known/oauth-protected-resource': { okay: [404] },
    'GET /.well-known/oauth-protected-resource/mcp': { okay: [404] },
}

function targetsOf(row) {
    if (row.target === 'conversation') return CONVERSATIONS
    if (row.target === 'message') return [...CONVERSATIONS, 'none']
    if (key(row) === 'DELETE /v1/workspaces/:ws') return ['elsewhere'] // one that is thrown away
    if (row.target === 'user') return row.own ? ['other', 'owner', 'self'] : ['other', 'owner']
    return ['none']
}

const key = (row) => `${row.method} ${row.path}`
const fixtures = {}

/** Fills in the path for one cell; what will be destroyed is made for it. */
async function fill(row, spec, id, target, willPass) {
    if (row.target === 'conversation' || row.target === 'message') {
        const isFresh = willPass && (spec.isDestructive || row.target === 'message')
        const conversation = target === 'none' ? undefined : isFresh ? await makeConversation(target) : fixtures[target]
        if (row.target === 'message') return [row.path, conversation]
        return [row.path.replace(/:id.*/, conversation) + (spec.tail ?? row.path.replace(/^.*:id/, '')) + (row.call ?? ''), conversation]
    }
    if (row.target === 'user') {
        const isGone = willPass && row.method === 'DELETE'
        const user = target === 'self' ? 'me' : target === 'owner' ? (isGone ? 'usr_none' : 'usr_root') : isGone ? await makePerson() : 'usr_vic'
        return [row.path.replace(':user', user)]
    }
    if (row.target === 'workspace') {
        const isDelete = row.method === 'DELETE'
        const isThrown = target === 'elsewhere' && (willPass || id.bound === WS)
        const space = isThrown ? await makeWorkspace(id.person) : WS
        const user = isDelete && willPass ? await makeMember() : 'usr_vic'
        return [row.path.replace(':ws', space).replace(':user', user)]
    }
    return [spec.path ?? row.path.replace(':name', 'none')]
}

async function cell(row, id, target, wrong) {
    const spec = REQUESTS[key(row)] ?? {}
    const expected = expect(row, id, target)
    const [path, conversation] = await fill(row, spec, id, target, expected === PASS)
    const body = typeof spec.body === 'function' ? spec.body(conversation) : spec.body
    let status, text
    do ({ status, text } = await ask(id, row.method, path, body)) // few at a time for each person
    while (status === 429 && /still being saved|exports are in progress/.test(text))
    const isOkay = (status >= 200 && status < 300) || (spec.okay ?? []).includes(status)
    const isOwnerGone = target === 'owner' && row.method === 'DELETE' && status === 404
    const isRight = expected === PASS ? isOkay || isOwnerGone : status === expected
    if (!isRight) wrong.push(`${key(row)}${row.call ?? ''}: ${id.name}, ${target}: ${status}, expected ${expected}: ${text.slice(0, 120)}`)
}

test('every route answers every identity and target as its row says', async () => {
    for (const kind of CONVERSATIONS) fixtures[kind] = await makeConversation(kind)
    const before = await eventually(async () => {
        const { body } = await ask(bob(), 'GET', `/v1/conversations/${fixtures.shared}`)
        return body.title && body // it is made after the answer
    })
    const purge = { ...table.routes.find((r) => key(r) === 'DELETE /v1/conversations/:id'), call: '?purge=true' }
    const cells = [], wrong = []
    for (const row of [...table.routes, purge])
        for (const id of Object.values(who)) for (const target of targetsOf(row)) cells.push([row, id, target])
    const started = performance.now()
    await inLanes(cells, ([row, id, target]) => cell(row, id, target, wrong))
    console.log(`# routes: ${table.routes.length} rows, ${Object.keys(who).length} identities, ${cells.length} cells, ${wrong.length} wrong, ${Math.round(performance.now() - started)} ms`)
    assert.deepEqual(wrong, [])
    const after = (await ask(bob(), 'GET', `/v1/conversations/${fixtures.shared}`)).body
    for (const name of ['title', 'visibility', 'participants', 'readers', 'ownerId']) assert.deepEqual(after[name], before[name], `refused requests changed ${name}`)
}, { timeoutMs: 800_000 }) // more than eight thousand requests

// ---- tools, over REST and over MCP ----

const ARGUMENTS = {
    nb__calculate: { expression: '1+1' },
    nb__discover_tools: { query: 'time' },
    nb__discover_bundles: { query: 'x' },
    nb__manage_skill: { name: 'none' },
    nb__manage_bundle: { name: 'none' },
    nb__delegate: { task: 'x' },
    conversations__search: { query: 'hello' },
    files__search: { query: 'hello' },
    files__read: { file: 'walk.txt' },
    files__write: { name: 'walk.txt', text: 'x' },
}
const WITH_ID = {
    conversations__get: (id) => ({ id }),
    conversations__export: (id) => ({ id }),
    conversations__fork: (id) => ({ id }),
    conversations__update: (id) => ({ id, title: 'x' }),
    conversations__delete: (id) => ({ id }),
    conversations__note: (id) => ({ id, text: 'x' }),
    nb__manage_conversation: (id) => ({ conversationId: id, userId: 'usr_vic' }),
    nb__chat: (id) => ({ conversationId: id, message: 'x' }),
}

/** The row's action and scope go in as arguments. */
function argumentsOf(row, conversation) {
    const name = `${row.source}__${row.name}`
    const args = row.conversation || name === 'nb__manage_conversation' ? WITH_ID[name]?.(conversation) : ARGUMENTS[name]
    return { ...args, ...(row.action ? { action: row.action } : {}), ...(row.argumentScope ? { scope: row.argumentScope } : {}) }
}

/** pass, refused (before the tool), absent or denied (by the tool). */
function expectTool(row, id, target, scope) {
    if (!id.isKnown) return 401
    if (!id.scopes.includes(scope)) return 403
    if (!id.role || (id.bound && id.bound !== WS)) return 403
    const name = `${row.source}__${row.name}`
    if (id.isNarrowed && name !== 'nb__time') return 'refused'
    if (name === 'nb__delegate' && scope === 'mcp') return 'refused' // only inside a run
    if (row.scope === 'admin' && !id.scopes.includes('admin')) return 'refused'
    if (row.workspace === 'admin' && id.role !== 'admin') return 'denied'
    if (!row.conversation) return PASS
    const how = expectConversation({ path: '', conversation: row.conversation }, id, target)
    return how === PASS ? PASS : 'denied'
}

// The error of a tool without a valid conversation; other failures (no network, no run) are ignored here.
const DENIED = /There is no conversation|^Only the owner|^You may read this|only admins of the workspace|^Only admins of the workspace/

const textOf = (result) => result?.content?.[0]?.text ?? ''
const outcome = (result) => (result.isError && DENIED.test(textOf(result)) ? 'denied' : PASS)

async function callRest(id, row, args) {
    const { status, body } = await ask(id, 'POST', '/v1/tools/call', { server: row.source, tool: row.name, arguments: args })
    if (status === 200) return outcome(body)
    return status === 403 && /tool/.test(body.message) ? 'refused' : status
}

async function callMcp(id, row, args) {
    const headers = { 'x-workspace-id': WS, ...(id.token ? { authorization: `Bearer ${id.token}` } : {}) }
    const client = modernClient(office.server.url + '/mcp', { headers })
    const { status, error, result } = await client.request('tools/call', { name: `${row.source}__${row.name}`, arguments: args })
    if (status === 401 || status === 403) return status
    return error ? 'refused' : outcome(result)
}

for (const [way, call, scope] of [['REST', callRest, 'write'], ['MCP', callMcp, 'mcp']])
    test(`every built-in tool answers every identity and target as its row says, over ${way}`, async () => {
        const cells = [], wrong = []
        for (const kind of CONVERSATIONS) fixtures[kind] = await makeConversation(kind)
        const chat = table.mcpTools.map((row) => ({ ...row, source: 'nb', name: row.name.replace('nb__', '') }))
        const rows = way === 'MCP' ? [...table.tools, ...chat] : table.tools
        for (const row of rows)
            for (const id of Object.values(who)) for (const target of row.conversation ? CONVERSATIONS : ['none']) cells.push([row, id, target])
        await inLanes(cells, async ([row, id, target]) => {
            const name = `${row.source}__${row.name}`
            const expected = expectTool(row, id, target, scope)
            const conversation = expected === PASS && row.conversation ? await makeConversation(target) : fixtures[target]
            const got = await call(id, row, argumentsOf(row, conversation))
            if (got !== expected) wrong.push(`${name} ${row.action ?? ''}: ${id.name}, ${target}: ${got}, expected ${expected}`)
        })
        console.log(`# tools over ${way}: ${rows.length} rows, ${Object.keys(who).length} identities, ${cells.length} cells, ${wrong.length} wrong`)
        assert.deepEqual(wrong, [])
    })

// ---- methods of MCP ----

const PARAMS = {
    'tools/call': { name: 'nb__time', arguments: {} },
    'resources/read': { uri: 'ui://none' },
    'resources/subscribe': { uri: 'ui://none' },
    'resources/unsubscribe': { uri: 'ui://none' },
    'prompts/get': { name: 'none__x' },
    'completion/complete': { ref: { type: 'ref/prompt', name: 'none__x' }, argument: { name: 'a', value: '' } },
    'logging/setLevel': { level: 'info' },
    'tasks/get': { taskId: 'none' },
    'tasks/cancel': { taskId: 'none' },
    'tasks/update': { taskId: 'none' },
    'tasks/result': { taskId: 'none' },
}

test('every method of MCP admits those whom its row names', async () => {
    const cells = [], wrong = []
    for (const row of table.methods) for (const id of Object.values(who)) cells.push([row, id])
    await inLanes(cells, async ([row, id]) => {
        const isIn = id.isKnown && id.role && !(id.bound && id.bound !== WS)
        const expected = !id.isKnown ? 401 : !id.scopes.includes('mcp') || !isIn ? 403 : PASS
        const headers = { 'x-workspace-id': WS, ...(id.token ? { authorization: `Bearer ${id.token}` } : {}) }
        const res = await modernClient(office.server.url + '/mcp', { headers }).post(row.name, PARAMS[row.name] ?? {})
        await res.body?.cancel()
        const isRefused = res.status === 401 || res.status === 403
        if (expected === PASS ? isRefused || res.status >= 500 : res.status !== expected) wrong.push(`${row.name}: ${id.name}: ${res.status}, expected ${expected}`)
    })
    console.log(`# methods: ${table.methods.length} rows, ${Object.keys(who).length} identities, ${cells.length} cells, ${wrong.length} wrong`)
    assert.deepEqual(wrong, [])
})

// ---- what a narrowed token may not use, it does not see ----

test('lists show a narrowed token only what it may use', async () => {
    const narrowed = who.narrowed
    const tools = (await ask(narrowed, 'GET', '/v1/tools')).body.tools.map((t) => t.name)
    assert.deepEqual(tools, ['nb__time'])
    const decisions = (await ask(narrowed, 'GET', '/v1/permissions')).body.tools.map((t) => t.name)
    assert.deepEqual(decisions, ['nb__time'])
    assert.deepEqual((await ask(narrowed, 'GET', '/v1/apps')).body.apps, [])
    const spaces = (await ask(who.bound, 'GET', '/v1/workspaces')).body.workspaces.map((w) => w.id)
    assert.deepEqual(spaces, [WS])
})

test('everybody may leave a workspace', async () => {
    const id = who.otherMember
    assert.equal((await ask(id, 'DELETE', `/v1/workspaces/${WS}/members/usr_eve`)).status, 200)
    assert.equal((await ask(id, 'GET', '/v1/conversations')).status, 403)
    assert.equal((await office.operator('POST', `/v1/workspaces/${WS}/members`, { userId: 'usr_eve', role: 'member' })).status, 200)
    assert.equal((await ask(id, 'GET', '/v1/conversations')).status, 200)
})

// ---- the trash ----

test('a client that hangs up restores nothing, and a refused restore keeps the days of the trash', async () => {
    const id = await makeConversation('trash')
    for (const name of ['otherMember', 'participant', 'workspaceAdmin'])
        for (let i = 0; i < 20; i++) {
            const req = http.request(`${office.server.url}/v1/conversations/${id}/restore`, {
                method: 'POST', headers: { authorization: `Bearer ${who[name].token}`, 'x-workspace-id': WS, 'content-length': 0 },
            })
            await new Promise((resolve) => {
                req.on('error', resolve).on('close', resolve)
                req.end(() => setTimeout(() => req.destroy(), i % 5))
            })
        }
    assert.equal((await ask(bob(), 'GET', `/v1/conversations/${id}`)).status, 404)
    await eventually(async () => (await ask(bob(), 'POST', `/v1/conversations/${id}/restore`, {})).status === 200)
    assert.equal((await ask(bob(), 'DELETE', `/v1/conversations/${id}`)).status, 200)
    assert.equal((await ask(who.workspaceAdmin, 'DELETE', `/v1/conversations/${id}?purge=true`)).status, 404)
    assert.equal((await ask(bob(), 'DELETE', `/v1/conversations/${id}?purge=true`)).status, 200, 'the owner purges')
    assert.equal((await ask(bob(), 'POST', `/v1/conversations/${id}/restore`, {})).status, 404)
})
