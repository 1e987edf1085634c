// Access: every route and every tool of ours, for everybody, private and shared.
//
// The expectations are written down here, from the table of the documentation; nothing is computed
// by what is tested. A route or tool without a row fails.
import fs from 'node:fs'
import path from 'node:path'
import { after, assert, before, eventually, SRC_DIR, test } from '../support/tap.mjs'
import { listen, openOffice } from '../support/office.mjs'

let office
before(async () => {
    office = await openOffice(
        { ann: 'owner', bob: 'member', cat: 'member', red: 'member', eve: 'member', fay: 'member', dan: 'member' },
        { ws_team: { fay: 'admin', bob: 'member', cat: 'member', red: 'member', eve: 'member' }, ws_other: { dan: 'admin' }, ws_home: { ann: 'admin' } },
    )
})

// Their roles in a conversation of bob's.
const ROLE = { owner: 'bob', admin: 'fay', participant: 'cat', reader: 'red', other: 'eve', stranger: 'dan', instanceOwner: 'ann' }

// The matrix. What is not named is denied: 404 to those who do not see the conversation, 403 to those
// who do, and 401 to those who do not say who they are.
const ALLOWED = {
    view: { private: ['owner', 'admin'], shared: ['owner', 'admin', 'participant', 'reader'] },
    send: { private: ['owner'], shared: ['owner', 'participant'] },
    manage: { private: ['owner'], shared: ['owner'] },
    share: { private: ['owner', 'admin'], shared: ['owner', 'admin'] },
    leave: { private: [], shared: ['participant', 'reader'] },
    branch: { private: ['owner'], shared: ['owner'] },
}

const as = (role) => (role === 'nobody' ? office.nobody : office.as(ROLE[role]))

async function makeConversation(visibility, text = 'hello') {
    const r = await office.as('bob').post('/v1/chat', { message: text })
    assert.equal(r.status, 200, r.text)
    const id = r.body.conversationId
    if (visibility === 'shared') {
        const shared = await office.as('bob').post(`/v1/conversations/${id}/share`, { participants: ['usr_cat', 'usr_red'], readers: ['usr_red'] })
        assert.equal(shared.status, 200, shared.text)
    }
    return id
}

// ---- conversations: the right each route needs, and a request that would work ----

const at = (what = '') => (id) => `/v1/conversations/${id}${what}`
const CONVERSATION_ROUTES = {
    'POST /v1/chat': ['send', () => '/v1/chat', (id) => ({ message: 'x', conversationId: id })],
    'POST /v1/chat/start': ['send', () => '/v1/chat/start', (id) => ({ message: 'x', conversationId: id, whenBusy: 'queue' })],
    'POST /v1/chat/stream': ['send', () => '/v1/chat/stream', (id) => ({ message: 'x', conversationId: id, whenBusy: 'queue' })],
    'POST /v1/prompt': ['send', () => '/v1/prompt', (id) => ({ message: 'x', conversationId: id })],
    'GET /v1/conversations/:id': ['view', at()],
    'PATCH /v1/conversations/:id': ['manage', at(), () => ({ title: 'x' })],
    'DELETE /v1/conversations/:id': ['manage', at()],
    'PATCH /v1/conversations/:id/marks': ['view', at('/marks'), () => ({ isPinned: true })],
    'PUT /v1/conversations/:id/project': ['manage', at('/project'), () => ({ projectId: null })],
    'POST /v1/conversations/:id/restore': ['manage', at('/restore'), () => ({}), (id) => office.as('bob').ask('DELETE', `/v1/conversations/${id}`)],
    'POST /v1/conversations/:id/fork': ['view', at('/fork')],
    'GET /v1/conversations/:id/branches': ['view', at('/branches')],
    'POST /v1/conversations/:id/promote': ['manage', at('/promote'), () => ({})],
    'GET /v1/conversations/:id/export': ['view', at('/export')],
    'GET /v1/conversations/:id/notes': ['view', at('/notes')],
    'POST /v1/conversations/:id/notes': ['send', at('/notes'), () => ({ content: 'x' })],
    'POST /v1/conversations/:id/share': ['share', at('/share'), () => ({})],
    'POST /v1/conversations/:id/unshare': ['share', at('/unshare')],
    'POST /v1/conversations/:id/leave': ['leave', at('/leave')],
    'POST /v1/conversations/:id/participants': ['share', at('/participants'), () => ({ userId: 'usr_cat' })],
    'DELETE /v1/conversations/:id/participants/:user': ['share', at('/participants/usr_eve'), undefined,
        (id) => office.as('bob').post(`/v1/conversations/${id}/participants`, { userId: 'usr_eve' }), ['other']],
    'GET /v1/conversations/:id/links': ['manage', at('/links')],
    'POST /v1/conversations/:id/links': ['manage', at('/links'), () => ({}), undefined, ['owner']], // off here: test_links.mjs has it
    'DELETE /v1/conversations/:id/links/:link': ['manage', at('/links/link_none'), undefined, undefined, [], [404]],
    'GET /v1/conversations/:id/history': ['view', at('/history')],
    'GET /v1/conversations/:id/blobs/:blob': ['view', at(`/blobs/${'0'.repeat(64)}`), undefined, undefined, [], [404]],
    'GET /v1/conversations/:id/calls/:call/parts/:part': ['view', at('/calls/call_none/parts/0'), undefined, undefined, [], [404]],
    'GET /v1/conversations/:id/files/:file': ['view', at(`/files/file_${'0'.repeat(64)}`), undefined, undefined, [], [404]],
    'GET /v1/conversations/:id/events': ['view', at('/events')],
    'POST /v1/conversations/:id/typing': ['send', at('/typing'), () => ({})],
    'POST /v1/conversations/:id/cancel': ['send', at('/cancel'), () => ({})],
    'POST /v1/views': ['view', () => '/v1/views', (id) => ({ conversationId: id, callId: 'none' }), undefined, [], [404]],
    'GET /v1/conversations/:id/inputs': ['view', at('/inputs')],
    'GET /v1/conversations/:id/queue': ['view', at('/queue')],
    'PATCH /v1/conversations/:id/queue/:message': ['send', at('/queue/msg_none'), () => ({ message: 'x' }), undefined, [], [404]],
    'DELETE /v1/conversations/:id/queue/:message': ['view', at('/queue/msg_none'), undefined, undefined, [], [404]],
    'POST /v1/conversations/:id/inputs/:input': ['send', at('/inputs/inp_none'), () => ({ action: 'decline' }), undefined, [], [404, 400, 409]],
}

