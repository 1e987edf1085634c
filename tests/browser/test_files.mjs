// Files on the page: chips, pieces, paste, the drop zone, and the viewer. Files are foreign, and none of them acts.
import fs from 'node:fs'
import path from 'node:path'
import { png } from '../support/pictures.mjs'
import { assert, before, eventually, startServer, test, tmpdir } from '../support/tap.mjs'
import { serious } from './axe.mjs'
import { answered, demoEnv, send, soon, withPage } from './browser.mjs'

const SHOTS = process.env.FILES_SHOTS // a directory for pictures of the page
const MB = 1_000_000
let server

before(async () => {
    const workdir = tmpdir('nb-files-')
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify({ modelInfo: { demo: { images: true } }, bundles: [] }))
    server = await startServer({ env: demoEnv(), workdir })
})

const shot = async (page, name) => SHOTS && page.screenshot({ path: path.join(SHOTS, `${name}.png`) })
const text = (locator, wanted) => soon(async () => assert.match(await locator.innerText(), wanted))

/** A picture of colours, so that one sees whether it was scaled. */
const colours = (side) => png(side, side, (x, y) => [(x * 255) / side, (y * 255) / side, 128])

function wav() {
    const data = Buffer.alloc(8000)
    const head = Buffer.alloc(44)
    head.write('RIFF', 0); head.writeUInt32LE(36 + data.length, 4); head.write('WAVEfmt ', 8)
    head.writeUInt32LE(16, 16); head.writeUInt16LE(1, 20); head.writeUInt16LE(1, 22); head.writeUInt32LE(8000, 24)
    head.writeUInt32LE(8000, 28); head.writeUInt16LE(1, 32); head.writeUInt16LE(8, 34); head.write('data', 36); head.writeUInt32LE(data.length, 40)
    return Buffer.concat([head, data])
}

/** Chooses files with the paperclip, as a person does. */
async function choose(page, ...files) {
    const [chooser] = await Promise.all([page.waitForEvent('filechooser'), page.getByRole('button', { name: 'Attach files' }).click()])
    await chooser.setFiles(files.map(([name, buffer, mimeType = 'application/octet-stream']) => ({ name, mimeType, buffer: Buffer.from(buffer) })))
    await eventually(async () => (await page.locator('.attachment:not(.is-sending)').count()) === files.length)
}

const viewer = (page) => page.locator('dialog.viewer')

/** Opens a file of a message, or one that is not sent yet. */
async function open(page, name) {
    await page.locator(`.message-files a[title="${name}"]`).or(page.locator(`.attachment-open[title="${name}"]`)).first().click()
    await viewer(page).waitFor()
    await viewer(page).locator('.spinner').waitFor({ state: 'detached' })
    return viewer(page)
}

const close = async (page) => {
    await page.keyboard.press('Escape')
    await viewer(page).waitFor({ state: 'detached' })
}

test('a large file goes in pieces, and goes on where a dropped connection ended', () =>
    withPage(server.url, {}, async (page) => {
        const bytes = Buffer.alloc(17 * MB)
        for (let i = 0; i < bytes.length; i += 1000) bytes.write(`line ${i}\n`.padEnd(1000, '.'), i)
        const offsets = []
        let broken = 0
        await page.route('**/v1/files/uploads/*', async (route) => {
            if (route.request().method() !== 'PATCH') return route.continue()
            offsets.push(Number(route.request().headers()['upload-offset']))
            if (offsets.length === 2 || offsets.length === 3) return broken++, route.abort('connectionreset')
            return route.continue()
        })
        await choose(page, ['large.txt', bytes])
        assert.equal(broken, 2)
        assert.deepEqual([...new Set(offsets)], [0, 8 << 20, 16 << 20])
        await text(page.locator('.attachment'), /large\.txt\s*17\.0 MB/)
        const { files } = await (await fetch(server.url + '/v1/files')).json()
        const file = files.find(({ name }) => name === 'large.txt')
        assert.ok(Buffer.from(await (await fetch(`${server.url}/v1/files/${file.id}`)).arrayBuffer()).equals(bytes))
        await send(page, 'What is this?')
        await answered(page, 1)
        const one = await open(page, 'large.txt')
        await text(one, /The first 1 MB of 17 MB/)
        await soon(async () => assert.equal((await one.locator('.viewer-text').textContent()).length, 1 * MB))
    }))

