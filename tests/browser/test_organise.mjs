// Order in the list: pins, archive, several at once, the trash, what is unread, the width of the sidebar.
import fs from 'node:fs'
import { assert, before, eventually, startServer, test, tmpdir } from '../support/tap.mjs'
import { answer, demoEnv, newContext, said, soon, withPage, writeLog } from './browser.mjs'

let server, workdir
before(async () => {
    workdir = tmpdir()
    server = await startServer({ env: demoEnv(), workdir })
})

async function ask(method, target, body) {
    const headers = { 'content-type': 'application/json' }
    const res = await fetch(`${server.url}/v1/${target}`, { method, headers, body: body && JSON.stringify(body) })
    assert.ok(res.ok, `${method} ${target}: ${res.status}`)
    return res.json()
}

/** Conversations with these titles, the last one newest. */
async function make(...titles) {
    const ids = []
    for (const title of titles) {
        const { conversationId: id } = await ask('POST', 'chat', { message: `say ${title}` })
        await ask('PATCH', `conversations/${id}`, { title })
        ids.push(id)
    }
    return ids
}

const row = (page, title) => page.locator('.row', { has: page.getByText(title, { exact: true }) })
const titles = (page) => page.locator('.row-title').allInnerTexts()

/** As a hand does it, with a moment between press and release: the menu must stay. */
async function rowMenu(page, title, item) {
    await row(page, title).click({ button: 'right', delay: 50 })
    await page.getByRole('menuitem', { name: item, exact: true }).click()
}

async function show(page, item) {
    await page.locator('.list-filter').click()
    await page.getByRole('menu', { name: 'Conversations to show' }).getByText(item, { exact: true }).click()
}

test('a pin stands on top, in every browser of the person; the archive takes it away and gives it back', async () => {
    await make('Old harbour', 'Middle bridge', 'New tower')
    const other = await newContext()
    const second = await other.newPage()
    await second.goto(server.url)
    await row(second, 'New tower').waitFor()
    await withPage(server.url, {}, async (page) => {
        await row(page, 'Old harbour').waitFor()
        await rowMenu(page, 'Old harbour', 'Pin')
        for (const p of [page, second]) {
            await p.locator('.day', { hasText: 'Pinned' }).waitFor()
            await p.waitForFunction(() => document.querySelector('.row-title')?.textContent === 'Old harbour')
        }
        await page.reload()
        await page.locator('.day', { hasText: 'Pinned' }).waitFor()
        await rowMenu(page, 'Middle bridge', 'Archive')
        for (const p of [page, second]) await row(p, 'Middle bridge').waitFor({ state: 'detached' })
        await show(page, 'Archive')
        await row(page, 'Middle bridge').waitFor()
        await row(page, 'New tower').waitFor({ state: 'detached' })
        assert.deepEqual(await titles(page), ['Middle bridge'])
        await rowMenu(page, 'Middle bridge', 'Take out of the archive')
        await page.getByText('You have archived nothing.').waitFor()
        await show(page, 'All conversations')
        await row(page, 'Middle bridge').waitFor()
        await rowMenu(page, 'Old harbour', 'Unpin')
        await page.locator('.day', { hasText: 'Pinned' }).waitFor({ state: 'detached' })
    })
    await other.close()
})

