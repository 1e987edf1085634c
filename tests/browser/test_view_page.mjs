// The page with apps in it, against a double of the server's part: what is shown, what is asked, what
// is refused. tests/browser/test_apps*.mjs have the real server.
import { assert, before, eventually, startServer, test, tmpdir } from '../support/tap.mjs'
import { FIXTURE_APP, startViewDouble } from '../support/view_double.mjs'
import { serious } from './axe.mjs'
import { answer, demoEnv, said, send, slowClock, soon, withPage, writeLog } from './browser.mjs'

const ONE = 'conv_7000000000000001'
const MANY = 'conv_7000000000000002'
const MANY_COUNT = 30

let nb, double

/** A call of the tool with an interface, as a log has it. */
function shown(minute, id) {
    const runId = `run_${id}`
    const call = { type: 'tool-call', toolCallId: id, toolName: 'fixture__show', input: { a: 1 } }
    const result = { content: [{ type: 'text', text: `text of ${id}` }] }
    const done = { type: 'tool.done', runId, id, name: 'fixture__show', ok: true, ms: 3, result }
    return [said(minute, `show ${id}`), ...answer(minute, runId, [call], [done])]
}

before(async () => {
    const workdir = tmpdir()
    writeLog(workdir, ONE, shown(1, 'c1'))
    writeLog(workdir, MANY, Array.from({ length: MANY_COUNT }, (_, i) => shown(i, `m${i}`)).flat())
    nb = await startServer({ env: demoEnv(20), workdir })
    double = await startViewDouble(nb, ['fixture__show', 'nb__status'])
})

/** Everything as it is without a test's wishes. */
function reset(changes = {}) {
    Object.assign(double, { html: FIXTURE_APP, view: {}, progress: {}, rpc: () => ({}), requests: [], placements: [], isApartReachable: true }, changes)
    double.lost.clear()
}

/** For the page of a test: a request of the page before it, which is closed, may still be on its way. */
function begin(changes) {
    double.closeAllConnections()
    reset(changes)
}

const asked = (what) => double.requests.filter(([method]) => method === what)

/** The frame of the app itself, inside the sandbox. */
async function appFrame(page, n = 0) {
    return eventually(async () => {
        const outer = page.locator('.app-frame').nth(n)
        const frame = await (await outer.elementHandle({ timeout: 5000 })).contentFrame()
        const inner = frame?.childFrames()[0]
        return inner && (await inner.evaluate(() => typeof globalThis.ready)) === 'object' && inner
    })
}

async function withApp(fn, changes) {
    begin(changes)
    await withPage(`${double.url}/#/c/${ONE}`, {}, async (page, own) => {
        const app = await appFrame(page)
        await page.locator('.app-card[data-state=running]').waitFor()
        await fn(page, app, own)
    })
}

const told = (app) => app.evaluate(() => globalThis.told.map(({ method, params }) => [method.replace('ui/notifications/', ''), params]))
const ask = (app, method, params) => app.evaluate(([m, p]) => globalThis.ask(m, p), [method, params])
const later = (app, method, params) => app.evaluate(([m, p]) => void (globalThis.later = globalThis.ask(m, p)), [method, params])
const outcome = (app) => app.evaluate(() => globalThis.later)
const card = (page) => page.locator('.app-card')

/** Listens from now on; the promise in what it returns is the reason with which the app is ended. */
async function listenForEnd(app) {
    await app.evaluate(() => {
        globalThis.ended = new Promise((resolve) => addEventListener('message', ({ data }) => data.method === 'ui/resource-teardown' && resolve(data.params.reason)))
    })
    return { reason: app.evaluate(() => globalThis.ended) }
}

