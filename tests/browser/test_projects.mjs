// Projects and budgets on the page.
import fs from 'node:fs'
import path from 'node:path'
import { assert, before, eventually, startServer, test, tmpdir } from '../support/tap.mjs'
import { findings } from './axe.mjs'
import { answered, demoEnv, send, withPage } from './browser.mjs'

let server

before(async () => {
    const workdir = tmpdir()
    const modelInfo = { demo: { price: { input: 1000, output: 1000 } } }
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify({ noDefaultBundles: true, modelInfo }))
    server = await startServer({ env: demoEnv(), workdir })
})

const rows = (page) => page.locator('.sidebar .row')
const head = (page) => page.locator('.list-filter')

async function openProjects(page) {
    await head(page).click()
    await page.getByRole('menuitem', { name: 'Projects' }).click()
    await page.getByRole('heading', { name: 'Projects' }).waitFor()
}

test('a project is made, a chat begins in it, another is moved into it; the list shows it', () =>
    withPage(server.url, {}, async (page) => {
        await send(page, 'say outside')
        await answered(page, 1)
        await openProjects(page)
        await page.getByRole('button', { name: 'New project' }).click()
        await page.getByLabel('Name').fill('Moon landing')
        await page.getByLabel('Instructions').fill('Say EAGLE.')
        assert.deepEqual(await findings(page), [])
        await page.getByRole('button', { name: 'Create' }).click()
        await head(page).filter({ hasText: 'Moon landing' }).waitFor()
        await page.getByText('No conversations in this project yet. New chats begin in it.').waitFor()
        await page.getByRole('button', { name: 'New chat', exact: true }).click()
        await page.locator('.topbar-title', { hasText: 'New chat in Moon landing' }).waitFor()
        await send(page, 'say inside')
        await answered(page, 1)
        await rows(page).filter({ hasText: 'say inside' }).waitFor()
        assert.equal(await rows(page).count(), 1)
        const inside = page.url().match(/conv_[0-9a-z]+/)[0]
        const { layers } = await (await fetch(`${server.url}/v1/prompt`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ message: 'x', conversationId: inside }) })).json()
        assert.ok(layers.some(({ name, text }) => name === 'project instructions' && text.includes('EAGLE')))
        await head(page).click()
        await page.getByRole('menuitemradio', { name: 'All conversations' }).click()
        await page.getByRole('link', { name: 'say outside' }).click()
        await page.locator('.bubble', { hasText: 'say outside' }).waitFor()
        await page.getByRole('button', { name: 'More about this conversation' }).click()
        await page.getByRole('menuitem', { name: 'Move to a project' }).click()
        await page.getByRole('dialog').getByRole('button', { name: 'Moon landing' }).click()
        await page.getByText('Moved to Moon landing.').first().waitFor()
        await openProjects(page)
        await page.getByRole('dialog').getByText('2 conversations').waitFor()
        await page.getByRole('button', { name: 'Change Moon landing' }).click()
        await page.getByRole('button', { name: 'Delete the project' }).click()
        await eventually(async () => (await (await fetch(`${server.url}/v1/projects`)).json()).projects.length === 0)
        await page.getByRole('link', { name: 'say inside' }).waitFor()
    }))

test('a message that could not be sent begins its conversation in the project that it was written for', () =>
    withPage(server.url, {}, async (page) => {
        const api = async (target, init) => (await fetch(server.url + target, { headers: { 'content-type': 'application/json' }, ...init })).json()
        const { id } = await api('/v1/projects', { method: 'POST', body: JSON.stringify({ name: 'Mars landing' }) })
        await page.reload()
        await openProjects(page)
        await page.getByRole('dialog').locator('.project-name', { hasText: 'Mars landing' }).click()
        await page.locator('.topbar-title', { hasText: 'New chat in Mars landing' }).waitFor()
        await page.route('**/v1/chat/stream', (route) => route.abort(), { times: 1 })
        await send(page, 'say red')
        await page.getByText('Not sent').waitFor()
        await page.reload()
        await page.locator('.topbar-title', { hasText: /^New chat$/ }).waitFor()
        await page.getByRole('button', { name: 'Try again' }).click()
        await answered(page, 1)
        const { conversations } = await api(`/v1/conversations?project=${id}`)
        assert.deepEqual(conversations.map((one) => one.id), [page.url().match(/conv_[0-9a-z]+/)[0]])
    }))

