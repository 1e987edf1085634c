// A page in front of three servers: the one that streams the answer is killed. The page connects again through the load balancer,
// shows that the answer was interrupted, and goes on, without being loaded again.
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { after, assert, before, eventually, nb, startServer, test, tmpdir } from '../support/tap.mjs'
import { startPostgres } from '../support/postgres.mjs'
import { answered, demoEnv, ENDLESS, newContext, send, soon } from './browser.mjs'

const PASSWORD = 'correct horse'
let servers, balancer

/** New connections go to the servers that are alive, in turns; one that breaks is closed on both sides. */
function balance() {
    let turn = 0
    const sockets = new Set()
    const server = net.createServer((near) => {
        const alive = servers.filter((s) => !s.result)
        const far = net.connect(alive[turn++ % alive.length].port, '127.0.0.1')
        const end = () => [near, far].forEach((s) => (sockets.delete(s), s.destroy()))
        for (const s of [near, far]) sockets.add(s), s.on('error', end).on('close', end)
        near.pipe(far).pipe(near)
    })
    after(() => {
        server.close()
        sockets.forEach((s) => s.destroy())
    })
    return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve({ url: `http://127.0.0.1:${server.address().port}` })))
}

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
    balancer = await balance()
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
