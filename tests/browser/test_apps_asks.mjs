// Questions of an app to its person: for a file, a link, a tool permanently. Each choice is recorded.
import fs from 'node:fs'
import path from 'node:path'
import { assert, before, eventually, test, tmpdir } from '../support/tap.mjs'
import { cardOf, fixtureApp, startApps, viewOf } from './apps.mjs'
import { send, soon, withPage } from './browser.mjs'

let apps
const here = tmpdir('nb-pick-')
const file = path.join(here, 'notes ü.txt')
fs.writeFileSync(file, 'words')

before(async () => {
    apps = await startApps((place) => [fixtureApp('friendly', place)])
})

async function show(page) {
    await send(page, 'call friendly__show {"title":"hello"}')
    const card = cardOf(page)
    const view = viewOf(card)
    await view.text('state', 'ready')
    return { view, card, asks: card.locator('.app-asks') }
}

/** Asks in the app's name, and does this while the question is open. */
async function during(view, method, params, act) {
    const answer = view.ask(method, params)
    await act()
    return answer
}

async function choose(page, asks, ...files) {
    const [chooser] = await Promise.all([page.waitForEvent('filechooser'), soonClick(asks, 'Choose…')])
    await chooser.setFiles(files)
    return chooser
}

/** A question does not take clicks in its first moment. */
async function soonClick(asks, name) {
    const button = asks.getByRole('button', { name, exact: true })
    await button.waitFor()
    await asks.locator('.ask:not(.is-new)').waitFor()
    await button.click()
}

test('a file that the person chooses is stored, and the app learns its id, name, type and size', () =>
    withPage(apps.server.url, {}, async (page) => {
        const { view, asks } = await show(page)
        const { result } = await during(view, 'synapse/request-file', { accept: '.txt,text/*' }, () => choose(page, asks, file))
        assert.deepEqual({ ...result, id: '' }, { id: '', filename: 'notes ü.txt', mimeType: 'text/plain', size: 5 })
        const stored = await fetch(`${apps.server.url}/v1/files/${result.id}`)
        assert.equal(await stored.text(), 'words')

        const several = await during(view, 'synapse/request-file', { multiple: true }, () => choose(page, asks, file))
        assert.equal(several.result.length, 1)
        const large = await during(view, 'synapse/request-file', { maxSize: 4 }, () => choose(page, asks, file))
        assert.equal(large.error.code, -32602)
        const refused = await during(view, 'synapse/request-file', {}, () => soonClick(asks, 'Refuse'))
        assert.equal(refused.result, null)
        const twice = await during(view, 'synapse/request-file', {}, async () => {
            await asks.locator('.ask').waitFor() // the first one was asked
            assert.equal((await view.ask('synapse/request-file', {})).result, null, 'one question at a time')
            await soonClick(asks, 'Refuse')
        })
        assert.equal(twice.result, null)
        for (const params of [{ accept: 7 }, { accept: 'a"b' }, { maxSize: -1 }, { maxSize: 'x' }])
            assert.equal((await view.ask('synapse/request-file', params)).error.code, -32602)
    }))

const audit = async () => (await (await fetch(`${apps.server.url}/v1/audit?action=app.call`)).json()).records

test('a link that was opened is in the log and in the audit log, without what may be secret', () =>
    withPage(apps.server.url, {}, async (page) => {
        const { view, asks } = await show(page)
        await during(view, 'ui/open-link', { url: 'http://127.0.0.1:9/refused' }, () => soonClick(asks, 'Refuse'))
        const { result } = await during(view, 'ui/open-link', { url: 'http://127.0.0.1:9/linked?token=hidden' }, async () => {
            await asks.locator('.ask:not(.is-new)').waitFor()
            await asks.getByRole('link', { name: 'Open' }).click()
        })
        assert.deepEqual(result, {})
        await apps.server.waitFor(/views: view_\S+ of friendly: \S+ opened http:\/\/127\.0\.0\.1:9\/linked\n/)
        const record = await eventually(async () => (await audit()).find(({ target }) => target === 'ui/open-link'))
        assert.match(record.detail, /linked$/)
        assert.ok(!JSON.stringify(await audit()).includes('refused') && !apps.server.stderr.includes('hidden'))
    }))

test('the question about a tool says for whom and what "always" counts', () =>
    withPage(apps.server.url, {}, async (page) => {
        const { view, asks } = await show(page)
        const { result } = await during(view, 'tools/call', { name: 'wipe', arguments: {} }, async () => {
            await asks.getByText('“Always” counts for you, in this workspace: the agent in your conversations and the interfaces of this app').waitFor()
            await soonClick(asks, 'Always allow')
        })
        assert.equal(result.content[0].text, 'wiped')
        await soon(async () => assert.equal((await view.call('wipe')).result.content[0].text, 'wiped'))
        const { status } = await fetch(`${apps.server.url}/v1/permissions/consents/friendly__wipe`, { method: 'DELETE' })
        assert.equal(status, 200, 'the agent would not have been asked either')
    }))