test('a list that was asked for earlier does not replace a newer one', () =>
    withPage(server.url, {}, async (page) => {
        await make('Slow river', 'Fast brook')
        await row(page, 'Fast brook').waitFor()
        const held = [], late = []
        let release
        const gate = new Promise((resolve) => (release = resolve))
        await page.route('**/v1/conversations?*', async (route) => {
            if (held.length === 2) return route.fallback() // the list and the pins of one look
            let isRead
            held.push(new Promise((resolve) => (isRead = resolve)))
            const response = await route.fetch()
            isRead()
            late.push(gate.then(() => route.fulfill({ response })))
        })
        const seen = () => page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')))
        await seen()
        await eventually(() => held.length === 2)
        await Promise.all(held)
        const newer = page.waitForResponse((r) => r.url().includes('pinned=true'))
        await rowMenu(page, 'Slow river', 'Pin')
        await newer
        const pinned = page.locator('.day', { hasText: 'Pinned' })
        await pinned.waitFor()
        await page.evaluate(() => {
            const isPinned = () => [...document.querySelectorAll('.day')].some((day) => day.textContent === 'Pinned')
            new MutationObserver(() => (window.wasLost ||= !isPinned())).observe(document.querySelector('.conversations'), { subtree: true, childList: true, characterData: true })
        })
        release()
        await Promise.all(late)
        const next = page.waitForResponse((r) => r.url().includes('pinned=true'))
        await seen() // a look behind the late answer
        await next
        assert.equal(await page.evaluate(() => window.wasLost), undefined)
        await rowMenu(page, 'Slow river', 'Unpin')
        await pinned.waitFor({ state: 'detached' })
    }))

test('several at once: archived with undo, deleted; the trash gives one back and deletes one permanently', () =>
    withPage(server.url, {}, async (page) => {
        await make('Red one', 'Red two', 'Blue three')
        await row(page, 'Blue three').waitFor()
        const select = async (...names) => {
            await show(page, 'Select several')
            for (const name of names) await page.getByLabel(`Select ${name}`, { exact: true }).check()
            await page.getByText(`${names.length} selected`, { exact: true }).waitFor()
        }
        const bar = page.getByRole('group', { name: 'Selected conversations' })
        await select('Red one', 'Blue three')
        await bar.getByRole('button', { name: 'Archive' }).click()
        await row(page, 'Red one').waitFor({ state: 'detached' })
        await row(page, 'Blue three').waitFor({ state: 'detached' })
        await page.getByText('Archived 2 conversations').first().waitFor()
        await page.getByRole('button', { name: 'Undo' }).click()
        await row(page, 'Red one').waitFor()
        await select('Red one', 'Red two')
        await bar.getByRole('button', { name: 'Delete' }).click()
        for (const name of ['Red one', 'Red two']) await row(page, name).waitFor({ state: 'detached' })
        await show(page, 'Trash')
        const trash = page.getByRole('dialog', { name: 'Trash' })
        const entry = (name) => trash.locator('li', { hasText: name })
        await entry('Red two').waitFor()
        await entry('Red one').getByRole('button', { name: 'Restore' }).click()
        await entry('Red one').waitFor({ state: 'detached' })
        await entry('Red two').getByRole('button', { name: 'Delete permanently' }).click()
        const sure = page.getByRole('dialog', { name: 'Delete permanently' })
        await sure.getByText('“Red two” cannot be restored after that.').waitFor()
        await sure.getByRole('button', { name: 'Delete permanently' }).click()
        await sure.waitFor({ state: 'detached' })
        await entry('Red two').waitFor({ state: 'detached' })
        await trash.getByText('The trash is empty.').waitFor()
        await page.keyboard.press('Escape')
        await row(page, 'Red one').waitFor()
        assert.equal(await row(page, 'Red two').count(), 0)
    }))

test('what is unread is known in every browser, and read in one it is read in all', async () => {
    const [id] = await make('Quiet lake')
    const other = await newContext()
    const second = await other.newPage()
    await second.goto(server.url)
    await withPage(server.url, {}, async (page) => {
        for (const p of [page, second]) await row(p, 'Quiet lake').waitFor()
        await page.goto(`${server.url}/#/c/${id}`)
        await page.locator('.bubble', { hasText: 'Quiet lake' }).first().waitFor()
        await page.goto(`${server.url}/#/`)
        await ask('POST', 'chat', { message: 'say more of it', conversationId: id })
        for (const p of [page, second]) {
            await p.evaluate(() => document.dispatchEvent(new Event('visibilitychange'))) // comes back to the tab
            await row(p, 'Quiet lake').locator('.mark-unread').waitFor()
        }
        await show(second, 'Unread')
        await row(second, 'Quiet lake').waitFor()
        await row(page, 'Quiet lake').getByRole('link').click()
        for (const p of [page, second]) await row(p, 'Quiet lake').locator('.mark-unread').waitFor({ state: 'detached' })
        await row(second, 'Quiet lake').waitFor({ state: 'detached' })
        await page.goto(`${server.url}/#/`)
        await rowMenu(page, 'Quiet lake', 'Mark as unread')
        await row(second, 'Quiet lake').locator('.mark-unread').waitFor()
    })
    await other.close()
})

