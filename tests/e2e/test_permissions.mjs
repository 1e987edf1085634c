// Rules that change while the server runs: immediately, permanently, for admins only, losing nothing.
import fs from 'node:fs'
import path from 'node:path'
import { assert, startServer, test } from '../support/tap.mjs'
import { chat, double, serve, settings, withAgent } from '../support/agent.mjs'
import { client, openOffice } from '../support/office.mjs'

withAgent()

const calls = [{ name: 'nb__calculate', args: { expression: '6*7' } }]
const calculate = (on) => chat([{ calls }, { text: 'ok' }], {}, on)
const ENV = { NB_DEMO_DELAY_MS: '0', ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '' }
const settingsOf = (s) => path.join(s.workdir, 'nimblebrain.json')
const answer = (s, id, ask) => chat('', { conversationId: id, message: undefined, answer: ask }, s)

async function put(s, rules, who = client(s)) {
    const r = await who.ask('PUT', '/v1/permissions', rules)
    assert.equal(r.status, 200, r.text)
    return r.body
}

test('rules take effect immediately, survive a restart, and leave the rest of the file as it was', async () => {
    const s = await serve()
    const text = `{\n  "x-note": [ 1.0,  "mine" ],\n${JSON.stringify(settings(), null, 4).slice(2)}\n`
    fs.writeFileSync(settingsOf(s), text, { mode: 0o640 })
    fs.chmodSync(settingsOf(s), 0o640)
    assert.equal((await calculate(s)).stopReason, 'complete')

    const shown = await put(s, { ask: ['nb__calc*'] })
    assert.deepEqual([shown.default, shown.allow, shown.ask, shown.deny, shown.mayChange], ['allow', [], ['nb__calc*'], [], true])
    assert.equal(shown.tools.find((t) => t.name === 'nb__calculate').decision, 'ask')
    assert.equal((await calculate(s)).stopReason, 'waiting')

    await put(s, { default: 'ask', deny: ['nb__calculate'], allow: ['nb__*'] })
    const refused = await calculate(s)
    assert.match(refused.toolCalls[0].output, /do not permit/)
    const direct = await client(s).post('/v1/tools/call', { server: 'nb', tool: 'calculate', arguments: { expression: '1' } })
    assert.equal(direct.status, 403)

    const saved = fs.readFileSync(settingsOf(s), 'utf8')
    assert.ok(saved.startsWith('{\n  "x-note": [ 1.0,  "mine" ],\n    "defaultModel"'), saved)
    assert.deepEqual(JSON.parse(saved).permissions, { default: 'ask', allow: ['nb__*'], ask: [], deny: ['nb__calculate'] })
    assert.equal(fs.statSync(settingsOf(s)).mode & 0o777, 0o640)

    await s.stop()
    const t = await startServer({ workdir: s.workdir, env: ENV })
    assert.deepEqual((await client(t).get('/v1/permissions')).body.deny, ['nb__calculate'])
    assert.match((await calculate(t)).toolCalls[0].output, /do not permit/)
    await put(t, {})
    assert.equal((await calculate(t)).stopReason, 'complete')
})

test('an invalid rule is refused and changes nothing', async () => {
    const s = await serve({ permissions: { deny: ['mail__*'] } })
    const before = fs.readFileSync(settingsOf(s), 'utf8')
    const BAD = [
        { deny: ['no glob'] }, { deny: [''] }, { allow: ['a.b'] }, { ask: ['é'] }, { ask: ['x'.repeat(129)] }, { deny: 'mail' },
        { deny: [1] }, { denied: ['mail__*'] }, { default: 'deny' }, { allow: Array(1001).fill('a') }, [], 'x',
    ]
    for (const rules of BAD) {
        const r = await client(s).ask('PUT', '/v1/permissions', rules)
        assert.deepEqual([r.status, r.body.error], [400, 'bad_request'], JSON.stringify(rules).slice(0, 80))
    }
    assert.equal(fs.readFileSync(settingsOf(s), 'utf8'), before)
    assert.deepEqual((await client(s).get('/v1/permissions')).body.deny, ['mail__*'])
})

