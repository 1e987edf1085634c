// Faults that somebody found on the page, each with the steps that showed it.
import fs from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { assert, before, eventually, SRC_DIR, startServer, test, tmpdir } from '../support/tap.mjs'
import { answer, answered, at, demoEnv, ENDLESS, frames, hoverAndClick, newContext, said, send, soon, withPage, writeLog } from './browser.mjs'

const MANY = 'conv_00000000000000aa', EMPTY = 'conv_00000000000000bb'
const LONE = 'conv_00000000000000cc', ENDED = 'conv_00000000000000dd', ASKED = 'conv_00000000000000ee', REFUSED = 'conv_00000000000000ff'
let server

before(async () => {
    const workdir = tmpdir('nb-faults-')
    const settings = { bundles: [{ serverName: 'slow', command: process.execPath, args: [path.join(SRC_DIR, 'tests/fixtures/slow-server.mjs')], sandbox: { read: [SRC_DIR, fs.realpathSync(path.join(SRC_DIR, 'node_modules'))] } }] }
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify(settings))
    const events = []
    for (let i = 0; i < 60; i++) events.push(said(i, `question ${i} about the kernel`), ...answer(i, `run_${String(i).padStart(16, '0')}`, [{ type: 'text', text: 'A kernel is a program. '.repeat(20) }]))
    writeLog(workdir, MANY, events)
    writeLog(workdir, EMPTY, [said(1, 'say nothing'), ...answer(1, 'run_00000000000000ff', [])])
    const start = (runId, more = {}) => ({ ts: at(2), type: 'run.start', runId, model: 'demo:demo', ...more })
    writeLog(workdir, LONE, [said(1, 'count to three'), start('run_00000000000000c1')])
    writeLog(workdir, ENDED, [said(1, 'never mind'), start('run_00000000000000d1'), { ts: at(3), type: 'run.done', runId: 'run_00000000000000d1', stopReason: 'cancelled', totalMs: 5 }])
    const refused = { ts: at(3), type: 'run.error', runId: 'run_00000000000000f1', error: 'The key was refused.', errorType: 'provider_auth_error' }
    writeLog(workdir, REFUSED, [said(1, 'hello?'), start('run_00000000000000f1'), refused])
    writeLog(workdir, ASKED, [said(1, 'what time is it?'), ...asked(start)])
    server = await startServer({ workdir, env: demoEnv() })
})

/** Three calls of which somebody allowed the first and the last, as a log has them. */
function asked(start) {
    const [first, second] = ['run_00000000000000e1', 'run_00000000000000e2']
    const calls = ['a', 'b', 'c'].map((id) => ({ id, name: `clock__${id}`, input: { zone: id } }))
    const done = (id, ok) => ({ ts: at(6), type: 'tool.done', runId: second, id, name: `clock__${id}`, ok, ms: 3, result: { content: [{ type: 'text', text: ok ? 'noon' : 'The user did not allow this call.' }], isError: !ok } })
    const [, response] = answer(2, first, [
        { type: 'opaque', provider: 'anthropic', block: { type: 'thinking', thinking: 'Perhaps a clock helps.', signature: 'x' } },
        ...calls.map(({ id, name, input }) => ({ type: 'tool-call', toolCallId: id, toolName: name, input })),
    ])
    return [
        start(first),
        response,
        { ts: at(3), type: 'ask.opened', runId: first, askId: 'ask_1', calls },
        { ts: at(3), type: 'run.done', runId: first, stopReason: 'waiting', iterations: 1, totalMs: 4 },
        { ts: at(4), type: 'ask.answered', askId: 'ask_1', decision: 'allow', decisions: { b: false }, userId: 'usr_default' },
        start(second, { resumes: first }),
        done('a', true),
        done('b', false),
        done('c', false),
        ...answer(7, second, 'It is noon.').slice(1),
    ]
}

