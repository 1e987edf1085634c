// Branches in place, and people with roles in one conversation.
import { assert, before, eventually, nb, startServer, test, tmpdir } from '../support/tap.mjs'
import { serious } from './axe.mjs'
import { answered, demoEnv, hoverAndClick, newContext, send, soon } from './browser.mjs'

const PASSWORD = 'correct horse'
let server

before(async () => {
    const workdir = tmpdir()
    const run = async (args) => {
        const made = await nb([...args, '--workdir', workdir], { input: `${PASSWORD}\n`, env: demoEnv() })
        assert.equal(made.code, 0, made.stderr)
    }
    await run(['init', '--mode', 'local', '--email', 'ann@example.com', '--name', 'Ann', '--password-stdin', '--org', 'Example', '-w', 'Team A'])
    await run(['user', 'add', 'bob@example.com', '--name', 'Bob', '--password-stdin', '--workspace', 'Team A'])
    server = await startServer({ env: demoEnv(), workdir })
})

async function logIn(own, email, url = server.url) {
    const page = await own.newPage()
    await page.goto(url)
    await page.getByLabel('E-mail').fill(email)
    await page.getByLabel('Password').fill(PASSWORD)
    await page.keyboard.press('Enter')
    await page.locator('.shell').waitFor()
    return page
}

const bubbles = (page) => page.locator('.message.person .bubble').allInnerTexts()
const idOf = (page) => /conv_\w+/.exec(page.url())[0]

async function reword(page, n, text) {
    const from = page.url()
    await hoverAndClick(page.locator('.is-own').nth(n), page.getByRole('button', { name: 'Edit and ask again' }).nth(n))
    await page.getByLabel('New wording').fill(text)
    await page.keyboard.press('Enter')
    await eventually(() => page.url() !== from)
}

test('edits and repeated answers are branches: the pager leads through them, and the list has one row', async () => {
    const own = await newContext()
    const page = await logIn(own, 'ann@example.com')
    await send(page, 'say one')
    await answered(page, 1)
    const [chooser] = await Promise.all([page.waitForEvent('filechooser'), page.getByRole('button', { name: 'Attach files' }).click()])
    await chooser.setFiles({ name: 'plan.txt', mimeType: 'text/plain', buffer: Buffer.from('the plan') })
    await page.locator('.attachment:not(.is-sending)').waitFor()
    await send(page, 'say two')
    await answered(page, 2)
    const root = page.url()

    await reword(page, 1, 'say second')
    await answered(page, 2)
    await soon(async () => assert.deepEqual(await bubbles(page), ['say one', 'say second']))
    await page.locator('.message-files').getByText('plan.txt').waitFor() // a new wording keeps the files
    await soon(async () => assert.equal(await page.locator('.pager-place').innerText(), '2/2'))
    assert.deepEqual(await serious(page), [])
    const second = page.url()
    await page.locator('.run').nth(1).getByRole('button', { name: 'Answer again' }).click()
    await page.getByRole('menuitem', { name: 'Answer again' }).click()
    await eventually(() => page.url() !== second)
    await answered(page, 2)
    await soon(async () => assert.equal(await page.locator('.pager-place').innerText(), '3/3'))
    await soon(async () => assert.equal(await page.getByRole('button', { name: 'Next version' }).isDisabled(), true))
    const third = idOf(page)

    await page.getByRole('button', { name: 'Previous version' }).click()
    await page.waitForURL((url) => url.href === second)
    await soon(async () => assert.equal(await page.locator('.pager-place').innerText(), '2/3'))
    await page.getByRole('button', { name: 'Previous version' }).click()
    await page.waitForURL((url) => url.href === root)
    await soon(async () => assert.deepEqual(await bubbles(page), ['say one', 'say two']))
    await eventually(async () => (await page.locator('.row').count()) === 1)

    await page.goto(`${server.url}/#/c/${third}`)
    await soon(async () => assert.equal(await page.locator('.pager-place').innerText(), '3/3')) // and no longer the one before
    await answered(page, 2)
    await eventually(async () => (await page.locator('.row.is-open').count()) === 1) // that of its conversation
    await page.getByRole('button', { name: 'More about this conversation' }).click()
    await page.getByRole('menuitem', { name: 'Make it a conversation of its own' }).click()
    await eventually(async () => (await page.locator('.row').count()) === 2)
    await soon(async () => assert.equal(await page.locator('.pager').count(), 0))
    await own.close()
})

test('an answer is asked for again with a wish: the question says it', async () => {
    const own = await newContext()
    const page = await logIn(own, 'ann@example.com')
    await send(page, 'say a lot')
    await answered(page, 1)
    const before = page.url()
    await page.locator('.run').getByRole('button', { name: 'Answer again' }).click()
    await page.getByRole('menuitem', { name: 'Shorter' }).click()
    await eventually(() => page.url() !== before)
    await answered(page, 1)
    await soon(async () => assert.deepEqual(await bubbles(page), ['say a lot\n\nAnswer briefly.']))
    await soon(async () => assert.equal(await page.locator('.pager-place').innerText(), '2/2'))
    await own.close()
})

async function shareWith(page, name) {
    await page.getByRole('button', { name: 'Share', exact: true }).click()
    const dialog = page.getByRole('dialog', { name: 'Share the conversation' })
    await dialog.getByLabel('Shared').check()
    await dialog.getByRole('button', { name: new RegExp(`^${name}.*Add$`) }).click()
    await dialog.getByRole('button', { name: `Remove ${name}` }).waitFor()
    await page.keyboard.press('Escape')
}

