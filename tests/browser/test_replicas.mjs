// A page in front of three servers: the one that streams the answer is killed. The page connects again through the load balancer,
// shows that the answer was interrupted, and goes on, without being loaded again.
import fs from 'node:fs'
import path from 'node:path'
import { assert, before, eventually, nb, startServer, test, tmpdir } from '../support/tap.mjs'
import { startBalancer } from '../support/balancer.mjs'
import { startPostgres } from '../support/postgres.mjs'
import { answered, demoEnv, ENDLESS, newContext, send, soon } from './browser.mjs'

const PASSWORD = 'correct horse'
let servers, balancer

before(async () => {
    const postgres = await startPostgres('fsync=off')
    const env = { ...demoEnv(30), NB_STORE_URL: postgres.url, NB_API_KEY: '' }
    const dirs = [tmpdir(), tmpdir(), tmpdir()]
    const run = async (args) => {
        const made = await nb([...args, '--workdir', dirs[0]], { input: `${PASSWORD}\n`, env })
        assert.equal(made.code, 0, made.stderr)
    }
    fs.writeFileSync(path.join(dirs[0], 'nimblebrain.json'), JSON.stringify({ store: { type: 'postgres', replicas: true }, noDefaultBundles: true }))
    await run(['store', 'init'])
    await run(['init', '--mode', 'local', '--email', 'ann@example.com', '--name', 'Ann', '--password-stdin', '--org', 'Example', '-w', 'Team A'])
    servers = []
    for (const dir of dirs) {
        for (const file of ['nimblebrain.json', 'instance.json'])
            if (dir !== dirs[0]) fs.copyFileSync(path.join(dirs[0], file), path.join(dir, file))
        servers.push(await startServer({ workdir: dir, env }))
    }
    balancer = await startBalancer(() => servers)
})

test('the server of an answer is killed: the page says so without a reload, and the conversation goes on', async () => {
    const own = await newContext({ reducedMotion: 'reduce' })
    const page = await own.newPage()
    await page.goto(balancer.url)
    await page.getByLabel('E-mail').fill('ann@example.com')
    await page.getByLabel('Password').fill(PASSWORD)
    await page.keyboard.press('Enter')
    await page.locator('.welcome').waitFor()
    await page.evaluate(() => (globalThis.isSamePage = true))
    await send(page, ENDLESS)
    const run = page.locator('.content .chunk > .run').last()
    await run.getByText('5').first().waitFor()
    const [, id] = /\/c\/(conv_\w+)/.exec(page.url())
    const worker = await eventually(() => servers.find((s) => new RegExp(`of ${id} begins`).test(s.stderr))) // one of them works on it
    await worker.kill9()
    await run.getByText('The server that worked on this answer has stopped').waitFor()
    await soon(async () => assert.notEqual(await run.getAttribute('data-state'), 'running'))
    await send(page, 'count to 3')
    await answered(page, 2)
    await eventually(async () => (await page.locator('.content .chunk > .run').count()) === 2)
    assert.equal(await page.evaluate(() => globalThis.isSamePage), true, 'the page was not loaded again')
    await own.context.close()
})
