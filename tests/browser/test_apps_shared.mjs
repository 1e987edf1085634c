// Two people in one conversation, each with a view of their own of the same call: what one changes the
// other hears of, and a person who is removed loses view, calls and questions immediately.
import fs from 'node:fs'
import path from 'node:path'
import { assert, before, completeLines, eventually, nb, startServer, test, tmpdir } from '../support/tap.mjs'
import { cardOf, fixtureApp, logOf, viewOf } from './apps.mjs'
import { answered, demoEnv, newContext, send, soon } from './browser.mjs'

const PASSWORD = 'correct horse'
let server, place, workdir

before(async () => {
    ;[workdir, place] = [tmpdir(), tmpdir()]
    const env = demoEnv()
    const args = ['init', '--mode', 'local', '--email', 'ann@example.com', '--name', 'Ann', '--password-stdin', '-w', 'Team']
    const made = await nb([...args, '--workdir', workdir], { input: `${PASSWORD}\n`, env })
    assert.equal(made.code, 0, made.stderr)
    const added = await nb(['user', 'add', 'bob@example.com', '--name', 'Bob', '-w', 'Team', '--password-stdin', '--workdir', workdir], { input: `${PASSWORD}\n`, env })
    assert.equal(added.code, 0, added.stderr)
    const [team] = fs.readdirSync(path.join(workdir, 'workspaces')).filter((name) => name.startsWith('ws_'))
    const file = path.join(workdir, 'workspaces', team, 'workspace.json')
    const workspace = JSON.parse(fs.readFileSync(file, 'utf8'))
    fs.writeFileSync(file, JSON.stringify({ ...workspace, bundles: [fixtureApp('friendly', place)] }))
    server = await startServer({ env, workdir })
})

const log = (method, name) => logOf(place, 'friendly').filter((line) => line.method === method && (!name || line.name === name))

async function logIn(own, name, url = server.url) {
    const page = await own.newPage()
    await page.goto(url)
    await page.getByLabel('E-mail').fill(`${name}@example.com`)
    await page.getByLabel('Password').fill(PASSWORD)
    await page.keyboard.press('Enter')
    await page.locator('.shell').waitFor()
    return page
}

async function shareWith(page, name) {
    await page.locator('.row.is-open').waitFor() // what may be done with it is known
    await page.getByRole('button', { name: 'More about this conversation' }).click()
    await page.getByRole('menuitem', { name: 'Share' }).click()
    const dialog = page.getByRole('dialog', { name: 'Share the conversation' })
    await dialog.getByLabel('Shared').check()
    await dialog.getByLabel('Add a person').fill(name)
    await page.keyboard.press('Enter')
    await dialog.getByRole('button', { name: `Remove ${name}` }).waitFor()
    await page.keyboard.press('Escape')
}

async function remove(page, name) {
    await page.locator('.faces').click()
    const dialog = page.getByRole('dialog', { name: 'Share the conversation' })
    await dialog.getByRole('button', { name: `Remove ${name}` }).click()
    await dialog.getByRole('button', { name: `Remove ${name}` }).waitFor({ state: 'detached' })
    await page.keyboard.press('Escape')
}

/** Ann has called the tool and shared the conversation with Bob: both pages, both apps. */
async function together(tool = 'show', args = { title: 'ours' }) {
    const browsers = [await newContext(), await newContext()]
    const ann = await logIn(browsers[0], 'ann')
    await eventually(() => log('tools/list').length > 0) // the bundle of the workspace runs
    await eventually(async () => {
        const { apps } = await ann.evaluate(async () => (await fetch('/v1/apps')).json())
        return apps?.some((app) => app.name === 'friendly' && app.status === 'running')
    })
    await send(ann, `call friendly__${tool} ${JSON.stringify(args)}`)
    const anns = viewOf(cardOf(ann))
    await anns.text('state', 'ready')
    await shareWith(ann, 'Bob')
    const opened = []
    const bob = await browsers[1].newPage()
    bob.on('response', async (response) => {
        if (!response.url().endsWith('/v1/views') || !response.ok()) return
        const view = await response.json().catch(() => null) // the page was left
        if (view) opened.push(view.viewId)
    })
    await bob.goto(ann.url())
    await bob.getByLabel('E-mail').fill('bob@example.com')
    await bob.getByLabel('Password').fill(PASSWORD)
    await bob.keyboard.press('Enter')
    const bobs = viewOf(cardOf(bob))
    await bobs.text('state', 'ready')
    const viewId = await eventually(() => opened.at(-1))
    const close = () => Promise.all(browsers.map((own) => own.close()))
    return { ann, anns, bob, bobs, viewId, close }
}

