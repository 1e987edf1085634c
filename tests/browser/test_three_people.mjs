// Three people in three browsers work in one shared conversation: mentions, messages for people only, an
// approval by role, a file, everybody at the same time, a branch, leaving. After each scene all three screens are
// compared and looked over. MINUTES=10 (make soak ARGS=people) plays it again, with changing parts.
import fs from 'node:fs'
import path from 'node:path'
import { assert, before, eventually, nb, startServer, test, tmpdir } from '../support/tap.mjs'
import { findings } from './axe.mjs'
import { answered, demoEnv, hoverAndClick, newContext, send, soon } from './browser.mjs'

const PASSWORD = 'correct horse'
const MINUTES = Number(process.env.MINUTES ?? 0)
const SHOTS = process.env.PEOPLE_SHOTS // a directory for pictures of the three screens
const NAMES = ['Ann', 'Bob', 'Cleo']
let server

before(async () => {
    const workdir = tmpdir()
    const run = async (args) => {
        const made = await nb([...args, '--workdir', workdir], { input: `${PASSWORD}\n`, env: demoEnv() })
        assert.equal(made.code, 0, made.stderr)
    }
    await run(['init', '--mode', 'local', '--email', 'ann@example.com', '--name', 'Ann', '--password-stdin', '--org', 'Example', '-w', 'Team A'])
    for (const name of NAMES.slice(1))
        await run(['user', 'add', `${name.toLowerCase()}@example.com`, '--name', name, '--password-stdin', '--workspace', 'Team A'])
    const file = path.join(workdir, 'nimblebrain.json')
    const settings = fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, 'utf8')) : {}
    fs.writeFileSync(file, JSON.stringify({ ...settings, permissions: { ask: ['nb__calculate'] } }))
    server = await startServer({ env: demoEnv(5), workdir })
})

/** A person at their own browser, logged in. */
async function person(name) {
    const own = await newContext({ reducedMotion: 'reduce' })
    const page = await own.newPage()
    await page.goto(server.url)
    await page.getByLabel('E-mail').fill(`${name.toLowerCase()}@example.com`)
    await page.getByLabel('Password').fill(PASSWORD)
    await page.keyboard.press('Enter')
    await page.locator('.welcome').waitFor()
    return { name, page, own }
}

const field = ({ page }) => page.getByLabel('Message', { exact: true })
const row = ({ page }, id) => page.locator(`.row[data-id="${id}"]`)
const lastRun = ({ page }) => page.locator('.content .chunk > .run').last()
const question = (who) => lastRun(who).getByRole('group', { name: 'Permission for nb__calculate' })

/** Runs in the page: who said what, as it is on the screen. */
function spoken(me) {
    let speaker = null
    return [...document.querySelectorAll('.content .chunk > .message')].map((message) => {
        if (message.classList.contains('run')) return ['agent', message.querySelector('.md')?.innerText ?? '', message.dataset.state]
        speaker = message.classList.contains('is-own') ? me : (message.querySelector('.speaker-name')?.innerText ?? speaker)
        const files = [...message.querySelectorAll('.message-files a')].map(({ title }) => title)
        return [speaker, message.querySelector('.bubble').innerText, ...files, message.classList.contains('is-for-people')]
    })
}

/** Runs in the page: what no screen should ever show. */
function faults() {
    const text = document.body.innerText
    const words = ['undefined', 'NaN', '[object', 'Invalid Date', 'usr_', 'conv_', 'file_'].filter((word) => text.includes(word))
    const wide = document.documentElement.scrollWidth > innerWidth ? ['wider than the window'] : []
    const failed = [...document.querySelectorAll('[role=alert]')].filter((e) => e.checkVisibility() && e.innerText.trim())
    return [...words, ...wide, ...failed.map((e) => `alert: ${e.innerText}`)]
}

let shots = 0
/** All screens say the same, and nothing is wrong on any of them. */
async function agree(people, scene) {
    await soon(async () => {
        const [first, ...others] = await Promise.all(people.map(({ page, name }) => page.evaluate(spoken, name)))
        for (const other of others) assert.deepEqual(other, first, scene)
        assert.ok(first.length > 0)
        assert.ok(first.every(([speaker, , state]) => speaker !== 'agent' || state !== 'running'), 'nothing is under way')
    })
    for (const { page, name } of people) {
        await soon(async () => assert.deepEqual(await page.evaluate(faults), [], `${scene}: ${name}`))
        if (SHOTS) await page.screenshot({ path: path.join(SHOTS, `${String(++shots).padStart(3, '0')}-${scene.replaceAll(' ', '-')}-${name}.png`) })
    }
}