async function status(who, method, target, body) {
    if (!target.endsWith('/events') && target !== '/v1/chat/stream') return (await who.ask(method, target, body)).status
    const res = await fetch(office.server.url + target, { method, headers: { ...who.headers(), 'content-type': 'application/json' }, body: body && JSON.stringify(body) })
    await res.body.cancel()
    return res.status
}

const isOk = (code) => code >= 200 && code < 300

for (const visibility of ['private', 'shared']) {
    test(`the routes of a ${visibility} conversation, for everybody`, async () => {
        let cases = 0
        let id = null // made anew after each request that may have changed it; a refused one, and a GET, must not
        for (const [route, [right, target, body, prepare, skipped = [], okay]] of Object.entries(CONVERSATION_ROUTES)) {
            const method = route.split(' ')[0]
            if (prepare) id = null
            for (const role of ['nobody', 'stranger', 'instanceOwner', 'other', 'reader', 'participant', 'admin', 'owner']) {
                if (skipped.includes(role)) continue
                if (!id) {
                    id = await makeConversation(visibility)
                    if (prepare) await prepare(id)
                }
                const isShared = visibility === 'shared' || (prepare && route.includes('participants'))
                const seen = isShared ? 'shared' : 'private'
                const isAllowed = ALLOWED[right][seen].includes(role)
                const isSeen = ALLOWED.view[visibility].includes(role) && !route.endsWith('/restore')
                const got = await status(as(role), method, target(id), body?.(id))
                const expected = role === 'nobody' ? got === 401 : isAllowed ? isOk(got) || okay?.includes(got) : got === (isSeen ? 403 : 404)
                assert.ok(expected, `${route}: ${role}, ${visibility}: ${got}`)
                if (isAllowed && method !== 'GET') id = null
                cases++
            }
            if (prepare) id = null
        }
        console.log(`# ${cases} cases`)
    })
}

test('what a conversation says that one may do is what one may do', async () => {
    for (const visibility of ['private', 'shared']) {
        const id = await makeConversation(visibility)
        for (const role of ['owner', 'admin', 'participant', 'reader']) {
            const isAllowed = (right) => ALLOWED[right][visibility].includes(role)
            if (!isAllowed('view')) continue
            const wanted = { send: isAllowed('send'), rename: isAllowed('manage'), delete: isAllowed('manage'), share: isAllowed('share'), leave: isAllowed('leave'), branch: isAllowed('branch') }
            assert.deepEqual((await as(role).get(`/v1/conversations/${id}`)).body.may, wanted, `${role}, ${visibility}`)
            const listed = (await as(role).get('/v1/conversations?limit=1000')).body.conversations.find((c) => c.id === id)
            assert.deepEqual(listed.may, wanted, `list: ${role}, ${visibility}`)
        }
    }
})

