// An app that keeps no rule: everything it tries is refused or bounded, nothing of it arrives at the
// sink, and the page stays usable. The first cases show that the sink would have noticed.
import fs from 'node:fs'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { after, assert, bareFetch, before, completeLines, eventually, skip, test } from '../support/tap.mjs'
import { startSink } from '../support/sink.mjs'
import { page as fixture } from '../fixtures/apps/app-core.mjs'
import { cardOf, fixtureApp, startApps, viewOf } from './apps.mjs'
import { answered, frames, newContext, obeysAllowlist, send, slowClock, soon } from './browser.mjs'

const namesOf = (part) => [...part.matchAll(/^ {2}'?([\w-]+)'?: /gm)].map(([, name]) => name)
const [LEAKS, ESCAPES] = fixture('hostile-vectors.js').split('const LEAKS')[1].split('const ESCAPES').map(namesOf)
const INJECTIONS = ['directive', 'comma', 'newline', 'star', 'keyword', 'types', 'text', 'permissions', 'many', 'long']
let apps, server, sink

before(async () => {
    sink = await startSink()
    apps = await startApps((place) => [
        fixtureApp('hostile', place, { args: [sink.url] }),
        fixtureApp('victim', place, { file: 'friendly' }),
    ])
    server = apps.server
})
after(async () => {
    await sink.close()
    assert.deepEqual(await told(), [], 'nothing has arrived, also later')
})

const audit = () => {
    const dir = path.join(server.workdir, 'audit')
    return fs.readdirSync(dir).filter((name) => name.endsWith('.jsonl')).flatMap((name) => completeLines(path.join(dir, name)))
}
const victimCalls = () => apps.logOf('victim').filter((line) => line.method === 'tools/call').map((line) => line.name)

/** What must never happen, whatever an app does: it is recorded for a page. */
function watch(context, page) {
    const seen = []
    context.on('page', (other) => seen.push(`window ${other.url()}`))
    page.on('dialog', (dialog) => seen.push(`dialog ${dialog.message()}`))
    page.on('download', (file) => seen.push(`download ${file.url()}`))
    page.on('framenavigated', (frame) => {
        if (frame === page.mainFrame() && !frame.url().startsWith(server.url)) seen.push(`page at ${frame.url()}`)
    })
    page.on('pageerror', (error) => {
        if (/web_assets|assets\/|127\.0\.0\.1:\d+\/[\w-]+\.js/.test(error.stack ?? '')) seen.push(`error in the page: ${error.stack}`)
    })
    page.on('crash', () => seen.push('crash'))
    return seen
}

/** What arrived since then. A browser that does not obey Connection-Allowlist opens connections in advance; nothing is sent on them. */
async function told(earlier = 0) {
    const isStrict = await obeysAllowlist()
    return sink.arrived.slice(earlier).filter((way) => isStrict || way !== 'tcp')
}

/** A page of the server on which nothing may happen that must not; afterwards it must be usable. */
async function besieged(fn) {
    const own = await newContext({ serviceWorkers: 'allow' })
    const earlier = sink.arrived.length // of another case, which has failed
    try {
        const page = await own.newPage()
        const seen = watch(own.context, page)
        await page.goto(server.url)
        await fn(page)
        await staysUsable(page)
        assert.deepEqual(seen, [])
        assert.deepEqual(await told(earlier), [])
        assert.deepEqual(own.complaints.filter((line) => !/^(csp|console|error)/.test(line)), []) // these are of the app, not of the page
    } finally {
        await own.context.close()
    }
}

/** Has the model call a tool of the hostile server; its card, and what its app reports when the attack is over. */
async function launch(page, args, { tool = 'attack', waitsFor = 'done' } = {}) {
    const n = await page.locator('.app-card').count()
    const turns = await page.locator('.is-own').count()
    await send(page, `call hostile__${tool} ${JSON.stringify({ sink: sink.url, nb: server.url, ...args })}`)
    const card = cardOf(page, n)
    const view = viewOf(card)
    await card.waitFor()
    if (waitsFor) await view.text('state', waitsFor)
    const report = waitsFor === 'done' ? parsed(await view.textOf('report')) : null
    await answered(page, turns + 1)
    return { page, card, view, report }
}

/** One attack on a page of its own. */
const attack = (args, fn = () => {}, { before: prepare = () => {}, ...how } = {}) =>
    besieged(async (page) => {
        await prepare(page)
        await fn(await launch(page, args, how))
    })

/** Has it on the only origin. */
const withOneOrigin = (page) =>
    page.route((url) => url.pathname.startsWith('/sandbox/') && url.origin !== new URL(server.url).origin, (route) => route.abort())

