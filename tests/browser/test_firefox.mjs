// A second engine: what people do on the page, in Debian's firefox-esr (engines.mjs). Its console stays silent and its
// Content-Security-Policy is kept, as withPage() and close() demand. Without a Firefox the cases are skipped.
import fs from 'node:fs'
import path from 'node:path'
import { assert, before, eventually, nb, skip, startServer, test, tmpdir } from '../support/tap.mjs'
import { findings } from './axe.mjs'
import { cardOf, fixtureApp, startApps, viewOf } from './apps.mjs'
import { answer, answered, demoEnv, ENDLESS, frames, newContext, said, send, soon, withPage, writeLog } from './browser.mjs'
import { FIREFOX, hasFirefox, takePicture, useFirefox } from './engines.mjs'
import { SAMPLE_ID, writeSample } from './sample.mjs'

const PASSWORD = 'correct horse'
const PHONE = { width: 390, height: 844 }
const { PICTURES } = process.env // a directory for them
const RICH_ID = 'conv_5a0000000000000f'
const LONG_ID = 'conv_5a0000000000001f'
const RICH = [
    '| a | b |\n|---|--:|\n| 1 | 2 |',
    '```mermaid\ngraph LR\nA[Start] --> B{Choice}\n```',
    '```js\nconst x = 1 // why\n```',
    '$$\\int_0^1 \\frac{x^2}{\\sqrt{2}} dx$$',
    '<details><summary>More</summary>inside</details>',
].join('\n\n')

useFirefox()
let server, people

before(async () => {
    if (!hasFirefox()) return
    const workdir = tmpdir('nb-firefox-')
    writeSample(workdir)
    writeLog(workdir, LONG_ID, Array.from({ length: 200 }, (_, i) => [said(i, `question ${i}`), ...answer(i, `run_l${i}`, i === 90 ? 'Answer about zebrafish.' : `Answer ${i}.`)]).flat())
    writeLog(workdir, RICH_ID, [said(1, 'rich'), ...answer(2, 'run_r', RICH)])
    const [apps, other] = await Promise.all([
        startApps((place) => [fixtureApp('friendly', place)], { settings: { permissions: { ask: ['nb__calculate'] } }, delayMs: 5, workdir }),
        startWithPeople(),
    ])
    server = apps.server
    people = other
})

async function startWithPeople() {
    const workdir = tmpdir('nb-firefox-')
    const args = ['init', '--mode', 'local', '--email', 'ann@example.com', '--name', 'Ann', '--password-stdin', '--org', 'Example', '-w', 'Team A']
    const made = await nb([...args, '--workdir', workdir], { input: `${PASSWORD}\n`, env: demoEnv() })
    assert.equal(made.code, 0, made.stderr)
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify({ features: { publicLinks: true } }))
    return startServer({ env: demoEnv(), workdir })
}

function inFirefox(name, fn) {
    test(`Firefox: ${name}`, () => (hasFirefox() ? fn() : skip(`there is no ${FIREFOX}; ./dev browser installs it`)))
}

const shot = async (page, name) => PICTURES && takePicture(page, path.join(PICTURES, `firefox-${name}.png`))
const button = (page, name) => page.getByRole('button', { name, exact: true })
const overflow = (page) => page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
const open = (page, hash) => page.evaluate((to) => (location.hash = to), hash)

async function isGrowing(page) {
    const text = page.locator('.run[data-state=running] .md')
    const length = (await text.textContent()).length
    await eventually(async () => (await text.textContent()).length > length)
}