test("pins, archive, reading and trash are one person's own", async () => {
    const id = await makeConversation('shared')
    const listed = async (role, query) => {
        const { conversations } = (await as(role).get(`/v1/conversations?limit=1000&${query}`)).body
        return conversations.some((c) => c.id === id)
    }
    const streams = ['participant', 'owner'].map((role) => listen(office.server, '/v1/events', as(role).headers()))
    for (const s of streams) await s.ready()
    const [news, own] = streams
    const pinned = await as('owner').ask('PATCH', `/v1/conversations/${id}/marks`, { isPinned: true, isUnread: true })
    assert.deepEqual(pinned.body, { conversationId: id, isPinned: true, isArchived: false, isUnread: true })
    assert.ok(await listed('owner', 'pinned=true'))
    assert.ok(!(await listed('participant', 'pinned=true')), 'the order of others does not change')
    assert.ok(!(await listed('admin', 'pinned=true')))
    assert.equal((await as('participant').get(`/v1/conversations/${id}`)).body.isPinned, false)
    assert.equal((await as('participant').ask('PATCH', `/v1/conversations/${id}/marks`, { isArchived: true })).status, 200)
    assert.ok(await listed('owner', 'archived=false'), 'nor does their archive')
    assert.ok(!(await listed('participant', 'archived=false')))
    await own.event('conversation.marked', (e) => e.conversationId === id && e.isPinned)
    await news.event('conversation.marked', (e) => e.conversationId === id && e.isArchived)
    assert.ok(!news.frames.some((f) => f.event === 'conversation.marked' && f.data.isPinned), 'nobody else is told')
    for (const s of streams) s.drop()
    assert.equal((await as('participant').post(`/v1/conversations/${id}/leave`)).status, 200)
    assert.equal((await as('participant').ask('PATCH', `/v1/conversations/${id}/marks`, { isArchived: false })).status, 404)
    assert.ok(!(await listed('participant', 'archived=true')), 'an old mark shows nothing')
    assert.equal((await as('owner').ask('DELETE', `/v1/conversations/${id}`)).status, 200)
    const trashOf = async (role) => (await as(role).get('/v1/trash')).body.conversations.map((c) => c.id)
    assert.ok((await trashOf('owner')).includes(id))
    for (const role of ['admin', 'participant', 'other']) assert.ok(!(await trashOf(role)).includes(id), role)
})

test('a participant who leaves loses access immediately, and the others are told', async () => {
    const id = await makeConversation('shared')
    const left = await as('participant').post(`/v1/conversations/${id}/leave`)
    assert.deepEqual(left.body, { id, left: true })
    assert.equal((await as('participant').get(`/v1/conversations/${id}`)).status, 404)
    assert.equal((await as('participant').post(`/v1/conversations/${id}/leave`)).status, 404)
    const { participants } = (await as('owner').get(`/v1/conversations/${id}`)).body
    assert.ok(!participants.includes('usr_cat'), String(participants))
})

test('lists, search and news show what may be seen, and the rest is as if it were not there', async () => {
    const secret = `zebra${Date.now()}`, open = `yak${Date.now()}`
    const hidden = await makeConversation('private', secret)
    const shared = await makeConversation('shared', open)
    for (const [role, sees] of Object.entries({ owner: [true, true], admin: [true, true], participant: [false, true], reader: [false, true], other: [false, false], stranger: [false, false], instanceOwner: [false, false] })) {
        const list = (await as(role).get('/v1/conversations?limit=1000')).body.conversations.map((c) => c.id)
        assert.deepEqual([list.includes(hidden), list.includes(shared)], sees, `list: ${role}`)
        const found = await Promise.all([secret, open].map(async (q) => (await eventually(async () => (await as(role).get(`/v1/search?q=${q}`)).body)).results.length > 0))
        if (sees[0] || sees[1]) {
            await eventually(async () => (await as(role).get(`/v1/search?q=${sees[0] ? secret : open}`)).body.results.length > 0)
        } else {
            assert.deepEqual(found, [false, false], `search: ${role}`)
        }
        const leak = (await as(role).get(`/v1/search?q=${secret}`)).body.results.length > 0
        assert.ok(!leak || sees[0], `search: ${role}`)
        const inOne = await as(role).get(`/v1/search?q=${secret}&conversation=${hidden}`)
        assert.ok(sees[0] || (inOne.body.results ?? []).length === 0)
    }
})

// ---- everything else: who is let in ----
//   open: anybody; member: every member; org: admins of the instance; ws: admins of the workspace
//   (and of the instance, for what is about people); self: people, about themselves

