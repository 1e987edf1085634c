// Every screen, menu and dialog: axe finds nothing in it, of any level, light and dark, on a desk and on a
// phone, where none is wider than the window.
import fs from 'node:fs'
import path from 'node:path'
import { assert, before, eventually, nb, startServer, test, tmpdir } from '../support/tap.mjs'
import { findings, phoneSwitch } from './axe.mjs'
import { demoEnv, newContext, send } from './browser.mjs'
import { RTL_ID, SAMPLE_ID, SHARED_ID, writeSample } from './sample.mjs'

const PASSWORD = 'correct horse'

const click = (page, name) => page.getByRole('button', { name, exact: true }).first().click()
const shown = (page, selector) => page.locator(selector).first().waitFor()

/** What "More about this conversation" leads to. */
async function choose(page, label) {
    await click(page, 'More about this conversation')
    await page.getByRole('menuitem', { name: label }).click()
    await shown(page, 'dialog[open], .toast')
}

/** On a phone it is out of sight at first. */
async function showSidebar(page) {
    const button = page.getByRole('button', { name: 'Show sidebar' })
    if (await button.isVisible()) await button.click()
}

async function addBundle(page, from) {
    await click(page, 'Add a bundle')
    await page.getByLabel('Where from').selectOption(from)
}

async function addPerson(page, email, name) {
    await click(page, 'Add a person')
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('E-mail').fill(email)
    await dialog.getByLabel('Name').fill(name)
    await dialog.getByLabel('First password').fill(PASSWORD)
    await click(page, 'Add')
}

/** Name → where, what is opened there, and what besides on a phone. */
const SCREENS = {
    welcome: ['#/', (page) => shown(page, '.welcome')],
    chat: [
        `#/c/${SAMPLE_ID}`,
        async (page) => {
            await page.locator('.tool').first().waitFor({ state: 'attached' })
            await page.$$eval('details', (all) => all.forEach((e) => (e.open = true)))
        },
    ],
    shared: [`#/c/${SHARED_ID}`, (page) => shown(page, '.is-other')],
    'right to left': [`#/c/${RTL_ID}`, (page) => shown(page, '.md')],
    'no such conversation': ['#/c/conv_0000000000000000', (page) => page.getByRole('alert').waitFor()],
    permission: [
        '#/',
        async (page) => {
            await send(page, 'calculate 6*7')
            await page.getByRole('button', { name: 'Decline' }).waitFor()
        },
    ],
    streaming: [
        '#/',
        async (page) => {
            await send(page, 'count to 400')
            await shown(page, '.run[data-state=running] .md')
            await page.getByLabel('Message', { exact: true }).fill('And then say hello')
        },
    ],
    edit: [
        `#/c/${SAMPLE_ID}`,
        async (page) => {
            await page.locator('.message .bubble').first().click() // on a phone this shows what can be done with it
            await click(page, 'Edit and ask again')
        },
    ],
    search: [
        `#/c/${SAMPLE_ID}`,
        async (page) => {
            await shown(page, '.md')
            await showSidebar(page)
            await page.getByLabel('Search messages').fill('importer')
            await shown(page, '.hit')
        },
        showSidebar,
    ],
    notes: [`#/c/${SAMPLE_ID}`, (page) => click(page, 'Notes').then(() => shown(page, '.note'))],
    menu: [`#/c/${SAMPLE_ID}`, (page) => click(page, 'More about this conversation')],
    rename: [`#/c/${SAMPLE_ID}`, (page) => choose(page, 'Rename')],
    export: [`#/c/${SAMPLE_ID}`, (page) => choose(page, 'Export')],
    share: [
        `#/c/${SHARED_ID}`,
        async (page) => {
            await page.locator('.faces').click()
            await shown(page, '.share-person')
        },
    ],
    palette: [
        '#/',
        async (page) => {
            await shown(page, '.welcome')
            await page.keyboard.press('Control+k')
            await shown(page, 'dialog[open]')
        },
    ],
    'the models to choose from': [
        '#/',
        async (page) => {
            await page.getByRole('button', { name: /^Model:/ }).click()
            await shown(page, '.picker-row')
        },
    ],
    help: [
        `#/c/${SAMPLE_ID}`,
        async (page) => {
            await page.locator('.topbar-title').click()
            await page.keyboard.press('?')
            await shown(page, 'dialog[open]')
        },
    ],
    bundles: ['#/apps', (page) => shown(page, '.card')],
    'a bundle': ['#/apps/bash', (page) => shown(page, '.facts')],
    'no such bundle': ['#/apps/nothing', (page) => page.getByRole('alert').waitFor()],
    'a bundle by name': ['#/apps', (page) => addBundle(page, 'name')],
    'a bundle by address': ['#/apps', (page) => addBundle(page, 'url')],
    'a bundle by path': ['#/apps', (page) => addBundle(page, 'path')],
    'an import': ['#/apps', (page) => addBundle(page, 'import')],
    'what an import holds': [
        '#/apps',
        async (page) => {
            await addBundle(page, 'import')
            const servers = { far: { url: 'https://example.com/mcp' }, near: { command: 'npx', args: ['x'] }, none: {} }
            await page.getByLabel('Settings', { exact: true }).fill(JSON.stringify({ mcpServers: servers }))
            await click(page, 'Show what is in it')
            await shown(page, '.command')
        },
    ],
    'removing a bundle': ['#/apps/bash', (page) => click(page, 'Remove')],
    permissions: ['#/permissions', (page) => shown(page, '.tool-row')],
    skills: ['#/skills', (page) => page.locator('.skill summary').first().click()],
    'a new skill': ['#/skills', (page) => click(page, 'New skill')],
    usage: ['#/usage', (page) => shown(page, '.chart')],
    context: [
        '#/context',
        async (page) => {
            await click(page, 'Show what would be sent')
            await shown(page, '.layer')
        },
    ],
    models: ['#/settings/model', (page) => shown(page, '.card')],
    appearance: ['#/settings/appearance', (page) => shown(page, '.radio-choice')],
    about: ['#/settings/about', (page) => shown(page, '.facts')],
}

