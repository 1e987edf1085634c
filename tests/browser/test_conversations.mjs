// Working with conversations: searching, jumping, forking, renaming, deleting, notes, sharing,
// exporting, the palette; and messages sent while the agent is answering.
import fs from 'node:fs'
import { DOT_PNG } from '../support/pictures.mjs'
import { assert, before, eventually, startServer, test, tmpdir } from '../support/tap.mjs'
import { answer, answered, demoEnv, ENDLESS, hoverAndClick, newContext, said, send, soon, withPage, writeLog } from './browser.mjs'

const LONG_ID = 'conv_9000000000000001'
const LONG = 10_000
const NEEDLE = 137 // the turn, far back, with a word of its own
let server, slow, workdir

before(async () => {
    workdir = tmpdir()
    const turns = Array.from({ length: LONG / 2 }, (_, i) => [
        said(i, i === NEEDLE ? 'where is the xylophone?' : `question ${i}`),
        ...answer(i, `run_n${i}`, `Answer ${i}.`),
    ])
    writeLog(workdir, LONG_ID, turns.flat())
    server = await startServer({ env: demoEnv(), workdir })
    slow = await startServer({ env: demoEnv(40) })
})

const titles = (page) => page.locator('.row-title').allInnerTexts()
const bubbles = (page) => page.locator('.is-own .bubble').allInnerTexts()
const field = (page) => page.getByLabel('Message', { exact: true })

async function menu(page, label) {
    await page.locator('.row.is-open').waitFor() // what may be done with it is known
    await page.getByRole('button', { name: 'More about this conversation' }).click()
    await page.getByRole('menuitem', { name: label }).click()
}

test('the list says that older conversations are still being read, and asks again until it is complete', () =>
    withPage(server.url, {}, async (page) => {
        let asked = 0, isIndexing = true
        await page.route('**/v1/conversations?*', async (route) => {
            const response = await route.fetch()
            const body = await response.json()
            asked++
            if (isIndexing) Object.assign(body, { indexing: { percent: 42 }, conversations: [], nextCursor: null })
            await route.fulfill({ response, json: body })
        })
        await page.reload()
        await page.getByText('Older conversations are still being read (42%).').waitFor()
        await eventually(() => asked >= 2)
        isIndexing = false
        await page.locator('.row-title').first().waitFor()
        await soon(async () => assert.equal(await page.getByText('still being read').isVisible(), false))
        assert.ok(asked >= 3)
        await page.unrouteAll({ behavior: 'wait' }) // a list may be under way
    }))

test('search: highlighted hits; one leads to its message among ten thousand', () =>
    withPage(server.url, {}, async (page) => {
        const found = async () => (await (await fetch(`${server.url}/v1/search?q=xylophone`)).json()).results.length > 0
        await eventually(found) // the index is made in the background
        const search = page.getByLabel('Search messages')
        await eventually(async () => {
            await page.keyboard.press('Control+Shift+F')
            return search.evaluate((e) => e === document.activeElement)
        })
        await page.keyboard.type('xylophone')
        const hit = page.locator('.hit')
        await hit.waitFor()
        await soon(async () => assert.equal(await hit.locator('mark').innerText(), 'xylophone'))
        await hit.click()
        const target = page.locator('.is-found .bubble', { hasText: 'xylophone' })
        await target.waitFor()
        await eventually(async () => {
            const box = await target.boundingBox()
            return box && box.y > 0 && box.y < 700
        })
        assert.match(page.url(), new RegExp(`#/c/${LONG_ID}/\\d+$`))
        const drawn = await page.locator('.message').count()
        assert.ok(drawn < 300, `${drawn} messages exist`)
        await page.getByRole('button', { name: 'Jump to the latest message' }).click()
        await page.getByText(`question ${LONG / 2 - 1}`, { exact: true }).waitFor()
    }))