/** Asks in the name of the view with the login of this page. */
const askAs = (page, viewId, name, args = {}) =>
    page.evaluate(async ([id, params]) => {
        const res = await fetch(`/v1/views/${id}/rpc`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ method: 'tools/call', params }) })
        return res.status
    }, [viewId, { name, arguments: args }])

test('each has a view of their own; what one changes is news for the other, and in the log under their name', async () => {
    const { ann, anns, bob, bobs, viewId, close } = await together()
    await anns.text('result', /ours/)
    await bobs.text('result', /ours/)
    await bobs.locator('#field').fill('only mine')
    assert.equal(await anns.locator('#field').inputValue(), 'typed', 'what is on the screen is not shared')
    const before = [await anns.textOf('changed'), await bobs.textOf('changed')]
    await bobs.click('Add')
    await bobs.text('answer', /added/)
    await eventually(async () => (await anns.textOf('changed')) !== before[0])
    assert.equal(await bobs.textOf('changed'), before[1])
    const [, id] = /#\/c\/(conv_\w+)/.exec(ann.url())
    const [file] = fs.globSync(`**/${id}.jsonl`, { cwd: workdir })
    const lines = () => completeLines(path.join(workdir, file))
    const entry = await eventually(() => lines().find((event) => event.type === 'app.call'))
    assert.equal(entry.tool, 'add')
    assert.ok(entry.userId && entry.userId !== lines()[0].ownerId, entry.userId)
    // Ann's login is worth nothing for Bob's view.
    assert.equal(await askAs(ann, viewId, 'echo'), 404)
    assert.equal(await askAs(bob, viewId, 'echo'), 200)
    await answered(ann, 1)
    await close()
})

test("a question about one person's call is that person's alone", async () => {
    const { ann, bob, bobs, close } = await together()
    await bobs.click('Wipe')
    const question = (page) => cardOf(page).getByRole('group', { name: /wants to call this tool/ })
    await question(bob).waitFor()
    assert.equal(await question(ann).count(), 0)
    await question(bob).getByRole('button', { name: 'Allow', exact: true }).click()
    await bobs.text('answer', /wiped/)
    await close()
})

test('one is removed in the middle of a call: it is cancelled, and the view is gone immediately', async () => {
    const { ann, anns, bob, bobs, viewId, close } = await together()
    await bobs.click('Wait')
    await eventually(() => log('tools/call', 'stuck').length === 1)
    assert.equal(log('cancelled', 'stuck').length, 0)
    await remove(ann, 'Bob')
    await bob.getByRole('alert').getByText('Ann removed you from this conversation.').waitFor()
    await eventually(() => log('cancelled', 'stuck').length === 1)
    await soon(async () => assert.equal(await bob.locator('iframe').count(), 0))
    assert.equal(await askAs(bob, viewId, 'echo'), 404)
    const calls = log('tools/call').length
    assert.equal(await askAs(bob, viewId, 'add', { item: 'late' }), 404)
    assert.equal(log('tools/call').length, calls)
    assert.equal((await anns.call('echo', { say: 'still there' })).result.content[0].text, 'still there')
    await bob.getByRole('button', { name: 'New chat' }).first().click()
    await bob.locator('.welcome').waitFor()
    await send(bob, 'say the page works')
    await answered(bob, 1)
    await close()
})

test('one is removed while a question is open: it cannot be answered any more', async () => {
    const { ann, bob, bobs, close } = await together()
    const before = log('tools/call', 'wipe').length
    await bobs.click('Wipe')
    await cardOf(bob).getByRole('group', { name: /wants to call this tool/ }).waitFor()
    await remove(ann, 'Bob')
    await bob.getByRole('alert').getByText('Ann removed you from this conversation.').waitFor()
    await soon(async () => assert.equal(await bob.getByRole('group', { name: /wants to call this tool/ }).count(), 0))
    assert.equal(log('tools/call', 'wipe').length, before)
    await close()
})

test('a view of a tool that still runs: both hear of its end', async () => {
    const { ann, anns, bob, bobs, close } = await together('slow', { gate: 'both', title: 'for both' })
    for (const view of [anns, bobs]) {
        await view.text('input', /both/)
        assert.equal(await view.textOf('result'), '')
    }
    fs.writeFileSync(path.join(place, 'both'), '')
    for (const view of [anns, bobs]) await view.text('result', /for both/)
    for (const page of [ann, bob]) await answered(page, 1)
    await close()
})
