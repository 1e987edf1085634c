// The page as such: accessible in both themes, at home below a sub-path, quick with much text.
import http from 'node:http'
import { assert, before, eventually, startServer, test, tmpdir } from '../support/tap.mjs'
import { findings, phoneSwitch } from './axe.mjs'
import { answer, answered, demoEnv, frames, newContext, said, send, soon, withPage, writeLog } from './browser.mjs'

const RICH =
    '# Title\n\nText with `code`, [link](https://x.example).\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n```c\n/* why */ int x = f("s", 1);\n```\n\n> quote\n\n- [x] done'
const LONG = 1200

let server

before(async () => {
    const workdir = tmpdir()
    const shared = {
        visibility: 'shared',
        participants: ['usr_default', ...Array.from('abcdefg', (c) => `usr_${c}`)],
    }
    const tool = [
        { type: 'text', text: RICH },
        { type: 'tool-call', toolCallId: 't', toolName: 'nb__x', input: { a: 1 } },
    ]
    const failed = {
        type: 'tool.done',
        runId: 'run_1',
        id: 't',
        name: 'nb__x',
        ok: false,
        ms: 3,
        result: { content: [{ type: 'text', text: 'no' }] },
    }
    const others = shared.participants.slice(1).map((person, i) => said(3 + i, `from ${person}`, person))
    const error = [
        { type: 'run.start', runId: 'run_2' },
        { type: 'run.error', runId: 'run_2', error: 'The provider is overloaded.', errorType: 'x' },
    ]
    writeLog(
        workdir,
        'conv_8000000000000001',
        [said(1, 'mine'), ...answer(2, 'run_1', tool, [failed]), ...others, said(20, 'again'), ...error],
        shared,
    )
    const turns = Array.from({ length: LONG / 2 }, (_, i) => [
        said(i, `question ${i}`),
        ...answer(i, `run_l${i}`, `Answer **${i}** with \`code\`.\n\n- a\n- b`),
    ])
    writeLog(workdir, 'conv_8000000000000002', turns.flat())
    server = await startServer({ env: demoEnv(), workdir })
})

test('axe finds nothing in a conversation of many, nor in the drawer of a phone', () =>
    withPage(`${server.url}/#/c/conv_8000000000000001`, { reducedMotion: 'reduce' }, async (page) => {
        await answered(page, 2, 'error')
        await page.$$eval('details', (all) => all.forEach((e) => (e.open = true)))
        assert.deepEqual(await findings(page), [])
        const phone = await phoneSwitch(page)
        await phone.on()
        assert.deepEqual(await findings(page), [], 'on a phone')
        await page.getByRole('button', { name: 'Show sidebar' }).click()
        await eventually(async () => (await page.locator('.sidebar').boundingBox()).x === 0)
        assert.deepEqual(await findings(page), [], 'drawer')
    }))

/** Hosts the server below /team/nb/, as a reverse proxy would. */
function proxyBelow(prefix, port) {
    const origin = `http://127.0.0.1:${port}`
    const proxy = http.createServer((req, res) => {
        if (!req.url.startsWith(prefix)) return res.writeHead(404).end()
        const headers = { ...req.headers, host: `127.0.0.1:${port}` }
        if (headers.origin) headers.origin = origin
        const up = http.request(
            { port, host: '127.0.0.1', method: req.method, path: req.url.slice(prefix.length - 1), headers },
            (down) => {
                res.writeHead(down.statusCode, down.headers)
                down.pipe(res)
            },
        )
        up.on('error', () => res.destroy())
        res.on('close', () => up.destroy())
        req.pipe(up)
    })
    return new Promise((resolve) => proxy.listen(0, '127.0.0.1', () => resolve(proxy)))
}