function parsed(text) {
    try {
        return JSON.parse(text)
    } catch {
        return text
    }
}

/** A person can go on: a message is answered, another conversation opens. */
async function staysUsable(page) {
    const turns = await page.locator('.is-own').count()
    await send(page, 'say the page works')
    await answered(page, turns + 1)
    await newChat(page)
}

/** Leaves the conversation, with the apps in it. */
async function newChat(page) {
    await page.getByRole('button', { name: 'New chat' }).first().click()
    await page.locator('.welcome').waitFor()
    await soon(async () => assert.equal(await page.locator('iframe, .app-card').count(), 0))
}

// ---- the test can fail ----

/** The hostile app in pages without any protection: fn gets a way to open one, and the sink. */
async function unprotected(fn) {
    const open = await startSink({
        pages: { '/host': () => '<!doctype html><title>host</title><iframe src="/app"></iframe>', '/app': () => fixture('hostile.html') },
    })
    const own = await newContext({ withKey: false, serviceWorkers: 'allow' })
    const frameOf = async (page) => {
        await page.goto(`${open.url}/host`)
        return page.frames().find((frame) => frame.url().endsWith('/app'))
    }
    try {
        await fn(async () => frameOf(await own.newPage()), open)
    } finally {
        await own.context.close()
        await open.close()
    }
}

test('without protection the sink hears of every way out', () =>
    unprotected(async (newFrame, open) => {
        const frame = await newFrame()
        await frame.evaluate((url) => globalThis.app.attack({ attack: 'leak', sink: url }), open.url)
        // A headless browser does not do these, or only with other headers, or without a request.
        const quiet = ['preconnect', 'dns-prefetch', 'prerender', 'icon', 'manifest', 'speculation-rules', 'fencedframe', 'attribution', 'stun', 'turn']
        const expected = LEAKS.filter((name) => !quiet.includes(name))
        assert.ok(expected.length > 40, `${expected.length} ways`)
        await eventually(() => {
            const missing = expected.filter((name) => !open.arrived.some((line) => line.endsWith(`/${name}`)))
            if (missing.length > 0) throw new Error(`not yet: ${missing}`)
            return true
        })
        await eventually(() => open.arrived.includes('udp')) // stun
        await eventually(() => open.arrived.some((line) => line.startsWith('bytes'))) // turn
    }))

test('without protection the sink hears of every escape', () =>
    unprotected(async (newFrame, open) => {
        const ways = ESCAPES.filter((name) => name !== 'meta-csp-report')
        assert.ok(ways.length > 20, String(ways))
        for (const way of ways) {
            const frame = await newFrame()
            frame.evaluate(([url, name]) => void globalThis.app.attack({ attack: 'escape', sink: url, way: name }), [open.url, way]).catch(() => {})
            await eventually(() => open.arrived.some((line) => line.endsWith(`/${way}`)))
        }
    }))

// ---- out of the frame ----

test('no way out: nothing is fetched, sent, opened, prefetched or asked for', () =>
    attack({ attack: 'leak' }, async ({ card, report }) => {
        assert.ok(report.length > 40)
        await soon(async () => assert.match(await card.innerText(), /wanted to load|not allowed here/))
    }))

test('no way out either in the sandbox of the only origin', () =>
    attack({ attack: 'leak', only: LEAKS.filter((name) => !['stun', 'turn'].includes(name)) }, () => {}, { before: withOneOrigin }))

test('in the sandbox of the only origin, WebRTC ends the app or does nothing', async () => {
    if (!(await obeysAllowlist())) skip('this browser does not obey Connection-Allowlist')
    const earlier = sink.arrived.length
    const own = await newContext({ serviceWorkers: 'allow' })
    const page = await own.newPage()
    let isOver = false
    page.on('crash', () => (isOver = true)) // Chromium kills the process of the frame; the driver takes that for the page
    await page.goto(server.url)
    await withOneOrigin(page)
    launch(page, { attack: 'leak', only: ['stun', 'turn'] }).then(() => (isOver = true), () => {})
    await eventually(() => isOver)
    assert.deepEqual(await told(earlier), [])
    await own.context.close()
})

test('neither the page nor the app itself can be navigated, and no window opens', () =>
    besieged(async (page) => {
        for (const [i, way] of ESCAPES.entries()) {
            if (i % 8 === 7) await newChat(page)
            const { view } = await launch(page, { attack: 'escape', way }, { waitsFor: null })
            // Its document is still there, or an error of the browser is in its place.
            const state = () => view.run(() => document.getElementById('state')?.textContent ?? 'gone')
            await eventually(async () => ['done', 'gone'].includes(await state()))
            assert.ok(page.url().startsWith(server.url), page.url())
        }
    }))

