// Every audited operation is recorded exactly once, whichever way it came: a route, a tool called
// over REST or /mcp, a tool of a run, a command. The model double makes the calls it is told to.
import path from 'node:path'
import { SRC_DIR, after, assert, before, eventually, nb, test } from '../support/tap.mjs'
import { modernClient } from '../support/mcp.mjs'
import { start as startDouble } from '../support/model_double.mjs'
import { openOffice, QUICK } from '../support/office.mjs'

let double, office, ann, bob, fay
const expected = [] // {way, action, target, outcome, user}

before(async () => {
    double = await startDouble({ port: 0, seed: 11 })
    office = await openOffice(
        { ann: 'owner', bob: 'member', cat: 'member', fay: 'member' },
        { ws_a: { ann: 'admin', bob: 'member', cat: 'member', fay: 'admin' } },
        {
            settings: {
                defaultModel: 'anthropic:claude-sonnet-4-5-20250929',
                models: { fast: 'demo:demo' },
                providers: { anthropic: { baseURL: double.url, apiKey: 'sk-ant-test-key' } },
                noDefaultBundles: true,
                allowInstall: [],
            },
        },
    )
    ann = office.as('ann', 'ws_a')
    bob = office.as('bob', 'ws_a')
    fay = office.as('fay', 'ws_a')
})
after(async () => {
    await office.server.stop()
    await double.close()
})

async function talk(who = ann) {
    const r = await who.post('/v1/chat', { message: '@double ' + JSON.stringify([{ text: 'hi' }]) })
    assert.equal(r.status, 200, r.text)
    return r.body.conversationId
}

async function records() {
    const r = await ann.get('/v1/audit?limit=1000')
    assert.equal(r.status, 200, r.text)
    return r.body.records
}

// ---- ways ----

/** A run that makes this call, with every question answered with yes. Returns the run's id. */
async function inRun(who, name, args) {
    let r = await who.post('/v1/chat', { message: '@double ' + JSON.stringify([{ calls: [{ name, args }] }, { text: 'done' }]) })
    assert.equal(r.status, 200, r.text)
    for (let i = 0; i < 3 && r.body.stopReason === 'waiting'; i++)
        r = await who.post('/v1/chat', { conversationId: r.body.conversationId, answer: { askId: r.body.ask.askId, allow: true } })
    assert.equal(r.body.stopReason, 'complete', r.text)
    return r.body.runId
}

const TOOL_WAYS = {
    api: async (who, name, args) => {
        const [server, tool] = name.split('__')
        const r = await who.post('/v1/tools/call', { server, tool, arguments: args })
        assert.equal(r.status, 200, r.text)
    },
    mcp: async (who, name, args) => {
        const client = modernClient(office.server.url + '/mcp', { headers: who.headers() })
        const { error } = await client.request('tools/call', { name, arguments: args })
        assert.equal(error, undefined, JSON.stringify(error))
    },
    run: inRun,
}

/** Expects a record of what `via` did. */
const expect = (via, action, target, more = {}) => expected.push({ via, action, target, outcome: 'ok', user: 'usr_ann', ...more })

async function cli(...args) {
    const r = await office.nb([...args, '--workspace', 'ws_a'])
    assert.equal(r.code, 0, `${args.join(' ')}: ${r.stderr}`)
}

// ---- operations ----

test('sharing, exporting and deleting by a tool', async () => {
    for (const [via, call] of Object.entries(TOOL_WAYS)) {
        const id = await talk()
        const manage = (action, userId) => call(ann, 'nb__manage_conversation', { action, conversationId: id, ...(userId ? { userId } : {}) })
        await manage('share')
        expect(via, 'conversation.share', id)
        await manage('add_participant', 'usr_cat')
        expect(via, 'participant.add', id, { detail: 'userId=usr_cat' })
        await manage('remove_participant', 'usr_cat')
        expect(via, 'participant.remove', 'usr_cat', { detail: `in=${id}` })
        await manage('unshare')
        expect(via, 'conversation.unshare', id)
        await call(ann, 'conversations__export', { id })
        expect(via, 'conversation.export', id)
        await call(ann, 'conversations__delete', { id })
        expect(via, 'conversation.delete', id)
    }
})

test('sharing, exporting, deleting, restoring and purging by a route', async () => {
    const id = await talk()
    const at = `/v1/conversations/${id}`
    const ok = (r) => assert.ok(r.status < 300, r.text)
    ok(await ann.post(`${at}/share`))
    expect('api', 'conversation.share', id)
    ok(await ann.post(`${at}/participants`, { userId: 'usr_cat' }))
    expect('api', 'participant.add', id, { detail: 'userId=usr_cat' })
    ok(await ann.ask('DELETE', `${at}/participants/usr_cat`))
    expect('api', 'participant.remove', 'usr_cat', { detail: `in=${id}` })
    ok(await ann.post(`${at}/unshare`))
    expect('api', 'conversation.unshare', id)
    ok(await ann.get(`${at}/export`))
    expect('api', 'conversation.export', id)
    ok(await ann.ask('DELETE', at))
    expect('api', 'conversation.delete', id, { detail: undefined })
    ok(await ann.post(`${at}/restore`))
    expect('api', 'conversation.restore', id)
    ok(await ann.ask('DELETE', `${at}?purge=true`))
    expect('api', 'conversation.delete', id, { detail: 'purge' })
})

