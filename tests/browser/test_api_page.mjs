// The page of the API: everything that the document has, found, opened and linked; light, dark, on a phone.
import { assert, before, startServer, test } from '../support/tap.mjs'
import { findings } from './axe.mjs'
import { demoEnv, newContext, soon, withPage } from './browser.mjs'

let server, document
before(async () => {
    server = await startServer({ env: demoEnv() })
    document = await (await fetch(server.url + '/v1/openapi.json')).json()
})

const open = async (page, hash = '') => {
    await page.goto(`${server.url}/api.html${hash}`)
    await page.locator('main .operation').first().waitFor()
}

test('every route and every object of the document is on the page', async () => {
    await withPage(server.url + '/api.html', {}, async (page) => {
        await page.locator('main .operation').first().waitFor()
        const routes = Object.values(document.paths).flatMap((methods) => Object.values(methods))
        assert.equal(await page.locator('.operation').count(), routes.length)
        assert.equal(await page.locator('.object').count(), Object.keys(document.components.schemas).length)
        assert.equal(await page.locator('nav a').count(), document.tags.length + 1)
    })
})

test('a route is found by words, opened, and says what it takes and answers', async () => {
    await withPage(server.url + '/api.html', {}, async (page) => {
        await page.locator('main .operation').first().waitFor()
        await page.getByRole('searchbox', { name: 'Find a route' }).fill('post token')
        await soon(async () => assert.deepEqual(await page.locator('.operation:visible').evaluateAll((all) => all.map((one) => one.id)), ['createToken']))
        await page.locator('#createToken > summary').click()
        await page.locator('#createToken .details').waitFor() // made after it has opened
        const words = await page.locator('#createToken').innerText()
        for (const word of ['expiresInDays', '1 to 3650', 'required', 'NewToken', 'curl -X POST', '"name"', 'Its value is shown once.']) assert.ok(words.includes(word), word)
    })
})

test('an address with the name of a route opens it, and its events lead to their members', async () => {
    await withPage(server.url + '/api.html#streamChat', {}, async (page) => {
        await page.locator('#streamChat[open] .events').waitFor()
        await page.locator('#streamChat .event', { hasText: 'text.delta' }).click()
        await page.waitForURL((url) => url.hash === '#model-event.text.delta')
        await soon(async () => assert.match(await page.locator('[id="model-event.text.delta"]').innerText(), /runId/))
    })
})

for (const colorScheme of ['light', 'dark'])
    for (const [place, viewport] of Object.entries({ desk: { width: 1280, height: 900 }, phone: { width: 390, height: 844 } }))
        test(`nothing is wrong with it for people who cannot see it, ${colorScheme}, on a ${place}`, async () => {
            const context = await newContext({ colorScheme, viewport })
            const page = await context.newPage()
            await open(page, '#chat')
            await page.locator('#chat[open] .details').waitFor()
            assert.equal(await page.evaluate(() => window.document.documentElement.dataset.theme), colorScheme)
            await page.getByRole('searchbox').fill('/v1/chat') // what is hidden takes no time
            if (colorScheme === 'light') assert.deepEqual(await findings(page), []) // it looks at both themes
            const width = await page.evaluate(() => window.document.documentElement.scrollWidth)
            assert.ok(width <= viewport.width, `${width} pixels wide`)
            if (process.env.PICTURES) await page.screenshot({ path: `${process.env.PICTURES}/api-${colorScheme}-${viewport.width}.png` })
            await context.close()
        })