test('backwards in the history: the page stays where it is', () =>
    attack({ attack: 'history' }, async ({ page }) => {
        const { hash } = new URL(page.url())
        await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 300))))
        assert.equal(new URL(page.url()).hash, hash)
        assert.ok(page.url().startsWith(server.url))
    }))

test('metadata that wants to widen the policy: no way out, and no powers', () =>
    besieged(async (page) => {
        for (const name of INJECTIONS) {
            const { view } = await launch(page, { attack: 'leak' }, { tool: `inject_${name}` })
            const { csp, permissions } = (await view.run(() => globalThis.app.init)).hostCapabilities.sandbox
            const sources = Object.values(csp).flat()
            assert.ok(sources.every((source) => /^(https?|wss?):\/\/[\w.*-]+(:(\d+|\*))?(\/\S*)?$/.test(source) && !source.includes('*:*')), String(sources).slice(0, 500))
            assert.ok(sources.length <= 500)
            assert.ok(!permissions?.camera && !permissions?.microphone && !permissions?.geolocation, JSON.stringify(permissions))
        }
    }))

test('metadata of a tool widens nothing', () => attack({ attack: 'leak' }, () => {}, { tool: 'on_tool' }))

// ---- what it can reach ----

test('no cookies, no storage, no API: nothing of nb or of other apps can be read', () =>
    attack({ attack: 'storage' }, ({ report }) => {
        for (const [what, answer] of Object.entries(report)) assert.match(answer, /^no: /, `${what}: ${answer}`)
    }))

test('its own sandbox cannot be changed, and the documents around it cannot be touched', () =>
    attack({ attack: 'sandbox' }, async ({ report, page }) => {
        for (const [what, answer] of Object.entries(report)) assert.match(answer, /^no: /, `${what}: ${answer}`)
        const outer = await page.locator('.app-card iframe').getAttribute('sandbox')
        assert.ok(!/allow-(top|popups|modals|downloads)/.test(outer), outer)
    }))

test('no dialogs, devices, clipboard, full screen or notifications', () =>
    attack({ attack: 'powers' }, ({ report }) => {
        const silent = ['alert', 'print', 'protocolHandler'] // ignored, or only a wish: watch() would have seen a dialog
        for (const [what, answer] of Object.entries(report))
            if (!silent.includes(what)) assert.match(answer, /^no: /, `${what}: ${answer}`)
    }))

test('tools and resources of other sources, under every name: refused, recorded, and nobody is called', async () => {
    const calls = victimCalls().length
    const tools = ['victim__add', 'victim__echo', 'add', 'items', 'poll', 'nb__time', 'nb__status', 'time', 'conversations__list', '../victim__add', 'victim/add', 'hostile__touch', '']
    await attack({ attack: 'foreign', tools, uris: ['note://friendly/one', 'ui://friendly/main.html', 'file:///etc/passwd', 'http://127.0.0.1/'] }, ({ report }) => {
        for (const [name, answer] of Object.entries(report)) assert.ok(answer.error && !answer.result, `${name}: ${JSON.stringify(answer)}`)
    })
    assert.equal(victimCalls().length, calls)
    await eventually(() => audit().some((entry) => entry.outcome === 'denied' && /victim__add/.test(JSON.stringify(entry))))
})

test("a tool for models alone: refused, and its own server does not hear of it", async () => {
    await attack({ attack: 'model_only' }, ({ report }) => assert.ok(report.error && !report.result, JSON.stringify(report)))
    assert.ok(!apps.logOf('hostile').some((line) => line.name === 'model_only'))
})

/** A page with a friendly app of another source in it, and the id of its view. */
async function withVictim(page) {
    const opened = page.waitForResponse((response) => response.url().endsWith('/v1/views') && response.request().method() === 'POST')
    await send(page, 'call victim__show {"title":"mine"}')
    const { viewId } = await (await opened).json()
    const view = viewOf(cardOf(page))
    await view.text('result', /mine/)
    await answered(page, 1)
    return { view, viewId }
}

