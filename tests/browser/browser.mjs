// browser.mjs - what the tests of the page share: one Chromium per file, pages that fail the
// case on any script error or breach of the Content-Security-Policy, and ready-made logs.
import fs from 'node:fs'
import http from 'node:http'
import net from 'node:net'
import path from 'node:path'
import { keyCookies } from '../support/dev_key.mjs'
import { after, assert, before, eventually, WAIT_MS } from '../support/tap.mjs'
import { launch } from './engines.mjs'

/** Its answer is longer than any test takes: it lasts until it is stopped. */
export const ENDLESS = 'count to 10000'

/** Without keys, so that the demo model answers; slow enough to be seen streaming if asked. */
export function demoEnv(delayMs = 2) {
    return { NB_DEMO_DELAY_MS: String(delayMs), ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '' }
}

// Shown only for a moment: a message that was found, "is writing", toasts. A test on a busy
// machine needs longer to look at it or to click on it, and the sandbox of an app to load (4000).
const MOMENTS_MS = [2400, 4000, 6000, 8000]

/** Runs in the page. */
function stretchMoments(moments) {
    const real = globalThis.setTimeout
    globalThis.setTimeout = (fn, ms, ...rest) => real(fn, moments.includes(ms) ? ms * 20 : ms, ...rest)
}

/** Runs in the page: limits of time that the page measures itself are twenty times as long. aheadMs puts its clock forward. */
export function slowClock() {
    const real = performance.now.bind(performance)
    const start = real()
    globalThis.aheadMs = 0
    performance.now = () => start + (real() - start) / 20 + globalThis.aheadMs
}

let browser
before(async () => {
    browser = await launch()
})
after(() => browser?.close())

/** Before the first page of a server in dev mode, the context gets the cookies of its key. */
function openWithKey(context) {
    const known = new Set()
    const newPage = context.newPage.bind(context)
    context.newPage = async () => {
        const page = await newPage()
        const goto = page.goto.bind(page)
        page.goto = async (url, ...rest) => {
            const { origin } = new URL(url)
            const cookies = known.has(origin) ? [] : await keyCookies(origin)
            known.add(origin)
            await context.addCookies(cookies.map(([name, value]) => ({ name, value, url: origin, httpOnly: true, sameSite: 'Strict' })))
            return goto(url, ...rest)
        }
        return page
    }
}

/** Apps are documents without an address; what they do wrong is no fault of the page. */
const isApp = (url) => url === 'about:srcdoc'

/**
 * A browser context (a person's browser) whose pages record what must never happen.
 * context.complaints() lists it; close() fails the case if there is anything. Unless `withKey` is
 * false, the browser has opened the link of a server in dev mode before: it has its cookies. hasSlowClock: see slowClock().
 */
export async function newContext({ withKey = true, hasSlowClock = false, ...options } = {}) {
    // Requests of a service worker would pass by page.route.
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, serviceWorkers: 'block', ...options })
    context.setDefaultTimeout(WAIT_MS)
    if (withKey) openWithKey(context)
    const complaints = []
    await context.addInitScript(stretchMoments, MOMENTS_MS)
    if (hasSlowClock) await context.addInitScript(slowClock)
    await context.exposeBinding('nbComplain', ({ frame }, what) => isApp(frame.url()) || complaints.push(what))
    await context.addInitScript(() => {
        addEventListener('securitypolicyviolation', (event) => {
            globalThis.nbComplain(`csp: ${event.violatedDirective} ${event.blockedURI}`)
        })
    })
    context.on('dialog', (dialog) => {
        complaints.push(`dialog: ${dialog.message()}`)
        void dialog.dismiss()
    })
    context.on('weberror', (error) => complaints.push(`error: ${error.error().stack}`))
    context.on('console', (message) => {
        const isNetwork = message.text().startsWith('Failed to load resource') // the page shows these itself
        if (message.type() === 'error' && !isNetwork && !isApp(message.location().url)) complaints.push(`console: ${message.text()}`)
    })
    return {
        context,
        complaints,
        newPage: () => context.newPage(),
        async close() {
            await context.close()
            assert.deepEqual(complaints, [])
        },
    }
}