inFirefox('the link of nb serve opens the page; an answer streams in, and stops; a formula is drawn', async () => {
    const own = await newContext({ withKey: false })
    const page = await own.newPage()
    await page.goto(`${server.url}/#key=${server.key}`)
    await page.locator('.welcome').waitFor()
    assert.ok(!page.url().includes(server.key))
    assert.match(await page.evaluate(() => navigator.userAgent), /Firefox\//)
    await shot(page, 'welcome')

    await send(page, ENDLESS)
    await isGrowing(page)
    await page.keyboard.press('Escape')
    await answered(page, 1)

    await send(page, 'say **bold** and $\\frac{a}{b}$')
    const run = await answered(page, 2)
    await run.locator('strong', { hasText: 'bold' }).waitFor()
    const [above, below] = await run.locator('math mfrac > mi').evaluateAll((all) => all.map((e) => e.getBoundingClientRect().top))
    assert.ok(below > above, 'the denominator is below')
    await shot(page, 'answer')
    await own.close()
})

inFirefox('Markdown: table, diagram, code with colours, formula, details; axe finds nothing', () =>
    withPage(`${server.url}/#/c/${RICH_ID}`, {}, async (page) => {
        const run = await answered(page, 1)
        const drawing = await run.getByRole('img', { name: 'Diagram: Start, Choice' }).boundingBox()
        assert.ok(drawing.width > 100 && drawing.height > 30, JSON.stringify(drawing))
        assert.equal(await run.locator('.tok-comment').innerText(), '// why')
        assert.equal(await run.locator('td').last().evaluate((cell) => getComputedStyle(cell).textAlign), 'end')
        await run.locator('math[display=block] msqrt').waitFor()
        await run.locator('details summary', { hasText: 'More' }).click()
        await run.getByText('inside').waitFor()
        const [saved] = await Promise.all([page.waitForEvent('download'), run.locator('figure.code', { hasText: 'why' }).getByRole('button', { name: 'Download' }).click()])
        assert.equal(fs.readFileSync(await saved.path(), 'utf8').trim(), 'const x = 1 // why')
        assert.deepEqual(await findings(page), [])
        await shot(page, 'markdown')
    }))

inFirefox('a second tab follows an answer, live; a tool is allowed there, and its card says what it did', async () => {
    const own = await newContext()
    const [one, two] = [await own.newPage(), await own.newPage()]
    await one.goto(server.url)
    await send(one, ENDLESS)
    await one.waitForURL(/#\/c\/conv_/)
    await two.goto(one.url())
    await isGrowing(two)
    await button(two, 'Stop the answer').click()
    const texts = await Promise.all([one, two].map(async (page) => (await answered(page, 1)).locator('.md').innerText()))
    assert.equal(texts[0], texts[1])

    await send(one, 'calculate 6*7')
    await button(one, 'Decline').waitFor()
    await shot(one, 'permission')
    await button(two, 'Allow').click()
    for (const page of [one, two]) await page.getByText('42', { exact: true }).first().waitFor()
    const card = one.locator('.tool[data-state=ok]')
    await card.locator('summary').click()
    await soon(async () => assert.match(await card.locator('.tool-body').innerText(), /6\*7/))
    await shot(one, 'tool')
    await own.close()
})

inFirefox('a search leads to a message in the middle, a reload leads there again; drafts stay', () =>
    withPage(`${server.url}/#/c/${SAMPLE_ID}`, {}, async (page) => {
        const field = page.getByLabel('Message', { exact: true })
        await page.locator('.md').first().waitFor()
        await field.fill('a draft')
        await page.getByLabel('Search messages').fill('zebrafi')
        await page.locator('.hit', { hasText: 'zebrafish' }).click()
        await page.waitForURL(new RegExp(`${LONG_ID}/\\d+$`))
        const isInView = async () => {
            const box = await page.locator('.content').getByText('Answer about zebrafish').boundingBox()
            return box && box.y > 50 && box.y < 750
        }
        await eventually(isInView)
        await shot(page, 'search')
        await page.reload()
        await eventually(isInView)
        await frames(page)
        assert.ok(await isInView(), 'it stays there')
        await open(page, `#/c/${SAMPLE_ID}`)
        await soon(async () => assert.equal(await field.inputValue(), 'a draft'))
    }))

inFirefox('files that are chosen, pasted and dropped are sent and shown', () =>
    withPage(server.url, {}, async (page) => {
        const give = (type, name, content, mime) =>
            page.locator('.composer-field').evaluate(
                (field, [kind, fileName, text, fileType]) => {
                    const data = new DataTransfer()
                    data.items.add(new File([text], fileName, { type: fileType }))
                    const init = { bubbles: true, cancelable: true }
                    if (kind === 'drop') return field.dispatchEvent(new DragEvent('drop', { ...init, dataTransfer: data }))
                    const paste = new ClipboardEvent('paste', init) // with data of its own, which takes texts only
                    Object.defineProperty(paste, 'clipboardData', { value: data })
                    return field.dispatchEvent(paste)
                },
                [type, name, content, mime],
            )
        await page.locator('.welcome').waitFor()
        await give('paste', 'table.csv', 'city;people\nBonn;336465\n', 'text/csv')
        await give('drop', 'program.py', 'def f(x):\n    return x  # why\n', '')
        const [chooser] = await Promise.all([page.waitForEvent('filechooser'), button(page, 'Attach files').click()])
        await chooser.setFiles([{ name: 'chosen.txt', mimeType: 'text/plain', buffer: Buffer.from('chosen') }])
        await eventually(async () => (await page.locator('.attachment:not(.is-sending)').count()) === 3)
        await send(page, 'What are these?')
        await answered(page, 1)
        await page.reload()
        await page.locator('.message-files a[title="table.csv"]').click()
        await page.locator('dialog.viewer').getByText('336465').waitFor()
        await shot(page, 'viewer')
        await page.keyboard.press('Escape')
        await page.locator('dialog.viewer').waitFor({ state: 'detached' })
    }))

inFirefox('an interface of a tool runs in its sandbox, and its tools work', () =>
    withPage(server.url, {}, async (page) => {
        await send(page, 'call friendly__show {"title":"hello"}')
        const card = cardOf(page)
        const view = viewOf(card)
        await view.text('state', 'ready')
        await view.text('result', /hello/)
        assert.equal((await view.call('echo', { say: 'ünï' })).result.content[0].text, 'ünï')
        assert.equal(await view.run(() => globalThis.origin), 'null')
        const inside = await view.run((html) => html.getBoundingClientRect().height)
        await soon(async () => assert.ok(Math.abs((await card.locator('iframe').evaluate((e) => e.clientHeight)) - inside) <= 2, 'the frame is as high as the app'))
        await shot(page, 'app')
    }))

inFirefox('every screen of the workspace opens, on a desk and on a phone', () =>
    withPage(server.url, {}, async (page) => {
        await page.locator('.welcome').waitFor()
        const settings = ['model', 'instructions', 'prompts', 'appearance', 'import', 'about'].map((part) => `settings/${part}`)
        for (const name of ['apps', 'apps/friendly', 'skills', 'usage', 'context', 'permissions', ...settings]) await walk(page, name)
        await open(page, `#/c/${SAMPLE_ID}`)
        await page.setViewportSize(PHONE)
        await page.locator('.md table').waitFor()
        assert.ok((await overflow(page)) <= 0, 'the conversation')
        await shot(page, 'phone-chat')
        await button(page, 'Show sidebar').click()
        await eventually(async () => (await page.locator('.sidebar').boundingBox())?.x === 0)
        await shot(page, 'phone-sidebar')
    }))

/** Opens a screen, waits until it is drawn, and tries it as wide as a phone. */
async function walk(page, name) {
    await open(page, `#/${name}`)
    const screen = page.locator('.screen')
    await screen.locator('.screen-column > *').first().waitFor()
    await soon(async () => assert.equal(await screen.locator('.spinner, [aria-busy=true]').count(), 0, name))
    assert.equal(await screen.getByRole('alert').count(), 0, name)
    await shot(page, name.replace('/', '-'))
    await page.setViewportSize(PHONE)
    await frames(page, 2)
    assert.ok((await overflow(page)) <= 0, `${name} is ${await overflow(page)} px too wide`)
    await page.setViewportSize({ width: 1280, height: 800 })
}

inFirefox('with accounts: sign in, the screens of an owner, a link for outsiders', async () => {
    const [own, outside] = [await newContext(), await newContext({ withKey: false })]
    const page = await own.newPage()
    await page.goto(people.url)
    await page.getByLabel('E-mail').fill('ann@example.com')
    await page.getByLabel('Password').fill(PASSWORD)
    await page.keyboard.press('Enter')
    await page.locator('.welcome').waitFor()
    for (const part of ['profile', 'tokens', 'users', 'workspaces', 'links', 'audit']) await walk(page, `settings/${part}`)
    await open(page, '#/')
    await send(page, 'say **shared**')
    await answered(page, 1)
    await button(page, 'Share').click()
    const dialog = page.getByRole('dialog', { name: 'Share the conversation' })
    await button(dialog, 'Make a link').click()
    const address = await dialog.getByLabel('Link. It is not shown again.').inputValue()
    await shot(page, 'share')
    const reader = await outside.newPage()
    await reader.goto(address)
    await reader.locator('.shared-message strong', { hasText: 'shared' }).waitFor()
    await shot(reader, 'shared')
    await own.close()
    await outside.close()
})

inFirefox('in Arabic the page is mirrored, and code still reads from the left', () =>
    withPage(`${server.url}/#/settings/appearance`, {}, async (page) => {
        const { default: words } = await import('../../web/src/words/ar.ts')
        await page.getByLabel('Language of the page').selectOption('ar')
        await page.getByLabel(words['Language of the page']).waitFor()
        assert.equal(await page.evaluate(() => document.documentElement.dir), 'rtl')
        await shot(page, 'arabic-settings')
        await open(page, `#/c/${SAMPLE_ID}`)
        await page.locator('.md pre').first().waitFor()
        const sidebar = await page.locator('.sidebar').boundingBox()
        assert.ok(sidebar.x + sidebar.width >= 1279, JSON.stringify(sidebar))
        assert.equal(await page.locator('.md pre code').first().evaluate((code) => getComputedStyle(code).direction), 'ltr')
        const hidden = await page.locator('.composer-field').evaluate((field) => field.scrollWidth - field.clientWidth)
        assert.equal(hidden, 0, 'the placeholder is in the field')
        await shot(page, 'arabic-chat')
        await page.setViewportSize(PHONE)
        await frames(page, 2)
        assert.ok((await overflow(page)) <= 0)
    }))

inFirefox('the page opens without its server, from the service worker', async () => {
    const away = await startServer({ env: demoEnv() })
    const own = await newContext({ serviceWorkers: 'allow' })
    const page = await own.newPage()
    await page.goto(away.url)
    await page.waitForFunction(() => navigator.serviceWorker.controller !== null)
    await page.reload() // through the worker
    await page.locator('.welcome').waitFor()
    const parts = await page.locator('script[src], link[rel=stylesheet]').evaluateAll((all) => all.map((e) => e.src || e.href))
    assert.ok(parts.some((url) => url.endsWith('.css')) && parts.some((url) => url.endsWith('.js')), parts.join())
    const kept = () => page.evaluate(async () => (await (await caches.open('nb-page-1')).keys()).map(({ url }) => url))
    await soon(async () => {
        const urls = await kept()
        assert.deepEqual(parts.filter((url) => !urls.includes(url)), [])
    })
    await away.stop()
    await page.reload()
    await button(page, 'New chat').first().waitFor()
    await shot(page, 'offline')
    await own.context.close()
})