test("another view's id is worth nothing, neither to an app nor to somebody without the login", async () => {
    let victim
    const calls = () => victimCalls().length
    const own = await newContext({ serviceWorkers: 'allow' })
    const page = await own.newPage()
    await page.goto(server.url)
    victim = await withVictim(page)
    const before = calls()
    await attack({ attack: 'foreign', tools: [], views: [victim.viewId] }, ({ report }) => {
        for (const answer of Object.values(report)) assert.ok(answer.error && !answer.result, JSON.stringify(answer))
    })
    const rpc = `${server.url}/v1/views/${victim.viewId}/rpc`
    const body = JSON.stringify({ method: 'tools/call', params: { name: 'echo', arguments: {} } })
    for (const headers of [{}, { origin: 'null' }, { origin: 'http://127.0.0.1:1' }, { cookie: 'x=1' }]) {
        const res = await bareFetch(rpc, { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } })
        assert.ok(res.status === 401 || res.status === 403 || res.status === 404, `${res.status}`)
    }
    const other = await fetch(rpc, { method: 'POST', body, headers: { 'content-type': 'application/json' } }) // the same person, another login
    assert.ok(other.status === 404 || other.status === 200, `${other.status}`)
    if (other.status !== 200) assert.equal(calls(), before)
    await own.context.close()
})

test('forged messages of a host, a proxy or another app: nobody believes them', async () => {
    let victim
    await attack({ attack: 'forge' }, async ({ page, card, report, view }) => {
        assert.ok(report >= 4, 'it has found the windows of the other app')
        await view.ask('ping')
        assert.equal((await victim.view.call('echo', { say: 'untouched' })).result.content[0].text, 'untouched')
        assert.equal((await victim.view.json('result')).forged, undefined)
        assert.equal(await victim.view.locator('#evil').count(), 0)
        assert.equal(await card.frameLocator('iframe').frameLocator('iframe').locator('#evil').count(), 0)
        assert.equal(await cardOf(page, 0).getAttribute('data-state'), 'running')
        assert.equal(await card.getAttribute('data-state'), 'running')
        assert.equal(await page.getByText('forged.example').count(), 0)
        assert.equal(await page.getByRole('group', { name: /wants to open/ }).count(), 0)
    }, { before: async (page) => (victim = await withVictim(page)) })
})

test('other apps of the page can be neither read nor navigated', async () => {
    let victim
    await attack({ attack: 'siblings' }, async ({ report }) => {
        assert.ok(report.length >= 4)
        assert.deepEqual(report.filter(([name, answer]) => name === 'read view' && answer === 'yes' ), [])
        assert.equal((await victim.view.call('echo', { say: 'untouched' })).result.content[0].text, 'untouched')
    }, { before: async (page) => (victim = await withVictim(page)) })
})

test('links that are no links to the web are refused without a question', () =>
    attack({ attack: 'links', urls: ['javascript:alert(1)', ' javascript:alert(1)', 'JAVASCRIPT:alert(1)', 'data:text/html,x', 'file:///etc/passwd', 'blob:null/x', 'vbscript:x', 'about:blank', 'chrome://settings', 'nb://x', 'ftp://x', '//evil', '/v1/logout', '', null, 5, { href: 'https://x.example' }] }, async ({ page, report }) => {
        for (const [url, answer] of Object.entries(report)) assert.ok(answer.error || answer.result?.isError, `${url}: ${JSON.stringify(answer)}`)
        assert.equal(await page.getByRole('group', { name: /wants to open/ }).count(), 0)
    }))

// ---- too much ----

test('a flood of messages: the app is stopped', () =>
    attack({ attack: 'flood' }, async ({ card }) => {
        await card.locator('.app-note').waitFor()
        assert.match(await card.innerText(), /stopped/)
        assert.match(await card.innerText(), /the text result of flood/)
        assert.equal(await card.locator('iframe').count(), 0)
    }, { waitsFor: null }))

test('a flood of calls: the app is stopped, and its server has not heard of most of them', () =>
    attack({ attack: 'flood-requests' }, async ({ card }) => {
        await card.locator('.app-note').waitFor()
        const calls = apps.logOf('hostile').filter((line) => line.name === 'touch').length
        assert.ok(calls < 1000, `${calls} calls`)
    }, { waitsFor: null }))

test('an app that computes without end: the page does not notice', () =>
    attack({ attack: 'spin' }, async ({ page, card }) => {
        await frames(page, 5)
        await card.getByRole('button', { name: 'App menu' }).click()
        await page.getByRole('menuitem', { name: 'Close' }).click()
        await card.getByText('The app is closed.').waitFor()
    }, { waitsFor: null }))

test('an app that never answers can be closed', () =>
    attack({ attack: 'deaf' }, async ({ page, card }) => {
        await card.getByRole('button', { name: 'App menu' }).click()
        await page.getByRole('menuitem', { name: 'Close' }).click()
        await card.getByText('The app is closed.').waitFor()
    }))