const distance = (page) => page.locator('.scroll').evaluate((e) => e.scrollHeight - e.scrollTop - e.clientHeight)

test('the end stays in view when what arrives is taller than the window', () =>
    withPage(`${server.url}/#/c/${MANY}`, {}, async (page) => {
        await page.locator('.run').last().waitFor()
        await soon(async () => assert.ok((await distance(page)) < 60))
        // the late event of the page's own scrolling, after something has grown
        await page.locator('.scroll').evaluate((e) => {
            const box = document.createElement('div')
            box.style.height = '2000px'
            e.firstElementChild.append(box)
            e.dispatchEvent(new Event('scroll'))
        })
        await frames(page, 10)
        assert.ok((await distance(page)) < 60, `${await distance(page)} px above the end`)
        // a reader who goes up stays there
        await page.locator('.scroll').hover()
        await page.mouse.wheel(0, -1500)
        await soon(async () => assert.ok((await distance(page)) > 1000))
        await page.locator('.scroll').evaluate((e) => (e.firstElementChild.lastElementChild.style.height = '4000px'))
        await frames(page, 10)
        assert.ok((await distance(page)) > 1500)
    }))

test('a reader who goes up with keys, or by a search of the browser, stays there, too', () =>
    withPage(`${server.url}/#/c/${MANY}`, {}, async (page) => {
        await page.locator('.run').last().waitFor()
        await soon(async () => assert.ok((await distance(page)) < 60))
        await page.locator('.scroll').evaluate((e) => e.scrollBy(0, -900))
        await frames(page, 10)
        await page.locator('.scroll').evaluate((e) => {
            const box = document.createElement('div')
            box.style.height = '500px'
            e.firstElementChild.append(box)
        })
        await frames(page, 10)
        assert.ok((await distance(page)) > 800, `${await distance(page)} px above the end`)
    }))

test('the document is as high as the window', () =>
    withPage(`${server.url}/#/c/${MANY}`, {}, async (page) => {
        await page.locator('.run').last().waitFor()
        // a label for screen readers, far below the window
        await page.locator('.scroll').evaluate((e) => {
            e.firstElementChild.append(Object.assign(document.createElement('span'), { className: 'visually-hidden', textContent: 'done' }))
            e.scrollTo(0, 0)
        })
        await frames(page, 10)
        const [height, inner] = await page.evaluate(() => [document.documentElement.scrollHeight, innerHeight])
        assert.equal(height, inner)
    }))

test('progress of a call is seen while its card is closed', () =>
    withPage(server.url, {}, async (page) => {
        await send(page, 'call slow__wait {}')
        const bar = page.getByRole('progressbar', { name: 'Progress' })
        await soon(async () => assert.equal(await bar.getAttribute('value'), '0.4'))
        assert.ok(await bar.evaluate((e) => e.checkVisibility()))
        assert.ok((await bar.boundingBox()).width > 100)
        await page.reload() // the tool says nothing more: the server knows what it said last
        await soon(async () => assert.equal(await bar.getAttribute('value'), '0.4'))
        await page.getByRole('button', { name: 'Stop' }).click()
    }))

test('a screen that cannot be loaded says so, and comes when it can be', () =>
    withPage(server.url, {}, async (page) => {
        const errors = []
        page.on('pageerror', (error) => errors.push(error.message))
        await page.locator('.composer-field').waitFor()
        let isBroken = true
        await page.route(/screens[^/]*\.js/, (route) => (isBroken ? route.abort() : route.fallback()))
        await page.goto(`${server.url}/#/usage`)
        await page.getByText('This part of the page could not be loaded').waitFor()
        isBroken = false
        await page.getByRole('button', { name: 'Reload the page' }).click()
        await page.getByRole('heading', { name: 'By day' }).waitFor()
        assert.deepEqual(errors, [])
    }))

