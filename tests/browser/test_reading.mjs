// Reading: a question goes to the top, one comes back to where one was, and words are found where nothing is drawn.
import { assert, before, eventually, startServer, test, tmpdir } from '../support/tap.mjs'
import { serious } from './axe.mjs'
import { answer, answered, demoEnv, ENDLESS, frames, said, send, soon, withPage, writeLog } from './browser.mjs'

const LONG = 'conv_7000000000000001'
const OTHER = 'conv_7000000000000002'
const TURNS = 300
let server

before(async () => {
    const workdir = tmpdir()
    const turns = Array.from({ length: TURNS }, (_, i) => [
        said(2 * i, `question ${i}${i === 3 ? ' about Straße and Zürich' : ''}`),
        ...answer(2 * i + 1, `run_${i}`, `answer ${i}\n\n${'A sentence of some length. '.repeat(12)}${i === 150 ? 'needle' : ''}`),
    ])
    writeLog(workdir, LONG, turns.flat())
    writeLog(workdir, OTHER, [said(1, 'another one'), ...answer(2, 'run_x', 'a brief reply')])
    server = await startServer({ env: demoEnv(20), workdir })
})

const topOf = (page, element) => element.evaluate((e) => e.getBoundingClientRect().top - e.closest('.scroll').getBoundingClientRect().top)
const scrollTop = (page) => page.locator('.scroll').evaluate((e) => e.scrollTop)

test('a question goes to the top, and nothing moves while its answer grows', () =>
    withPage(`${server.url}/#/c/${OTHER}`, { viewport: { width: 900, height: 500 } }, async (page) => {
        await answered(page, 1)
        await send(page, ENDLESS)
        const question = page.locator('.is-own', { hasText: ENDLESS })
        await soon(async () => {
            const top = await topOf(page, question)
            assert.ok(Math.abs(top - 12) < 3, `${top} px below the top`)
        })
        const scroll = page.locator('.scroll')
        const before = await scrollTop(page)
        await eventually(() => scroll.evaluate((e) => e.querySelector('.run:last-child .run-body').clientHeight > e.clientHeight * 1.5))
        await frames(page, 10)
        assert.ok(Math.abs((await scrollTop(page)) - before) < 3, `moved from ${before} to ${await scrollTop(page)}`)
        await page.getByRole('button', { name: 'Jump to the latest message' }).click()
        const fromEnd = () => scroll.evaluate((e) => e.scrollHeight - e.scrollTop - e.clientHeight)
        await soon(async () => assert.ok((await fromEnd()) < 5))
        const grew = await scroll.evaluate((e) => e.scrollHeight)
        await eventually(() => scroll.evaluate((e, old) => e.scrollHeight > old + 50, grew))
        await soon(async () => assert.ok((await fromEnd()) < 5)) // from now on it follows
        await page.getByRole('button', { name: 'Stop the answer' }).click()
        await answered(page, 2)
    }))

test('a short answer leaves its question at the top; the next question takes its place', () =>
    withPage(`${server.url}/#/c/${OTHER}`, { viewport: { width: 900, height: 500 } }, async (page) => {
        for (const [n, text] of ['say one', 'say two'].entries()) {
            const runs = await page.locator('.content .chunk > .run[data-state]').count()
            await send(page, text)
            await eventually(async () => (await page.locator('.content .chunk > .run[data-state=done]').count()) > Math.max(runs, n))
            await soon(async () => {
                const top = await topOf(page, page.locator('.is-own', { hasText: text }))
                assert.ok(top >= 0 && top < 40, `${text}: ${top} px below the top`)
            })
            await soon(async () => assert.ok(await page.getByRole('button', { name: 'Jump to the latest message' }).isHidden()))
        }
    }))

test('a conversation is found where one left it', () =>
    withPage(`${server.url}/#/c/${LONG}`, {}, async (page) => {
        await page.getByText(`answer ${TURNS - 1}`).waitFor()
        await page.locator('.scroll').hover()
        await page.mouse.wheel(0, -2500)
        await eventually(async () => !(await page.getByRole('button', { name: 'Jump to the latest message' }).isHidden()))
        await frames(page, 30)
        const seen = () =>
            page.locator('.scroll').evaluate((e) => {
                const { top } = e.getBoundingClientRect()
                const first = [...e.querySelectorAll('.message')].find((m) => m.getBoundingClientRect().bottom > top)
                return { text: first.innerText.slice(0, 60), top: Math.round(first.getBoundingClientRect().top - top) }
            })
        const before = await seen()
        await page.goto(`${server.url}/#/c/${OTHER}`)
        await page.getByText('a brief reply').waitFor()
        await page.goBack()
        await soon(async () => {
            const now = await seen()
            assert.equal(now.text, before.text)
            assert.ok(Math.abs(now.top - before.top) < 30, `${now.top} instead of ${before.top}`)
        })
        // one that was left at its end opens at its end
        await page.getByRole('button', { name: 'Jump to the latest message' }).click()
        await page.goto(`${server.url}/#/c/${OTHER}`)
        await page.getByText('a brief reply').waitFor()
        await page.goBack()
        await page.getByText(`answer ${TURNS - 1}`).waitFor()
        await soon(async () => assert.ok((await page.locator('.scroll').evaluate((e) => e.scrollHeight - e.scrollTop - e.clientHeight)) < 60))
    }))

test('Ctrl F finds words in messages that are not drawn; a second one is left to the browser', () =>
    withPage(`${server.url}/#/c/${LONG}`, {}, async (page) => {
        await page.getByText(`answer ${TURNS - 1}`).waitFor()
        await page.keyboard.press('Control+f')
        const bar = page.getByRole('search', { name: 'Find in this conversation' })
        const field = bar.getByRole('searchbox')
        await soon(async () => assert.ok(await field.evaluate((e) => e === document.activeElement)))
        await field.fill('needle')
        const inView = (text) => page.getByText(text).evaluate((e) => e.getBoundingClientRect().bottom > 0 && e.getBoundingClientRect().top < innerHeight)
        await soon(async () => assert.equal(await bar.getByRole('status').innerText(), '1 of 1'))
        await soon(async () => assert.ok(await inView('needle')))
        await soon(async () => assert.equal(await page.evaluate(() => CSS.highlights.get('nb-found')?.size), 1))
        await field.fill('zurich') // without case and accents
        await soon(async () => assert.equal(await bar.getByRole('status').innerText(), '1 of 1'))
        await soon(async () => assert.ok(await inView('question 3 about')))
        await field.fill('question 1')
        await soon(async () => assert.match(await bar.getByRole('status').innerText(), /^111 of 111$/)) // 1, 10 to 19, 100 to 199
        await field.press('Enter')
        await soon(async () => assert.equal(await bar.getByRole('status').innerText(), '110 of 111'))
        await field.press('F3')
        await soon(async () => assert.equal(await bar.getByRole('status').innerText(), '111 of 111'))
        assert.deepEqual(await serious(page), [])
        const isTaken = await page.evaluate(() => !document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: 'f', ctrlKey: true, bubbles: true, cancelable: true })))
        assert.equal(isTaken, false)
        await field.press('Escape')
        await soon(async () => assert.equal(await bar.count(), 0))
        await soon(async () => assert.equal(await page.evaluate(() => CSS.highlights.has('nb-found')), false))
        // where everything is drawn, the browser finds it
        await page.goto(`${server.url}/#/c/${OTHER}`)
        await page.getByText('a brief reply').waitFor()
        await page.keyboard.press('Control+f')
        await frames(page, 10)
        assert.equal(await bar.count(), 0)
    }))
