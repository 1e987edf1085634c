// What tools return, on the page: pictures, sound, links, commands, tables, diffs, long texts. All of
// it is foreign, and none of it acts.
import fs from 'node:fs'
import path from 'node:path'
import { assert, before, SRC_DIR, startServer, test, tmpdir } from '../support/tap.mjs'
import { serious } from './axe.mjs'
import { running } from './apps.mjs'
import { answered, demoEnv, send, soon, withPage } from './browser.mjs'

const FIXTURE = path.join(SRC_DIR, 'tests/fixtures/results-server.mjs')
const EVERYTHING = path.join(SRC_DIR, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js')
const SHOTS = process.env.RESULTS_SHOTS // a directory for pictures of the page
let server

before(async () => {
    const workdir = tmpdir('nb-results-')
    const bundle = (serverName, ...args) => ({ serverName, command: process.execPath, args, sandbox: { read: [SRC_DIR, fs.realpathSync(path.join(SRC_DIR, 'node_modules'))] } })
    const bundles = [bundle('results', FIXTURE), bundle('everything', EVERYTHING, 'stdio')]
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify({ bundles, maxDirectTools: 200, permissions: { allow: ['bash__*'] } }))
    server = await startServer({ env: demoEnv(), workdir })
    await running(server, ['results', 'everything', 'bash'])
})

/** Has the demo model call a tool; the card of the call, open. */
async function card(page, tool, args = {}, source = 'results') {
    await send(page, `call ${source}__${tool} ${JSON.stringify(args)}`)
    const one = (await answered(page, 1)).locator('.tool').first()
    await one.waitFor()
    await open(one)
    return one
}

const open = (one) =>
    soon(async () => {
        if (!(await one.evaluate((e) => e.open))) await one.locator('summary').first().click()
        assert.ok(await one.evaluate((e) => e.open))
    })

const shot = async (page, name) => SHOTS && page.screenshot({ path: path.join(SHOTS, `${name}.png`) })
const text = (locator, wanted) => soon(async () => assert.match(await locator.innerText(), wanted))

/** True once the picture is decoded. */
const isDrawn = (image) => soon(async () => assert.ok(await image.evaluate((e) => e.complete && e.naturalWidth > 0)))

test('a picture is shown without a click, enlarged, saved, and still there after a reload', () =>
    withPage(server.url, {}, async (page) => {
        await send(page, 'call results__picture {"side":200}')
        const one = (await answered(page, 1)).locator('.tool').first()
        const image = one.locator('.result-picture img')
        await image.waitFor()
        await isDrawn(image)
        await text(one.locator('.tool-body'), /Here is a picture\.[^]*Picture · PNG · 12\d kB/)
        await shot(page, 'picture')
        await one.getByRole('button', { name: 'Enlarge the picture' }).click()
        await isDrawn(page.locator('dialog.result-zoom img'))
        await shot(page, 'zoom')
        await page.keyboard.press('Escape')
        const [saved] = await Promise.all([page.waitForEvent('download'), one.getByRole('button', { name: 'Download' }).click()])
        assert.equal(saved.suggestedFilename(), 'result.png')
        assert.equal(fs.readFileSync(await saved.path()).subarray(1, 4).toString(), 'PNG')
        await page.reload()
        await isDrawn(page.locator('.result-picture img'))
        assert.deepEqual(await serious(page), [])
    }))

test('sound, embedded resources and links', () =>
    withPage(server.url, {}, async (page) => {
        await card(page, 'sound')
        await soon(async () => assert.ok((await page.locator('.result-sound audio').evaluate((e) => e.duration)) > 0.4))
        await shot(page, 'sound')
        await page.goto(server.url)
        const embedded = await card(page, 'embedded')
        await isDrawn(embedded.locator('.result-picture img'))
        await text(embedded, /demo:\/\/notes\/a\.txt[^]*the embedded note[^]*demo:\/\/files\/c\.pdf[^]*application\/pdf · 10 bytes/)
        await shot(page, 'embedded')
        await page.goto(server.url)
        const links = await card(page, 'link')
        await text(links, /The report[^]*All of <b>it<\/b>[^]*12\.3 kB[^]*evil[^]*javascript:alert/)
        await shot(page, 'links')
        const hrefs = await links.locator('.result-link a').evaluateAll((all) => all.map((a) => [a.getAttribute('href'), a.rel, a.target]))
        assert.deepEqual(hrefs, [['https://example.com/report.pdf', 'noopener noreferrer', '_blank']])
    }))

test('data that is not what it says it is', () =>
    withPage(server.url, {}, async (page) => {
        const broken = await card(page, 'broken')
        await text(broken, /data is not valid[^]*image\/svg\+xml[^]*not valid base64/)
        assert.equal(await broken.locator('img, svg:not(.icon)').count(), 0)
        await shot(page, 'broken')
        await page.goto(server.url)
        const html = await card(page, 'html')
        await text(html, /<img src=x onerror/)
        assert.equal(await html.locator('img, script').count(), 0)
    }))

