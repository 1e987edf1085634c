// Interfaces of tools in Chromium: what they add to the page, how soon one listens, how fast messages go
// through the relay, and what twenty views cost the browser and the server.
import fs from 'node:fs'
import { chromium } from 'playwright-core'
import { keyCookies, keyHeaders } from '../tests/support/dev_key.mjs'
import { assert, eventually, test } from '../tests/support/tap.mjs'
import { cardOf, fixtureApp, startApps, viewOf } from '../tests/browser/apps.mjs'
import { answered, send } from '../tests/browser/browser.mjs'
import { line, median } from './frame/figures.mjs'

const ROUNDS = 5
const VIEWS = 20
const PINGS = 2000
const CALLS = 40 // fewer than the burst that a view may send

const ms = (value) => `${value.toFixed(value < 10 ? 1 : 0)} ms`
const kB = (value) => `${(value / 1000).toFixed(1)} kB`
const MB = (value) => `${(value / 1e6).toFixed(1)} MB`

/** Notes when a card is there (the call has begun) and when its app listens. */
function noteMoments() {
    globalThis.moments = []
    const seen = new Map()
    const look = () => {
        for (const card of document.querySelectorAll('.app-card')) {
            if (!seen.has(card)) seen.set(card, performance.now())
            if (card.dataset.state === 'running' && !card.isNoted) {
                card.isNoted = true
                globalThis.moments.push(performance.now() - seen.get(card))
            }
        }
    }
    new MutationObserver(look).observe(document, { childList: true, subtree: true, attributes: true, attributeFilter: ['data-state'] })
}

async function visit(browser, url, fn) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
    await context.addInitScript(noteMoments)
    const page = await context.newPage()
    const { origin } = new URL(url)
    await context.addCookies((await keyCookies(origin)).map(([name, value]) => ({ name, value, url: origin })))
    const requests = []
    page.on('requestfinished', (request) => requests.push(request))
    await page.goto(url)
    const result = await fn(page, requests)
    await context.close()
    return result
}