test('the same by commands', async () => {
    const id = await talk()
    await cli('conversations', 'share', id, 'cat@example.com')
    expect('cli', 'conversation.share', id)
    expect('cli', 'participant.add', id, { detail: 'userId=usr_cat' })
    await cli('conversations', 'unshare', id)
    expect('cli', 'conversation.unshare', id)
    await cli('conversations', 'delete', '--yes', id)
    expect('cli', 'conversation.delete', id, { detail: undefined })
    await cli('conversations', 'restore', id)
    expect('cli', 'conversation.restore', id)
    await cli('conversations', 'delete', '--yes', '--purge', id)
    expect('cli', 'conversation.delete', id, { detail: 'purge' })
})

test('skills and bundles by a tool', async () => {
    for (const [via, call] of Object.entries(TOOL_WAYS)) {
        const name = `made-by-${via}`
        await call(ann, 'nb__manage_skill', { action: 'create', name, skill: { description: 'x', body: 'Say x.', triggers: [`${name} please`] } })
        expect(via, 'skill.write', name)
        await call(ann, 'nb__manage_skill', { action: 'delete', name })
        expect(via, 'skill.delete', name)
        await call(ann, 'nb__manage_bundle', { action: 'uninstall', name: `gone-${via}` })
        expect(via, 'bundle.remove', `gone-${via}`, { outcome: 'denied' })
        await call(fay, 'nb__manage_bundle', { action: 'install', name: `@x/by-${via}` }) // not allowed here
        expect(via, 'bundle.install', `@x/by-${via}`, { outcome: 'denied', user: 'usr_fay' })
    }
})

test('bundles by a route and by a command', async () => {
    assert.equal((await bob.post('/v1/apps/install', { name: '@x/by-bob' })).status, 403)
    expect('api', 'bundle.install', null, { outcome: 'denied', user: 'usr_bob' }) // refused by its head
    assert.ok((await ann.post('/v1/apps/install', { name: '@x/by-route', args: 5 })).status >= 400)
    expect('api', 'bundle.install', '@x/by-route', { outcome: 'denied' })
    assert.equal((await ann.ask('DELETE', '/v1/apps/nothing')).status, 404)
    expect('api', 'bundle.remove', 'nothing', { outcome: 'denied' })
    const command = (action, ...args) => nb(['bundle', action, '--workdir', office.workdir, '--workspace', 'ws_a', ...args], { env: QUICK })
    const fixture = path.join(SRC_DIR, 'tests/fixtures/mcp-fixture.mjs')
    const added = await command('add', '--yes', '--name', 'mine', '--read', SRC_DIR, '--', process.execPath, fixture)
    assert.equal(added.code, 0, added.stderr)
    expect('cli', 'bundle.install', 'mine', { detail: `command=${process.execPath}` })
    assert.equal((await command('remove', 'mine')).code, 0)
    expect('cli', 'bundle.remove', 'mine')
})

test('refused calls of tools are recorded as denied', async () => {
    const id = await talk()
    for (const via of ['api', 'mcp']) {
        await TOOL_WAYS[via](bob, 'nb__manage_conversation', { action: 'share', conversationId: id })
        expect(via, 'conversation.share', id, { outcome: 'denied', user: 'usr_bob' })
        await TOOL_WAYS[via](bob, 'nb__manage_skill', { action: 'delete', name: `not-${via}` })
        expect(via, 'skill.delete', `not-${via}`, { outcome: 'denied', user: 'usr_bob' })
    }
})

test('each of them is in the log exactly once, with the run where there was one', async () => {
    assert.equal((await ann.ask('PATCH', '/v1/workspaces/ws_a', { name: 'barrier' })).status, 200)
    await eventually(async () => (await records()).some((e) => e.action === 'workspace.change'))
    const all = await records()
    const isHit = (want) => (e) =>
        e.actor.via === want.via && e.action === want.action && (want.target === null || e.target === want.target) && e.outcome === want.outcome &&
        (want.via === 'cli' || e.actor.user === want.user) && (!('detail' in want) || e.detail === want.detail)
    for (const want of expected) {
        const hits = all.filter(isHit(want))
        assert.equal(hits.length, 1, `${JSON.stringify(want)} in ${JSON.stringify(all.filter((e) => e.action === want.action))}`)
        if (want.via === 'run') assert.match(hits[0].actor.run, /^run_/)
    }
    const watched = /^(conversation\.(share|unshare|export|delete|restore)|participant\.|skill\.|bundle\.(install|remove))/
    assert.equal(all.filter((e) => watched.test(e.action)).length, expected.length, 'and nothing twice under another name')
})