test('files of a project are added, opened, downloaded and removed; the agent reads them', () =>
    withPage(server.url, {}, async (page) => {
        const api = async (target, init) => (await fetch(server.url + target, { headers: { 'content-type': 'application/json' }, ...init })).json()
        const { id } = await api('/v1/projects', { method: 'POST', body: JSON.stringify({ name: 'Moon files' }) })
        await openProjects(page)
        await page.getByRole('button', { name: 'Files of Moon files' }).click()
        await page.getByText('This project has no files yet.').waitFor()
        const chosen = page.waitForEvent('filechooser')
        await page.getByRole('button', { name: 'Add files' }).click()
        await (await chosen).setFiles([
            { name: 'plan.txt', mimeType: 'text/plain', buffer: Buffer.from('the eagle lands at noon') },
            { name: 'list.csv', mimeType: 'text/csv', buffer: Buffer.from('a,b\n1,2\n') },
        ])
        const file = (name) => page.locator('.project-files .file-link', { hasText: name })
        await file('plan.txt').waitFor()
        await file('list.csv').waitFor()
        assert.deepEqual(await findings(page), [])
        assert.deepEqual((await api(`/v1/projects/${id}/files`)).files.map(({ name }) => name), ['list.csv', 'plan.txt'])
        const answer = await api('/v1/chat', { method: 'POST', body: JSON.stringify({ message: 'call files__read {"file": "plan.txt"}', projectId: id }) })
        assert.match(answer.toolCalls[0].output, /the eagle lands at noon/)
        await file('plan.txt').click()
        await page.locator('.viewer-text', { hasText: 'the eagle lands at noon' }).waitFor()
        const saved = page.waitForEvent('download')
        await page.locator('.viewer').getByRole('link', { name: 'Download' }).click()
        assert.equal((await saved).suggestedFilename(), 'plan.txt')
        await page.locator('.viewer').getByRole('button', { name: 'Close' }).click()
        await page.getByRole('button', { name: 'Remove list.csv' }).click()
        await file('list.csv').waitFor({ state: 'detached' })
        assert.deepEqual((await api(`/v1/projects/${id}/files`)).files.map(({ name }) => name), ['plan.txt'])
    }))

test('a budget is set in Usage; a warning stands below the field, and a message beyond it is refused with the reason', () =>
    withPage(`${server.url}/#/usage`, {}, async (page) => {
        await fetch(`${server.url}/v1/chat`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ message: 'say hello' }) })
        await page.getByRole('button', { name: 'Set a budget' }).click()
        await page.getByLabel('Each person, in US dollars').fill('1000')
        await page.getByRole('button', { name: 'Save', exact: true }).click()
        await page.locator('.budget', { hasText: 'You' }).waitFor()
        await eventually(async () => (await (await fetch(`${server.url}/v1/budgets`)).json()).personal.spentUsd > 0)
        const { personal } = await (await fetch(`${server.url}/v1/budgets`)).json()
        const limit = (personUsd) => fetch(`${server.url}/v1/budgets`, { method: 'PUT', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ personUsd }) })
        await limit(personal.spentUsd * 1.1)
        await page.reload()
        await page.getByText('more than 80% is used').waitFor()
        assert.deepEqual(await findings(page), [])
        await page.goto(`${server.url}/#/`)
        await page.getByText('You have used more than 80% of the budget of this month.').waitFor()
        await limit(0)
        await send(page, 'say too much')
        await page.getByText(/Your budget of \$0\.00 for this month is used up/).first().waitFor()
    }))
