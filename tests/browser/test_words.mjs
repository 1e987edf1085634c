// The page in other languages: that of the browser or the chosen one, dates and plurals with it, mirrored for Arabic.
import { assert, before, startServer, test } from '../support/tap.mjs'
import { answered, demoEnv, soon, withPage } from './browser.mjs'

let server
before(async () => {
    server = await startServer({ env: demoEnv() })
})

const langOf = (page) => page.evaluate(() => [document.documentElement.lang, document.documentElement.dir])
const widthOf = (page) => page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
const tableOf = (code) => import(`../../web/src/words/${code}.ts`).then((module) => module.default)

for (const [locale, code, dir] of [['de-AT', 'de', ''], ['es-MX', 'es', ''], ['fr', 'fr', ''], ['ja-JP', 'ja', ''], ['zh-CN', 'zh', ''], ['ar-EG', 'ar', 'rtl']])
    test(`a browser in ${locale} gets ${code}, on a desk and on a phone`, async () => {
        const words = await tableOf(code)
        for (const viewport of [{ width: 1280, height: 800 }, { width: 390, height: 844 }])
            await withPage(server.url, { locale, viewport }, async (page) => {
                await page.getByText(words['Welcome to nb']).or(page.getByText(words['What shall we work on?'])).first().waitFor()
                assert.deepEqual(await langOf(page), [code, dir])
                await page.getByLabel(words['Message'], { exact: true }).fill('say hello')
                await page.keyboard.press('Enter')
                await answered(page, 1)
                assert.ok((await widthOf(page)) <= 0, `${await widthOf(page)} px too wide`)
                if (process.env.PICTURES) await page.screenshot({ path: `${process.env.PICTURES}/words-${code}-${viewport.width}.png` })
                await page.evaluate(() => (location.hash = '#/settings/appearance'))
                await page.getByLabel(words['Language of the page']).waitFor()
                assert.ok((await widthOf(page)) <= 0, `${await widthOf(page)} px too wide`)
                if (process.env.PICTURES) await page.screenshot({ path: `${process.env.PICTURES}/words-${code}-settings-${viewport.width}.png` })
            })
    })

test('in Arabic the sidebar is on the right, and code still reads from the left', () =>
    withPage(server.url, { locale: 'ar' }, async (page) => {
        await page.getByLabel((await tableOf('ar'))['Message'], { exact: true }).fill('say `let x = 1`')
        await page.keyboard.press('Enter')
        await answered(page, 1)
        const sidebar = await page.locator('.sidebar').boundingBox()
        assert.ok(sidebar.x + sidebar.width >= 1280 - 1, JSON.stringify(sidebar))
        await soon(async () => assert.equal(await page.locator('.run code').first().evaluate((code) => getComputedStyle(code).direction), 'ltr'))
    }))

test('a language that was chosen counts more than that of the browser, and another one than the known ones is English', () =>
    withPage(`${server.url}/#/settings/appearance`, { locale: 'ko-KR' }, async (page) => {
        assert.deepEqual(await langOf(page), ['en', ''])
        await page.getByLabel('Language of the page').selectOption({ label: 'Deutsch' })
        await page.getByLabel((await tableOf('de'))['Language of the page']).waitFor()
        assert.deepEqual(await langOf(page), ['de', ''])
        await page.reload()
        const box = page.getByLabel((await tableOf('de'))['Language of the page'])
        await box.selectOption({ index: 0 })
        await page.getByLabel('Language of the page').waitFor()
        assert.deepEqual(await langOf(page), ['en', ''])
    }))

test('a language that cannot be loaded is replaced by English', () =>
    withPage(server.url, { locale: 'fr' }, async (page) => {
        await page.route(/\/assets\/fr-[^/]*\.js$/, (route) => route.abort())
        await page.reload()
        await page.getByLabel('Message', { exact: true }).waitFor()
        assert.deepEqual(await langOf(page), ['en', ''])
    }))

test('without JavaScript the page says so, in every language', () =>
    withPage(server.url, { javaScriptEnabled: false }, async (page) => {
        for (const code of ['de', 'es', 'fr', 'ja', 'zh', 'ar'])
            assert.match(await page.locator(`p[lang=${code}]`).innerText(), /JavaScript.*nb|nb.*JavaScript/)
        assert.match(await page.locator('body').innerText(), /needs JavaScript/)
    }))
