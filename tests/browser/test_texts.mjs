// Instructions and saved prompts in Settings, and the menu of `/` in the field.
import fs from 'node:fs'
import path from 'node:path'
import { SRC_DIR, assert, before, eventually, startServer, test, tmpdir } from '../support/tap.mjs'
import { findings } from './axe.mjs'
import { demoEnv, withPage } from './browser.mjs'

let server

before(async () => {
    const workdir = tmpdir()
    const args = [path.join(SRC_DIR, 'tests/fixtures/mcp-fixture.mjs')]
    const bundles = [{ serverName: 'fix', command: process.execPath, args, sandbox: { read: [SRC_DIR] } }]
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify({ noDefaultBundles: true, bundles }))
    fs.mkdirSync(path.join(workdir, 'skills'))
    fs.writeFileSync(path.join(workdir, 'skills/minutes.md'), '---\nname: minutes-of-a-call\ndescription: d\ntriggers: ["write the minutes"]\n---\nShort.\n')
    server = await startServer({ env: demoEnv(), workdir })
    await eventually(async () => (await (await fetch(`${server.url}/v1/apps`)).json()).apps.some(({ status }) => status === 'running'))
})

const field = (page) => page.getByLabel('Message', { exact: true })
const rows = (page) => page.locator('.slash-row')

/** Types it and waits until the first row has this text. */
async function offered(page, typed, first) {
    await field(page).fill(typed)
    await rows(page).first().filter({ hasText: first }).waitFor()
}

test('settings: instructions are saved, and shown in what the model sees', () =>
    withPage(`${server.url}/#/settings/instructions`, {}, async (page) => {
        await page.getByLabel('Instructions for your own messages').fill('Call me Ishmael.')
        await page.getByRole('button', { name: 'Save' }).first().click()
        await page.getByText('Saved. The next message uses them.').first().waitFor()
        await page.getByLabel('Instructions for everybody').fill('Be kind.')
        await page.getByRole('button', { name: 'Save' }).last().click()
        await eventually(async () => (await (await fetch(`${server.url}/v1/instructions`)).json()).workspace.text === 'Be kind.')
        assert.deepEqual(await findings(page), [])
        await page.goto(`${server.url}/#/context`)
        await page.getByRole('button', { name: 'Show what would be sent' }).click()
        await page.getByText('Call me Ishmael.').first().waitFor({ state: 'attached' })
        await page.getByText('Be kind.').first().waitFor({ state: 'attached' })
    }))

test('saved prompts: made in Settings, found by a few letters, filled in and sent, by keys alone', () =>
    withPage(`${server.url}/#/settings/prompts`, {}, async (page) => {
        await page.getByRole('button', { name: 'New prompt' }).click()
        await page.getByLabel('Name').fill('short-summary')
        await page.getByLabel('Description').fill('In a few sentences')
        await page.getByLabel('Text').fill('say {{ what }} and {{what}} in {{number}} ways')
        await page.getByRole('button', { name: 'Save' }).click()
        await page.locator('.skill', { hasText: '/short-summary' }).waitFor()
        await page.goto(`${server.url}/#/`)
        await field(page).focus()
        await page.keyboard.type('/shsum')
        await rows(page).first().filter({ hasText: 'short-summary' }).waitFor()
        assert.equal(await field(page).getAttribute('aria-activedescendant'), 'slash-0')
        assert.deepEqual(await findings(page), [])
        await page.keyboard.press('Enter')
        await page.getByLabel('what', { exact: true }).waitFor()
        await page.keyboard.type('hello')
        await page.keyboard.press('Tab')
        await page.keyboard.type('{{what}}') // a value is not read as a variable
        await page.keyboard.press('Enter')
        await page.locator('dialog[open]').waitFor({ state: 'detached' })
        await eventually(async () => (await field(page).inputValue()) === 'say hello and hello in {{what}} ways')
        assert.equal(await page.evaluate(() => document.activeElement.tagName), 'TEXTAREA')
        await page.keyboard.press('Enter')
        await page.locator('.bubble', { hasText: 'say hello and hello' }).waitFor()
    }))

test('the menu has prompts of bundles, skills and commands; Escape closes it, and a message may begin with a slash', () =>
    withPage(`${server.url}/#/`, {}, async (page) => {
        await offered(page, '/prompt-with-arg', 'fix: test_prompt_with_arguments')
        await page.keyboard.press('Enter')
        await page.getByLabel('arg1').waitFor()
        await page.keyboard.press('Escape') // the field stays as it was
        await page.locator('dialog[open]').waitFor({ state: 'detached' })
        assert.equal(await field(page).inputValue(), '/prompt-with-arg')
        await offered(page, '/prompt-with-args', 'fix: test_prompt_with_arguments')
        await page.keyboard.press('Enter')
        await page.getByLabel('arg1').fill('blue')
        await page.getByLabel('arg2').fill('green')
        await page.getByRole('button', { name: 'Insert' }).click()
        await eventually(async () => /blue.*green/s.test(await field(page).inputValue()))
        await offered(page, '/minutes', 'minutes-of-a-call')
        await page.keyboard.press('Tab')
        assert.equal(await field(page).inputValue(), 'write the minutes ')
        await offered(page, '/usg', 'Usage')
        await page.keyboard.press('Enter')
        await page.waitForURL(/#\/usage/)
        await page.goto(`${server.url}/#/`)
        await offered(page, '/', '')
        await page.locator('.slash-kind', { hasText: /^Bundle$/ }).first().waitFor() // commands come first; the rest begins the list anew
        assert.ok((await rows(page).count()) > 3)
        await page.keyboard.press('ArrowUp')
        assert.equal(await rows(page).last().getAttribute('aria-selected'), 'true')
        await page.keyboard.press('Escape')
        await rows(page).first().waitFor({ state: 'hidden' })
        await field(page).fill('/etc/hosts is a file')
        await page.keyboard.press('Enter')
        await page.locator('.bubble', { hasText: '/etc/hosts is a file' }).waitFor()
    }))
