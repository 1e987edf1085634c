// Tools that an app offers to the agent: the agent calls them while the app is open, people are asked, and they
// end with the app.
import path from 'node:path'
import { assert, before, eventually, SRC_DIR, test } from '../support/tap.mjs'
import { cardOf, eventsOf, fixtureApp, startApps, viewOf } from './apps.mjs'
import { answered, frames, send, soon, withPage } from './browser.mjs'

let apps

before(async () => {
    apps = await startApps((place) => [fixtureApp('friendly', place)])
})

/** How often an app of any case has offered its three tools. */
const offers = () => [...apps.server.stderr.matchAll(/views: view_\S+ of friendly offers 3 tools/g)].length

/** An open app; `name` is the public name of what it offers. */
async function show(page) {
    const earlier = offers()
    await send(page, 'call friendly__show {"title":"hello"}')
    const view = viewOf(cardOf(page))
    await view.text('state', 'ready')
    await view.text('result', /hello/)
    await answered(page, 1)
    const { id } = eventsOf(apps.workdir, page).find((event) => event.type === 'tool.start')
    const { createHash } = await import('node:crypto')
    const suffix = createHash('sha256').update(id).digest('hex').slice(0, 4)
    await eventually(() => offers() > earlier)
    return { view, card: cardOf(page), name: (tool) => `friendly_view-${suffix}__${tool}` }
}

const done = (page, name) => eventsOf(apps.workdir, page).filter((event) => event.type === 'tool.done' && event.name === name)

test('the agent reads what the app shows, through a tool of the app', () =>
    withPage(apps.server.url, {}, async (page) => {
        const { view, name } = await show(page)
        await send(page, `call ${name('read_box')} {}`)
        await answered(page, 2)
        const [{ ok, result }] = done(page, name('read_box'))
        assert.ok(ok)
        assert.equal(result.content[0].text, 'the box says box')
        assert.deepEqual(await view.run(() => globalThis.app.given), [{ name: 'read_box', args: {} }])
    }))

test('a tool that may change something asks the person each time', () =>
    withPage(apps.server.url, {}, async (page) => {
        const { view, name } = await show(page)
        for (const [n, choice, box] of [[2, 'Decline', 'box'], [3, 'Allow', 'marked'], [4, 'Allow', 'marked']]) {
            await send(page, `call ${name('mark')} {"text":"marked"}`)
            const ask = page.locator('.run .ask, .ask').last()
            await ask.getByRole('button', { name: choice, exact: true }).waitFor() // not the one before, which is answered
            assert.equal(await ask.getByRole('button', { name: /always/i }).count(), 0, 'it cannot be remembered')
            assert.equal(await ask.locator('.tool-source').innerText(), 'friendly (open app)')
            await ask.getByRole('button', { name: choice, exact: true }).click()
            await answered(page, n)
            await view.text('box', box)
        }
        assert.equal((await view.run(() => globalThis.app.given)).length, 2)
    }))

test('stopping the answer cancels the call in the app; other tools appear and vanish', () =>
    withPage(apps.server.url, {}, async (page) => {
        const { view, name } = await show(page)
        await send(page, `call ${name('pause')} {}`)
        await eventually(async () => (await view.run(() => globalThis.app.given)).length === 1)
        await page.getByRole('button', { name: 'Stop the answer' }).click()
        await answered(page, 2)
        await soon(async () => assert.equal((await view.run(() => globalThis.app.cancelled)).length, 1))

        await view.run(() => {
            globalThis.app.tools = globalThis.app.tools.slice(0, 2)
            globalThis.app.notify('notifications/tools/list_changed')
        })
        await apps.server.waitFor(/views: view_\S+ of friendly offers 2 tools/)
        await send(page, `call ${name('pause')} {}`)
        await page.getByText(`There is no tool ${name('pause')} here`).waitFor()
    }))