async function share(owner, name, role) {
    const dialog = owner.page.getByRole('dialog', { name: 'Share the conversation' })
    if (role) await dialog.getByLabel('What the person may do').selectOption(role)
    await dialog.getByRole('button', { name: new RegExp(`^${name}.*Add$`) }).click()
    await dialog.getByRole('button', { name: `Remove ${name}` }).waitFor()
}

/** The owner begins and shares; the others are told, and come. */
async function begin(owner, writer, reader) {
    await send(owner.page, 'say The release is on Friday.')
    await answered(owner.page, 1)
    await owner.page.getByRole('button', { name: 'Share', exact: true }).click()
    await owner.page.getByRole('dialog', { name: 'Share the conversation' }).getByLabel('Shared').check()
    await share(owner, writer.name)
    await share(owner, reader.name, 'read')
    await owner.page.keyboard.press('Escape')
    const id = /conv_\w+/.exec(owner.page.url())[0]
    for (const who of [writer, reader]) {
        await row(who, id).locator(`.mark-news[title="${owner.name} added you"]`).waitFor()
        await row(who, id).getByRole('link').click()
        await answered(who.page, 1)
    }
    for (const { page } of [owner, writer, reader]) await soon(async () => assert.equal(await page.locator('.topbar .face.is-here').count(), 3))
    return id
}

/** A name is completed; the person is told wherever they are, and the agent does not answer. */
async function mention(writer, reader, others, id) {
    await reader.page.getByRole('link', { name: 'New chat' }).or(reader.page.getByRole('button', { name: 'New chat' })).first().click()
    await reader.page.locator('.welcome').waitFor()
    await writer.page.getByRole('button', { name: 'Only people' }).click()
    await field(writer).pressSequentially(`@${reader.name.slice(0, 2).toLowerCase()}`)
    await writer.page.getByRole('option', { name: `@${reader.name}` }).waitFor()
    await writer.page.keyboard.press('Enter')
    await soon(async () => assert.equal(await field(writer).inputValue(), `@${reader.name} `))
    await field(writer).pressSequentially('do you agree?')
    await writer.page.keyboard.press('Enter')
    await row(reader, id).locator(`.mark-news[title="${writer.name} mentioned you"]`).waitFor()
    await reader.page.getByRole('button', { name: /^Notices, \d+ new$/ }).click()
    await reader.page.getByRole('menuitem', { name: new RegExp(`^${writer.name} mentioned you`) }).first().click()
    await reader.page.locator('.is-for-people').last().waitFor()
    for (const { page } of others) await page.locator('.is-for-people .bubble', { hasText: 'do you agree?' }).waitFor()
    await writer.page.getByRole('button', { name: 'Only people' }).click()
    await soon(async () => assert.equal(await reader.page.locator('.mark-news').count(), 0))
}

/** A tool asks. A reader sees the question and cannot answer it; who may write can. */
async function approve(owner, writer, reader) {
    await send(owner.page, 'calculate 6*7')
    for (const who of [owner, writer]) await question(who).getByRole('button', { name: 'Allow', exact: true }).waitFor()
    await question(reader).getByText('A person who may write in this conversation can answer.').waitFor()
    assert.equal(await question(reader).getByRole('button', { name: /allow|decline/i }).count(), 0)
    await question(writer).getByRole('button', { name: 'Allow', exact: true }).click()
    for (const who of [owner, reader]) await lastRun(who).locator('.ask', { hasText: `Allowed by ${writer.name}.` }).waitFor()
    for (const who of [owner, writer, reader]) await lastRun(who).getByText('42', { exact: true }).waitFor()
}

/** The reader may write from now on, and gives a file, which all can open. */
async function giveFile(owner, writer, reader) {
    await owner.page.locator('.faces').click()
    await owner.page.getByLabel(`What ${reader.name} may do`).selectOption('write')
    await owner.page.keyboard.press('Escape')
    await field(reader).waitFor()
    const { page } = reader
    const [chooser] = await Promise.all([page.waitForEvent('filechooser'), page.getByRole('button', { name: 'Attach files' }).click()])
    await chooser.setFiles({ name: 'plan.txt', mimeType: 'text/plain', buffer: Buffer.from('Tag it, build it, announce it.') })
    await page.locator('.attachment:not(.is-sending)').waitFor()
    await send(page, 'say This is the plan.')
    for (const who of [owner, writer, reader]) {
        await who.page.locator('.message-files a[title="plan.txt"]').last().click()
        await who.page.locator('dialog.viewer', { hasText: 'Tag it, build it, announce it.' }).waitFor()
        await who.page.keyboard.press('Escape')
        await who.page.locator('dialog.viewer').waitFor({ state: 'detached' })
    }
}

