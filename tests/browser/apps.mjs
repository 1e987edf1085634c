// apps.mjs - what the tests of apps share: servers with app bundles, and the way into their frames.
//
//     const { server, logOf, open } = await startApps({ friendly: {} })
//     await send(page, 'call friendly__show {"title":"x"}')
//     const card = page.locator('.app-card')
//     const view = viewOf(card)                   // locators inside of the app
//     await view.text('state', 'ready')
//     await view.ask('tools/call', { name: 'poll' })
import fs from 'node:fs'
import path from 'node:path'
import { completeLines, eventually, SRC_DIR, startServer, tmpdir } from '../support/tap.mjs'
import { demoEnv } from './browser.mjs'

const FIXTURES = path.join(SRC_DIR, 'tests/fixtures/apps')

/** A bundle of tests/fixtures/apps; its log and its gates are in `place`. */
export function fixtureApp(serverName, place, { file = serverName, args = [] } = {}) {
    const env = { APP_LOG: path.join(place, `${serverName}.log`), APP_GATES: place }
    return { serverName, command: process.execPath, args: [path.join(FIXTURES, `${file}.mjs`), ...args], env, sandbox: { read: [SRC_DIR], write: [place] } }
}

/** A bundle of a published app. */
export function npmApp(serverName, modules, { args = [], env = {} } = {}) {
    const index = path.join(modules, '@modelcontextprotocol', `server-${serverName}`, 'dist/index.js')
    return { serverName, command: process.execPath, args: [index, '--stdio', ...args], env, sandbox: { read: [SRC_DIR] } }
}

export const running = (server, names, headers = {}) =>
    eventually(async () => {
        const { apps } = await (await fetch(server.url + '/v1/apps', { headers })).json()
        return names.every((name) => apps.some((app) => app.name === name && app.status === 'running' && app.toolCount > 0))
    })

/**
 * A server whose workspace has these bundles, which run. `gate(name)` opens a gate; `logOf(name)` is what
 * the server of that bundle was sent.
 */
export async function startApps(bundles, { settings = {}, delayMs = 1, workdir = tmpdir('nb-apps-'), place = tmpdir('nb-app-place-'), ...more } = {}) {
    const entries = bundles(place)
    const file = path.join(workdir, 'nimblebrain.json')
    fs.writeFileSync(file, JSON.stringify({ noDefaultBundles: true, bundles: entries, maxDirectTools: 200, ...settings }))
    const server = await startServer({ env: demoEnv(delayMs), workdir, ...more })
    await running(server, entries.map((entry) => entry.serverName))
    return {
        server,
        place,
        workdir,
        gate: (name) => fs.writeFileSync(path.join(place, name), ''),
        logOf: (name) => logOf(place, name),
    }
}

/** What the server of a fixture was sent, oldest first. */
export function logOf(place, name) {
    const file = path.join(place, `${name}.log`)
    return fs.existsSync(file) ? completeLines(file) : []
}

/** The app in a card: locators and messages of its document. */
export function viewOf(card) {
    const inner = card.frameLocator('iframe').frameLocator('iframe')
    const view = {
        inner,
        locator: (selector) => inner.locator(selector),
        textOf: (id) => inner.locator(`#${id}`).textContent(),
        /** Waits until the element has this text, or one that matches. */
        text: (id, wanted) =>
            eventually(async () => {
                const text = await view.textOf(id)
                if (typeof wanted === 'string' ? text === wanted : wanted.test(text)) return text
                throw new Error(`#${id} is ${text}, not ${wanted}`)
            }),
        json: async (id) => JSON.parse(await view.textOf(id)),
        run: (fn, arg) => inner.locator('html').evaluate(fn, arg),
        /** Sends a request in the app's name: {result} or {error}. */
        ask: (method, params) => view.run((_, [m, p]) => globalThis.app.request(m, p), [method, params]),
        call: (name, args = {}) => view.ask('tools/call', { name, arguments: args }),
        notify: (method, params) => view.run((_, [m, p]) => globalThis.app.notify(m, p), [method, params]),
        click: (name) => inner.getByRole('button', { name, exact: true }).click(),
    }
    return view
}

/** The n-th app card of the page, from 0. */
export const cardOf = (page, n = 0) => page.locator('.app-card').nth(n)

/** The lines of the open conversation's log. */
export const eventsOf = (workdir, page) => {
    const [, id] = /#\/c\/(conv_\w+)/.exec(page.url())
    return completeLines(path.join(workdir, 'conversations', `${id}.jsonl`))
}