test('a large file that is removed while it is sent leaves nothing', () =>
    withPage(server.url, {}, async (page) => {
        let go
        const held = new Promise((resolve) => (go = resolve))
        await page.route('**/v1/files/uploads/*', async (route) => {
            if (route.request().method() === 'PATCH') await held
            await route.continue().catch(() => {}) // it was aborted
        })
        const [chooser] = await Promise.all([page.waitForEvent('filechooser'), page.getByRole('button', { name: 'Attach files' }).click()])
        await chooser.setFiles([{ name: 'gone.bin', mimeType: '', buffer: Buffer.alloc(9 << 20) }])
        await page.locator('.attachment.is-sending').waitFor()
        await eventually(() => fs.readdirSync(path.join(server.workdir, 'files')).some((name) => name.startsWith('part_')))
        await page.getByRole('button', { name: 'Remove gone.bin' }).click()
        go()
        await eventually(() => !fs.readdirSync(path.join(server.workdir, 'files')).some((name) => name.startsWith('part_')))
        assert.equal(await page.locator('.attachment').count(), 0)
    }))

test('a long text that is pasted becomes a chip, a short one does not', () =>
    withPage(server.url, {}, async (page) => {
        await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
        const field = page.getByLabel('Message', { exact: true })
        const paste = async (value) => {
            await page.evaluate((v) => navigator.clipboard.writeText(v), value)
            await field.focus()
            await page.keyboard.press('Control+V')
        }
        await paste('short')
        await soon(async () => assert.equal(await field.inputValue(), 'short'))
        await paste('a long line\n'.repeat(1000))
        await eventually(async () => (await page.locator('.attachment:not(.is-sending)').count()) === 1)
        assert.equal(await field.inputValue(), 'short')
        await text(page.locator('.attachment'), /Pasted text\.txt\s*12 kB/)
        await shot(page, 'chip-text')
        await page.locator('.attachment-open').click() // also before it is sent
        await text(viewer(page), /a long line/)
        await close(page)
    }))

test('the whole window takes files that are dropped', () =>
    withPage(server.url, {}, async (page) => {
        const drag = (type, name) => page.evaluate(([t, n]) => {
            const data = new DataTransfer()
            if (n) data.items.add(new File(['dropped'], n))
            else data.setData('text/plain', 'words')
            const event = new DragEvent(t, { bubbles: true, cancelable: true, dataTransfer: data })
            document.querySelector('.sidebar, nav, body').dispatchEvent(event)
            return [event.defaultPrevented, document.documentElement.classList.contains('is-file-target')]
        }, [type, name])
        await page.locator('.composer-field').waitFor()
        assert.deepEqual(await drag('dragover', null), [false, false])
        assert.deepEqual(await drag('dragover', 'a.txt'), [true, true])
        await shot(page, 'drop-zone')
        assert.deepEqual(await drag('drop', 'a.txt'), [true, false])
        await eventually(async () => (await page.locator('.attachment:not(.is-sending)').count()) === 1)
    }))

const KINDS = [
    ['colours.png', colours(600), 'image/png'],
    ['table.csv', 'city;people\n"Köln; am Rhein";1087863\nBonn;336465\n'],
    ['program.py', 'def f(x):\n    return x  # why\n'],
    ['data.json', '{"a": [1, 2, {"b": null}]}'],
    ['sound.wav', wav()],
    ['paper.pdf', '%PDF-1.7\n1 0 obj << /OpenAction << /S /JavaScript /JS (app.alert(1)) >> >>\n\0'],
    ['page.html', '<script>globalThis.bad = 1</script><img src=x onerror="bad=1">'],
    ['drawing.svg', '<svg xmlns="http://www.w3.org/2000/svg" onload="globalThis.bad = 1"/>'],
    ['broken.png', Buffer.concat([colours(8).subarray(0, 33), Buffer.alloc(40, 7)]), 'image/png'],
    ['a.bin', Buffer.from([0, 1, 2, 3])],
]