/** Screens of a server with users, for its owner. */
const OWNERS_SCREENS = {
    profile: ['#/settings/profile', (page) => shown(page, '.facts')],
    tokens: ['#/settings/tokens', (page) => page.getByRole('cell', { name: 'laptop' }).waitFor()],
    'a new token': ['#/settings/tokens', (page) => click(page, 'New token')],
    people: ['#/settings/users', (page) => page.getByRole('cell', { name: 'Bob', exact: true }).waitFor()],
    'a new person': ['#/settings/users', (page) => click(page, 'Add a person')],
    'a person who is there already': [
        '#/settings/users',
        async (page) => {
            await addPerson(page, 'bob@example.com', 'Robert')
            await page.getByRole('dialog').getByRole('alert').waitFor()
        },
    ],
    'removing a person': ['#/settings/users', (page) => click(page, 'Remove')],
    workspaces: ['#/settings/workspaces', (page) => page.getByRole('cell', { name: 'Team B' }).waitFor()],
    'audit log': ['#/settings/audit', (page) => page.getByRole('cell', { name: 'login', exact: true }).first().waitFor()],
    'a new workspace': ['#/settings/workspaces', (page) => click(page, 'New workspace')],
    members: ['#/settings/workspaces', (page) => click(page, 'Members').then(() => shown(page, 'dialog table'))],
    'the workspaces to choose from': [
        '#/',
        async (page) => {
            await shown(page, '.welcome')
            await showSidebar(page)
            await page.locator('.workspace:enabled').click()
            await page.getByRole('menuitemradio').first().waitFor()
        },
        showSidebar,
    ],
}

let sample
let people

before(async () => {
    ;[sample, people] = await Promise.all([startSample(), startWithPeople()])
    const own = await newContext()
    await fillIn(await logIn(own))
    await own.close()
})

function startSample() {
    const workdir = tmpdir()
    writeSample(workdir)
    const settings = { permissions: { ask: ['nb__calculate'] } }
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify(settings))
    return startServer({ env: demoEnv(25), workdir })
}