test('search as one types: prefixes, titles first, by conversation, filters as chips, the word marked and walked to', async () => {
    const long = Array.from({ length: 60 }, (_, i) => (i === 45 ? 'a line about marmalade here' : `line ${i}`)).join('\n\n')
    const [many] = await make('Breakfast plans')
    for (const text of ['marmalade on toast', 'marmalade in tea', `say ${long}`]) await ask('POST', 'chat', { message: text, conversationId: many })
    await make('Marmosets')
    await eventually(async () => (await ask('GET', 'search?q=marmal')).results.length >= 3)
    await eventually(async () => (await ask('GET', 'search?q=marmos')).results.length >= 1)
    await withPage(server.url, {}, async (page) => {
        const search = page.getByLabel('Search messages')
        await search.fill('marm')
        const group = (name) => page.locator(`.hit-group[aria-label="${name}"]`)
        await group('Breakfast plans').waitFor()
        await soon(async () => assert.equal(await page.locator('.hit-group').first().getAttribute('aria-label'), 'Marmosets', 'titles come first'))
        await group('Breakfast plans').locator('mark', { hasText: /^marm$/i }).first().waitFor()
        const before = await group('Breakfast plans').locator('.hit').count()
        await group('Breakfast plans').getByRole('button', { name: /^\+\d+ more$/ }).click()
        await soon(async () => assert.ok((await group('Breakfast plans').locator('.hit').count()) > before))
        await page.getByRole('button', { name: 'Titles' }).click()
        await group('Breakfast plans').waitFor({ state: 'detached' })
        assert.equal(await search.inputValue(), 'in:title marm')
        await page.getByRole('button', { name: 'Titles', pressed: true }).click()
        await page.getByRole('button', { name: 'From the agent' }).click()
        await group('Breakfast plans').waitFor()
        assert.equal(await search.inputValue(), 'from:assistant marm')
        await group('Breakfast plans').locator('.hit', { hasText: 'a line about' }).first().click()
        const walk = page.getByRole('group', { name: 'Hits of the search' })
        await walk.getByText(/^\d+ of \d+$/).waitFor()
        const marked = () => page.evaluate(() => [...(CSS.highlights.get('nb-found') ?? [])].map((r) => ({ text: r.toString(), y: r.getBoundingClientRect().y })))
        await eventually(async () => (await marked()).some(({ text, y }) => text.toLowerCase() === 'marm' && y > 100 && y < 700))
        const address = page.url()
        await page.keyboard.press('F3')
        await page.waitForURL((url) => String(url) !== address)
        await page.keyboard.press('Shift+F3')
        await page.waitForURL(address)
        await walk.getByRole('button', { name: 'End the search' }).click()
        await walk.waitFor({ state: 'detached' })
        assert.deepEqual(await marked(), [])
    })
})

