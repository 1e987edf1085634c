// A second engine: the first minute in Firefox. Debian's firefox-esr is driven over WebDriver BiDi, without a driver of
// its own: playwright's Firefox is a patched one, and its BiDi needs commands that the ESR does not have.
import fs from 'node:fs'
import { keyCookies } from '../support/dev_key.mjs'
import { assert, before, eventually, skip, start, startServer, test, tmpdir, WAIT_MS } from '../support/tap.mjs'

const { FIREFOX } = process.env // a fresh profile needs seconds of a whole core, so that only those who ask for it wait
const PREFERENCES = `user_pref('browser.shell.checkDefaultBrowser', false);
user_pref('datareporting.policy.dataSubmissionEnabled', false);
user_pref('app.update.enabled', false);
user_pref('browser.startup.homepage_override.mstone', 'ignore');
user_pref('network.captive-portal-service.enabled', false);
user_pref('network.connectivity-service.enabled', false);
`
let server

before(async () => {
    server = await startServer({ env: { NB_DEMO_DELAY_MS: '0', ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '' } })
})

/** A page in a new Firefox: goto, evaluate, type, press; complaints lists what its console says is wrong. */
async function openFirefox() {
    const home = tmpdir('nb-firefox-')
    fs.writeFileSync(`${home}/user.js`, PREFERENCES)
    const firefox = start(FIREFOX, ['--headless', '--no-remote', '--profile', home, '--remote-debugging-port=0'], { env: { HOME: home, MOZ_CRASHREPORTER_DISABLE: '1' } })
    const address = await eventually(() => /ws:\/\/127\.0\.0\.1:\d+/.exec(firefox.stderr)?.[0])
    const socket = new WebSocket(`${address}/session`)
    await new Promise((resolve, reject) => {
        socket.onopen = resolve
        socket.onerror = reject
    })
    const waiting = new Map(), complaints = []
    let last = 0
    socket.onmessage = ({ data }) => {
        const { id, type, result, message, method, params } = JSON.parse(data)
        if (method === 'log.entryAdded' && params.level === 'error') complaints.push(params.text)
        if (!waiting.has(id)) return
        const { resolve, reject } = waiting.get(id)
        waiting.delete(id)
        if (type === 'success') resolve(result)
        else reject(new Error(message))
    }
    const call = (method, params) =>
        new Promise((resolve, reject) => {
            waiting.set(++last, { resolve, reject })
            socket.send(JSON.stringify({ id: last, method, params }))
            setTimeout(() => reject(new Error(`${method}: no answer`)), WAIT_MS).unref()
        })
    await call('session.new', { capabilities: {} })
    await call('session.subscribe', { events: ['log.entryAdded'] })
    const context = (await call('browsingContext.getTree', {})).contexts[0].context
    const evaluate = async (expression) => {
        const { result, exceptionDetails } = await call('script.evaluate', { expression, target: { context }, awaitPromise: true })
        if (exceptionDetails) throw new Error(exceptionDetails.text)
        return result.value
    }
    const keys = (values) =>
        call('input.performActions', { context, actions: [{ type: 'key', id: 'keyboard', actions: [...values].flatMap((value) => [{ type: 'keyDown', value }, { type: 'keyUp', value }]) }] })
    return {
        complaints,
        evaluate,
        version: async () => evaluate('navigator.userAgent'),
        setCookie: (name, value) => call('storage.setCookie', { cookie: { name, value: { type: 'string', value }, domain: '127.0.0.1', path: '/', httpOnly: true, sameSite: 'strict' } }),
        goto: (url) => call('browsingContext.navigate', { context, url, wait: 'complete' }),
        type: keys,
        press: (value) => keys([value]),
        waitFor: (expression) => eventually(() => evaluate(expression)),
        close: async () => {
            socket.close()
            await firefox.kill9()
        },
    }
}

const ENTER = '\uE007'

test('Firefox: a message is answered, with a formula, code and tools; screens open; the console is silent', async () => {
    if (!FIREFOX) skip('FIREFOX does not name a Firefox')
    const page = await openFirefox()
    for (const [name, value] of await keyCookies(server.url)) await page.setCookie(name, value)
    await page.goto(server.url)
    await page.waitFor(`document.querySelector('.welcome') !== null`)
    await page.evaluate(`document.querySelector('.composer-field').focus()`)
    await page.type('say $x^2$ and `code`')
    await page.press(ENTER)
    await page.waitFor(`document.querySelector('.run[data-state=done] math msup') !== null`)
    assert.ok(await page.evaluate(`document.querySelector('.run math').getBoundingClientRect().width > 5`))
    assert.equal(await page.evaluate(`document.querySelector('.run .md p:last-child code').textContent`), 'code')
    await page.type('calculate 6*7')
    await page.press(ENTER)
    await page.waitFor(`document.querySelectorAll('.run[data-state=done]').length === 2`)
    await page.evaluate(`document.querySelector('.tool summary').click()`)
    await page.waitFor(`/42/.test(document.querySelector('.tool-body')?.innerText ?? '')`)
    await page.evaluate(`document.querySelector('.composer-field').focus()`)
    await page.type('draft')
    await page.evaluate('location.reload()')
    await page.waitFor(`document.querySelector('.composer-field')?.value === 'draft'`)
    for (const screen of ['apps', 'skills', 'usage', 'context', 'permissions', 'settings/model', 'settings/appearance', 'settings/about']) {
        await page.evaluate(`location.hash = '#/${screen}'`)
        await page.waitFor(`document.querySelector('.screen') !== null && document.querySelector('.screen .spinner') === null`)
    }
    assert.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true)
    assert.match(await page.version(), /Firefox\//)
    assert.deepEqual(page.complaints, [])
    await page.close()
})