let allowlist
/**
 * Whether the browser obeys Connection-Allowlist, without which nothing keeps a document from connections in
 * advance and from WebRTC (Chromium 156 does, 150 does not). A page with the header loads a picture first, one
 * without it second: when the second connection is there, the first would be too.
 */
export function obeysAllowlist() {
    allowlist ??= tryAllowlist()
    return allowlist
}

async function tryAllowlist() {
    const arrived = []
    const sinks = await Promise.all(['with', 'without'].map((name) => listening(net.createServer((socket) => arrived.push(name) && socket.destroy()))))
    const [first, second] = sinks.map((sink) => sink.address().port)
    const host = await listening(http.createServer((req, res) => {
        const [port, headers] = req.url === '/with' ? [first, { 'connection-allowlist': '()' }] : [second, {}]
        res.writeHead(200, { 'content-type': 'text/html', ...headers }).end(`<!doctype html><img src="http://127.0.0.1:${port}/">`)
    }))
    const page = await browser.newPage()
    for (const name of ['with', 'without']) await page.goto(`http://127.0.0.1:${host.address().port}/${name}`)
    await eventually(() => arrived.includes('without'))
    await page.close()
    for (const server of [...sinks, host]) server.close()
    return !arrived.includes('with')
}

async function listening(server) {
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
    return server
}

/** Runs fn with a fresh page and closes its browser context whatever happens. */
export async function withPage(url, options, fn) {
    const own = await newContext(options)
    try {
        const page = await own.newPage()
        await page.goto(url)
        await fn(page, own)
    } finally {
        await own.context.close()
    }
    assert.deepEqual(own.complaints, [])
}

export async function send(page, text) {
    await page.getByLabel('Message', { exact: true }).fill(text)
    await page.keyboard.press('Enter')
}

/** Clicks on a button that is shown while the pointer is over `over`, which a redraw may end. */
export const hoverAndClick = (over, button) =>
    eventually(async () => {
        await over.hover()
        await button.click({ timeout: 10_000 }) // one that was only slow must not be repeated
        return true
    })

/** The assertions of fn hold now or soon: a page needs a moment to show what it has learned. */
export const soon = (fn) => eventually(async () => (await fn(), true))

/** Lets the page draw so many frames: what it still does by itself is done then. */
export const frames = (page, n = 30) =>
    page.evaluate(
        (left) =>
            new Promise((done) => {
                const next = () => (left-- > 0 ? requestAnimationFrame(next) : done())
                next()
            }),
        n,
    )

/** Waits until the n-th answer (from 1) of the open conversation has ended. */
export async function answered(page, n, state = 'done') {
    const run = page.locator('.content .chunk > .run[data-state]').nth(n - 1)
    await page.waitForFunction(
        ([index, wanted]) =>
            document.querySelectorAll('.content .chunk > .run[data-state]')[index]?.dataset.state === wanted,
        [n - 1, state],
    )
    return run
}

/** Writes a conversation's log into the work directory, as an older nb would have left it. */
export function writeLog(workdir, id, events, header = {}) {
    const dir = path.join(workdir, 'conversations')
    fs.mkdirSync(dir, { recursive: true })
    const first = {
        id,
        createdAt: at(0),
        format: 'events',
        workspaceId: 'ws_default',
        ownerId: 'usr_default',
        visibility: 'private',
        participants: ['usr_default'],
        ...header,
    }
    fs.writeFileSync(
        path.join(dir, `${id}.jsonl`),
        [first, ...events].map((line) => JSON.stringify(line) + '\n').join(''),
    )
}

export function at(minute) {
    return new Date(Date.UTC(2026, 0, 5, 9, minute)).toISOString()
}

export function said(minute, text, userId = 'usr_default') {
    return { ts: at(minute), type: 'user.message', content: [{ type: 'text', text }], userId }
}

export function answer(minute, runId, content, more = []) {
    const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : content
    return [
        { ts: at(minute), type: 'run.start', runId, model: 'demo:demo' },
        {
            ts: at(minute),
            type: 'llm.response',
            runId,
            model: 'demo:demo',
            content: parts,
            inputTokens: 5,
            outputTokens: 7,
        },
        ...more,
        { ts: at(minute), type: 'run.done', runId, stopReason: 'complete', totalMs: 12 },
    ]
}