test('a search finds words while they are typed, and does not call a part of the hits all of them', () =>
    withPage(server.url, {}, async (page) => {
        const found = async () => (await (await fetch(`${server.url}/v1/search?q=kern&limit=50`)).json()).results.length === 50
        await eventually(found) // the index is made in the background
        const field = page.getByLabel('Search messages')
        await field.fill('kern')
        await page.locator('.hit').first().waitFor()
        await soon(async () => assert.match(await page.locator('.hits').innerText(), /The newest 50 (of \d+ )?hits/))
        for (const text of ['"about the kernel"', 'kernel', 'kern*', 'in:title']) {
            // as it was typed: the server knows that the last word may not be complete
            const asked = page.waitForRequest((request) => new URL(request.url()).searchParams.get('q') === text)
            await field.fill(text)
            await asked
        }
    }))

test('an answer without a word says so', () =>
    withPage(`${server.url}/#/c/${EMPTY}`, {}, async (page) => {
        await page.getByText('The answer is empty.').waitFor()
    }))

test('a message at the edge leaves the composer free', () =>
    withPage(server.url, {}, async (page) => {
        await page.locator('.composer-field').waitFor()
        const [chooser] = await Promise.all([page.waitForEvent('filechooser'), page.getByRole('button', { name: 'Attach files' }).click()])
        await chooser.setFiles(Array.from({ length: 21 }, (_, i) => ({ name: `${i}.txt`, mimeType: 'text/plain', buffer: Buffer.from('x') })))
        const toast = page.locator('.toast').first()
        await toast.waitFor()
        await soon(async () => {
            const [above, composer] = [await toast.boundingBox(), await page.locator('.composer').boundingBox()]
            assert.ok(above.y + above.height <= composer.y, JSON.stringify([above, composer]))
        })
    }))

test('a conversation that is not in the list is renamed from its own title', () =>
    withPage(`${server.url}/#/c/${MANY}`, {}, async (page) => {
        await page.locator('.run').last().waitFor()
        await page.route(/v1\/conversations\?/, (route) => route.fulfill({ contentType: 'application/json', body: '{"conversations":[],"nextCursor":null}' }))
        await page.reload()
        await page.locator('.run').last().waitFor()
        await page.getByRole('button', { name: 'Share', exact: true }).waitFor() // what may be done with it is known
        const title = await page.locator('.topbar-title').innerText()
        await page.locator('.topbar-title').dblclick()
        assert.equal(await page.getByLabel('Title').inputValue(), title)
    }))

test('a question whose answer never began says so, and can be asked again', () =>
    withPage(`${server.url}/#/c/${LONE}`, {}, async (page) => {
        await page.getByText('This answer was interrupted.').waitFor()
        await page.getByRole('button', { name: 'Try again' }).click()
        await page.locator('.run[data-state="done"]').waitFor()
    }))

test('a provider that refuses the key: the failure leads to where the key is changed', () =>
    withPage(`${server.url}/#/c/${REFUSED}`, {}, async (page) => {
        await page.getByText('The key was refused.').waitFor()
        await page.getByRole('link', { name: 'Open the settings of models' }).click()
        await page.getByRole('heading', { name: 'Providers' }).waitFor()
    }))

test('a run that was stopped before its first word says so', () =>
    withPage(`${server.url}/#/c/${ENDED}`, {}, async (page) => {
        await page.getByText('Stopped.').waitFor()
        assert.equal(await page.getByText('interrupted').count(), 0)
    }))

test('a run that is stopped by the death of the server says so after the restart', async () => {
    const workdir = tmpdir('nb-faults-died-')
    const first = await startServer({ workdir, env: demoEnv(200) })
    let id
    await withPage(first.url, {}, async (page) => {
        await send(page, 'count to 400')
        await page.locator('.run[data-state="running"]').waitFor()
        await eventually(() => /conv_/.test(page.url()))
        id = /conv_\w+/.exec(page.url())[0]
        await first.kill9()
    })
    const second = await startServer({ workdir, env: demoEnv() })
    await withPage(`${second.url}/#/c/${id}`, {}, async (page) => {
        await page.getByText('This answer was interrupted.').waitFor()
        await page.getByRole('button', { name: 'Try again' }).waitFor()
    })
})

