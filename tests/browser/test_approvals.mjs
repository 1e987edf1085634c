// Questions about tool calls in a team: what is remembered, for whom and where; call by call; by keys.
import { assert, before, eventually, nb, startServer, test, tmpdir } from '../support/tap.mjs'
import { serious } from './axe.mjs'
import { answered, demoEnv, newContext, send, soon } from './browser.mjs'

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
    server = await startServer({ env: { ...demoEnv(), NB_CHAT_RATE_LIMIT: '0' }, workdir }) // a fast machine sends more than 20 messages in a minute
})

async function as(email, fn) {
    const own = await newContext()
    const page = await own.newPage()
    await page.goto(server.url)
    await page.getByLabel('E-mail').fill(email)
    await page.getByLabel('Password').fill(PASSWORD)
    await page.keyboard.press('Enter')
    await page.locator('.shell').waitFor()
    // bash is there when its bundle runs
    await eventually(() => page.evaluate(async () => (await (await fetch('v1/bundles/health')).json()).every((b) => b.state === 'running')))
    await fn(page)
    await own.close()
}

const run = (page, command) => send(page, `call bash__bash_exec ${JSON.stringify({ command })}`)
const open = (page) => page.locator('.ask:not(.is-settled)')
const settled = (page) => page.locator('.ask.is-settled')

async function always(page, choice) {
    await open(page).getByRole('button', { name: 'Always allow' }).click()
    await page.getByRole('menuitem', { name: choice, exact: true }).click()
}

/** The n-th answer is done, and so many questions were asked until then. */
async function doneAfter(page, n, questions) {
    await answered(page, n)
    await soon(async () => assert.equal(await page.locator('.ask').count(), questions))
}

test('a member allows for themselves; nobody else is affected, and only admins can allow for everybody', async () => {
    await as('bob@example.com', async (page) => {
        await run(page, 'echo one')
        await open(page).getByRole('button', { name: 'Always allow' }).click()
        await page.getByRole('menuitem', { name: 'Every call everywhere, for me', exact: true }).waitFor()
        await soon(async () => assert.equal(await page.getByRole('menuitem', { name: 'Every call everywhere, for everybody' }).count(), 0))
        await page.getByRole('menuitem', { name: 'Every call everywhere, for me', exact: true }).click()
        await doneAfter(page, 1, 1)
        await settled(page).filter({ hasText: /Allowed\.\s*always, for this person/ }).waitFor()
        await run(page, 'id; ls')
        await doneAfter(page, 2, 1)
        await page.reload()
        await settled(page).filter({ hasText: /Allowed\.\s*always, for this person/ }).waitFor()
    })
    await as('ann@example.com', async (page) => {
        await run(page, 'echo one')
        await open(page).getByRole('button', { name: 'Always allow' }).click()
        await page.getByRole('menuitem', { name: 'Every call everywhere, for everybody', exact: true }).waitFor()
        await page.keyboard.press('Escape')
        await open(page).getByRole('button', { name: 'Decline' }).click()
        await answered(page, 1)
    })
    // what the page does not offer, the server refuses
    await as('bob@example.com', async (page) => {
        const status = await page.evaluate(async () => {
            const { conversations } = await (await fetch('v1/conversations')).json()
            const body = { conversationId: conversations[0].id, answer: { askId: 'ask_1', allow: true, always: 'workspace' } }
            return (await fetch('v1/chat', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })).status
        })
        assert.ok(status >= 400, String(status))
    })
})

test('a permission for a conversation ends with it, and is withdrawn on its screen', async () => {
    await as('ann@example.com', async (page) => {
        await run(page, 'echo here')
        await always(page, 'Every call in this conversation')
        await doneAfter(page, 1, 1)
        await run(page, 'echo again')
        await doneAfter(page, 2, 1)
        await page.getByRole('button', { name: 'New chat' }).first().click()
        await page.locator('.welcome').waitFor()
        await run(page, 'echo elsewhere')
        await open(page).getByRole('button', { name: 'Decline' }).click()
        await answered(page, 1)
        await page.goto(`${server.url}/#/permissions`)
        const row = page.locator('.name', { hasText: 'in one conversation' })
        await row.getByRole('link', { name: 'in one conversation' }).waitFor()
        await row.getByRole('button', { name: /^Ask again for bash__bash_exec/ }).click()
        await soon(async () => assert.equal(await row.count(), 0))
    })
})