test('a command: a terminal with colours, stderr apart, and no tick when it failed', () =>
    withPage(server.url, {}, async (page) => {
        const failed = await card(page, 'command', { code: 3 })
        await text(failed.locator('.terminal').first(), /^first\nsecond/)
        assert.equal(await failed.locator('.terminal .ansi-3').innerText(), 'first')
        await text(failed, /exit 3 ·[^]*stderr[^]*it failed: <i>why<\/i>[^]*Failed with exit code 3/)
        await soon(async () => assert.ok(await failed.locator('.tool-status .icon-alert').count()))
        await shot(page, 'command')
        assert.deepEqual(await serious(page), [])
        await page.reload()
        await soon(async () => assert.match(await page.locator('.tool-time').innerText(), /^exit 3 · /))
        await page.goto(server.url)
        const long = await card(page, 'command', { code: 1, bytes: 100_000 })
        await text(long, /of 10\d kB/)
        await long.getByRole('button', { name: 'Show all' }).click()
        await text(long.locator('.terminal').first(), /line 4000 of/)
        await text(long, /exit 1 ·/)
    }))

test('the built-in bash', () =>
    withPage(server.url, {}, async (page) => {
        const one = await card(page, 'bash_exec', { command: "printf '\\033[32mgreen\\033[0m\\n'; echo oops >&2; exit 4" }, 'bash')
        await text(one, /exit 4 ·[^]*green[^]*stderr[^]*oops[^]*Failed with exit code 4/)
        assert.equal(await one.locator('.terminal .ansi-2').innerText(), 'green')
        await shot(page, 'bash')
    }))

test('colours, a table, a tree and a diff', () =>
    withPage(server.url, {}, async (page) => {
        const colours = await card(page, 'colours')
        await soon(async () => assert.equal(await colours.locator('.terminal').innerText(), 'PASS one\nFAIL two orange\ndone\n'))
        assert.equal(await colours.locator('.ansi-2.is-bold').innerText(), 'PASS')
        await shot(page, 'colours')
        await page.goto(server.url)
        const table = await card(page, 'table')
        await text(table, /60 rows[^]*City 1\b/)
        assert.equal(await table.locator('tbody tr').count(), 50)
        await shot(page, 'table')
        await table.getByRole('button', { name: 'Show all 60 rows' }).click()
        await soon(async () => assert.equal(await table.locator('tbody tr').count(), 60))
        await table.getByRole('button', { name: 'As JSON' }).click()
        await table.locator('.value-tree').waitFor()
        await page.goto(server.url)
        const tree = await card(page, 'tree')
        await text(tree.locator('.value-tree'), /name: "tree"[^]*nested \{1\}/)
        await shot(page, 'tree')
        assert.deepEqual(await serious(page), [])
        await page.goto(server.url)
        const diff = await card(page, 'diff')
        await text(diff, /1 added, 1 removed/)
        assert.deepEqual([await diff.locator('.is-added').innerText(), await diff.locator('.is-removed').innerText()], ['+new_one();\n', '-old();\n'])
        await shot(page, 'diff')
        assert.deepEqual(await serious(page), [])
    }))

test('a text of 700 kB: its beginning, all of it on demand, and as a file', () =>
    withPage(server.url, {}, async (page) => {
        const long = await card(page, 'text', { bytes: 700_000 })
        await text(long, /line 1 of a long text[^]*4\.1 kB of 700 kB/)
        await shot(page, 'long')
        await long.getByRole('button', { name: 'Show all' }).click()
        await long.getByRole('button', { name: /Show all 700,0\d\d characters/ }).click()
        await soon(async () => assert.match((await long.locator('pre').last().textContent()).slice(-40), /line \d{5} of a long text\n$/))
        const [saved] = await Promise.all([page.waitForEvent('download'), long.getByRole('button', { name: 'Download' }).click()])
        assert.equal(saved.suggestedFilename(), 'result.txt')
        assert.ok(fs.statSync(await saved.path()).size >= 700_000)
    }))

test('a published server: its picture, its links and its resource', () =>
    withPage(server.url, {}, async (page) => {
        const image = await card(page, 'get-tiny-image', {}, 'everything')
        await isDrawn(image.locator('.result-picture img'))
        await shot(page, 'everything-image')
        await page.goto(server.url)
        const links = await card(page, 'get-resource-links', { count: 2 }, 'everything')
        await soon(async () => assert.equal(await links.locator('.result-link').count(), 2))
        await shot(page, 'everything-links')
        await page.goto(server.url)
        const reference = await card(page, 'get-resource-reference', { resourceType: 'Text', resourceId: 1 }, 'everything')
        await text(reference, /demo:\/\/resource[^]*Resource 1/)
        await shot(page, 'everything-resource')
        await page.goto(server.url)
        const value = await card(page, 'get-structured-content', { location: 'Chicago' }, 'everything')
        await text(value.locator('.value-tree'), /temperature: \d+/)
    }))

test('a file that a tool has made: its name, its size, and a download of its bytes', async () => {
    await withPage(server.url, {}, async (page) => {
        const one = await card(page, 'write', { name: 'report.md', text: '# Report\n' }, 'files')
        await text(one, /report\.md/)
        await text(one, /text\/plain · 9 bytes/)
        await shot(page, 'made-file')
        const [download] = await Promise.all([page.waitForEvent('download'), one.getByRole('button', { name: /download/i }).click()])
        assert.equal(download.suggestedFilename(), 'report.md')
        assert.equal(fs.readFileSync(await download.path(), 'utf8'), '# Report\n')
        assert.deepEqual(await serious(page), [])
    })
})