async function startWithPeople() {
    const workdir = tmpdir()
    const args = ['init', '--mode', 'local', '--email', 'ann@example.com', '--name', 'Ann']
    const more = ['--password-stdin', '--org', 'Example', '-w', 'Team A', '--workdir', workdir]
    const made = await nb([...args, ...more], { input: `${PASSWORD}\n`, env: demoEnv() })
    assert.equal(made.code, 0, made.stderr)
    return startServer({ env: demoEnv(), workdir })
}

async function logIn(own) {
    const page = await own.newPage()
    await page.goto(people.url)
    await page.getByLabel('E-mail').fill('ann@example.com')
    await page.getByLabel('Password').fill(PASSWORD)
    await page.keyboard.press('Enter')
    await page.locator('.welcome').waitFor()
    return page
}

/** Somebody to remove, a second workspace and a token, so that no list is empty. */
async function fillIn(page) {
    await page.goto(`${people.url}/#/settings/users`)
    await addPerson(page, 'bob@example.com', 'Bob')
    await page.getByRole('cell', { name: 'Bob', exact: true }).waitFor()
    await page.getByRole('link', { name: 'Workspaces' }).click()
    await click(page, 'New workspace')
    await page.getByRole('dialog').getByLabel('Name').fill('Team B')
    await click(page, 'Create')
    await page.getByRole('cell', { name: 'Team B' }).waitFor()
    await page.getByRole('link', { name: 'Tokens' }).click()
    await click(page, 'New token')
    await page.getByRole('dialog').getByLabel('Name').fill('laptop')
    await click(page, 'Create')
    await page.getByLabel('Token', { exact: true }).waitFor()
}

/** Whatever the screen before has left open; what it began may still lead elsewhere once. */
async function tidy(page) {
    await eventually(async () => {
        await page.evaluate(() => {
            for (const dialog of document.querySelectorAll('dialog[open]')) dialog.close()
            for (const popover of document.querySelectorAll(':popover-open')) popover.hidePopover()
            for (const button of document.querySelectorAll('.toast [aria-label=Dismiss]')) button.click()
            if (location.hash !== '#/settings/about') location.hash = '#/settings/about'
        })
        return page.evaluate(() => location.hash === '#/settings/about' && document.querySelector('.facts')?.checkVisibility())
    })
}

/** Runs in the page. What the screen before shows must not be taken for the next one. */
async function leaveFor(hash) {
    const old = hash === location.hash ? null : document.querySelector('.facts')
    location.hash = hash
    while (old?.checkVisibility()) await new Promise((done) => setTimeout(done, 20))
}

async function tooWide(page) {
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
    return overflow > 0 ? [`${overflow} px too wide`] : []
}

/** One page for all: it is led from screen to screen, and is a phone's for a moment on each. */
async function eachScreen(page, screens) {
    const phone = await phoneSwitch(page)
    for (const [name, [hash, prepare, prepareOnPhone]] of Object.entries(screens)) {
        await tidy(page).catch((error) => assert.fail(`before ${name}: ${error.message} at ${page.url()}`))
        await page.evaluate(leaveFor, hash)
        await prepare(page)
        assert.deepEqual(await findings(page), [], name)
        await phone.on()
        await prepareOnPhone?.(page)
        assert.deepEqual([...(await findings(page)), ...(await tooWide(page))], [], `${name}, on a phone`)
        await phone.off()
    }
}

/** A few screens for each case, so that none comes near the time that one may take. */
function* partsOf(screens, size = 6) {
    const all = Object.entries(screens)
    for (let i = 0; i < all.length; i += size) yield Object.fromEntries(all.slice(i, i + size))
}

for (const part of partsOf(SCREENS))
    test(`axe finds nothing on any screen: ${Object.keys(part).join(', ')}`, async () => {
        const own = await newContext({ reducedMotion: 'reduce' })
        const page = await own.newPage()
        await page.goto(sample.url)
        await eachScreen(page, part)
        await own.close()
    })

for (const part of partsOf(OWNERS_SCREENS))
    test(`axe finds nothing on screens for admins and accounts: ${Object.keys(part).join(', ')}`, async () => {
        const own = await newContext({ reducedMotion: 'reduce' })
        await eachScreen(await logIn(own), part)
        await own.close()
    })