const OTHER_ROUTES = {
    'GET /v1/health': 'open',
    'GET /healthz': 'open',
    'GET /readyz': 'open',
    'POST /v1/auth/login': ['open', '/v1/auth/login', { email: 'x@example.com', password: 'wrong-password' }, [401]],
    'POST /v1/auth/logout': ['open', '/v1/auth/logout', {}],
    'GET /v1/auth/session': ['member', '/v1/auth/session'],
    'POST /v1/auth/refresh': ['open', '/v1/auth/refresh', {}, [401]],
    'GET /v1/auth/authorize': ['open', '/v1/auth/authorize', undefined, [400]],
    'GET /v1/auth/callback': ['open', '/v1/auth/callback', undefined, [302, 400]],
    'GET /v1/bootstrap': 'member',
    'GET /v1/users': 'org',
    'POST /v1/users': ['org', '/v1/users', { email: 'not an address' }, [400]],
    'GET /v1/users/:user': ['org404', '/v1/users/usr_bob'],
    'PATCH /v1/users/:user': ['org404', '/v1/users/usr_bob', { email: 'not an address' }, [400]],
    'DELETE /v1/users/:user': ['org', '/v1/users/usr_none', undefined, [404]],
    'POST /v1/users/:user/password': ['org404', '/v1/users/usr_none/password', { password: 'long enough' }, [404]],
    'POST /v1/users/:user/sign-out': ['org404', '/v1/users/usr_none/sign-out', {}, [404]],
    'GET /v1/links': 'bundles',
    'DELETE /v1/links/:link': ['bundles', '/v1/links/link_none', undefined, [404]],
    'POST /v1/shared': ['open', '/v1/shared', { workspaceId: 'ws_none', secret: 'x' }, [404]],
    'GET /v1/notices': 'member',
    'POST /v1/notices/seen': ['member', '/v1/notices/seen', {}],
    'GET /v1/preferences': 'member',
    'PATCH /v1/preferences': ['member', '/v1/preferences', { theme: 'dark' }],
    'GET /v1/tokens': ['member', '/v1/tokens'],
    'POST /v1/tokens': ['never', '/v1/tokens', { name: 'x' }], // by token; test_people.mjs has the others
    'DELETE /v1/tokens/:token': ['member', '/v1/tokens/tok_none', undefined, [404]],
    'GET /v1/audit': 'org',
    'GET /v1/workspaces': 'member',
    'POST /v1/workspaces': ['org', '/v1/workspaces', { name: '' }, [400]],
    'GET /v1/workspaces/:ws': ['team', '/v1/workspaces/ws_team'],
    'PATCH /v1/workspaces/:ws': ['ws', '/v1/workspaces/ws_team', { name: 'Team' }],
    'DELETE /v1/workspaces/:ws': ['ws', '/v1/workspaces/ws_team?dry=1', 'skip'],
    'GET /v1/workspaces/:ws/members': ['team', '/v1/workspaces/ws_team/members'],
    'POST /v1/workspaces/:ws/members': ['ws', '/v1/workspaces/ws_team/members', { userId: 'usr_none' }, [404]],
    'PATCH /v1/workspaces/:ws/members/:user': ['ws', '/v1/workspaces/ws_team/members/usr_eve', { role: 'member' }],
    'DELETE /v1/workspaces/:ws/members/:user': ['ws', '/v1/workspaces/ws_team/members/usr_none', undefined, [404]],
    'GET /v1/apps': 'member',
    'POST /v1/apps/import': ['bundles', '/v1/apps/import', { text: '{}' }, [400]],
    'POST /v1/apps/install': ['bundles', '/v1/apps/install', {}, [400]],
    'GET /v1/apps/oauth/callback': ['open', '/v1/apps/oauth/callback', undefined, [302]],
    'GET /v1/apps/oauth/client.json': ['open', '/v1/apps/oauth/client.json', undefined, [404]],
    'POST /v1/apps/:name/auth': ['bundles', '/v1/apps/none/auth', {}, [404]],
    'DELETE /v1/apps/:name/auth': ['bundles', '/v1/apps/none/auth', undefined, [404]],
    'POST /v1/apps/:name/account': ['member', '/v1/apps/none/account', {}, [404]],
    'DELETE /v1/apps/:name/account': ['member', '/v1/apps/none/account', undefined, [404]],
    'GET /v1/apps/:name': ['member', '/v1/apps/none', undefined, [404]],
    'DELETE /v1/apps/:name': ['bundles', '/v1/apps/none', undefined, [404]],
    'POST /v1/apps/:name/start': ['bundles', '/v1/apps/none/start', {}, [404]],
    'POST /v1/apps/:name/stop': ['bundles', '/v1/apps/none/stop', {}, [404]],
    'POST /v1/apps/:name/restart': ['bundles', '/v1/apps/none/restart', {}, [404]],
    'POST /v1/apps/:name/approve': ['bundles', '/v1/apps/none/approve', {}, [404, 400]],
    'GET /v1/apps/:name/logs': ['member', '/v1/apps/none/logs', undefined, [404, 403]],
    'GET /v1/apps/:name/resources/*': ['member', '/v1/apps/none/resources/primary', undefined, [404]],
    'POST /v1/resources/read': ['member', '/v1/resources/read', { server: 'none', uri: 'ui://x' }, [404]],
    'GET /v1/files': 'member',
    'POST /v1/files': ['member', '/v1/files', { any: 'bytes' }],
    'POST /v1/files/uploads': ['member', '/v1/files/uploads', { name: 'x', bytes: 1 }],
    'GET /v1/files/uploads/:upload': ['member', '/v1/files/uploads/part_none', undefined, [404]],
    'PATCH /v1/files/uploads/:upload': ['member', '/v1/files/uploads/part_none', {}, [400]],
    'DELETE /v1/files/uploads/:upload': ['member', '/v1/files/uploads/part_none', undefined, [404]],
    'GET /v1/files/:file': ['member', `/v1/files/file_${'0'.repeat(64)}`, undefined, [404]],
    'DELETE /v1/files/:file': ['member', `/v1/files/file_${'0'.repeat(64)}`, undefined, [404]],
    'GET /v1/views/:view': ['member', '/v1/views/view_none', undefined, [404]],
    'DELETE /v1/views/:view': ['member', '/v1/views/view_none', undefined, [404]],
    'POST /v1/views/:view/rpc': ['member', '/v1/views/view_none/rpc', { method: 'tools/list' }, [404]],
    'POST /v1/views/:view/asks/:ask': ['member', '/v1/views/view_none/asks/ask_none', { decision: 'deny' }, [404]],
    'PUT /v1/views/:view/tools': ['member', '/v1/views/view_none/tools', { tools: [] }, [404]],
    'GET /v1/views/:view/calls': ['member', '/v1/views/view_none/calls', undefined, [404]],
    'POST /v1/views/:view/calls/:call': ['member', '/v1/views/view_none/calls/call_none', { result: {} }, [404, 400]],
    'GET /sandbox/:view': ['open', '/sandbox/view_none', undefined, [404]],
    'GET /v1/shell': 'member',
    'GET /v1/bundles/health': 'member',
    'GET /v1/tools': 'member',
    'POST /v1/tools/call': ['member', '/v1/tools/call', { server: 'nb', tool: 'time' }],
    'GET /v1/conversations': 'member',
    'GET /v1/conversations/stats': 'member',
    'POST /v1/conversations/import': ['member', '/v1/conversations/import', { file: `file_${'0'.repeat(64)}`, kind: 'claude' }, [404]],
    'GET /v1/conversations/import': ['member', '/v1/conversations/import', undefined, [404]],
    'GET /v1/events': 'stream',
    'POST /v1/events/:stream/watch': ['member', '/v1/events/1/watch', {}, [404]],
    'GET /v1/models': 'member',
    'GET /v1/models/*': ['member', '/v1/models/none', undefined, [404]],
    'POST /v1/chat/completions': ['member', '/v1/chat/completions', { messages: [] }, [400]],
    'POST /v1/responses': ['member', '/v1/responses', { input: [] }, [400]],
    'GET /v1/responses/:response': ['member', '/v1/responses/resp_none', undefined, [404]],
    'POST /v1/messages': ['member', '/v1/messages', { messages: [] }, [400]],
    'GET /v1/openapi.json': ['open', '/v1/openapi.json'],
    'POST /v1/models/look': ['org', '/v1/models/look', {}],
    'PUT /v1/models/default': ['org', '/v1/models/default', { model: '' }, [400]],
    'GET /v1/permissions': 'member',
    'PUT /v1/permissions': ['bundles', '/v1/permissions', { deny: ['no glob!'] }, [400]],
    'DELETE /v1/permissions/consents/:tool': ['member', '/v1/permissions/consents/none', undefined, [404]], // one's own
    'DELETE /v1/permissions/workspace-consents/:tool': ['bundles', '/v1/permissions/workspace-consents/none', undefined, [404]],
    'POST /v1/providers': ['org', '/v1/providers', { name: 'x', baseURL: 'none', model: 'x' }, [400]],
    'DELETE /v1/providers/:name/key': ['org', '/v1/providers/openai/key', undefined, [404]],
    'PUT /v1/providers/:name/key': ['org', '/v1/providers/openai/key', { apiKey: 'short' }, [400]],
    'GET /v1/search': ['member', '/v1/search?q=x'],
    'GET /v1/trash': 'member',
    'GET /v1/auth/link': ['absent', '/v1/auth/link'],
    'POST /v1/auth/link/rotate': ['absent', '/v1/auth/link/rotate', {}],
    'POST /v1/import': ['absent', '/v1/import', { path: '/etc/passwd' }],
    'GET /v1/import': ['absent', '/v1/import'],
    'GET /v1/projects': 'member',
    'POST /v1/projects': ['member', '/v1/projects', { name: '' }, [400]],
    'PATCH /v1/projects/:project': ['member', '/v1/projects/prj_none', { name: 'x' }, [404]],
    'DELETE /v1/projects/:project': ['member', '/v1/projects/prj_none', undefined, [404]],
    'GET /v1/projects/:project/files': ['member', '/v1/projects/prj_none/files', undefined, [404]],
    'POST /v1/projects/:project/files': ['member', '/v1/projects/prj_none/files', { file: 'file_none' }, [404]],
    'GET /v1/projects/:project/files/:file': ['member', '/v1/projects/prj_none/files/file_none', undefined, [404]],
    'DELETE /v1/projects/:project/files/:file': ['member', '/v1/projects/prj_none/files/file_none', undefined, [404]],
    'GET /v1/budgets': 'member',
    'PUT /v1/budgets': ['bundles', '/v1/budgets', { workspaceUsd: -1 }, [400]],
    'GET /v1/instructions': 'member',
    'PUT /v1/instructions/workspace': ['bundles', '/v1/instructions/workspace', { text: '' }],
    'PUT /v1/instructions/personal': ['member', '/v1/instructions/personal', { text: '' }],
    'GET /v1/prompts': 'member',
    'PUT /v1/prompts/workspace/:name': ['bundles', '/v1/prompts/workspace/none', {}, [400]],
    'DELETE /v1/prompts/workspace/:name': ['bundles', '/v1/prompts/workspace/none', undefined, [404]],
    'PUT /v1/prompts/personal/:name': ['member', '/v1/prompts/personal/none', {}, [400]],
    'DELETE /v1/prompts/personal/:name': ['member', '/v1/prompts/personal/none', undefined, [404]],
    'GET /v1/skills': 'member',
    'PUT /v1/skills/workspace/:name': ['bundles', '/v1/skills/workspace/none', {}, [400]],
    'DELETE /v1/skills/workspace/:name': ['bundles', '/v1/skills/workspace/none', undefined, [404]],
    'PUT /v1/skills/personal/:name': ['member', '/v1/skills/personal/none', {}, [400]],
    'DELETE /v1/skills/personal/:name': ['member', '/v1/skills/personal/none', undefined, [404]],
    'POST /v1/skills/match': ['member', '/v1/skills/match', { message: 'x' }],
    'GET /v1/usage': 'member',
    'GET /v1/workspace': 'member',
    'POST /mcp': ['member', '/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/list' }, [400, 406, 415]],
    'GET /mcp': ['member', '/mcp', undefined, [400, 405, 406]],
    'DELETE /mcp': ['member', '/mcp', undefined, [400, 404, 405]],
    'POST /mcp/:source': ['member', '/mcp/nb', { jsonrpc: '2.0', id: 1, method: 'tools/list' }, [400, 406, 415]],
    'GET /mcp/:source': ['member', '/mcp/nb', undefined, [400, 405, 406]],
    'DELETE /mcp/:source': ['member', '/mcp/nb', undefined, [400, 404, 405]],
    'GET /.well-known/oauth-protected-resource': ['open', '/.well-known/oauth-protected-resource', undefined, [404]],
    'GET /.well-known/oauth-protected-resource/mcp': ['open', '/.well-known/oauth-protected-resource/mcp', undefined, [404]],
    'GET /sse': 'stream',
    'POST /sse/message': ['member', '/sse/message?session=none', {}, [400, 404]],
    'GET /metrics': 'org',
}