/** Compressed bytes of the page's files, each once, by their headers: the browser reports none for a file that it has in a cache. */
const sizeOf = async (requests) => {
    const files = new Map(requests.filter((request) => !/\/v1\/|\/sandbox\//.test(request.url())).map((request) => [request.url(), request]))
    const sizes = await Promise.all([...files.values()].map(async (request) => Number(await (await request.response()).headerValue('content-length'))))
    return sizes.reduce((sum, size) => sum + size, 0)
}

/** The call of a tool with an interface, until the app has its result. */
async function show(page, n = 0, title = `number ${n}`) {
    await send(page, `call friendly__show {"title":"${title}"}`)
    const view = viewOf(cardOf(page, n))
    await view.text('result', new RegExp(title))
    await answered(page, n + 1)
    return view
}

async function measureLoad(browser, plainUrl, url) {
    const first = (at) => visit(browser, at, async (page, requests) => (await page.locator('.welcome').waitFor(), sizeOf(requests)))
    const [plain, withApps] = [await first(plainUrl), await first(url)]
    line('first load, compressed, without any app server', kB(plain))
    line('  with one: more by', kB(withApps - plain), '0 kB')
    await visit(browser, url, async (page, requests) => {
        await page.locator('.welcome').waitFor()
        const before = await sizeOf(requests)
        await show(page)
        line('  when the first app is shown: more by', kB((await sizeOf(requests)) - before))
    })
}

async function measureStart(browser, url) {
    const firsts = []
    const seconds = []
    for (let i = 0; i < ROUNDS; i++)
        await visit(browser, url, async (page) => {
            await page.locator('.welcome').waitFor()
            await show(page, 0)
            await show(page, 1)
            const moments = await eventually(() => page.evaluate(() => globalThis.moments.length >= 2 && globalThis.moments))
            firsts.push(moments[0])
            seconds.push(moments[1])
        })
    line('from the start of the tool to `initialized`: the first app', ms(median(firsts)))
    line('  the next one', ms(median(seconds)))
}

async function measureRelay(browser, url) {
    await visit(browser, url, async (page) => {
        const view = await show(page)
        const pings = await view.run(async (_, n) => {
            const began = performance.now()
            await Promise.all(Array.from({ length: n }, () => globalThis.app.request('ping')))
            return performance.now() - began
        }, PINGS)
        line(`${PINGS} requests that the page answers`, `${Math.round((PINGS / pings) * 1000)} /s`)
        const calls = await view.run(async (_, n) => {
            const took = []
            for (let i = 0; i < n; i++) {
                const began = performance.now()
                await globalThis.app.call('echo', { say: 'x' })
                took.push(performance.now() - began)
            }
            return took
        }, CALLS)
        line('a call of a tool: app, page, server, bundle and back', ms(median(calls)))
    })
}

const memoryOf = (pid) => Number(/^Pss:\s+(\d+)/m.exec(fs.readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1'))[1]) * 1024

/** Proportional memory of all processes of the browsers that this program has started. */
function browserMemory() {
    const processes = new Map()
    for (const pid of fs.readdirSync('/proc').filter((entry) => /^\d+$/.test(entry)).map(Number)) {
        try {
            const parent = Number(fs.readFileSync(`/proc/${pid}/stat`, 'latin1').replace(/^.*\) \S /s, '').split(' ')[0])
            processes.set(pid, { parent, isBrowser: /chrom/.test(fs.readFileSync(`/proc/${pid}/cmdline`, 'latin1')) })
        } catch {
            // it has ended meanwhile
        }
    }
    const isMine = (pid) => pid === process.pid || (processes.has(pid) && isMine(processes.get(pid).parent))
    let sum = 0
    for (const [pid, { isBrowser }] of processes) {
        try {
            if (isBrowser && isMine(pid)) sum += memoryOf(pid)
        } catch {
            // it has ended meanwhile
        }
    }
    return sum
}

async function measureMemory(browser, { url, pid }) {
    await visit(browser, url, async (page) => {
        await page.locator('.welcome').waitFor()
        await send(page, 'say hello')
        await answered(page, 1)
        const before = browserMemory()
        const serverBefore = memoryOf(pid)
        await page.getByRole('button', { name: 'New chat' }).first().click()
        await page.locator('.welcome').waitFor()
        await show(page, 0)
        const one = browserMemory()
        for (let i = 1; i < VIEWS; i++) {
            await send(page, `call friendly__show {"title":"number ${i}"}`)
            await page.locator('.app-card[data-state=running]').last().waitFor()
            await page.locator('.run[data-state=done]').last().waitFor()
        }
        const alive = await page.locator('.app-card iframe').count()
        line('browser: memory of the first app', MB(one - before))
        line(`  of ${VIEWS} in one conversation (${alive} alive)`, MB(browserMemory() - before))
        line('server: memory after all of them', MB(memoryOf(pid) - serverBefore))
    })
}

/** Twenty views that are all open, as twenty windows would have them. */
async function measureServer({ url, pid }) {
    const headers = { ...keyHeaders(url), 'content-type': 'application/json' }
    const post = async (target, body) => (await fetch(url + target, { method: 'POST', headers, body: JSON.stringify(body) })).json()
    const { conversationId } = await post('/v1/chat', { message: 'call friendly__show {"title":"many"}' })
    const { messages } = await (await fetch(`${url}/v1/conversations/${conversationId}/history`, { headers })).json()
    const [call] = messages.flatMap((message) => message.toolCalls ?? [])
    const open = async () => {
        const { viewId } = await post('/v1/views', { conversationId, callId: call.id })
        assert.ok(viewId)
        return viewId
    }
    for (let i = 0; i < VIEWS; i++) await fetch(`${url}/v1/views/${await open()}`, { method: 'DELETE', headers }) // what the first ones leave behind stays
    const before = memoryOf(pid)
    const opened = performance.now()
    for (let i = 0; i < VIEWS; i++) await open()
    const took = (performance.now() - opened) / VIEWS
    line(`server: memory of ${VIEWS} open views`, kB(Math.max(0, memoryOf(pid) - before)))
    line('  opening one, with its HTML', ms(took))
}

test(
    'apps',
    async () => {
        const launch = { executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium-headless-shell', args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'] }
        const browser = await chromium.launch(launch)
        const plain = await startApps(() => [])
        const { server } = await startApps((place) => [fixtureApp('friendly', place)])
        await measureLoad(browser, plain.server.url, server.url)
        await measureStart(browser, server.url)
        await measureRelay(browser, server.url)
        await measureServer({ url: server.url, pid: server.pid })
        await measureMemory(browser, { url: server.url, pid: server.pid })
        await browser.close()
    },
    { timeoutMs: 300_000 },
)