test('a reader has no field to write in, and gets one with the role', async () => {
    const annsBrowser = await newContext(), bobsBrowser = await newContext()
    const ann = await logIn(annsBrowser, 'ann@example.com')
    await send(ann, 'say welcome')
    await answered(ann, 1)
    await ann.getByRole('button', { name: 'Share', exact: true }).click()
    const dialog = ann.getByRole('dialog', { name: 'Share the conversation' })
    await dialog.getByLabel('Shared').check()
    await dialog.getByLabel('What the person may do').selectOption('read')
    await dialog.getByRole('button', { name: /^Bob.*Add$/ }).click()
    await soon(async () => assert.equal(await dialog.getByLabel('What Bob may do').inputValue(), 'read'))
    assert.deepEqual(await serious(ann), [])

    const bob = await logIn(bobsBrowser, 'bob@example.com', ann.url())
    await answered(bob, 1)
    await bob.getByText('You can read this conversation.').waitFor()
    await soon(async () => assert.equal(await bob.locator('.composer').isVisible(), false))
    await dialog.getByLabel('What Bob may do').selectOption('write')
    await bob.locator('.composer').waitFor() // immediately
    await send(bob, 'say thanks')
    await answered(bob, 2)
    await annsBrowser.close()
    await bobsBrowser.close()
})

test('messages for people get no answer until somebody calls the agent', async () => {
    const annsBrowser = await newContext(), bobsBrowser = await newContext()
    const ann = await logIn(annsBrowser, 'ann@example.com')
    await send(ann, 'say welcome')
    await answered(ann, 1)
    assert.equal(await ann.getByRole('button', { name: 'Only people' }).isVisible(), false) // nobody else is here
    await shareWith(ann, 'Bob')
    const bob = await logIn(bobsBrowser, 'bob@example.com', ann.url())
    await answered(bob, 1)
    await bob.getByRole('button', { name: 'Only people' }).click()
    await bob.getByText('Only people answer.').waitFor()
    await send(bob, 'what do you think?')
    await ann.locator('.is-for-people .bubble', { hasText: 'what do you think?' }).waitFor()
    await soon(async () => assert.equal(await bob.locator('.is-for-people.is-stored').count(), 1))
    assert.deepEqual(await serious(bob), [])
    await bob.reload() // the switch stays
    await bob.locator('.is-for-people').waitFor()
    await soon(async () => assert.equal(await bob.getByRole('button', { name: 'Only people' }).getAttribute('aria-pressed'), 'true'))
    await send(bob, '@agent say called')
    await answered(bob, 2)
    await answered(ann, 2)
    await soon(async () => assert.equal(await ann.locator('.is-for-people').count(), 1))
    await annsBrowser.close()
    await bobsBrowser.close()
})

test('a name is completed; the person who was away finds the notice', async () => {
    const annsBrowser = await newContext(), bobsBrowser = await newContext()
    const ann = await logIn(annsBrowser, 'ann@example.com')
    const bob = await logIn(bobsBrowser, 'bob@example.com')
    await send(ann, 'say welcome')
    await answered(ann, 1)
    await shareWith(ann, 'Bob')
    const row = bob.locator(`.row[data-id="${/conv_\w+/.exec(ann.url())[0]}"]`)
    await row.locator('.mark-news[title="Ann added you"]').waitFor() // live
    const field = ann.getByLabel('Message', { exact: true })
    await field.pressSequentially('@b')
    await ann.getByRole('option', { name: '@Bob' }).waitFor()
    assert.deepEqual(await serious(ann), [])
    await ann.keyboard.press('Enter')
    await soon(async () => assert.equal(await field.inputValue(), '@Bob '))
    await field.pressSequentially('say look here')
    await ann.keyboard.press('Enter')
    await answered(ann, 2)
    await row.locator('.mark-news[title="Ann mentioned you"]').waitFor()
    await bob.reload()
    await bob.getByRole('button', { name: /^Notices, \d+ new$/ }).click()
    await bob.getByRole('menuitem', { name: /^Ann mentioned you/ }).first().click()
    await answered(bob, 2)
    await soon(async () => assert.equal(await bob.locator('.mark-news').count(), 0))
    await annsBrowser.close()
    await bobsBrowser.close()
})

test('the list is limited to what is one’s own, or shared', async () => {
    const annsBrowser = await newContext(), bobsBrowser = await newContext()
    const ann = await logIn(annsBrowser, 'ann@example.com')
    await send(ann, 'say for both of us')
    await answered(ann, 1)
    await shareWith(ann, 'Bob')
    const bob = await logIn(bobsBrowser, 'bob@example.com')
    await send(bob, 'say only mine')
    await answered(bob, 1)
    const show = async (item) => {
        await bob.locator('.list-filter').click()
        await bob.getByRole('menuitemradio', { name: item, exact: true }).click()
    }
    const row = (text) => bob.locator('.row', { hasText: text })
    await show('Shared')
    await row('both of us').waitFor()
    await soon(async () => assert.equal(await row('only mine').count(), 0))
    await show('My conversations')
    await row('only mine').waitFor()
    await soon(async () => assert.equal(await row('both of us').count(), 0))
    await show('All conversations')
    await row('both of us').waitFor()
    await row('only mine').waitFor()
    await annsBrowser.close()
    await bobsBrowser.close()
})