// Per class: the status for eve (member), fay (admin of the workspace), ann (owner of the instance, in
// another workspace), dan (in another workspace), nobody. ok = 2xx or what the row says.
const CLASSES = {
    open: ['ok', 'ok', 'ok', 'ok', 'ok'],
    member: ['ok', 'ok', 'ok', 'ok', 401],
    stream: ['ok', 'ok', 'ok', 'ok', 401],
    org: [403, 403, 'ok', 403, 401],
    org404: [404, 404, 'ok', 404, 401],
    team: ['ok', 'ok', 'ok', 404, 401],
    ws: [403, 'ok', 'ok', 404, 401],
    bundles: [403, 'ok', 'ok', 'ok', 401], // of their own workspace
    absent: [404, 404, 404, 404, 401],
    never: [403, 403, 403, 403, 401],
}

test('all other routes admit those whom they should', async () => {
    for (const [route, row] of Object.entries(OTHER_ROUTES)) {
        const method = route.split(' ')[0]
        const [kind, target, body, okay = []] = typeof row === 'string' ? [row, route.split(' ')[1]] : row
        for (const [i, name] of ['eve', 'fay', 'ann', 'dan', null].entries()) {
            const expected = CLASSES[kind][i]
            if (body === 'skip' && expected === 'ok') continue
            const who = name ? office.as(name) : office.nobody
            let got
            if (kind === 'stream') {
                const s = listen(office.server, target, who.headers())
                await s.ready()
                got = s.status
                s.drop()
            } else {
                got = (await who.ask(method, target, body === 'skip' ? undefined : body)).status
            }
            const ok = expected === 'ok' ? isOk(got) || okay.includes(got) : got === expected
            assert.ok(ok, `${route}: ${name ?? 'nobody'}: ${got}, expected ${expected}`)
        }
    }
})