test('thinking, and who allowed what and when, are there after a reload', () =>
    withPage(`${server.url}/#/c/${ASKED}`, {}, async (page) => {
        await page.getByText('It is noon.').waitFor()
        assert.equal(await page.locator('.run').count(), 1)
        await page.locator('.thinking summary').click()
        await page.getByText('Perhaps a clock helps.').waitFor()
        const note = page.locator('.ask.is-settled')
        assert.match(await note.innerText(), /Answered call by call\./)
        assert.match(await note.locator('time').getAttribute('title'), /2026/)
    }))

test('a call that somebody declined has not failed', () =>
    withPage(`${server.url}/#/c/${ASKED}`, {}, async (page) => {
        await page.getByText('It is noon.').waitFor()
        const states = await page.locator('.tool').evaluateAll((cards) => cards.map((card) => card.dataset.state))
        assert.deepEqual(states, ['ok', 'declined', 'error'])
        const [declined, failed] = await page.locator('.tool-status').evaluateAll((marks) => marks.slice(1).map((mark) => getComputedStyle(mark).color))
        assert.notEqual(declined, failed)
        assert.match(await page.locator('.tool[data-state="declined"]').innerText(), /declined/)
        assert.match(await page.locator('.tools-summary').innerText(), /1 failed · 1 declined/)
    }))

test('a note that somebody adds reaches the open notes of others', () =>
    withPage(`${server.url}/#/c/${MANY}`, {}, async (page) => {
        await page.getByRole('button', { name: 'Notes' }).click()
        await page.getByText('No notes yet.').waitFor()
        await withPage(`${server.url}/#/c/${MANY}`, {}, async (other) => {
            await other.getByRole('button', { name: 'Notes' }).click()
            await other.getByLabel('New note').fill('Ask the **kernel** people.')
            await other.getByRole('button', { name: 'Add note' }).click()
            await other.locator('.note').waitFor()
        })
        await page.locator('.note', { hasText: 'Ask the kernel people.' }).waitFor()
    }))

test('a conversation with another first question knows where it comes from', () =>
    withPage(server.url, {}, async (page) => {
        await send(page, 'say one')
        await answered(page, 1)
        const first = page.url()
        await hoverAndClick(page.locator('.message.person').first(), page.getByRole('button', { name: 'Edit and ask again' }))
        await page.getByLabel('New wording').fill('say two')
        await page.keyboard.press('Enter')
        await page.waitForURL((url) => url.href !== first && /conv_/.test(url.href))
        await answered(page, 1)
        await page.getByText('say two').first().waitFor()
        await page.getByRole('button', { name: 'Previous version' }).click()
        await page.waitForURL((url) => url.href === first)
    }))

/** Runs in the page: it can be sent into the background, and keeps the notifications it shows. */
function recordNotifications() {
    globalThis.isAway = false
    globalThis.notes = []
    Object.defineProperty(document, 'hidden', { get: () => globalThis.isAway })
    Object.defineProperty(document, 'visibilityState', { get: () => (globalThis.isAway ? 'hidden' : 'visible') })
    globalThis.Notification = class {
        static permission = 'granted'
        static requestPermission = async () => 'granted'
        constructor(title, { body, tag }) {
            globalThis.notes.push({ title, body, tag })
        }
    }
}