test('an app comes back with stored arguments and result, its name, its height and the look of the page', () =>
    withApp(async (page, app) => {
        await soon(async () => assert.deepEqual((await told(app)).filter(([m]) => m.startsWith('tool-')), [
            ['tool-input', { arguments: { a: 1 } }],
            ['tool-result', { content: [{ type: 'text', text: 'stored' }], structuredContent: { n: 7 } }],
        ]))
        const { hostContext, hostInfo, protocolVersion } = await app.evaluate(() => globalThis.greeting)
        assert.equal(protocolVersion, '2026-01-26')
        assert.equal(hostInfo.name, 'nimblebrain')
        assert.equal(Object.keys(hostContext.styles.variables).length, 76)
        assert.match(hostContext.styles.variables['--color-background-primary'], /^light-dark\(#fff(fff)?, #17171a\)$/)
        assert.equal(hostContext.displayMode, 'inline')
        assert.ok(hostContext.containerDimensions.width > 200)
        assert.deepEqual(hostContext.toolInfo, { id: 'c1', tool: { name: 'show', inputSchema: { type: 'object' } } })
        await soon(async () => assert.equal((await page.locator('.app-body').boundingBox()).height, 240))
        assert.match(await page.locator('.app-head').innerText(), /Fixture\s*by fixture/)
        assert.deepEqual(asked('open')[0][1], { conversationId: ONE, callId: 'c1', position: asked('open')[0][1].position })
        assert.ok(asked('open')[0][1].position > 0)
        assert.deepEqual(await serious(page), [])
    }))

test('an app is told when the page becomes dark, and when the language changes', () =>
    withApp(async (page, app) => {
        const changes = async (name) => (await told(app)).filter(([m, p]) => m === 'host-context-changed' && p[name]).map(([, p]) => p[name])
        await page.emulateMedia({ colorScheme: 'dark' })
        await soon(async () => assert.deepEqual(await changes('theme'), ['dark']))
        await page.evaluate(() => dispatchEvent(new Event('languagechange')))
        await soon(async () => assert.equal((await changes('locale')).length, 1))
    }))

test('heights are bounded, senseless ones ignored', () =>
    withApp(async (page, app) => {
        const height = async () => (await page.locator('.app-body').boundingBox()).height
        await app.evaluate(() => globalThis.tell('ui/notifications/size-changed', { height: 100_000 }))
        await soon(async () => assert.equal(await height(), 2000))
        for (const bad of [0, -5, NaN, 'x']) await app.evaluate((px) => globalThis.tell('ui/notifications/size-changed', { height: px }), bad)
        await ask(app, 'ping')
        assert.equal(await height(), 2000)
    }))

test('a live call: the app is there before the call is, and is told in order', async () => {
    begin({ view: { state: 'preparing', arguments: null, result: null } })
    await withPage(double.url, {}, async (page) => {
        await send(page, 'call status {}')
        const app = await appFrame(page)
        await soon(async () => assert.deepEqual((await told(app)).filter(([m]) => /^tool-/.test(m)).map(([m]) => m), ['tool-input', 'tool-result']))
        assert.equal(asked('get').length, 1)
    })
})

test('calls go to the server, with progress; a call that is given up is cancelled there', async () => {
    let closed = false
    const rpc = async ({ params }, call) => {
        if (params.name === 'slow') await call.closed.then(() => (closed = true))
        call.progress({ progress: 1, total: 2 })
        return { content: [], isError: true, structuredContent: { echo: params.arguments } }
    }
    await withApp(
        async (page, app) => {
            const { result } = await ask(app, 'tools/call', { name: 'fast', arguments: { x: 1 }, _meta: { progressToken: 'tok' } })
            assert.deepEqual(result, { content: [], isError: true, structuredContent: { echo: { x: 1 } } })
            const progress = (await told(app)).find(([m]) => m === 'notifications/progress')
            assert.deepEqual(progress[1], { progress: 1, total: 2, progressToken: 'tok' })
            await later(app, 'tools/call', { name: 'slow' })
            await eventually(() => asked('tools/call').length === 2)
            await app.evaluate(() => globalThis.tell('notifications/cancelled', { requestId: 2 }))
            await eventually(() => closed)
            assert.equal((await ask(app, 'tasks/list', {})).error.code, -32601)
            assert.equal((await ask(app, 'tools/call', { name: 'x', arguments: { big: 'x'.repeat(2 ** 20) } })).error.code, -32000)
            assert.equal(asked('tools/call').length, 2)
        },
        { rpc },
    )
})

test('a permission that a call needs is asked for in the card', async () => {
    const rpc = async (_, { ask: question }) => ({ decision: await question({ askId: 'ask_1', kind: 'tool', tool: 'fixture__write', input: { path: '/tmp/x' }, canRemember: true }) })
    await withApp(
        async (page, app) => {
            await later(app, 'tools/call', { name: 'write' })
            const question = card(page).getByRole('group', { name: /wants to call this tool/ })
            await question.getByText('/tmp/x').first().waitFor()
            assert.deepEqual(await serious(page), [])
            await question.getByRole('button', { name: 'Always allow' }).click()
            assert.equal((await outcome(app)).result.decision, 'always')
            await soon(async () => assert.equal(await question.count(), 0))
        },
        { rpc },
    )
})

test('a message is sent when the person wants it, and without a question after "always"', () =>
    withApp(async (page, app) => {
        const message = (text) => ({ role: 'user', content: [{ type: 'text', text }] })
        await later(app, 'ui/message', message('first <b>words</b>'))
        await page.getByText('first <b>words</b>').waitFor()
        await card(page).getByRole('button', { name: 'Refuse' }).click()
        assert.deepEqual((await outcome(app)).result, { isError: true })
        assert.equal(asked('ui/message').length, 0)
        await later(app, 'ui/message', message('second'))
        await card(page).getByRole('button', { name: 'Always in this conversation' }).click()
        assert.deepEqual((await outcome(app)).result, {})
        assert.deepEqual((await ask(app, 'ui/message', { role: 'user', content: { type: 'text', text: 'third' } })).result, {})
        assert.deepEqual(asked('ui/message').map(([, { params, confirmed }]) => [params.content[0].text, confirmed]), [
            ['second', true],
            ['third', false],
        ])
        assert.equal((await ask(app, 'ui/message', { role: 'assistant', content: [] })).error.code, -32602)
    }))

test('what is sent is what the person has read', () =>
    withApp(async (page, app) => {
        const resource = { uri: 'ui://x', text: 'and delete everything' }
        await later(app, 'ui/message', { role: 'user', content: [{ type: 'text', text: 'hello\u202e' }, { type: 'resource', resource }] })
        await card(page).getByText('and delete everything').waitFor()
        await card(page).getByRole('button', { name: 'Send' }).click()
        assert.deepEqual((await outcome(app)).result, {})
        assert.deepEqual(asked('ui/message')[0][1].params.content, [{ type: 'text', text: 'hello\nand delete everything' }])
    }))

test('an app puts nothing into the message field while the person writes there', () =>
    withApp(async (page, app) => {
        const field = page.getByLabel('Message', { exact: true })
        await field.pressSequentially('my words')
        assert.equal(await page.evaluate(() => navigator.userActivation.isActive), true)
        assert.deepEqual((await ask(app, 'ui/message', { action: 'prompt', value: 'its words' })).result, { isError: true })
        assert.deepEqual((await ask(app, 'synapse/action', { action: 'startChat', prompt: 'its words' })).result, { isError: true })
        assert.equal(await field.inputValue(), 'my words')
    }))

test('notifications without end do not pile up in the page', async () => {
    let release
    const held = new Promise((done) => (release = done))
    await withApp(
        async (page, app) => {
            await app.evaluate(() => {
                for (let i = 0; i < 60; i++) globalThis.tell('notifications/message', { data: i })
                for (let i = 0; i < 60; i++) globalThis.tell('ui/update-model-context', { content: [{ type: 'text', text: String(i) }] })
            })
            await ask(app, 'ping') // all of them have arrived
            release({})
            await eventually(() => asked('ui/update-model-context').length === 2)
            assert.deepEqual(asked('ui/update-model-context').map(([, { params }]) => params.content[0].text), ['0', '59'])
            await eventually(() => asked('notifications/message').length >= 8) // on connections of their own
            assert.equal(asked('notifications/message').length, 8)
        },
        { rpc: () => held },
    )
})

test('links open in a window of their own, after a question; only those of the web', () =>
    withApp(async (page, app, own) => {
        assert.deepEqual((await ask(app, 'ui/open-link', { url: 'javascript:alert(1)' })).result, { isError: true })
        await own.context.route('https://x.example/**', (route) => route.fulfill({ body: 'there', contentType: 'text/html' }))
        await later(app, 'ui/open-link', { url: 'https://x.example/path?q=1' })
        const question = card(page).getByRole('group', { name: 'Fixture wants to open x.example' })
        const popup = own.context.waitForEvent('page')
        await question.getByRole('link', { name: 'Open' }).click()
        assert.deepEqual((await outcome(app)).result, {})
        const opened = await popup
        await opened.waitForURL('https://x.example/path?q=1')
        assert.equal(await opened.evaluate(() => globalThis.opener), null)
        assert.equal(await opened.evaluate(() => document.referrer), '')
    }))

test('files are saved under a harmless name, after a question', () =>
    withApp(async (page, app) => {
        await later(app, 'ui/download-file', { contents: [{ type: 'resource', resource: { uri: 'file:///../..%2f.secret.txt', text: 'content' } }] })
        const saved = page.waitForEvent('download')
        await card(page).getByRole('button', { name: 'Save' }).click()
        assert.equal((await saved).suggestedFilename(), '_.secret.txt')
        assert.deepEqual((await outcome(app)).result, {})
        assert.equal((await ask(app, 'ui/download-file', { contents: [] })).error.code, -32602)
    }))

test('display modes: fullscreen and back by Escape, a small window, and only what the app declared', () =>
    withApp(async (page, app) => {
        assert.deepEqual((await ask(app, 'ui/request-display-mode', { mode: 'fullscreen' })).result, { mode: 'fullscreen' })
        await page.locator('.app-card[data-mode=fullscreen]').waitFor()
        const box = await card(page).boundingBox()
        assert.deepEqual([box.x, box.y, box.width, box.height], [0, 0, 1280, 800])
        await soon(async () => {
            const last = (await told(app)).findLast(([m, p]) => m === 'host-context-changed' && p.displayMode)
            assert.equal(last[1].displayMode, 'fullscreen')
        })
        assert.ok(await page.locator('.sidebar').evaluate((e) => e.closest('[inert]') !== null))
        assert.deepEqual(await serious(page), [])
        await page.getByRole('button', { name: 'Back to the conversation' }).focus()
        await page.keyboard.press('Escape')
        await page.locator('.app-card[data-mode=inline]').waitFor()
        assert.ok(await page.locator('.sidebar').evaluate((e) => e.closest('[inert]') === null))
        assert.deepEqual((await ask(app, 'ui/request-display-mode', { mode: 'pip' })).result, { mode: 'pip' })
        await soon(async () => assert.ok((await card(page).boundingBox()).width < 500))
        assert.deepEqual((await ask(app, 'ui/request-display-mode', { mode: 'tiny' })).result, { mode: 'pip' })
        await page.getByRole('button', { name: 'App menu' }).click()
        await page.getByRole('menuitem', { name: 'Back to the conversation' }).click()
        await page.locator('.app-card[data-mode=inline]').waitFor()
        assert.equal(await app.evaluate(() => globalThis.told.filter(({ method }) => method.endsWith('tool-result')).length), 1, 'it was never loaded again')
    }))

test('an app that declares modes gets no other', () =>
    withApp(
        async (page, app) => {
            assert.deepEqual((await ask(app, 'ui/request-display-mode', { mode: 'pip' })).result, { mode: 'inline' })
            await page.getByRole('button', { name: 'App menu' }).click()
            await page.getByRole('menuitem', { name: 'Full size' }).waitFor()
            assert.equal(await page.getByRole('menuitem', { name: 'Small window' }).count(), 0)
        },
        { html: FIXTURE_APP.replace('globalThis.capabilities ?? {}', "{ availableDisplayModes: ['inline', 'fullscreen'] }") },
    ))

test('close and reload: the app is told, then removed, and comes back', () =>
    withApp(async (page, app) => {
        const ended = await listenForEnd(app)
        await page.getByRole('button', { name: 'App menu' }).click()
        await page.getByRole('menuitem', { name: 'Close' }).click()
        assert.equal(await ended.reason, 'The view was closed.')
        await page.locator('.app-card[data-state=closed]').waitFor()
        assert.equal(await page.locator('.app-frame').count(), 0)
        await eventually(() => asked('close').length === 1)
        await card(page).getByRole('button', { name: 'Open' }).click()
        await page.locator('.app-card[data-state=running]').waitFor()
        const again = await appFrame(page)
        await again.evaluate(() => globalThis.tell('ui/notifications/request-teardown'))
        await page.locator('.app-card[data-state=closed]').waitFor()
    }))

test('leaving the conversation ends the app, and it is told', () =>
    withApp(async (page, app) => {
        const ended = await listenForEnd(app)
        await page.getByRole('link', { name: 'Skills' }).click()
        assert.equal(typeof (await ended.reason), 'string')
        await soon(async () => assert.equal(await page.locator('iframe, .is-leaving').count(), 0))
    }))

test('a flood of messages stops the app, and the page says so', () =>
    withApp(async (page, app) => {
        await app.evaluate(() => void setInterval(() => Array.from({ length: 100 }, () => globalThis.tell('x')), 5))
        await page.locator('.app-note', { hasText: 'it sent messages without end' }).waitFor()
        assert.equal(await page.locator('.app-frame').count(), 0)
        await page.getByText('text of c1').last().waitFor()
    }))

test('an app that takes the keyboard gives it back; one that goes on doing so is stopped', () =>
    withApp(async (page, app) => {
        const field = page.getByLabel('Message', { exact: true })
        await app.evaluate(() => {
            const thief = Object.assign(document.createElement('input'), { id: 'thief' })
            document.body.append(thief)
            globalThis.grabs = 0
            addEventListener('message', ({ data }) => {
                if (data.method !== 'grab') return
                thief.focus()
                globalThis.grabs++
            })
        })
        // Right behind each key: a focus that is taken a while after the last one counts as a click.
        const grabBehindKeys = (isOn) =>
            page.evaluate((on) => {
                const grab = () => document.querySelector('.app-frame')?.contentWindow.postMessage({ method: 'grab' }, '*')
                globalThis.onkeydown = on ? grab : null
            }, isOn)
        await page.evaluate(slowClock) // on a busy machine a grab would come so long after its key that it looks like a click
        const isBack = () => soon(async () => assert.ok(await field.evaluate((e) => e === document.activeElement && document.hasFocus())))
        await field.click()
        await field.pressSequentially('first')
        await grabBehindKeys(true)
        await page.keyboard.press('Space')
        await eventually(() => app.evaluate(() => globalThis.grabs === 1))
        await grabBehindKeys(false)
        await isBack()
        assert.equal(await page.locator('.app-card[data-state=running]').count(), 1, 'once is no crime')
        await page.evaluate(() => (globalThis.aheadMs += 3000)) // somebody who stops writing, and then clicks
        await app.locator('#thief').click()
        await soon(async () => assert.ok(await app.evaluate(() => document.activeElement.id === 'thief' && document.hasFocus())))
        await page.keyboard.type('clicked')
        assert.equal(await app.locator('#thief').inputValue(), 'clicked')
        await field.click()
        await grabBehindKeys(true)
        const stopped = page.locator('.app-note', { hasText: 'it took the keyboard again and again' })
        const isStopped = stopped.waitFor()
        // Nobody acknowledges a key that was sent to a frame which is being removed.
        for (const key of 'a secret') {
            await isBack()
            await Promise.race([page.keyboard.type(key, { delay: 40 }), isStopped.then(() => page.waitForTimeout(500))])
        }
        await isStopped
        await isBack()
        await page.keyboard.type(' is kept')
        const kept = await field.inputValue() // a key between a grab and its answer is the app's
        const pattern = [...'first a secret'].map((c) => `${c}?`).join('')
        assert.match(kept, new RegExp(`^${pattern} is kept$`))
        assert.ok(kept.length >= 'first a secret is kept'.length - 3, kept)
    }))

test('what an app wanted to load and may not is told', () =>
    withApp(async (page, app) => {
        await app.evaluate(() => parent.postMessage({ nbViolation: { directive: 'script-src-elem', blockedUri: 'https://cdn.example' } }, '*'))
        await page.getByText('This app wanted to load scripts from https://cdn.example, which its author did not declare.').waitFor()
        await app.evaluate(() => globalThis.tell('ui/notifications/sandbox-violation', { directive: 'img-src', blockedUri: 'https://forged.example' }))
        await ask(app, 'ping')
        assert.equal(await page.getByText('forged.example').count(), 0)
    }))

test('a resource that cannot be shown: the reason, and the result as text', async () => {
    begin({ view: { resource: null, problem: { code: 'resource_too_large', message: 'The interface is larger than 8 MiB.' } } })
    await withPage(`${double.url}/#/c/${ONE}`, {}, async (page) => {
        await page.locator('.app-note', { hasText: 'The interface is larger than 8 MiB.' }).waitFor()
        await page.locator('.app-text', { hasText: 'text of c1' }).waitFor()
        assert.deepEqual(await serious(page), [])
        reset()
        await page.getByRole('button', { name: 'Try again' }).click()
        await page.locator('.app-card[data-state=running]').waitFor()
    })
})

test('a sandbox that cannot be reached on its own origin is loaded on ours, without its rights', async () => {
    begin({ isApartReachable: false })
    await withPage(`${double.url}/#/c/${ONE}`, {}, async (page) => {
        const app = await appFrame(page)
        await page.locator('.app-card[data-state=running]').waitFor()
        assert.deepEqual(asked('open').map(([, body]) => body.isApart), [undefined, false])
        assert.equal(await page.locator('.app-frame').getAttribute('sandbox'), 'allow-scripts allow-forms')
        assert.equal(await app.evaluate(() => globalThis.origin), 'null')
        await soon(async () => assert.ok((await told(app)).some(([m]) => m === 'tool-result')))
    })
})

test('a view that the server has lost is opened again, once, and told its context again', () =>
    withApp(async (page, app) => {
        assert.deepEqual((await ask(app, 'ui/update-model-context', { content: [{ type: 'text', text: 'one' }] })).result, {})
        double.lost.add(`view_${double.count}`)
        assert.deepEqual((await ask(app, 'tools/call', { name: 'x' })).result, {})
        assert.equal(asked('open').length, 2)
        assert.equal(asked('ui/update-model-context').length, 2)
        assert.equal(await page.locator('.app-frame').count(), 1)
    }))

test('an app whose server was replaced meanwhile is stopped', () =>
    withApp(async (page, app) => {
        double.lost.add(`view_${double.count}`)
        double.view = { resource: { uri: 'ui://fixture/view', html: '<p>another', csp: {}, permissions: {}, prefersBorder: null, dropped: [], sha256: 'another' } }
        void ask(app, 'tools/call', { name: 'x' }).catch(() => {}) // its frame is gone before the answer
        await page.locator('.app-note', { hasText: 'replaced or removed while it was open' }).waitFor()
        assert.equal(await page.locator('.app-frame').count(), 0)
        assert.equal(asked('tools/call').length, 0, 'the new server has not heard of it')
        await eventually(() => asked('close').length >= 1)
    }))

test('state is found again after a reload of the app; other messages of NimbleBrain', () =>
    withApp(async (page, app) => {
        assert.deepEqual((await ask(app, 'synapse/persist-state', { state: { row: 3 }, version: 2 })).result, { ok: true })
        const picked = ask(app, 'synapse/request-file', {})
        await page.locator('.app-asks').getByRole('button', { name: 'Refuse' }).click()
        assert.equal((await picked).result, null)
        assert.equal((await ask(app, 'synapse/request-file', { accept: '"><x' })).error.code, -32602)
        await page.getByRole('button', { name: 'App menu' }).click()
        await page.getByRole('menuitem', { name: 'Reload' }).click()
        await eventually(() => asked('open').length === 2)
        await page.locator('.app-card[data-state=running]').waitFor()
        const again = await appFrame(page)
        await soon(async () => assert.deepEqual((await told(again)).find(([m]) => m === 'synapse/state-loaded')?.[1], { state: { row: 3 }, version: 2 }))
        await again.evaluate(() => void (globalThis.onDo = () => globalThis.ask('ui/message', { action: 'prompt', value: 'tell me more' })))
        await again.locator('#do').click()
        await soon(async () => assert.equal(await page.getByLabel('Message', { exact: true }).inputValue(), 'tell me more'))
        await page.evaluate(() => document.activeElement.blur()) // whoever still writes is not interrupted by an app
        await again.evaluate(() => void (globalThis.onDo = () => globalThis.tell('synapse/action', { action: 'startChat', prompt: 'a new start' })))
        await again.locator('#do').click()
        await page.locator('.welcome').waitFor()
        await soon(async () => assert.equal(await page.getByLabel('Message', { exact: true }).inputValue(), 'a new start')) // the old field leaves with its app
    }))

test('only apps near the window are alive, and not more than six', async () => {
    begin()
    await withPage(`${double.url}/#/c/${MANY}`, {}, async (page) => {
        const alive = () => page.locator('.app-frame').count()
        await page.locator('.app-card[data-state=running]').last().waitFor()
        await soon(async () => assert.ok((await alive()) >= 3))
        const last = await appFrame(page, (await alive()) - 1)
        let most = 0
        const scroll = page.locator('.scroll')
        await scroll.hover()
        for (let i = 0; i < 30; i++) {
            await page.mouse.wheel(0, -300)
            most = Math.max(most, await alive())
        }
        await eventually(() => last.isDetached())
        assert.ok(most <= 6, `${most} at the same time`)
        await soon(async () => assert.ok((await alive()) <= 6))
        await eventually(() => asked('close').length > 0)
    })
})

const PLACEMENTS = [
    { app: 'fixture', slot: 'main', uri: 'ui://fixture/home', label: 'Fixture home', icon: 'home', route: 'fixture/home', priority: 20, size: 'full' },
    { app: 'other', slot: 'sidebar', uri: 'ui://other/side', label: 'Other', icon: 'unknown', route: null, priority: 50, size: 'auto' },
    { app: 'other', slot: 'sidebar', uri: 'ui://other/more/things', label: 'Things', icon: null, route: null, priority: 60, size: 'auto' },
    { app: 'fixture', slot: 'settings', uri: 'ui://fixture/settings', label: 'Fixture settings', icon: null, route: null, priority: 100, size: 'compact' },
]

test('apps with a place of their own: in the sidebar, at an address that survives a reload, in the settings', async () => {
    begin({ placements: PLACEMENTS, view: { conversationId: null, callId: null, tool: null, state: 'done', arguments: null, result: null, title: 'Fixture home' } })
    await withPage(double.url, {}, async (page) => {
        const apps = page.getByRole('navigation', { name: 'Apps' })
        assert.deepEqual(await soonLinks(apps, 3), ['Other', 'Things', 'Fixture home'])
        assert.match(await apps.getByRole('link', { name: 'Things' }).getAttribute('href'), /#\/app\/other\/more\/things$/)
        await apps.getByRole('link', { name: 'Fixture home' }).click()
        await page.waitForURL(/#\/app\/fixture\/home$/)
        const app = await appFrame(page)
        await page.locator('.app-card[data-state=running]').waitFor()
        assert.deepEqual(asked('open')[0][1], { app: 'fixture', uri: 'ui://fixture/home' })
        assert.equal(await page.title(), 'Fixture home · nb')
        const { hostContext } = await app.evaluate(() => globalThis.greeting)
        assert.ok(hostContext.containerDimensions.height > 500 && !('toolInfo' in hostContext))
        assert.equal(hostContext.origin, new URL(double.url).origin)
        assert.equal(hostContext.workspace.isPersonal, true)
        assert.ok(Array.isArray(hostContext.streamingConversationIds) && !('forceRefresh' in hostContext))
        await ask(app, 'ping')
        assert.deepEqual((await told(app)).filter(([m]) => m.startsWith('tool-')), [])
        assert.deepEqual(await serious(page), [])
        await app.evaluate(() => void (globalThis.onDo = () => globalThis.ask('synapse/action', { action: 'openApp', name: 'other' })))
        await app.locator('#do').click()
        await page.waitForURL(/#\/app\/other$/)
        await page.reload()
        await page.locator('.app-card[data-state=running]').waitFor()
        assert.deepEqual(asked('open').at(-1)[1], { app: 'other', uri: 'ui://other/side' })
        await page.goto(`${double.url}/#/settings/app.fixture`)
        await soon(async () => assert.deepEqual(asked('open').at(-1)[1], { app: 'fixture', uri: 'ui://fixture/settings' }))
        await page.locator('.app-card[data-state=running]:visible').waitFor()
        await page.goto(`${double.url}/#/app/nothing`)
        await page.getByText('No app of this workspace is shown at “nothing”').waitFor()
        await soon(async () => assert.equal(await page.locator('iframe').count(), 0))
    })
})

async function soonLinks(nav, n) {
    await eventually(async () => (await nav.getByRole('link').count()) === n)
    return nav.getByRole('link').allInnerTexts()
}

test('an app without a conversation proposes a message instead of sending it', async () => {
    begin({ placements: PLACEMENTS, view: { conversationId: null, callId: null, tool: null, result: null } })
    await withPage(`${double.url}/#/app/fixture/home`, {}, async (page) => {
        const app = await appFrame(page)
        await page.locator('.app-card[data-state=running]').waitFor()
        await app.evaluate(() => void (globalThis.onDo = () => globalThis.ask('ui/message', { role: 'user', content: [{ type: 'text', text: 'look at this' }] })))
        await app.locator('#do').click()
        await page.locator('.welcome').waitFor()
        assert.equal(await page.getByLabel('Message', { exact: true }).inputValue(), 'look at this')
        assert.equal(asked('ui/message').length, 0)
    })
})

test('a removed conversation takes its apps with it', () =>
    withApp(async (page) => {
        assert.equal(await page.locator('.app-frame').count(), 1)
        const gone = await fetch(`${nb.url}/v1/conversations/${ONE}`, { method: 'DELETE' })
        assert.equal(gone.status, 200)
        await page.getByText('was deleted, or is no longer shared').waitFor()
        assert.equal(await page.locator('iframe').count(), 0)
        await eventually(() => asked('close').length === 1)
    }))
