// The gallery: views without a server, each in its states, from fixtures (web/src/gallery/fixtures.ts).
import { execFileSync } from 'node:child_process'
import path from 'node:path'
import { assert, before, SRC_DIR, startServer, test, tmpdir } from '../support/tap.mjs'
import { findings } from './axe.mjs'
import { demoEnv, soon, withPage } from './browser.mjs'

let server
before(async () => {
    const out = tmpdir()
    execFileSync(path.join(SRC_DIR, 'scripts/build-web'), [path.join(SRC_DIR, 'web'), out, path.join(out, 'page.d'), '--gallery'])
    server = await startServer({ args: ['--web', path.join(out, 'dist')], env: demoEnv() })
})

const inGallery = (fn, options = {}) =>
    withPage(`${server.url}/gallery.html`, options, async (page) => {
        await page.getByRole('heading', { name: 'Gallery of the page' }).waitFor()
        await fn(page, (name) => page.locator(`.gallery-case[data-case="${name}"]`))
    })
const logOf = (page) => page.evaluate(() => globalThis.galleryLog)

test('every component is there in both themes, and axe finds nothing', () =>
    inGallery(async (page) => {
        await soon(async () => assert.ok((await page.locator('.gallery-case').count()) >= 19))
        await soon(async () => assert.equal(await page.locator('math').count(), 1)) // formulas are loaded later
        assert.deepEqual(await findings(page), [])
        for (const colorScheme of process.env.PICTURES ? ['light', 'dark'] : []) {
            await page.emulateMedia({ colorScheme })
            await page.screenshot({ path: `${process.env.PICTURES}/gallery-${colorScheme}.png`, fullPage: true })
        }
    }))

test('on a phone nothing is wider than the window', () =>
    inGallery(async (page) => assert.ok((await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)) <= 0), { viewport: { width: 390, height: 844 } }))

test('views show the states of their fixtures', () =>
    inGallery(async (page, at) => {
        const states = (name) => at(name).locator('.tool').evaluateAll((all) => all.map((e) => e.dataset.state))
        assert.deepEqual(await states('tools: done, failed, with an exit code'), ['ok', 'error', 'ok'])
        assert.equal(await at('tools: done, failed, with an exit code').locator('.tool.has-failed').count(), 1)
        assert.equal(await at('a tool that runs, with progress').locator('progress').isVisible(), true)
        assert.match(await at('a model that does not answer').innerText(), /Anthropic is overloaded. Try 2 of 5 in \d+ s/)
        assert.match(await at('a question that was answered').locator('.ask').innerText(), /Allowed by Ada\.\s*git log …\s*always in this conversation/)
        assert.match(await at('a question that was declined').locator('.ask').innerText(), /Declined by Ada\./)
        assert.equal(await at('an answer that failed').getByRole('link', { name: 'Open the settings of models' }).count(), 1)
        assert.equal(await at('an empty answer').getByText('The answer is empty.').count(), 1)
        const code = at('a message of several lines, with code')
        assert.equal(await code.locator('.is-own .bubble pre code').innerText(), 'int main(void) { return x; }')
        assert.equal(await code.locator('.is-own .bubble pre').evaluate((e) => getComputedStyle(e).fontStyle), 'normal')
        const long = at('a long message').locator('.bubble')
        assert.ok((await long.evaluate((e) => e.scrollHeight / e.clientHeight)) > 2) // folded
        await at('a long message').getByRole('button', { name: 'Show all 40 lines' }).click()
        assert.equal(await long.evaluate((e) => e.scrollHeight - e.clientHeight), 0)
        assert.equal(await at('right to left').locator('blockquote').evaluate((e) => getComputedStyle(e).direction), 'rtl')
    }))

test('what a view answers is what was chosen in it', () =>
    inGallery(async (page, at) => {
        await at('a question about a command').getByRole('button', { name: 'Always allow' }).click()
        await page.getByRole('menuitem', { name: '“git log …” in this conversation' }).click()
        await at('a question about several calls').getByRole('checkbox', { name: 'Allow mail__send' }).uncheck()
        await at('a question about several calls').getByRole('button', { name: 'Allow', exact: true }).click()
        await at('an answer that failed').getByRole('button', { name: 'Try again' }).click()
        assert.deepEqual(await logOf(page), [
            'answer {"allow":true,"always":"conversation","words":"git log"}',
            'answer {"allow":true,"decisions":{"c1":true,"c2":false}}',
            'retry',
        ])
        await page.locator('.gallery-part').nth(1).getByRole('button', { name: 'Save' }).click()
        await page.getByText('The server refused it.').waitFor()
    }))

test('it is not part of the page that the binary has', async () => {
    const { url } = await startServer({ env: demoEnv() })
    const page = await (await fetch(`${url}/gallery.html`)).text()
    assert.ok(!page.includes('Gallery'), page)
})