test('a file that somebody has broken meanwhile is not written over', async () => {
    const s = await serve()
    fs.writeFileSync(settingsOf(s), '{ "half": ')
    const r = await client(s).ask('PUT', '/v1/permissions', { deny: ['a'] })
    assert.deepEqual([r.status, r.body.error], [500, 'not_saved'])
    assert.equal(fs.readFileSync(settingsOf(s), 'utf8'), '{ "half": ')
    assert.deepEqual((await client(s).get('/v1/permissions')).body.deny, [])
})

test('after many changes at the same time the file and the server have the same rules', async () => {
    const s = await serve()
    const all = Array.from({ length: 20 }, (_, i) => put(s, { deny: [`t${i}`] }))
    await Promise.all(all)
    const now = (await client(s).get('/v1/permissions')).body.deny
    assert.deepEqual(JSON.parse(fs.readFileSync(settingsOf(s), 'utf8')).permissions.deny, now)
})

test('a stored consent can be withdrawn', async () => {
    const s = await serve()
    const deletion = { name: 'nb__manage_conversation', args: { action: 'share' } } // asks without a rule
    const remove = () => chat([{ calls: [deletion] }, { text: 'ok' }], {}, s)
    const first = await remove()
    await answer(s, first.conversationId, { askId: first.ask.askId, allow: true, always: true })
    assert.equal((await remove()).stopReason, 'complete')
    const shown = (await client(s).get('/v1/permissions')).body
    assert.deepEqual(shown.consents, [deletion.name])
    assert.equal(shown.tools.find((t) => t.name === deletion.name).decision, 'allow')

    const gone = await client(s).ask('DELETE', `/v1/permissions/consents/${deletion.name}`)
    assert.deepEqual([gone.status, gone.body.consents], [200, []])
    assert.equal((await remove()).stopReason, 'waiting')
    assert.deepEqual(JSON.parse(fs.readFileSync(path.join(s.workdir, 'permissions.json'), 'utf8')).consents, [])
    assert.equal((await client(s).ask('DELETE', `/v1/permissions/consents/${deletion.name}`)).status, 404)
    assert.deepEqual(double.refusals.map((r) => r.refusal), [])
})

test('each of many workspaces has its own; members may look', async () => {
    const office = await openOffice(
        { ann: 'owner', bob: 'member', dan: 'member' },
        { ws_team: { ann: 'admin', bob: 'member' }, ws_other: { dan: 'admin' } },
        { settings: { permissions: { deny: ['mail__*'] } } },
    )
    const [ann, bob, dan] = ['ann', 'bob', 'dan'].map((name) => office.as(name))
    assert.deepEqual((await ann.get('/v1/permissions')).body.deny, ['mail__*'])
    const file = path.join(office.workdir, 'workspaces/ws_team/workspace.json')
    const before = JSON.parse(fs.readFileSync(file, 'utf8'))
    await put(office.server, { deny: ['nb__time'] }, ann)
    const time = (who) => who.post('/v1/tools/call', { server: 'nb', tool: 'time' })
    assert.deepEqual([(await time(bob)).status, (await time(dan)).status], [403, 200])
    const { permissions, ...rest } = JSON.parse(fs.readFileSync(file, 'utf8'))
    assert.deepEqual([permissions.deny, rest], [['nb__time'], before])

    const seen = await bob.get('/v1/permissions')
    assert.deepEqual([seen.status, seen.body.mayChange, seen.body.deny], [200, false, ['nb__time']])
    const refused = await bob.ask('PUT', '/v1/permissions', { allow: ['*'] })
    assert.deepEqual([refused.status, refused.body.error], [403, 'forbidden'])
    assert.equal((await bob.ask('DELETE', '/v1/permissions/workspace-consents/nb__time')).status, 403)
    assert.equal((await bob.ask('DELETE', '/v1/permissions/consents/nb__time')).status, 404) // none of his own
    await office.server.stop()
    office.server = await startServer({ workdir: office.workdir, env: ENV })
    assert.deepEqual((await client(office.server, office.tokens.ann).get('/v1/permissions')).body.deny, ['nb__time'])
})
