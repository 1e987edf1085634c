// What the page tells about an answer beside its text: thinking and how long it took, retries, the skill, the
// context, summaries; the choice of the model; and the keys that lead through lists and messages.
import fs from 'node:fs'
import path from 'node:path'
import { after, assert, before, startServer, test, tmpdir } from '../support/tap.mjs'
import { say } from '../support/agent.mjs'
import { start as startDouble } from '../support/model_double.mjs'
import { findings } from './axe.mjs'
import { answer, answered, demoEnv, said, send, soon, withPage, writeLog } from './browser.mjs'

const MODEL = 'anthropic:claude-sonnet-4-5-20250929'
// By the built-in table it retires on a day that will be in the past.
const RETIRES = { 'claude-sonnet-4-5': { retiresOn: '2099-11-30' } }
const LONG = 'conv_00000000000000a1', SHORT = 'conv_00000000000000a2'
const SKILL = '---\nname: travel-plans\ndescription: Plans of journeys\ntype: skill\nmetadata:\n  keywords: [itinerary]\n  triggers: ["plan a journey"]\n---\nAsk for the dates first.\n'
let double, server

before(async () => {
    double = await startDouble({ port: 0, seed: 7 })
    const workdir = tmpdir()
    const settings = {
        defaultModel: MODEL,
        models: { fast: 'demo:demo' },
        modelInfo: RETIRES,
        providers: { anthropic: { baseURL: double.url, apiKey: 'sk-ant-test-key' }, chat: { type: 'openai', baseURL: `${double.url}/v1`, apiKey: 'k' } },
    }
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify(settings))
    fs.mkdirSync(path.join(workdir, 'skills'))
    fs.writeFileSync(path.join(workdir, 'skills', 'travel-plans.md'), SKILL)
    const turns = Array.from({ length: 6 }, (_, i) => [said(i, `question ${i}`), ...answer(i, `run_000000000000000${i}`, `answer ${i}`)])
    const ofModel = (events) => events.map((event) => (event.model ? { ...event, model: MODEL } : event))
    writeLog(workdir, LONG, ofModel(turns.flat()))
    writeLog(workdir, SHORT, ofModel(turns[0]))
    for (let i = 0; i < 30; i++) writeLog(workdir, `conv_00000000000001${String(i).padStart(2, '0')}`, [said(i, `older ${i}`), ...answer(i, `run_00000000000001${String(i).padStart(2, '0')}`, 'Yes.')])
    server = await startServer({ workdir, env: demoEnv() })
})
after(() => double.close())

test('thinking says how long it took, also after a reload', () =>
    withPage(server.url, {}, async (page) => {
        await send(page, say({ thinking: 'Perhaps a short greeting.', text: 'Hello to everybody' }))
        const summary = page.locator('.thinking summary')
        await answered(page, 1)
        for (const isReloaded of [false, true]) {
            if (isReloaded) await page.reload()
            await summary.getByText(/^Thought for (a moment|\d+ s)$/).click()
            await page.locator('.thinking').getByText('Perhaps a short greeting.').waitFor()
        }
    }))

test('a call that is repeated is told with its reason and a countdown, also to those who come later', () =>
    withPage(`${server.url}/#/c/${SHORT}`, {}, async (page) => {
        await page.getByText('answer 0').waitFor()
        await send(page, say({ status: 529, retryAfter: 110, type: 'overloaded_error', message: 'Overloaded' }))
        const note = page.locator('.run .waiting-text', { hasText: /overloaded.*Try \d of 5 in \d+ s…$/i })
        await note.waitFor()
        const seconds = async () => Number(/in (\d+) s/.exec(await note.innerText())[1])
        const before = await seconds()
        await soon(async () => assert.ok((await seconds()) < before))
        await page.reload()
        await note.waitFor()
        await page.getByRole('button', { name: 'Stop the answer' }).click()
        await answered(page, 2)
        await note.waitFor({ state: 'hidden' })
    }))

test('the skill of an answer and the share of the context that is used are shown, also after a reload', () =>
    withPage(server.url, {}, async (page) => {
        await send(page, `plan a journey ${say({ text: 'When?', usage: { input_tokens: 100000, output_tokens: 10 } })}`)
        await answered(page, 1)
        for (const isReloaded of [false, true]) {
            if (isReloaded) await page.reload()
            await page.getByRole('link', { name: 'Skill: travel-plans' }).waitFor()
            await page.getByRole('img', { name: /^Context: 100,\d{3} of 200,000 tokens used, 50%$/ }).waitFor()
        }
        assert.deepEqual(await findings(page), [])
    }))

test('where older messages were summarised for the model, the conversation says so', () =>
    withPage(`${server.url}/#/c/${LONG}`, {}, async (page) => {
        await page.getByText('answer 5').waitFor()
        await send(page, say({ status: 400, type: 'invalid_request_error', message: 'prompt is too long: 210000 tokens > 200000 maximum' }))
        await answered(page, 7, 'error')
        await send(page, say({ text: 'fits now' }))
        await answered(page, 8)
        const line = page.getByText('Earlier messages were summarised for the model')
        for (const isReloaded of [false, true]) {
            if (isReloaded) await page.reload()
            await line.click()
            await page.locator('.compacted-text').filter({ hasText: /\w/ }).waitFor()
            await page.getByText('question 0', { exact: true }).waitFor() // the page keeps everything
        }
        assert.deepEqual(await findings(page), [])
    }))

