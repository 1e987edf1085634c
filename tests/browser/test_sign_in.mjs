// Signing in to a remote server from the page, with a real browser: there, back, and out again.
import fs from 'node:fs'
import path from 'node:path'
import { after, assert, startServer, test, tmpdir } from '../support/tap.mjs'
import { startGuarded } from '../support/guarded_server.mjs'
import { demoEnv, withPage } from './browser.mjs'

const guarded = []
after(() => guarded.forEach((g) => g.close()))

async function open(options) {
    const g = await startGuarded(options)
    guarded.push(g)
    const workdir = tmpdir()
    const entry = { serverName: 'far', url: g.url, allowPrivate: true, transport: { auth: { type: 'oauth' } } }
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify({ noDefaultBundles: true, bundles: [entry] }))
    return { g, server: await startServer({ env: demoEnv(), workdir }) }
}

const button = (page, name) => page.getByRole('button', { name, exact: true })

test('the browser goes to sign in, comes back to the bundle, and signs out', async () => {
    const { g, server } = await open({})
    await withPage(`${server.url}/#/apps`, {}, async (page) => {
        await button(page, 'Sign in').waitFor()
        await button(page, 'Sign in').click()
        await page.locator('.toast', { hasText: 'You are signed in.' }).waitFor()
        await button(page, 'Sign out').waitFor()
        assert.equal(new URL(page.url()).search, '')
        assert.equal(new URL(page.url()).hash, '#/apps/far')
        assert.deepEqual(g.faults, [])
        await button(page, 'Sign out').click()
        await button(page, 'Sign in').waitFor()
    })
})

test('a sign-in that was declined says so', async () => {
    const { server } = await open({ callback: { code: null, error: 'access_denied' } })
    await withPage(`${server.url}/#/apps/far`, {}, async (page) => {
        await button(page, 'Sign in').click()
        await page.locator('.toast', { hasText: 'refused the sign-in. Nothing has changed.' }).waitFor()
        await button(page, 'Sign in').waitFor()
    })
})