test('a hit in a title or in the result of a tool leads to where it belongs', () =>
    withPage(server.url, {}, async (page) => {
        await send(page, 'calculate 123456*2')
        await answered(page, 1)
        await send(page, 'say something else')
        await answered(page, 2)
        await eventually(async () => (await titles(page)).some((title) => /123456/.test(title)))
        const found = async () => (await (await fetch(`${server.url}/v1/search?q=123456`)).json()).results.length > 1
        await eventually(found) // the page asks once
        await page.getByLabel('Search messages').fill('123456')
        await eventually(async () => (await page.locator('.hit').count()) > 1)
        for (let i = 0; i < (await page.locator('.hit').count()); i++) {
            await page.locator('.hit').nth(i).click()
            await page.locator('.is-found').waitFor()
            await page.$$eval('.is-found', (all) => all.forEach((e) => e.classList.remove('is-found')))
        }
        assert.equal(await page.locator('.toast').count(), 0)
    }))

test('the address of a message leads to it, also in a fresh browser', () =>
    withPage(server.url, { permissions: ['clipboard-read', 'clipboard-write'] }, async (page) => {
        await send(page, 'say one')
        await answered(page, 1)
        await send(page, 'say two')
        await answered(page, 2)
        await hoverAndClick(page.locator('.is-own').first(), page.getByRole('button', { name: 'Copy link to this message' }).first())
        await page.locator('.toast', { hasText: 'Link copied' }).waitFor()
        const link = await page.evaluate(() => navigator.clipboard.readText())
        assert.match(link, /#\/c\/conv_[0-9a-f]{16}\/\d+$/)
        await withPage(link, {}, async (other) => {
            await other.locator('.is-found .bubble', { hasText: 'say one' }).waitFor()
        })
    }))

test('rename, then delete with undo', () =>
    withPage(server.url, {}, async (page) => {
        await send(page, 'say roses')
        await answered(page, 1)
        await menu(page, 'Rename')
        await page.getByLabel('Title').fill('Red flowers')
        await page.keyboard.press('Enter')
        await eventually(async () => (await titles(page)).includes('Red flowers'))
        await eventually(async () => (await page.locator('.topbar-title').innerText()) === 'Red flowers')
        const url = page.url()
        await menu(page, 'Delete')
        await page.locator('.welcome').waitFor()
        await soon(async () => assert.equal((await titles(page)).includes('Red flowers'), false))
        await page.getByRole('button', { name: 'Undo' }).click()
        await answered(page, 1)
        assert.equal(page.url(), url)
        await eventually(async () => (await titles(page)).includes('Red flowers'))
    }))

test('a fork from an answer; a message edited into a branch; an answer asked for again', () =>
    withPage(server.url, {}, async (page) => {
        for (const [i, word] of ['one', 'two', 'three'].entries()) {
            await send(page, `say ${word}`)
            await answered(page, i + 1)
        }
        const original = page.url()
        const leave = (from) => eventually(() => page.url() !== from)
        const runs = page.locator('.content .chunk > .run')
        await runs.nth(1).getByRole('button', { name: 'Fork from here' }).click()
        await leave(original)
        await answered(page, 2)
        await soon(async () => assert.deepEqual(await bubbles(page), ['say one', 'say two']))
        await page.locator('.topbar-origin').click()
        await answered(page, 3)
        assert.equal(page.url(), original)

        await hoverAndClick(page.locator('.is-own').nth(1), page.getByRole('button', { name: 'Edit and ask again' }).nth(1))
        await page.getByLabel('New wording').fill('say second')
        await page.keyboard.press('Enter')
        await leave(original)
        await answered(page, 2)
        await soon(async () => assert.deepEqual(await bubbles(page), ['say one', 'say second']))
        await soon(async () => assert.match(await runs.nth(1).innerText(), /second/))

        const edited = page.url()
        await runs.nth(1).getByRole('button', { name: 'Answer again' }).click()
        await page.getByRole('menuitem', { name: 'Answer again' }).click()
        await leave(edited)
        await answered(page, 2)
        await soon(async () => assert.deepEqual(await bubbles(page), ['say one', 'say second']))

        await page.goto(original)
        await answered(page, 3)
        await hoverAndClick(page.locator('.is-own').first(), page.getByRole('button', { name: 'Edit and ask again' }).first())
        await page.getByLabel('New wording').fill('say again')
        await page.getByRole('button', { name: 'Send', exact: true }).first().click()
        await leave(original)
        await answered(page, 1)
        await soon(async () => assert.deepEqual(await bubbles(page), ['say again']))
    }))

test('while the agent answers: queued messages wait, in order, in every tab', async () => {
    const own = await newContext()
    const one = await own.newPage()
    await one.goto(slow.url)
    await send(one, ENDLESS)
    await one.locator('.run[data-state=running] .md').waitFor()
    await send(one, 'say second')
    await one.getByText('Queued').waitFor()
    await send(one, 'say third')
    const two = await own.newPage()
    await two.goto(one.url())
    await eventually(async () => (await two.locator('.is-queued').count()) === 2)
    await one.getByRole('button', { name: 'Stop the answer' }).click()
    for (const page of [one, two]) {
        await answered(page, 3)
        await soon(async () => assert.deepEqual(await bubbles(page), [ENDLESS, 'say second', 'say third']))
        await soon(async () => assert.equal(await page.getByText('Queued').count(), 0))
    }
    await own.close()
})

test('a message that waits can be changed and taken back, in any tab, and survives a reload', async () => {
    const own = await newContext()
    const one = await own.newPage()
    await one.goto(slow.url)
    await send(one, ENDLESS)
    await one.locator('.run[data-state=running] .md').waitFor()
    await send(one, 'say second')
    await send(one, 'say third')
    const waiting = (page) => page.locator('.is-queued .bubble').allInnerTexts()
    await eventually(async () => (await waiting(one)).length === 2)
    await one.reload()
    await eventually(async () => (await waiting(one)).join() === 'say second,say third')
    const two = await own.newPage()
    await two.goto(one.url())
    await eventually(async () => (await waiting(two)).length === 2)
    await field(two).press('ArrowUp')
    await two.getByLabel('New wording').fill('say something else')
    await two.keyboard.press('Enter')
    await eventually(async () => (await waiting(one)).join() === 'say second,say something else')
    await one.getByRole('button', { name: 'Withdraw' }).first().click()
    await eventually(async () => (await field(one).inputValue()) === 'say second')
    await eventually(async () => (await waiting(two)).join() === 'say something else')
    await field(two).press('ArrowUp')
    await two.getByLabel('New wording').fill('too late')
    await one.getByRole('button', { name: 'Stop the answer' }).click()
    await eventually(async () => (await field(two).inputValue()) === 'too late')
    for (const page of [one, two]) {
        await answered(page, 2)
        await soon(async () => assert.deepEqual(await bubbles(page), [ENDLESS, 'say something else']))
        await soon(async () => assert.equal(await page.locator('.waits').count(), 0))
    }
    await own.close()
})

test('two messages in a row, before the server knows the conversation, are one conversation', () =>
    withPage(server.url, {}, async (page) => {
        let letGo
        const isSent = new Promise((resolve) => (letGo = resolve))
        await page.route('**/v1/chat/stream', async (route) => {
            await isSent
            await route.continue()
        })
        await send(page, 'say alpha')
        await send(page, 'say beta')
        letGo()
        await answered(page, 2)
        await soon(async () => assert.deepEqual(await bubbles(page), ['say alpha', 'say beta']))
    }))

test('while the agent answers: a message can be put into the answer between two steps', () =>
    withPage(slow.url, {}, async (page) => {
        await send(page, 'call time {} then call status {} then call time {}')
        await page.locator('.run[data-state=running] .md').waitFor()
        await field(page).fill('say steered')
        await page.keyboard.press('Control+Enter')
        await eventually(async () => (await page.locator('.is-own.is-stored').count()) === 2)
        await eventually(async () => {
            const last = page.locator('.content .chunk > .run').last()
            return (await last.getAttribute('data-state')) === 'done'
        })
        assert.deepEqual(await bubbles(page), [
            'call time {} then call status {} then call time {}',
            'say steered',
        ])
        await soon(async () => assert.equal(await page.locator('.waits').count(), 0))
    }))

test('an answer that arrived while another conversation was open is marked unread until its conversation is opened', () =>
    withPage(slow.url, {}, async (page) => {
        await send(page, ENDLESS)
        await page.locator('.run[data-state=running] .md').waitFor()
        const row = page.locator('.row', { hasText: new RegExp(ENDLESS, 'i') }).first()
        const id = /conv_\w+/.exec(page.url())[0]
        await page.getByRole('button', { name: 'New chat' }).first().click()
        await row.locator('.mark-running').waitFor()
        await fetch(`${slow.url}/v1/conversations/${id}/cancel`, { method: 'POST' })
        await row.locator('.mark-unread').waitFor()
        await page.reload()
        await row.locator('.mark-unread').waitFor()
        await row.getByRole('link').click()
        await answered(page, 1)
        await row.locator('.mark-unread').waitFor({ state: 'detached' })
        await page.getByRole('button', { name: 'New chat' }).first().click()
        await page.locator('.welcome').waitFor()
        await soon(async () => assert.equal(await row.locator('.mark-unread').count(), 0))
    }))

test('a finished answer is shown in the title of a hidden page, and by a notification if the person wants it', async () => {
    const own = await newContext()
    await own.context.addInitScript(() => {
        globalThis.isAway = false
        globalThis.notes = []
        Object.defineProperty(document, 'hidden', { get: () => globalThis.isAway })
        globalThis.Notification = class {
            static permission = 'default'
            static async requestPermission() {
                return (this.permission = 'granted')
            }
            constructor(title, { body }) {
                globalThis.notes.push([title, body])
            }
        }
    })
    const page = await own.newPage()
    const leave = (isAway) =>
        page.evaluate((is) => {
            globalThis.isAway = is
            document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))
        }, isAway)
    await page.goto(`${slow.url}/#/settings/appearance`)
    await page.getByLabel('Notify me when an answer is done').check()
    await page.evaluate(() => (location.hash = '#/'))
    await field(page).fill('say all done')
    await leave(true) // before the answer can end
    await page.keyboard.press('Enter')
    await page.waitForFunction(() => document.title.startsWith('✓'))
    const [[, body]] = await page.evaluate(() => globalThis.notes)
    assert.match(body, /demo model/)
    await leave(false)
    await page.waitForFunction(() => !document.title.startsWith('✓'))
    await own.close()
})