test('no route is without a row', () => {
    const table = fs.readFileSync(path.join(SRC_DIR, 'src/api/routes.c'), 'utf8')
    const routes = [...table.matchAll(/\{"([A-Z]+)", "([^"]+)", api_/g)].map((m) => `${m[1]} ${m[2]}`)
    assert.ok(routes.length > 50, `${routes.length} routes`)
    const rows = [...Object.keys(CONVERSATION_ROUTES), ...Object.keys(OTHER_ROUTES)]
    assert.deepEqual(routes.filter((r) => !rows.includes(r)), [], 'routes without a row')
    assert.deepEqual(rows.filter((r) => !routes.includes(r)), [], 'rows without a route')
})

// ---- tools ----

const TOOLS = {
    conversations__get: ['view', (id) => ({ id })],
    conversations__export: ['view', (id) => ({ id })],
    conversations__fork: ['view', (id) => ({ id })],
    conversations__update: ['manage', (id) => ({ id, title: 'x' })],
    conversations__delete: ['manage', (id) => ({ id })],
    conversations__note: ['send', (id) => ({ id, text: 'x' })],
    nb__manage_conversation: ['share', (id) => ({ conversationId: id, action: 'share' })],
    conversations__list: 'list',
    conversations__search: ['list', () => ({ query: 'hello' })],
    conversations__stats: 'free',
    nb__status: 'list',
    nb__time: 'free',
    nb__calculate: 'free',
    nb__discover_tools: 'free',
    nb__discover_bundles: 'free',
    nb__bundle_status: 'free',
    nb__delegate: 'run', // only inside a run
    nb__manage_skill: 'free',
    nb__manage_bundle: 'bundles',
}

const call = (role, name, args) => {
    const [server, tool] = name.split('__')
    return as(role).post('/v1/tools/call', { server, tool, arguments: args })
}

test('the tools keep to the same matrix', async () => {
    for (const visibility of ['private', 'shared'])
        for (const [name, row] of Object.entries(TOOLS)) {
            if (!Array.isArray(row) || row[0] === 'list') continue
            for (const role of ['stranger', 'instanceOwner', 'other', 'participant', 'admin', 'owner']) {
                const id = await makeConversation(visibility)
                const r = await call(role, name, row[1](id))
                assert.equal(r.status, 200, `${name}: ${r.text}`)
                const isAllowed = ALLOWED[row[0]][visibility].includes(role)
                assert.equal(r.body.isError, !isAllowed, `${name}: ${role}, ${visibility}: ${r.text}`)
                const isSeen = ALLOWED.view[visibility].includes(role)
                if (!isAllowed) assert.match(r.body.content[0].text, isSeen ? /^(Only|You may read)/ : /There is no conversation/)
            }
        }
})

test('tools that list show what may be seen', async () => {
    const hidden = await makeConversation('private'), shared = await makeConversation('shared')
    for (const [role, sees] of Object.entries({ owner: [true, true], admin: [true, true], participant: [false, true], other: [false, false], stranger: [false, false] })) {
        const { body } = await call(role, 'conversations__list', { limit: 100 })
        const text = JSON.stringify(body)
        assert.deepEqual([text.includes(hidden), text.includes(shared)], sees, role)
        for (const [name, args] of [['conversations__search', { query: 'hello', limit: 50 }], ['nb__status', { scope: 'overview' }]]) {
            const found = JSON.stringify((await call(role, name, args)).body)
            assert.ok(sees[0] || !found.includes(hidden), `${name}: ${role}`)
            assert.ok(sees[1] || !found.includes(shared), `${name}: ${role}`)
        }
    }
})

test('no tool of ours is without a row, and the bare name of the documentation works', async () => {
    const { body } = await office.as('fay').get('/v1/tools')
    const ours = body.tools.map((t) => t.name).filter((n) => /^(nb|conversations)__/.test(n)).sort()
    assert.deepEqual(ours.filter((n) => !TOOLS[n]), [])
    assert.deepEqual(Object.keys(TOOLS).filter((n) => !ours.includes(n)), [])
})

// ---- sharing ----

test('participants are members; the owner stays; sharing is for the owner and admins', async () => {
    const id = await makeConversation('private')
    const bob = office.as('bob'), base = `/v1/conversations/${id}`
    assert.equal((await bob.post(`${base}/participants`, { userId: 'usr_dan' })).status, 400)
    assert.equal((await bob.post(`${base}/share`, { participants: ['usr_cat', 'usr_nobody'] })).status, 400)
    const shared = await bob.post(`${base}/participants`, { userId: 'usr_cat' })
    assert.deepEqual([shared.body.visibility, shared.body.participants], ['shared', ['usr_bob', 'usr_cat']])
    assert.equal((await bob.ask('DELETE', `${base}/participants/usr_bob`)).status, 400)
    assert.equal((await office.as('fay').ask('DELETE', `${base}/participants/usr_bob`)).status, 400)
    const tool = await call('owner', 'nb__manage_conversation', { conversationId: id, action: 'add_participant', userId: 'usr_dan' })
    assert.match(tool.body.content[0].text, /not a member/)
    const gone = await call('admin', 'nb__manage_conversation', { conversationId: id, action: 'remove_participant', userId: 'usr_cat' })
    assert.equal(gone.body.isError, false, gone.text)
    assert.equal((await office.as('cat').get(base)).status, 404)
    const alone = await bob.post(`${base}/unshare`)
    assert.deepEqual([alone.body.visibility, alone.body.participants], ['private', ['usr_bob']])
})

test('the terminal shares, names participants and unshares', async () => {
    const id = await makeConversation('private')
    const nb = async (...args) => {
        const r = await office.nb(['conversations', ...args, '--workspace', 'ws_team'])
        assert.equal(r.code, 0, r.stderr)
        return r.stdout
    }
    await nb('share', id, 'cat@example.com')
    assert.equal((await office.as('cat').get(`/v1/conversations/${id}`)).status, 200)
    assert.match(await nb('participants', id), /Cat/)
    await nb('unshare', id)
    assert.equal((await office.as('cat').get(`/v1/conversations/${id}`)).status, 404)
})

// ---- workspaces of a request ----

test('people are named by id, e-mail address or name, and the answer says what is now the case', async () => {
    const id = await makeConversation('private')
    const bob = office.as('bob', 'ws_team')
    const manage = async (args) => {
        const r = await bob.post('/v1/tools/call', { server: 'nb', tool: 'manage_conversation', arguments: { conversationId: id, ...args } })
        assert.equal(r.status, 200, r.text)
        return { isError: r.body.isError, text: r.body.content[0].text, facts: r.body.structuredContent }
    }
    const members = await manage({ action: 'members' })
    assert.match(members.text, /^usr_cat {2}Cat {2}cat@example\.com {2}member$/m)
    assert.ok(members.facts.members.some((m) => m.userId === 'usr_bob' && m.email === 'bob@example.com'))
    const shared = await manage({ action: 'share', participants: ['CAT@example.com'] })
    assert.match(shared.text, /is shared.*Owner: Bob \(usr_bob\).*besides the owner: Cat \(usr_cat\)/)
    assert.deepEqual([shared.facts.visibility, shared.facts.participants], ['shared', ['usr_bob', 'usr_cat']])
    const removed = await manage({ action: 'remove_participant', userId: 'cat' })
    assert.match(removed.text, /besides the owner: nobody/)
    assert.match((await manage({ action: 'add_participant', userId: 'nobody@example.com' })).text, /is not a member of this workspace.*"members" lists them/)
    assert.match((await manage({ action: 'unshare' })).text, /is private/)

    const at = `/v1/conversations/${id}`
    const byMail = await bob.post(`${at}/share`, { participants: ['cat@example.com'] })
    assert.deepEqual([byMail.status, byMail.body.visibility, byMail.body.participants], [200, 'shared', ['usr_bob', 'usr_cat']])
    const gone = await bob.ask('DELETE', `${at}/participants/${encodeURIComponent('cat@example.com')}`)
    assert.deepEqual([gone.status, gone.body.participants], [200, ['usr_bob']])
    const byName = await bob.post(`${at}/participants`, { userId: 'Cat' })
    assert.deepEqual([byName.status, byName.body.participants], [200, ['usr_bob', 'usr_cat']])
    assert.equal((await bob.post(`${at}/participants`, { userId: 'zed@example.com' })).status, 400)
})

test('the workspace of a request: named, the conversation\'s own, the only one, or a refusal', async () => {
    const id = await makeConversation('private')
    await office.operator('POST', '/v1/workspaces/ws_other/members', { userId: 'usr_bob', role: 'member' })
    const bob = office.as('bob')
    const several = await bob.get('/v1/conversations')
    assert.deepEqual([several.status, several.body.error], [400, 'workspace_error'])
    assert.deepEqual(several.body.details.workspaces.map((w) => w.id).sort(), ['ws_other', 'ws_team'])
    assert.equal((await bob.get(`/v1/conversations/${id}`)).status, 200, 'found where it is')
    assert.equal((await bob.post('/v1/chat', { message: 'x', conversationId: id })).status, 200)
    assert.equal((await bob.get('/v1/conversations/conv_0000000000000000')).status, 404)
    assert.equal((await office.as('bob', 'ws_other').get(`/v1/conversations/${id}`)).status, 404)
    assert.equal((await office.as('bob', 'WS_TEAM').get('/v1/conversations')).status, 200, 'in any case')
    assert.equal((await bob.get('/v1/conversations?workspace=ws_team')).status, 200, 'in the query')
    for (const [name, code] of [['ws_home', 403], ['ws_none', 403], ['ws_../x', 400], ['x', 400], ['ws_' + 'a'.repeat(65), 400]]) {
        const r = await office.as('bob', name).get('/v1/conversations')
        assert.deepEqual([r.status, r.body.error], [code, 'workspace_error'], name)
    }
    await office.operator('DELETE', '/v1/workspaces/ws_other/members/usr_bob')

    await office.operator('POST', '/v1/users', { email: 'gus@example.com', displayName: 'Gus' })
    const made = await office.nb(['token', 'create', 'x', '--user', 'gus@example.com'])
    office.tokens.gus = made.stdout.trim()
    await eventually(async () => (await office.as('gus').get('/v1/auth/session')).status === 200) // by another process
    const gus = office.as('gus')
    for (const r of await Promise.all([gus.get('/v1/bootstrap'), gus.get('/v1/conversations'), gus.post('/v1/chat', { message: 'x' }), gus.post('/mcp', {}), office.as('gus', 'ws_team').get('/v1/tools')])) {
        assert.deepEqual([r.status, r.body.error], [403, 'no_workspace'], r.text)
        assert.match(r.body.message, /not a member of any workspace\. Ask an admin/)
    }
    assert.deepEqual((await gus.get('/v1/workspaces')).body.workspaces, [], 'no workspace was made')
    await office.operator('POST', '/v1/workspaces/ws_team/members', { userId: (await gus.get('/v1/users/me')).body.id, role: 'member' })
    assert.equal((await gus.get('/v1/conversations')).status, 200)
})

after(() => office.server.stop())