test('works below a sub-path', async () => {
    const proxy = await proxyBelow('/team/nb/', server.port)
    try {
        await withPage(`http://127.0.0.1:${proxy.address().port}/team/nb/`, {}, async (page) => {
            await page.locator('.welcome').waitFor()
            await send(page, 'say hello')
            await answered(page, 1)
            assert.match(page.url(), /\/team\/nb\/#\/c\/conv_/)
            await page.reload()
            await answered(page, 1)
        })
    } finally {
        proxy.closeAllConnections()
        await new Promise((resolve) => proxy.close(resolve))
    }
})

test('a long conversation opens at its end, pages backwards, and keeps only what is near', () =>
    withPage(`${server.url}/#/c/conv_8000000000000002`, {}, async (page) => {
        await page.getByText(`question ${LONG / 2 - 1}`, { exact: true }).waitFor()
        const scroll = page.locator('.scroll')
        const fromEnd = () => scroll.evaluate((e) => e.scrollHeight - e.scrollTop - e.clientHeight)
        await eventually(async () => (await fromEnd()) < 5)
        const oldest = () =>
            page
                .locator('.is-own .bubble')
                .allInnerTexts()
                .then((all) => Number(all[0].split(' ').at(-1)))
        const earlier = page.getByRole('button', { name: 'Load earlier messages' })
        await eventually(async () => {
            await scroll.evaluate((e) => e.scrollTo(0, e.scrollTop === 0 ? 300 : 0))
            return (await oldest()) === 0
        })
        await soon(async () => assert.equal(await earlier.isVisible(), false))
        const drawn = await page.locator('.message').count()
        assert.ok(drawn < 200, `${drawn} of ${LONG} messages exist`)
        await scroll.evaluate((e) => e.scrollTo(0, e.scrollHeight / 2))
        const inWindow = () =>
            scroll.evaluate((e) => {
                const tops = [...e.querySelectorAll('.is-own .bubble')].map((b) => [b.textContent, b.getBoundingClientRect().top])
                return tops.find(([, top]) => top > 100 && top < innerHeight - 200) ?? null
            })
        await eventually(inWindow)
        await frames(page)
        const [text, top] = await inWindow()
        await frames(page)
        const box = await page.getByText(text, { exact: true }).boundingBox()
        assert.ok(Math.abs(box.y - top) < 30, `what is read moved by ${box.y - top} px`)
        await send(page, 'say still quick')
        await eventually(async () =>
            /still quick/.test(await page.locator('.content .chunk > .run').last().innerText()),
        )
        await soon(async () => assert.ok((await fromEnd()) < 5))
    }))

test('the link of nb serve opens the page once and for all, and takes the key out of the address', async () => {
    const own = await newContext({ withKey: false })
    const page = await own.context.newPage()
    const asked = []
    page.on('request', (request) => asked.push(request.url() + JSON.stringify(request.headers())))
    await page.goto(`${server.url}/#key=${server.key}`)
    await page.locator('.welcome').waitFor()
    assert.ok(!page.url().includes(server.key))
    assert.ok(asked.every((what) => !what.includes(server.key)), 'only in the body of the login')
    const cookies = await own.context.cookies()
    assert.ok(cookies.length === 2 && cookies.every((c) => c.httpOnly && c.sameSite === 'Strict' && /^nb_\w+_[0-9a-f]{8}$/.test(c.name)), JSON.stringify(cookies))
    await page.goto(server.url)
    await page.locator('.welcome').waitFor()
    await send(page, 'say hello')
    await answered(page, 1)
    await own.close()
})

test('without the key the page says what to do, and opens with a key or a link that is pasted', async () => {
    const own = await newContext({ withKey: false })
    const page = await own.context.newPage()
    await page.goto(server.url)
    await page.getByText('nb link', { exact: true }).waitFor()
    await page.getByText('nb serve', { exact: true }).waitFor()
    assert.deepEqual(await findings(page), [])
    await page.locator('form').getByLabel('Key').fill('wrong')
    await page.getByRole('button', { name: 'Open' }).click()
    await page.getByRole('alert').waitFor()
    await page.locator('form').getByLabel('Key').fill(`${server.url}/#key=${server.key}`)
    await page.getByRole('button', { name: 'Open' }).click()
    await page.locator('.welcome').waitFor()
    await own.close()
})

test('a link with an old key says so', async () => {
    const own = await newContext({ withKey: false })
    const page = await own.context.newPage()
    await page.goto(`${server.url}/#key=${'x'.repeat(43)}`)
    await page.getByText('That link is not valid any more').waitFor()
    await own.close()
})