test('files that are dropped or pasted are sent with the message, and shown again after a reload', () =>
    withPage(server.url, {}, async (page) => {
        const give = (how, name, type, base64) =>
            page.locator('.composer-field').evaluate(
                (fieldElement, [kind, fileName, mime, text]) => {
                    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0))
                    const data = new DataTransfer()
                    data.items.add(new File([bytes], fileName, { type: mime }))
                    const init = { bubbles: true, cancelable: true }
                    fieldElement.dispatchEvent(kind === 'drop'
                        ? new DragEvent('drop', { ...init, dataTransfer: data })
                        : new ClipboardEvent('paste', { ...init, clipboardData: data }))
                },
                [how, name, type, base64],
            )
        await give('paste', 'dot.png', 'image/png', DOT_PNG)
        await give('drop', 'notes.md', '', btoa('# A'))
        await give('drop', 'wrong.txt', '', btoa('x'))
        await page.getByRole('button', { name: 'Remove wrong.txt' }).click()
        await eventually(async () => (await page.locator('.attachment:not(.is-sending)').count()) === 2)
        await send(page, 'What is this?')
        await answered(page, 1)
        const isShown = () => page.locator('.message-files img').evaluate((image) => image.naturalWidth === 1)
        await eventually(isShown)
        await page.locator('.file-link', { hasText: 'notes.md' }).waitFor()
        assert.equal(await page.locator('.attachment').count(), 0)
        await page.reload()
        await page.locator('.message-files img').waitFor()
        await eventually(isShown)
        await page.locator('.file-link', { hasText: 'notes.md' }).waitFor()
    }))