test('printing draws the whole conversation, and nothing around it', async () => {
    const id = 'conv_9000000000000077'
    const turns = Array.from({ length: 300 }, (_, i) => [said(i, `question number ${i}`), ...answer(i, `run_p${i}`, `Answer number ${i}.`)])
    writeLog(workdir, id, turns.flat())
    await withPage(server.url, { colorScheme: 'dark' }, async (page) => {
        await page.goto(`${server.url}/#/c/${id}`)
        await page.locator('.bubble', { hasText: 'question number 299' }).waitFor()
        assert.ok((await page.locator('.is-own .bubble').count()) < 200, 'only what is near exists')
        await page.evaluate(() => {
            globalThis.printed = 0
            globalThis.print = () => {
                dispatchEvent(new Event('beforeprint'))
                globalThis.printed = document.querySelectorAll('.is-own .bubble').length
                globalThis.theme = document.documentElement.dataset.theme
                dispatchEvent(new Event('afterprint'))
            }
        })
        await page.keyboard.press('Control+p')
        await page.waitForFunction(() => globalThis.printed > 0)
        assert.equal(await page.evaluate(() => globalThis.printed), 300)
        assert.equal(await page.evaluate(() => globalThis.theme), 'light')
        await page.waitForFunction(() => document.querySelectorAll('.is-own .bubble').length < 200)
        assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark')
        await page.emulateMedia({ media: 'print' })
        for (const part of ['.sidebar', '.dock', '.sash']) assert.equal(await page.locator(part).first().isVisible(), false, part)
        const heights = await page.evaluate(() => [document.documentElement.scrollHeight, innerHeight])
        assert.ok(heights[0] > heights[1] * 2, 'the paper is longer than the window')
    })
})

test('installed, the page opens without its server, and keeps nothing of the API', async () => {
    const own = await startServer({ env: demoEnv() })
    const browser = await newContext({ serviceWorkers: 'allow' })
    const page = await browser.newPage()
    await page.goto(own.url)
    await page.locator('.welcome').waitFor()
    const manifest = await page.evaluate(async () => (await fetch(document.querySelector('link[rel=manifest]').href)).json())
    assert.equal(manifest.display, 'standalone')
    await page.evaluate(() => navigator.serviceWorker.ready)
    await page.waitForFunction(() => navigator.serviceWorker.controller !== null)
    await page.reload() // through the worker
    await page.locator('.welcome').waitFor()
    const kept = () => page.evaluate(async () => (await (await caches.open('nb-page-1')).keys()).map(({ url }) => new URL(url).pathname))
    const parts = await page.locator('script[src], link[rel=stylesheet]').evaluateAll((all) => all.map((e) => new URL(e.src || e.href).pathname))
    assert.ok(parts.some((name) => name.endsWith('.js')), parts.join())
    await eventually(async () => {
        const names = await kept()
        return ['/', ...parts].every((name) => names.includes(name))
    })
    for (const name of await kept()) assert.match(name, /^\/$|^\/assets\//)
    await own.stop()
    await page.reload()
    await page.getByRole('button', { name: 'New chat' }).first().waitFor()
    await browser.context.close()
})

test('usage can be saved as a table', () =>
    withPage(server.url, {}, async (page) => {
        await make('Counted one')
        await page.goto(`${server.url}/#/usage`)
        const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Save as CSV' }).click()])
        assert.equal(download.suggestedFilename(), 'usage.csv')
        const [head, ...rows] = fs.readFileSync(await download.path(), 'utf8').trim().split('\r\n')
        assert.equal(head, 'by,name,calls,inputTokens,outputTokens,cacheReadTokens,knownCostUsd,unpricedCalls')
        assert.ok(rows.some((row) => /^day,\d{4}-\d\d-\d\d,\d+,/.test(row)) && rows.some((row) => row.startsWith('person,')), rows.join())
    }))

test('the sidebar is as wide as one makes it, by keys and by dragging, and stays so', () =>
    withPage(server.url, {}, async (page) => {
        const edge = page.getByRole('separator', { name: 'Width of the sidebar' })
        const width = () => page.locator('.sidebar').evaluate((e) => Math.round(e.getBoundingClientRect().width))
        await page.locator('.welcome').waitFor() // the message field takes the focus when it is there
        const first = await width()
        await edge.focus()
        await page.keyboard.press('ArrowRight')
        assert.equal(await width(), first + 16)
        const box = await edge.boundingBox()
        await page.mouse.move(box.x + 4, box.y + 200)
        await page.mouse.down()
        await page.mouse.move(box.x + 4 + 60, box.y + 200)
        await page.mouse.up()
        assert.equal(await width(), first + 76)
        await page.reload()
        await edge.waitFor()
        assert.equal(await width(), first + 76)
        await edge.dblclick()
        assert.equal(await width(), first)
    }))
