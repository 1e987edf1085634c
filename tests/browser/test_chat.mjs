// The page in a real browser: a first visit, chatting, tabs, reloads, stopping, keys, phones.
import fs from 'node:fs'
import path from 'node:path'
import { assert, before, eventually, freePort, startServer, test, tmpdir } from '../support/tap.mjs'
import { lend, operator } from '../support/office.mjs'
import { answer, answered, demoEnv, ENDLESS, newContext, said, send, soon, withPage, writeLog } from './browser.mjs'

const COUNT = 'count to 60'
const NUMBERS = Array.from({ length: 60 }, (_, i) => i + 1)
let server, slow

before(async () => {
    server = await startServer({ env: demoEnv() })
    slow = await startServer({ env: demoEnv(40) })
})

function numbersIn(text) {
    return [...text.matchAll(/\b\d+\b/g)].map((match) => Number(match[0]))
}

test('a first visit: the demo says what it is and offers three things to try', async () => {
    const fresh = await startServer({ env: demoEnv() })
    const own = await newContext()
    const page = await own.newPage()
    const finished = []
    page.on('requestfinished', (request) => finished.push(request))
    await page.goto(fresh.url)
    await page.getByRole('heading', { name: 'Welcome to nb' }).waitFor()
    await soon(async () => assert.match(await page.locator('.welcome-lead').innerText(), /demo model is active/))
    await soon(async () => assert.equal(await page.locator('.suggestion').count(), 4))
    await page.getByText('will be listed here').waitFor()
    let bytes = 0
    for (const request of finished) {
        assert.ok(request.url().startsWith(fresh.url), request.url())
        if (!request.url().includes('/v1/')) bytes += (await request.sizes()).responseBodySize
    }
    assert.ok(bytes > 10_000 && bytes < 85_000, `first load: ${bytes} bytes`)
    await own.close()
})