test('notes beside a conversation; the panel is not remembered and closes with Escape', () =>
    withPage(server.url, {}, async (page) => {
        await send(page, 'say hello')
        await answered(page, 1)
        await page.getByRole('button', { name: 'Notes', exact: true }).click()
        const panel = page.getByRole('complementary', { name: 'Notes' })
        await panel.getByLabel('New note').fill('Remember the **milk**')
        await panel.getByRole('button', { name: 'Add note' }).click()
        await panel.locator('.note strong', { hasText: 'milk' }).waitFor()
        await soon(async () => assert.equal(await page.locator('.sidebar').isVisible(), true))
        await page.keyboard.press('Escape')
        await panel.waitFor({ state: 'hidden' })
        await page.getByRole('button', { name: 'Notes', exact: true }).click()
        await panel.locator('.note strong', { hasText: 'milk' }).waitFor()
    }))

test('sharing: marked everywhere; only members can be added; private again', () =>
    withPage(server.url, {}, async (page) => {
        await send(page, 'say shared')
        await answered(page, 1)
        await menu(page, 'Share')
        const dialog = page.getByRole('dialog', { name: 'Share the conversation' })
        await dialog.getByLabel('Shared').check()
        await dialog.getByLabel('Add a person').fill('usr_nobody')
        await page.keyboard.press('Enter')
        await dialog.getByRole('alert').getByText('not a member').waitFor()
        await soon(async () => assert.equal(await dialog.locator('.share-person').count(), 1))
        await page.keyboard.press('Escape')
        await dialog.waitFor({ state: 'detached' }) // it has a face of its own
        await page.locator('.faces .face').waitFor()
        await page.locator('.row.is-open .mark-shared').waitFor()
        await page.locator('.faces').click()
        await dialog.getByLabel('Private').check()
        await dialog.locator('.share-person').waitFor({ state: 'detached' })
        await page.keyboard.press('Escape')
        await page.locator('.faces').waitFor({ state: 'hidden' })
    }))