test('the end of an answer in a conversation that is not open is told, too', async () => {
    const slow = await startServer({ workdir: tmpdir('nb-faults-away-'), env: demoEnv(20) })
    const own = await newContext()
    await own.context.addInitScript(recordNotifications)
    const page = await own.newPage()
    await page.goto(`${slow.url}/#/settings/appearance`)
    await page.getByLabel('Notify me when an answer is done').check()
    await page.evaluate(() => (location.hash = '#/'))
    await send(page, ENDLESS)
    await page.locator('.run[data-state="running"]').waitFor()
    await eventually(() => /conv_/.test(page.url()))
    const id = /conv_\w+/.exec(page.url())[0]
    await page.getByRole('button', { name: 'New chat' }).first().click()
    await page.locator('.welcome').waitFor()
    await page.locator('.row .mark-running').waitFor()
    await page.evaluate(() => {
        globalThis.isAway = true
        document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))
    })
    await fetch(`${slow.url}/v1/conversations/${id}/cancel`, { method: 'POST' })
    await page.waitForFunction(() => globalThis.notes.length > 0)
    const [note] = await page.evaluate(() => globalThis.notes)
    assert.deepEqual([note.tag, note.body], [id, 'The answer is done.'])
    await soon(async () => assert.match(await page.title(), /^✓/))
    await own.close()
})

test('a conversation is asked for before it is known who is here, and its outline is shown', async () => {
    const own = await newContext()
    const page = await own.newPage()
    let asked
    const history = new Promise((resolve) => (asked = resolve))
    let isOutlined = false
    await page.route(/v1\/conversations\/\w+\/history/, (route) => {
        asked()
        return route.continue()
    })
    await page.route(/v1\/bootstrap/, async (route) => {
        await history
        await page.locator('.skeleton').waitFor()
        isOutlined = true
        await route.continue()
    })
    const count = []
    page.on('request', (request) => /\/history/.test(request.url()) && count.push(request.url()))
    await page.goto(`${server.url}/#/c/${MANY}`)
    await page.locator('.run').last().waitFor()
    assert.ok(isOutlined)
    await page.locator('.skeleton').waitFor({ state: 'detached' })
    assert.equal(count.length, 1, 'the history is asked for once')
    await own.close()
})

test('letters are as large as the person has set them in the browser', () =>
    withPage(`${server.url}/#/c/${MANY}`, {}, async (page) => {
        await page.locator('.run').last().waitFor()
        await page.locator('.row-title').first().waitFor()
        const sizes = () => page.evaluate(() => ['.md', '.composer-field', '.topbar-title', '.row-title, .conversation'].map((name) => parseFloat(getComputedStyle(document.querySelector(name) ?? document.body).fontSize)))
        const before = await sizes()
        const devtools = await page.context().newCDPSession(page)
        await devtools.send('Page.enable')
        await devtools.send('Page.setFontSizes', { fontSizes: { standard: 24 } })
        await soon(async () => assert.deepEqual(await sizes(), before.map((size) => size * 1.5)))
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth))
    }))

test('a key that the provider refuses is not kept, and the page says why', async () => {
    const provider = http.createServer((req, res) => {
        const error = { type: 'error', error: { type: 'authentication_error', message: 'invalid x-api-key' } }
        req.resume().on('end', () => res.writeHead(401, { 'content-type': 'application/json' }).end(JSON.stringify(error)))
    })
    await new Promise((resolve) => provider.listen(0, '127.0.0.1', resolve))
    const workdir = tmpdir('nb-faults-key-')
    const settings = { defaultModel: 'demo:demo', providers: { anthropic: { baseURL: `http://127.0.0.1:${provider.address().port}` } } }
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify(settings))
    const own = await startServer({ workdir, env: demoEnv() })
    await withPage(`${own.url}/#/settings/model`, {}, async (page) => {
        await page.getByLabel('Provider').selectOption('anthropic')
        await page.getByLabel('API key').fill('sk-ant-not-a-key')
        await page.getByRole('button', { name: 'Connect', exact: true }).click()
        await page.getByText('does not accept the API key').waitFor()
        assert.equal(await page.getByLabel('API key').inputValue(), 'sk-ant-not-a-key', 'to be corrected')
    })
    assert.ok(!fs.existsSync(path.join(workdir, 'credentials/@providers.json')))
    provider.close()
})