test('an app that never speaks: the card says so', () =>
    attack({}, async ({ card, view }) => {
        await view.text('state', 'mute')
        await card.getByText('Not started yet').waitFor()
    }, { tool: 'mute', waitsFor: null }))

test('100,000 px high: at most 2,000', () =>
    attack({ attack: 'height' }, async ({ card, page }) => {
        const { height, width } = await card.boundingBox()
        assert.ok(height <= 2200 && height >= 100 && width <= 1280, `${width} x ${height}`)
        await soon(async () => assert.ok((await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)) <= 0))
    }))

test('messages of 50 MB: refused, and answered', () =>
    attack({ attack: 'large' }, ({ report }) => {
        for (const [what, answer] of Object.entries(report))
            assert.ok(what === 'mode' ? answer.result.mode === 'inline' : answer.error || answer.result?.isError, `${what}: ${JSON.stringify(answer).slice(0, 200)}`)
    }))

test('messages that make no sense: ignored or refused, and what does is answered', () =>
    attack({ attack: 'garbage' }, ({ report }) => {
        for (const [what, answer] of Object.entries(report)) {
            if (what.startsWith('id ')) assert.deepEqual(answer.result, {}, what)
            else assert.ok(answer.error || answer.result?.isError, `${what}: ${JSON.stringify(answer)}`)
        }
    }))

test('more questions than anybody wants: a few are shown, the others are answered with no', () =>
    attack({ attack: 'questions' }, async ({ card, view }) => {
        await card.getByRole('group').first().waitFor()
        await eventually(() => view.run(() => globalThis.app.count > 100))
        assert.ok((await card.getByRole('group').count()) <= 8)
        assert.ok(!apps.logOf('hostile').some((line) => line.name === 'danger'))
    }))

// The page has to guess whether a person has clicked into the frame, so that a few keys may be lost to it.
/** Key by key, as fast as the page can follow. The browser never answers for a key that a frame had when it was removed. */
async function typeSlowly(page, text) {
    await page.evaluate(slowClock) // on a busy machine the pauses between the keys would look like those of somebody who clicks
    for (const c of text) {
        await Promise.race([page.keyboard.type(c), delay(5000)])
        await delay(30)
        await frames(page, 2)
    }
}

test('the keyboard of somebody who writes in the page stays there', () =>
    attack(
        { attack: 'focus' },
        async ({ page, card, view }) => {
            await Promise.race([view.text('state', 'done'), card.locator('.app-note').waitFor()])
            const field = page.getByLabel('Message', { exact: true })
            const secret = 'a secret that is typed slowly, and not for apps'
            await field.click()
            await typeSlowly(page, secret)
            await soon(async () => assert.ok((await field.inputValue()).length >= secret.length - 8, await field.inputValue()))
            await field.fill('')
        },
        { waitsFor: null },
    ))

test('the origin of apps serves the documents of live views and nothing else', async () => {
    const own = await newContext({ serviceWorkers: 'allow' })
    const page = await own.newPage()
    const requested = page.waitForRequest((request) => new URL(request.url()).pathname.startsWith('/sandbox/'))
    await page.goto(server.url)
    await withVictim(page)
    const document = (await requested).url()
    const { origin } = new URL(document)
    assert.notEqual(origin, new URL(server.url).origin)
    for (const target of ['/', '/index.html', '/v1/conversations', '/v1/health', '/v1/views', '/mcp', '/sandbox/', '/sandbox/view_x', '/sandbox/../v1/health', '/favicon.ico']) {
        const res = await bareFetch(origin + target)
        assert.ok([404, 421].includes(res.status), `${target}: ${res.status}`)
    }
    const res = await bareFetch(document)
    assert.equal(res.status, 200)
    const header = (name) => res.headers.get(name) ?? ''
    assert.match(header('content-security-policy'), /default-src 'none'/)
    assert.match(header('content-security-policy'), /connect-src 'none'/)
    assert.match(header('content-security-policy'), /frame-src 'none'/)
    assert.match(header('content-security-policy'), new RegExp(`frame-ancestors ${server.url}`))
    assert.equal(header('x-content-type-options'), 'nosniff')
    assert.equal(header('referrer-policy'), 'no-referrer')
    assert.match(header('cache-control'), /no-store/)
    assert.match(header('connection-allowlist'), /^\(.*\);redirects=allow;webrtc=block$/)
    await page.getByRole('button', { name: 'New chat' }).first().click()
    await eventually(async () => (await bareFetch(document)).status === 404)
    await own.close()
})