test('export: a file with the conversation', () =>
    withPage(server.url, { acceptDownloads: true }, async (page) => {
        await send(page, 'say exported')
        await answered(page, 1)
        await menu(page, 'Export')
        const waiting = page.waitForEvent('download')
        await page.getByRole('button', { name: /^Markdown/ }).click()
        const download = await waiting
        assert.match(download.suggestedFilename(), /^conv_[0-9a-f]{16}\.md$/)
        assert.match(fs.readFileSync(await download.path(), 'utf8'), /say exported/)
    }))

test('the palette: commands and conversations, by keyboard alone', () =>
    withPage(server.url, {}, async (page) => {
        await send(page, 'say tulips')
        await answered(page, 1)
        const url = page.url()
        const option = (name) => page.getByRole('option', { name, selected: true }) // what Enter takes
        await page.keyboard.press('Control+k')
        await page.keyboard.type('new chat')
        await option(/new chat/i).waitFor()
        await page.keyboard.press('Enter')
        await page.locator('.welcome').waitFor()
        await page.keyboard.press('Control+k')
        await page.keyboard.type('tulips')
        await option(/tulips/i).waitFor()
        await page.keyboard.press('Enter')
        await answered(page, 1)
        assert.equal(page.url(), url)
        await page.keyboard.press('Control+k')
        await page.keyboard.type('usage')
        await option(/usage/i).waitFor()
        await page.keyboard.press('ArrowDown')
        await page.keyboard.press('ArrowUp')
        await page.keyboard.press('Enter')
        await page.getByRole('heading', { name: 'Usage' }).waitFor()
    }))

test('a conversation that is deleted elsewhere leaves the page immediately', () =>
    withPage(server.url, {}, async (page) => {
        await send(page, 'say goodbye')
        await answered(page, 1)
        const id = page.url().split('/').at(-1)
        await fetch(`${server.url}/v1/conversations/${id}`, { method: 'DELETE' })
        await page.getByRole('alert').getByText('was deleted, or is no longer shared').waitFor()
        await soon(async () => assert.equal(await page.locator('.message').count(), 0))
        await eventually(async () => !(await titles(page)).some((title) => /goodbye/.test(title)))
    }))

test('a delegated run is shown inside the card of its call', () =>
    withPage(server.url, {}, async (page) => {
        await send(page, 'call nb__delegate {"task": "say from the child"}')
        const run = await answered(page, 1)
        await run.locator('.tool', { hasText: 'delegate' }).locator('summary').first().click()
        const nested = run.getByRole('region', { name: 'Delegated run' })
        await nested.locator('.run[data-state=done]', { hasText: 'from the child' }).waitFor()
        await page.reload()
        await answered(page, 1)
        await page.locator('.tool', { hasText: 'delegate' }).locator('summary').first().click()
        await page.locator('.nested .run', { hasText: 'from the child' }).waitFor()
    }))