test('chat with tools: cards in a group, their input and output, a title that arrives', () =>
    withPage(server.url, {}, async (page) => {
        await page.getByRole('button', { name: /two tools/ }).click()
        await page.locator('.is-own .bubble').waitFor()
        const run = await answered(page, 1)
        assert.match(page.url(), /#\/c\/conv_[0-9a-f]{16}$/)
        await soon(async () => assert.equal(await run.locator('.tool[data-state=ok]').count(), 2))
        await soon(async () => assert.match(await run.locator('.tools-label').innerText(), /2 tools/))
        await run.locator('.tool summary').first().click()
        await soon(async () => assert.match(await run.locator('.tool-body').first().innerText(), /Input[^]*Output[^]*\d/))
        await soon(async () => assert.match(await run.locator('.md').first().innerText(), /demo model/))
        await soon(async () => assert.equal(await run.locator('.md strong').first().innerText(), 'demo model'))
        const row = page.locator('.row.is-open .row-title')
        await eventually(async () => /Call time/.test(await row.innerText()))
        await eventually(async () => /Call time/.test(await page.locator('.topbar-title').innerText()))
        await soon(async () => assert.match(await page.title(), /Call time.* · nb$/))
        const style = await page.locator('.is-own .bubble').evaluate((e) => getComputedStyle(e).fontStyle)
        assert.equal(style, 'italic')
        await soon(async () => assert.equal(await page.locator('.is-own .speaker').isVisible(), false))
    }))

test('a reload in the middle of an answer resumes it without loss or repetition', () =>
    withPage(slow.url, {}, async (page) => {
        await send(page, ENDLESS)
        const text = () => page.locator('.content .chunk > .run').innerText()
        await eventually(async () => numbersIn(await text()).includes(10))
        const before = Math.max(...numbersIn(await text()))
        await page.reload()
        await eventually(async () => numbersIn(await text()).includes(before + 10))
        await soon(async () => assert.equal(await page.locator('.content .chunk > .run').getAttribute('data-state'), 'running'))
        await page.getByRole('button', { name: 'Stop the answer' }).click()
        await answered(page, 1)
        const numbers = numbersIn(await page.locator('.run .md').innerText())
        assert.deepEqual(numbers, numbers.map((_, i) => i + 1))
        await soon(async () => assert.equal(await page.locator('.is-own').count(), 1))
    }))

test('two tabs of one conversation show the same, live; one stops what the other asked', async () => {
    const own = await newContext()
    const [one, two] = [await own.newPage(), await own.newPage()]
    await one.goto(slow.url)
    await send(one, 'say hello')
    await answered(one, 1)
    await two.goto(one.url())
    await answered(two, 1)
    await send(one, ENDLESS)
    await two.getByText(ENDLESS).first().waitFor()
    await eventually(
        async () => numbersIn(await two.locator('.content .chunk > .run').nth(1).innerText()).includes(5),
    )
    await soon(async () => assert.equal(await two.locator('.content .chunk > .run').nth(1).getAttribute('data-state'), 'running'))
    await two.getByRole('button', { name: 'Stop the answer' }).click()
    await answered(one, 2)
    await answered(two, 2)
    for (const page of [one, two])
        await soon(async () => assert.match(await page.locator('.content .chunk > .run').nth(1).innerText(), /Stopped\./))
    const all = (page) => page.locator('.bubble, .md, .stop-notice').allInnerTexts().then(String)
    await eventually(async () => (await all(one)) === (await all(two)))
    await soon(async () => assert.equal(await one.locator('.is-own').count(), 2))
    await own.close()
})

test('a list in another tab shows a new conversation and its title', async () => {
    const own = await newContext()
    const [one, two] = [await own.newPage(), await own.newPage()]
    await one.goto(server.url)
    await two.goto(server.url)
    await two.locator('.welcome').waitFor()
    await send(one, 'say violets are blue')
    await two.locator('.row-title', { hasText: 'Say violets are blue' }).waitFor()
    await own.close()
})

test(
    'seven tabs, one connection; when the tab that holds it closes, another takes over',
    async () => {
        const own = await newContext()
        const open = new Set()
        let most = 0
        own.context.on('request', (request) => {
            if (!/\/v1\/events\?|\/v1\/events$/.test(request.url())) return
            open.add(request)
            most = Math.max(most, open.size)
        })
        for (const end of ['requestfinished', 'requestfailed'])
            own.context.on(end, (request) => open.delete(request))
        const first = await own.newPage()
        await first.goto(server.url)
        await send(first, 'say one')
        await answered(first, 1)
        const others = []
        for (let i = 0; i < 6; i++) {
            const page = await own.newPage()
            await page.goto(first.url())
            await answered(page, 1)
            others.push(page)
        }
        assert.equal(most, 1)
        await send(others[3], 'say two')
        for (const page of [first, ...others]) await answered(page, 2)
        await first.close()
        await send(others[0], 'say three')
        for (const page of others) {
            await answered(page, 3)
            await soon(async () => assert.deepEqual(await page.locator('.is-own .bubble').allInnerTexts(), ['say one', 'say two', 'say three']))
        }
        await own.close()
    },
)

test('Escape stops an answer; the part that had arrived stays, also after a reload', () =>
    withPage(slow.url, {}, async (page) => {
        await send(page, ENDLESS)
        await eventually(
            async () => numbersIn(await page.locator('.content .chunk > .run').innerText()).includes(4),
        )
        await page.keyboard.press('Escape')
        await answered(page, 1)
        const before = await page.locator('.run .md').innerText()
        assert.ok(numbersIn(before).length >= 4 && numbersIn(before).length < 10000)
        await page.reload()
        await answered(page, 1)
        await soon(async () => assert.equal(await page.locator('.run .md').innerText(), before))
        await soon(async () => assert.match(await page.locator('.messages').innerText(), /Stopped\./))
    }))

test('a server that dies in the middle: offline, back again, interrupted, try again', async () => {
    const workdir = tmpdir()
    const port = await freePort()
    const launch = (delayMs) =>
        startServer({ env: demoEnv(delayMs), workdir, args: ['--port', String(port)] })
    const first = await launch(200)
    await withPage(`http://127.0.0.1:${port}/`, {}, async (page) => {
        await send(page, COUNT)
        await eventually(
            async () => numbersIn(await page.locator('.content .chunk > .run').innerText()).includes(3),
        )
        await first.kill9()
        await page.getByText('Offline').waitFor()
        await soon(async () => assert.match(await page.locator('.messages').innerText(), /\b3\b/))
        await launch(1)
        await answered(page, 1, 'interrupted')
        await page.getByText('Offline').waitFor({ state: 'hidden' })
        await page.getByRole('button', { name: 'Try again' }).click()
        await answered(page, 2)
        const again = page.locator('.content .chunk > .run').nth(1).locator('.md')
        await soon(async () => assert.deepEqual(numbersIn(await again.innerText()), NUMBERS))
    })
})

test('a message that cannot be sent is kept, and sent on request', () =>
    withPage(server.url, {}, async (page) => {
        await page.route('**/v1/chat/stream', (route) => route.abort(), { times: 1 })
        await send(page, 'say it again')
        await page.getByRole('alert').waitFor()
        await soon(async () => assert.match(await page.getByRole('alert').innerText(), /Not sent/))
        await page.getByRole('button', { name: 'Try again' }).click()
        await answered(page, 1)
        await soon(async () => assert.equal(await page.locator('.is-own').count(), 1))
        await soon(async () => assert.equal(await page.getByRole('alert').count(), 0))
    }))

test('messages that could not be sent outlive the next one and a reload, in this tab', () =>
    withPage(server.url, {}, async (page) => {
        await send(page, 'say zero')
        await answered(page, 1)
        await page.route('**/v1/chat/stream', (route) => route.abort())
        for (const text of ['say one', 'say two']) {
            await send(page, text)
            await page.locator('.is-own', { hasText: text }).getByText('Not sent').waitFor()
        }
        assert.equal(await page.locator('.is-own').count(), 3)
        await soon(async () => assert.equal(await page.getByText('Thinking').count(), 0, 'nobody thinks about what was not sent'))
        await page.unroute('**/v1/chat/stream')
        await page.reload()
        await soon(async () => assert.equal(await page.getByText('Not sent').count(), 2))
        const other = await page.context().newPage()
        await other.goto(page.url())
        await other.getByText('say zero').first().waitFor()
        assert.equal(await other.getByText('Not sent').count(), 0, 'another tab does not send it too')
        await page.locator('.is-own', { hasText: 'say one' }).getByRole('button', { name: 'Try again' }).click()
        await answered(page, 2)
        await page.reload()
        await soon(async () => assert.equal(await page.getByText('Not sent').count(), 1))
        await soon(async () => assert.equal(await page.locator('.is-own', { hasText: 'say one' }).count(), 1))
    }))

test('a refusal of the server is shown in its own words', () =>
    withPage(server.url, {}, async (page) => {
        const body = JSON.stringify({ error: 'run_in_progress', message: 'The agent is still answering.' })
        await page.route(
            '**/v1/chat/stream',
            (route) => route.fulfill({ status: 409, contentType: 'application/json', body }),
            { times: 1 },
        )
        await send(page, 'say nothing')
        await page.getByText('The agent is still answering.').waitFor()
        await page.getByRole('button', { name: 'Edit' }).click()
        await soon(async () => assert.equal(await page.getByLabel('Message', { exact: true }).inputValue(), 'say nothing'))
        await soon(async () => assert.equal(await page.locator('.is-own').count(), 0))
    }))

test('keyboard only: write, send, new line, search, help, theme, sidebar', () =>
    withPage(server.url, { colorScheme: 'light' }, async (page) => {
        await page.locator('.welcome').waitFor()
        await soon(async () => assert.equal(await page.evaluate(() => document.activeElement.className), 'composer-field'))
        await page.keyboard.type('say first')
        await page.keyboard.press('Shift+Enter')
        await page.keyboard.type('second')
        await page.keyboard.press('Enter')
        await answered(page, 1)
        await soon(async () => assert.equal(await page.locator('.is-own .bubble').innerText(), 'say first\nsecond'))
        await page.keyboard.press('Control+Shift+F')
        await soon(async () => assert.equal(await page.evaluate(() => document.activeElement.type), 'search'))
        await page.keyboard.type('no such conversation')
        await page.getByText('Nothing found.').waitFor()
        await page.keyboard.press('Escape')
        await page.locator('.row').first().waitFor()
        await page.keyboard.press('ArrowDown')
        await page.keyboard.press('?')
        await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
        await page.keyboard.press('Escape')
        await page.getByRole('dialog').waitFor({ state: 'hidden' })
        await page.keyboard.press('Control+Shift+L')
        await page.keyboard.press('Control+Shift+L')
        await soon(async () => assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark'))
        await page.reload()
        await answered(page, 1)
        await soon(async () => assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark'))
        await page.keyboard.press('Control+b')
        await page.locator('.sidebar').waitFor({ state: 'hidden' })
        await page.keyboard.press('Control+Shift+O')
        await page.locator('.welcome').waitFor()
    }))

test('drafts are kept per conversation', () =>
    withPage(server.url, {}, async (page) => {
        const field = page.getByLabel('Message', { exact: true })
        await send(page, 'say one')
        await answered(page, 1)
        const url = page.url()
        await field.fill('half a thought')
        await page.getByRole('button', { name: 'New chat' }).first().click()
        await page.locator('.welcome').waitFor()
        await soon(async () => assert.equal(await field.inputValue(), ''))
        await field.fill('a second thought')
        await page.goto(url)
        await answered(page, 1)
        await soon(async () => assert.equal(await field.inputValue(), 'half a thought'))
        await page.reload()
        await answered(page, 1)
        await soon(async () => assert.equal(await field.inputValue(), 'half a thought'))
        await page.goBack()
        await page.locator('.welcome').waitFor()
        await soon(async () => assert.equal(await field.inputValue(), 'a second thought'))
    }))

test('scrolling up is respected while text streams; a button leads back', () =>
    withPage(slow.url, { viewport: { width: 900, height: 380 } }, async (page) => {
        await send(page, ENDLESS)
        const scroll = page.locator('.scroll')
        const fromEnd = () => scroll.evaluate((e) => e.scrollHeight - e.scrollTop - e.clientHeight)
        await page.getByRole('button', { name: 'Jump to the latest message' }).click() // the question stays at the top until then
        await eventually(() => scroll.evaluate((e) => e.scrollHeight > e.clientHeight + 150))
        await soon(async () => assert.ok((await fromEnd()) < 5))
        await scroll.hover()
        await eventually(async () => {
            await page.mouse.wheel(0, -2000) // the text may have grown higher than that
            return (await scroll.evaluate((e) => e.scrollTop)) === 0
        })
        const grew = await scroll.evaluate((e) => e.scrollHeight)
        await eventually(() => scroll.evaluate((e, before) => e.scrollHeight > before, grew))
        assert.equal(await scroll.evaluate((e) => e.scrollTop), 0)
        await page.getByRole('button', { name: 'Jump to the latest message' }).click()
        await soon(async () => assert.ok((await fromEnd()) < 5))
        await page.getByRole('button', { name: 'Stop the answer' }).click()
        await answered(page, 1)
    }))

test('on a phone: a drawer, no sideways scrolling, targets for thumbs', () =>
    withPage(
        server.url,
        { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
        async (page) => {
            await page.locator('.welcome').waitFor()
            await soon(async () => assert.equal(await page.locator('.sidebar').isVisible(), false))
            await send(page, 'tools')
            await answered(page, 1)
            await page.getByRole('button', { name: 'Show sidebar' }).click()
            await page.locator('.row').first().waitFor()
            const small = await page.$$eval('button, a.row-link', (all) =>
                all
                    .filter((e) => e.checkVisibility({ visibilityProperty: true }))
                    .map((e) => [e.className, e.getBoundingClientRect()])
                    .filter(
                        ([name, box]) =>
                            box.height > 0 && Math.max(box.height, box.width) < 40 && !/copy/.test(name),
                    )
                    .map(([name]) => name),
            )
            assert.deepEqual(small, [])
            await page.locator('.row-link').first().click()
            await page.locator('.sidebar').waitFor({ state: 'hidden' })
            await soon(async () => assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0))
        },
    ))

test('a shared conversation: names where the speaker changes, one colour per person', async () => {
    const workdir = tmpdir()
    const people = { visibility: 'shared', participants: ['usr_default', 'usr_ada', 'usr_bob'] }
    writeLog(
        workdir,
        'conv_5000000000000001',
        [
            said(1, 'mine'),
            ...answer(2, 'run_1', 'an answer'),
            said(3, 'first', 'usr_ada'),
            said(4, 'second', 'usr_ada'),
            said(5, 'third', 'usr_bob'),
            ...answer(6, 'run_2', 'more'),
        ],
        people,
    )
    const { url } = await startServer({ env: demoEnv(), workdir })
    await withPage(`${url}/#/c/conv_5000000000000001`, {}, async (page) => {
        await answered(page, 2)
        const others = page.locator('.is-other')
        await soon(async () => assert.equal(await others.count(), 3))
        const labels = await others
            .locator('.speaker')
            .evaluateAll((all) => all.map((e) => (e.hidden ? '' : e.textContent)))
        assert.deepEqual(labels, ['ada', '', 'bob'])
        const colours = await others
            .locator('.bubble')
            .evaluateAll((all) => all.map((e) => getComputedStyle(e).borderInlineStartColor))
        assert.equal(colours[0], colours[1])
        assert.notEqual(colours[0], colours[2])
        const right = (selector) =>
            page
                .locator(selector)
                .first()
                .evaluate((e) => e.getBoundingClientRect().right)
        await soon(async () => assert.ok((await right('.is-own .bubble')) > (await right('.is-other .bubble'))))
        await page.locator('.mark-shared').waitFor()
    })
})

test(
    'a list of ten thousand: only what is in view exists; an unknown conversation says so',
    async () => {
        const workdir = tmpdir()
        const many = 10_000
        for (let i = 0; i < many; i++) {
            const id = `conv_6${String(i).padStart(15, '0')}`
            writeLog(workdir, id, [said(i, `question number ${i}`)])
        }
        const { url } = await startServer({ env: demoEnv(), workdir })
        await withPage(url, {}, async (page) => {
            const rows = page.locator('.row')
            await rows.first().waitFor()
            await soon(async () => assert.equal(await rows.first().locator('.row-title').innerText(), `question number ${many - 1}`))
            const list = page.locator('.conversations')
            const seen = () => page.locator('.row-title').allInnerTexts()
            const deep = async () => {
                await list.evaluate((e) => e.scrollTo(0, e.scrollHeight))
                return (await seen()).some((title) => Number(title.split(' ').at(-1)) < many - 1500)
            }
            await eventually(deep)
            await soon(async () => assert.ok((await rows.count()) < 80, `${await rows.count()} rows exist`))
            await list.evaluate((e) => e.scrollTo(0, 0))
            await eventually(async () => (await seen())[0] === `question number ${many - 1}`)
            await page.locator('.row-link').first().focus()
            for (let i = 2; i <= 31; i++) {
                await page.keyboard.press('ArrowDown')
                await page.waitForFunction((title) => document.activeElement.innerText.includes(title), `question number ${many - i}`)
            }
            await page.goto(`${url}/#/c/conv_ffffffffffffffff`)
            await page.getByText('does not exist').waitFor()
            await page.getByRole('button', { name: 'Start a new chat' }).click()
            await page.locator('.welcome').waitFor()
        })
    },
)

function startAsking() {
    const workdir = tmpdir()
    const settings = { permissions: { ask: ['nb__calculate'] } }
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify(settings))
    return startServer({ env: demoEnv(), workdir })
}

test('a question: allowed here, allowed in another tab, declined by a message', async () => {
    const { url } = await startAsking()
    const own = await newContext()
    const one = await own.newPage()
    await one.goto(url)
    await send(one, 'calculate 6*7')
    const question = (page) => page.getByRole('group', { name: 'Permission for nb__calculate' })
    const run = (page, n) => page.locator('.content .chunk > .run').nth(n - 1)
    await question(one).locator('.tool summary').click()
    await soon(async () => assert.match(await question(one).locator('.tool-body').innerText(), /"expression": "6\*7"/))
    await soon(async () => assert.equal(await one.locator('.spinner, .waiting:not([hidden])').count(), 0))
    await one.locator('.composer-hint', { hasText: 'declines' }).waitFor()
    await question(one).getByRole('button', { name: 'Allow', exact: true }).press('Enter')
    await run(one, 1).getByText('42', { exact: true }).waitFor()
    await run(one, 1).locator('.tool[data-state=ok]').waitFor()
    await soon(async () => assert.match(await run(one, 1).locator('.ask').innerText(), /^Allowed\.\s+\d/)) // and when
    await soon(async () => assert.doesNotMatch(await one.locator('.composer-hint').innerText(), /declines/))

    await send(one, 'calculate 6*8')
    await question(one).getByRole('button', { name: 'Allow', exact: true }).waitFor()
    const two = await own.newPage()
    await two.goto(one.url())
    await question(two).getByRole('button', { name: 'Allow', exact: true }).click()
    for (const page of [one, two]) await run(page, 2).getByText('48', { exact: true }).waitFor()
    await soon(async () => assert.equal(await one.getByRole('button', { name: 'Decline' }).count(), 0))

    await send(two, 'calculate 6*9')
    await question(one).getByRole('button', { name: 'Decline' }).waitFor()
    await send(one, 'say never mind')
    for (const page of [one, two]) {
        await run(page, 4).getByText('never mind').waitFor()
        await soon(async () => assert.match(await run(page, 3).locator('.ask').innerText(), /^Declined: a message/))
        await soon(async () => assert.equal(await run(page, 3).locator('.tool[data-state=declined]').count(), 1))
    }
    await two.reload()
    await run(two, 4).getByText('never mind').waitFor()
    await soon(async () => assert.equal(await run(two, 1).getByText('42', { exact: true }).count(), 1))
    await soon(async () => assert.equal(await two.locator('.content .chunk > .run').count(), 4))
    await soon(async () => assert.equal(await two.getByRole('button', { name: 'Allow' }).count(), 0))
    await own.close()
})

test('a question: one that is declined says so, and a rule to ask leaves no “always”', async () => {
    const { url } = await startAsking()
    await withPage(url, {}, async (page) => {
        await send(page, 'calculate 6*7')
        await page.getByRole('button', { name: 'Decline' }).waitFor()
        await soon(async () => assert.equal(await page.getByRole('button', { name: 'Always allow' }).count(), 0))
        await page.getByRole('button', { name: 'Decline' }).click()
        await page.locator('.ask', { hasText: /^Declined\.\s*\d/ }).waitFor()
        await answered(page, 1)
    })
})

test('a question: a command in the directory of a terminal is declined here, and allowed only there', async () => {
    const asking = await startServer({ env: demoEnv() })
    const dir = fs.realpathSync(tmpdir())
    const own = operator(asking)
    await eventually(async () => {
        const { body } = await own('GET', '/v1/bundles/health')
        return body.length > 0 && body.every((b) => b.state === 'running')
    })
    const message = 'call bash__bash_exec {"command":"pwd"}'
    const { conversationId } = (await own('POST', '/v1/chat', { message, workingDirectory: lend(dir) })).body
    await withPage(`${asking.url}/#/c/${conversationId}`, {}, async (page) => {
        await page.locator('.ask', { hasText: `run in ${dir}, the directory of a terminal` }).waitFor()
        await soon(async () => assert.equal(await page.getByRole('button', { name: /^(Always )?[Aa]llow$/ }).count(), 0))
        await page.getByRole('button', { name: 'Decline' }).click()
        await page.locator('.ask', { hasText: /^Declined\.\s*\d/ }).waitFor()
    })
})

test('a question: a tool that is always allowed is not asked about again', async () => {
    const workdir = tmpdir()
    const ids = ['conv_00000000000000a1', 'conv_00000000000000a2']
    for (const id of ids) writeLog(workdir, id, [said(1, 'one of two')])
    const { url } = await startServer({ env: demoEnv(), workdir })
    const deletion = (id) => `call conversations__delete {"id": "${id}"}` // asks without a rule
    await withPage(url, {}, async (page) => {
        await send(page, deletion(ids[0]))
        await page.getByRole('button', { name: 'Always allow' }).click()
        await page.getByRole('menuitem', { name: 'Every call everywhere, for me' }).click()
        await answered(page, 1)
        await send(page, deletion(ids[1]))
        await answered(page, 2)
        await soon(async () => assert.equal(await page.locator('.ask').count(), 1))
    })
})