test('a call that was made while the page had no connection is answered when it has one again', () =>
    withPage(apps.server.url, {}, async (page) => {
        const { view, name } = await show(page)
        const chat = page.url().match(/conv_\w+/)[0]
        const client = await page.context().newCDPSession(page)
        const connect = (isOn) => client.send('Network.emulateNetworkConditions', { offline: !isOn, latency: 0, downloadThroughput: -1, uploadThroughput: -1 })
        await client.send('Network.enable')
        await connect(false)
        const asked = fetch(`${apps.server.url}/v1/chat`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ conversationId: chat, message: `call ${name('read_box')} {}` }) })
        await eventually(() => eventsOf(apps.workdir, page).some((event) => event.type === 'tool.start' && event.name === name('read_box')))
        assert.deepEqual(await view.run(() => globalThis.app.given), [])
        await connect(true)
        await asked
        assert.equal(done(page, name('read_box'))[0].result.content[0].text, 'the box says box')
    }))

test('a closed app has no tools, and an open one has them after a reload', () =>
    withPage(apps.server.url, {}, async (page) => {
        const { card, name } = await show(page)
        const earlier = offers()
        await page.reload()
        const view = viewOf(card)
        await view.text('state', 'ready')
        await eventually(() => offers() > earlier)
        await send(page, `call ${name('read_box')} {}`)
        await eventually(() => done(page, name('read_box')).some(({ ok }) => ok))
        await card.getByRole('button', { name: 'App menu' }).click()
        await page.getByRole('menuitem', { name: 'Close' }).click()
        await soon(async () => assert.equal(await card.getAttribute('data-state'), 'closed'))
        await send(page, `call ${name('read_box')} {}`)
        await page.getByText(`There is no tool ${name('read_box')} here`).waitFor()
    }))

test('an app that offers nonsense, or changes its offer without end, has no tools; the page stays usable', () =>
    withPage(apps.server.url, {}, async (page) => {
        const { view, name } = await show(page)
        await view.run(() => {
            globalThis.app.lists = 0
            globalThis.app.onList = (id) => {
                globalThis.app.lists++
                const ring = {}
                ring.ring = ring
                const lists = [7, 'x', { tools: 7 }, { tools: [ring, null, 'x', { name: {} }] }, { tools: Array.from({ length: 9999 }, (_, i) => ({ name: `n${i}` })) }, { tools: [{ name: 'x', description: 'y'.repeat(3e6) }] }]
                parent.postMessage({ jsonrpc: '2.0', id, result: lists[globalThis.app.lists % lists.length] }, '*')
                globalThis.app.notify('notifications/tools/list_changed')
            }
            globalThis.app.notify('notifications/tools/list_changed')
        })
        await eventually(async () => (await view.run(() => globalThis.app.lists)) > 20)
        await view.run(() => void (globalThis.app.onList = null))
        await send(page, 'say still here')
        await page.getByText('still here', { exact: true }).last().waitFor()
        const earlier = offers()
        await eventually(async () => {
            await view.notify('notifications/tools/list_changed')
            await frames(page)
            return offers() > earlier
        })
        assert.equal(await cardOf(page).getAttribute('data-state'), 'running')

        for (const answer of ['7', '({ content: 7 })', '({ content: [{ type: 7 }] })', "({ content: [{ type: 'text', text: 'x'.repeat(9e6) }] })"]) {
            await view.run((_, text) => void (globalThis.app.onGive = () => globalThis.eval(text)), answer)
            const before = done(page, name('read_box')).length
            await send(page, `call ${name('read_box')} {}`)
            const { ok, result } = await eventually(() => done(page, name('read_box')).at(before))
            assert.equal(ok, false, answer)
            assert.match(result.content[0].text, /no valid result|not valid, or too large|does not answer/)
        }
    }))

test('the example: the agent highlights a row of the table that is open', async () => {
    const { server } = await startApps(() => [{ serverName: 'table', path: path.join(SRC_DIR, 'examples/table') }])
    await withPage(server.url, {}, async (page) => {
        await send(page, 'show the table')
        await viewOf(cardOf(page)).locator('tbody tr').first().waitFor()
        await answered(page, 1)
        await server.waitFor(/offers 1 tools/)
        await send(page, 'highlight row 2')
        await answered(page, 2)
        const rows = viewOf(cardOf(page)).locator('tbody tr')
        assert.deepEqual(await rows.evaluateAll((all) => all.map((row) => row.className)), ['', 'is-highlighted', ''])
    })
})