test('a permission for commands that begin with two words covers no other command, and none that hides one', async () => {
    await as('ann@example.com', async (page) => {
        await run(page, 'echo hello one')
        await always(page, '“echo hello …” everywhere, for me')
        await doneAfter(page, 1, 1)
        await settled(page).filter({ hasText: 'echo hello …' }).waitFor()
        await run(page, 'echo hello two')
        await doneAfter(page, 2, 1)
        for (const [i, hidden] of ['echo hello; id', 'echo hello $(id)', 'echo hello > x', 'echo other'].entries()) {
            await run(page, hidden)
            await open(page).getByRole('button', { name: 'Decline' }).click()
            await doneAfter(page, 3 + i, 2 + i)
        }
        await run(page, 'sudo echo hello')
        await open(page).getByRole('button', { name: 'Always allow' }).click()
        await page.getByRole('menuitem', { name: 'Every call in this conversation', exact: true }).waitFor()
        await soon(async () => assert.equal(await page.getByRole('menuitem', { name: /…/ }).count(), 0)) // no words for sudo
        await page.keyboard.press('Escape')
        await open(page).getByRole('button', { name: 'Decline' }).click()
    })
})

test('a long command is shown whole; of several calls some are allowed; axe finds nothing', async () => {
    await as('ann@example.com', async (page) => {
        const long = `echo ${'word '.repeat(80)}end`
        await send(page, `call bash__bash_exec {"command":"${long}"} call bash__bash_exec {"command":"echo second"}`)
        const commands = open(page).locator('.ask-command')
        await soon(async () => assert.deepEqual(await commands.allInnerTexts(), [long, 'echo second']))
        const box = await commands.first().evaluate((e) => ({ isCut: e.scrollWidth > e.clientWidth + 1, lines: e.clientHeight / 20 }))
        assert.ok(!box.isCut && box.lines > 3, JSON.stringify(box))
        assert.deepEqual(await serious(page), [])
        const allow = open(page).getByRole('button', { name: 'Allow', exact: true })
        const [first, second] = [`Allow ${long}`, 'Allow echo second'].map((name) => open(page).getByRole('checkbox', { name, exact: true }))
        await first.uncheck()
        await second.uncheck()
        assert.ok(await allow.isDisabled())
        await second.check()
        await allow.click()
        await answered(page, 1)
        await settled(page).filter({ hasText: 'Answered call by call.' }).waitFor()
        await soon(async () => assert.deepEqual(await page.locator('.tool').evaluateAll((all) => all.map((e) => e.dataset.state)), ['declined', 'ok']))
    })
})

test('keys answer the question that has the focus, and no other', async () => {
    await as('ann@example.com', async (page) => {
        await run(page, 'echo by key')
        await open(page).waitFor()
        await page.getByLabel('Message', { exact: true }).focus()
        await page.keyboard.type('yes, no') // a message, not an answer
        await page.locator('.topbar-title').click()
        await page.keyboard.press('y')
        await soon(async () => assert.equal(await open(page).count(), 1))
        await page.keyboard.press('Control+j')
        await soon(async () => assert.ok(await open(page).evaluate((e) => e === document.activeElement)))
        await page.keyboard.press('y')
        await answered(page, 1)
        await settled(page).filter({ hasText: 'Allowed.' }).waitFor()
        await page.getByLabel('Message', { exact: true }).fill('')
        await run(page, 'echo not this')
        await open(page).waitFor()
        await page.keyboard.press('Control+j')
        await page.keyboard.press('n')
        await answered(page, 2)
        await settled(page).filter({ hasText: 'Declined.' }).waitFor()
    })
})