test('the model is chosen by its name: search, what it can do, when it retires, recent ones first', () =>
    withPage(server.url, {}, async (page) => {
        const chip = page.getByRole('button', { name: /^Model:/ })
        await chip.getByText('Claude Sonnet 4.5', { exact: true }).waitFor()
        await chip.click()
        const dialog = page.getByRole('dialog', { name: 'Choose a model' })
        const option = (name) => dialog.getByRole('option', { name })
        await option(/^Claude Sonnet 4\.5 in use sees pictures thinks default Retires on Nov 30, 2099; its successor is Claude Sonnet 5\.5 200k tokens \$3\.00 in, \$15\.00 out$/).waitFor()
        assert.equal(await dialog.getByRole('group', { name: 'Anthropic' }).count(), 1)
        assert.equal(await dialog.getByRole('group', { name: 'Recent' }).count(), 0)
        assert.equal(await option(/^Claude Sonnet 4\.5 /).count(), 1, 'its other id is the same model')
        assert.deepEqual(await findings(page), [])
        await page.keyboard.type('haiku 5.5')
        await soon(async () => assert.equal(await dialog.getByRole('option').count(), 1))
        await page.keyboard.press('Enter')
        await chip.getByText('Claude Haiku 5.5', { exact: true }).waitFor()
        await send(page, say({ text: 'Yes.' }))
        await answered(page, 1)
        assert.equal(double.log.findLast(({ body }) => body?.tools).body.model, 'claude-haiku-5-5')
        await chip.click()
        await dialog.getByRole('group', { name: 'Recent' }).getByRole('option', { name: /^Claude Haiku 5\.5 in use/ }).waitFor()
        await page.keyboard.type('nothing of that kind')
        await dialog.getByText('No model of that name can be used.').waitFor()
        await page.keyboard.press('Escape')
        await soon(async () => assert.equal(await dialog.count(), 0))
    }))

test('the list of conversations is one stop of the Tab key, and J and K lead from message to message', () =>
    withPage(`${server.url}/#/c/${LONG}`, {}, async (page) => {
        const list = page.getByRole('navigation', { name: 'Conversations' })
        await list.locator('.row.is-open').waitFor()
        const stops = () => list.locator('[tabindex="0"]').evaluateAll((all) => all.map((e) => e.ariaLabel ?? e.closest('.row').dataset.id))
        const title = await list.locator('.row.is-open .row-title').innerText()
        await soon(async () => assert.deepEqual(await stops(), [LONG, `More: ${title}`]))
        await list.locator('.row.is-open a').focus()
        await page.keyboard.press('End')
        await soon(async () => assert.equal(await page.evaluate(() => document.activeElement.closest('.row')?.textContent.includes('older 0')), true))
        await soon(async () => assert.equal((await stops()).length, 2))
        await page.getByText('answer 5').click()
        const focused = () => page.evaluate(() => document.activeElement.innerText)
        await page.keyboard.press('k')
        await soon(async () => assert.match(await focused(), /answer|question|fits/))
        const before = await focused()
        await page.keyboard.press('k')
        await soon(async () => assert.notEqual(await focused(), before))
        await page.keyboard.press('j')
        await soon(async () => assert.equal(await focused(), before))
    }))

test('at 400 % most of the window is left for reading', () =>
    withPage(`${server.url}/#/c/${LONG}`, { viewport: { width: 320, height: 200 } }, async (page) => {
        await page.getByText('answer 5').waitFor()
        const height = (selector) => page.locator(selector).first().evaluate((e) => e.getBoundingClientRect().height)
        assert.ok((await height('.scroll')) > 100, `${await height('.scroll')} of 200 px`)
        assert.ok(await page.getByLabel('Message', { exact: true }).isVisible())
        assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0)
    }))

test('after the first key the model is not one that is about to retire', async () => {
    const workdir = tmpdir()
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify({ modelInfo: RETIRES, providers: { anthropic: { baseURL: double.url } } }))
    const { url } = await startServer({ workdir, env: demoEnv() })
    await withPage(`${url}/#/settings/model`, {}, async (page) => {
        await page.getByLabel('Provider').selectOption('anthropic')
        await page.getByLabel('API key').fill('sk-ant-test-key')
        await page.getByRole('button', { name: 'Connect', exact: true }).click()
        await page.locator('strong', { hasText: /^Claude Sonnet 5\.5$/ }).waitFor()
        await page.getByRole('row', { name: /^Claude Sonnet 4\.5 .*retires on Nov 30, 2099/ }).first().waitFor()
        await page.goto(`${url}/#/`)
        await page.getByRole('button', { name: /^Model:/ }).getByText('Claude Sonnet 5.5', { exact: true }).waitFor()
    })
})