/** All three write at the same moment: each message is answered, in one order for all. */
async function together(people, round) {
    const before = await people[0].page.locator('.content .chunk > .message').count()
    await Promise.all(people.map(({ page, name }) => send(page, `say ${name} is ready, round ${round}.`)))
    for (const { page } of people) await eventually(async () => (await page.locator('.content .chunk > .message').count()) === before + 6)
}

/** The owner asks somebody's question differently, in a branch. The others stay where they are, and lists have one row. */
async function branch(owner, writer, reader, id) {
    const { page } = owner
    const asked = page.locator('.message.person', { hasText: 'This is the plan.' })
    await hoverAndClick(asked, asked.getByRole('button', { name: 'Edit and ask again' }))
    await page.getByLabel('New wording').fill('say The release is on Monday.')
    await page.keyboard.press('Enter')
    await eventually(() => !page.url().includes(id))
    await page.locator('.is-stored .bubble', { hasText: 'The release is on Monday.' }).waitFor()
    await eventually(async () => (await page.locator('.content .chunk > .run').last().getAttribute('data-state')) === 'done')
    await soon(async () => assert.equal(await page.locator('.pager-place').innerText(), '2/2'))
    await page.locator('.message-files a[title="plan.txt"]').waitFor() // although somebody else gave it
    await page.getByRole('button', { name: 'Previous version' }).click()
    await page.waitForURL((url) => url.href.includes(id))
    for (const who of [owner, writer, reader]) await soon(async () => assert.equal(await who.page.locator(`.row`).filter({ hasText: 'release' }).count(), 1, who.name))
}

/** One leaves, one is removed: their screens say so, and the conversation is gone from their lists. */
async function part(owner, writer, reader, id) {
    await reader.page.locator('.faces').click()
    await reader.page.getByRole('button', { name: 'Leave the conversation' }).click()
    await reader.page.getByRole('dialog', { name: 'Leave the conversation' }).getByRole('button', { name: 'Leave' }).click()
    await reader.page.locator('.welcome').waitFor()
    for (const { page } of [owner, writer]) await soon(async () => assert.equal(await page.locator('.topbar .face').count(), 2))
    await agree([owner, writer], 'after leaving')
    await owner.page.locator('.faces').click()
    await owner.page.getByRole('button', { name: `Remove ${writer.name}` }).click()
    await owner.page.keyboard.press('Escape')
    await writer.page.getByRole('alert').getByText(`${owner.name} removed you from this conversation.`).waitFor()
    await soon(async () => assert.equal(await writer.page.locator('.message').count(), 0))
    for (const who of [writer, reader]) await eventually(async () => (await row(who, id).count()) === 0)
}

async function play(people, round) {
    const [owner, writer, reader] = people
    const id = await begin(owner, writer, reader)
    await agree(people, 'shared')
    await mention(writer, reader, people, id)
    await agree(people, 'mentioned')
    await approve(owner, writer, reader)
    await agree(people, 'approved')
    await giveFile(owner, writer, reader)
    await agree(people, 'file')
    await together(people, round)
    await agree(people, 'together')
    await branch(owner, writer, reader, id)
    await agree(people, 'branched')
    if (MINUTES > 0) {
        for (const { page, name } of people) assert.deepEqual(await findings(page), [], name)
        await Promise.all(people.map(({ page }) => page.reload()))
        await agree(people, 'reloaded')
    }
    await part(owner, writer, reader, id)
}

test('three people work in one conversation, and nothing is wrong on any screen', async () => {
    const people = await Promise.all(NAMES.map(person))
    const until = Date.now() + MINUTES * 60_000
    let round = 0
    do {
        await play(people, ++round).catch(async (error) => {
            if (SHOTS) for (const { page, name } of people) await page.screenshot({ path: path.join(SHOTS, `failed-${name}.png`) })
            throw error
        })
        if (Date.now() < until) {
            people.push(people.shift()) // the next one is the owner
            for (const { page } of people) await page.goto(`${server.url}/#/`)
        }
    } while (Date.now() < until)
    if (MINUTES > 0) console.log(`# ${round} rounds`)
    for (const { own } of people) await own.close()
}, { timeoutMs: 300_000 + MINUTES * 120_000 })