/** Chips of all kinds; `sent`: of a picture and a program, in a message. */
async function withFiles(page, sent = false) {
    await choose(page, ...(sent ? [KINDS[0], KINDS[2]] : KINDS))
    await shot(page, `chips-${page.viewportSize().width}`)
    if (!sent) return
    await send(page, 'Look at these.')
    await answered(page, 1)
}

test('a picture is shown, enlarged and saved', () =>
    withPage(server.url, {}, async (page) => {
        await withFiles(page, true)
        const one = await open(page, 'colours.png')
        await text(one, /image\/png · [\d.]+ kB · 600 × 600/)
        const width = () => one.locator('img').evaluate((e) => e.getBoundingClientRect().width)
        const fitted = await width()
        assert.ok(fitted > 300 && fitted <= 600)
        await one.getByRole('button', { name: 'Larger' }).click()
        await soon(async () => assert.ok((await width()) > fitted * 1.4))
        await one.getByRole('button', { name: 'Original size, or fitted' }).click()
        await soon(async () => assert.equal(await width(), fitted))
        await one.getByRole('button', { name: 'Original size, or fitted' }).click()
        await soon(async () => assert.equal(await width(), 600))
        assert.deepEqual(await serious(page), [])
        const [saved] = await Promise.all([page.waitForEvent('download'), one.getByRole('link', { name: 'Download' }).click()])
        assert.equal(saved.suggestedFilename(), 'colours.png')
        assert.ok(fs.readFileSync(await saved.path()).equals(KINDS[0][1]))
        await close(page)
    }))

test('tables, code, JSON and sound are drawn as what they are; nothing acts', () =>
    withPage(server.url, {}, async (page) => {
        await withFiles(page)
        const table = await open(page, 'table.csv')
        await text(table, /city\s+people\s+Köln; am Rhein\s+1087863\s+Bonn/)
        await shot(page, 'view-table')
        assert.deepEqual(await serious(page), [])
        await close(page)
        const code = await open(page, 'program.py')
        assert.equal(await code.locator('.tok-comment').innerText(), '# why')
        await shot(page, 'view-code')
        await close(page)
        await text(await open(page, 'data.json'), /a \[3\]/)
        await close(page)
        const sound = await open(page, 'sound.wav')
        await soon(async () => assert.equal(await sound.locator('audio').evaluate((e) => e.duration), 1))
        await close(page)
        await text(await open(page, 'paper.pdf'), /broken or incomplete\. Download it to read it/)
        assert.equal(await viewer(page).locator('iframe, embed, object').count(), 0)
        await shot(page, 'view-pdf')
        await close(page)
        for (const [name, words] of [['page.html', /<script>/], ['drawing.svg', /<svg/], ['broken.png', /data is not valid/], ['a.bin', /not shown here/]]) {
            await text(await open(page, name), words)
            assert.equal(await viewer(page).locator('iframe, embed, object, script, svg:not(.icon)').count(), 0)
            await close(page)
        }
        assert.equal(await page.evaluate(() => globalThis.bad), undefined)
    }))

for (const colorScheme of ['light', 'dark'])
    test(`the viewer on a phone, ${colorScheme}`, () =>
        withPage(server.url, { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, colorScheme }, async (page) => {
            await withFiles(page, true)
            const one = await open(page, 'colours.png')
            await text(one, /600 × 600/)
            await shot(page, `phone-picture-${colorScheme}`)
            const box = await one.boundingBox()
            assert.ok(box.x >= 0 && box.x + box.width <= 390, JSON.stringify(box))
            assert.ok((await one.getByRole('button', { name: 'Larger' }).boundingBox()).height >= 44)
            assert.deepEqual(await serious(page), [])
            await close(page)
            await open(page, 'program.py')
            await shot(page, `phone-code-${colorScheme}`)
            assert.deepEqual(await serious(page), [])
        }))
