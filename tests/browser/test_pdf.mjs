// PDFs in the viewer: pages that come as one scrolls, words that can be selected, keys, zoom, and what cannot be shown.
import fs from 'node:fs'
import path from 'node:path'
import { paper, pdf } from '../support/pictures.mjs'
import { assert, before, eventually, startServer, test, tmpdir } from '../support/tap.mjs'
import { serious } from './axe.mjs'
import { answered, demoEnv, send, soon, withPage } from './browser.mjs'

const SHOTS = process.env.FILES_SHOTS // a directory for pictures of the page
const shot = async (page, name) => SHOTS && page.screenshot({ path: path.join(SHOTS, `${name}.png`) })
let server

before(async () => {
    const workdir = tmpdir('nb-pdf-')
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify({ modelInfo: { demo: { images: true, pdf: true } }, bundles: [] }))
    server = await startServer({ env: demoEnv(), workdir })
})

const LINES = Array.from({ length: 24 }, (_, i) => `(Line ${i + 1}: every page of this report has some lines.) Tj 0 -24 Td`).join(' ')
const report = (n) => paper(Array.from({ length: n }, (_, i) => `Chapter ${i + 1}`), { contents: (text) => `BT /F1 36 Tf 72 700 Td (${text}) Tj /F1 16 Tf 0 -50 Td ${LINES} ET 0.8 0.2 0.2 rg 72 40 200 12 re f` })

async function give(page, name, buffer) {
    const [chooser] = await Promise.all([page.waitForEvent('filechooser'), page.getByRole('button', { name: 'Attach files' }).click()])
    await chooser.setFiles([{ name, mimeType: 'application/pdf', buffer }])
    await eventually(async () => (await page.locator(`.attachment:not(.is-sending) .attachment-open[title="${name}"]`).count()) === 1)
}

async function open(page, name) {
    await page.locator(`.message-files a[title="${name}"]`).or(page.locator(`.attachment-open[title="${name}"]`)).first().click()
    const viewer = page.locator('dialog.viewer')
    await viewer.waitFor()
    await viewer.locator('.viewer-stage > .spinner').waitFor({ state: 'detached' })
    return viewer
}

const pageOf = (viewer, n, of) => viewer.getByRole('img', { name: `Page ${n} of ${of}`, exact: true })
const isDrawn = (image) => soon(async () => assert.ok((await image.evaluate((e) => e.complete && e.naturalWidth)) > 0))

test('pages come as one scrolls to them, and have numbers', () =>
    withPage(server.url, {}, async (page) => {
        const asked = []
        page.on('request', (r) => /[?&]page=(\d+)/.test(r.url()) && asked.push(Number(/[?&]page=(\d+)/.exec(r.url())[1])))
        await give(page, 'report.pdf', report(40))
        await page.locator('.attachment img.file-page').waitFor()
        await send(page, 'Read this.')
        await answered(page, 1)
        await page.locator('.message-files img.file-page').waitFor()
        await shot(page, 'pdf-link')
        const viewer = await open(page, 'report.pdf')
        await isDrawn(pageOf(viewer, 1, 40))
        assert.equal(await viewer.locator('.pdf-page').count(), 40)
        assert.equal(await viewer.locator('iframe, embed, object').count(), 0)
        await eventually(async () => (await viewer.locator('.pdf-words').count()) > 0)
        await shot(page, 'pdf-first')
        assert.deepEqual(await serious(page), [])
        assert.ok(Math.max(...asked) < 8, `asked for ${asked}`)
        const number = viewer.getByRole('spinbutton', { name: 'Page' })
        await number.fill('30')
        await number.press('Enter')
        await isDrawn(pageOf(viewer, 30, 40))
        assert.ok(!asked.includes(15), `asked for ${asked}`)
        await shot(page, 'pdf-page-30')
        // keys of the column
        await viewer.getByRole('region', { name: 'report.pdf, 40 pages' }).focus()
        await page.keyboard.press('ArrowRight')
        await soon(async () => assert.equal(await number.inputValue(), '31'))
        // faster than the page draws
        await viewer.getByRole('region').evaluate((e) => {
            for (let i = 0; i < 5; i++) e.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowLeft', bubbles: true }))
        })
        await soon(async () => assert.equal(await number.inputValue(), '26'))
        await page.keyboard.press('End')
        await soon(async () => assert.equal(await number.inputValue(), '40'))
        await isDrawn(pageOf(viewer, 40, 40))
        await page.keyboard.press('Escape')
        await viewer.waitFor({ state: 'detached' })
    }))

test('zoom makes the page larger and its picture sharper, and the words can be selected', () =>
    withPage(server.url, {}, async (page) => {
        await give(page, 'report.pdf', report(2))
        const viewer = await open(page, 'report.pdf')
        const image = pageOf(viewer, 1, 2)
        await isDrawn(image)
        const width = () => image.evaluate((e) => e.getBoundingClientRect().width)
        const fitted = await width(), pixels = await image.evaluate((e) => e.naturalWidth)
        const words = viewer.locator('.pdf-page').first().locator('.pdf-words')
        await words.waitFor()
        assert.match(await words.innerText(), /Chapter\s+1\s+Line\s+1:\s+every\s+page/)
        const one = words.locator('span', { hasText: 'Chapter' }).first()
        await one.dblclick()
        assert.equal((await page.evaluate(() => String(getSelection()))).trim(), 'Chapter')
        // the word lies above its picture: 72 points from the left of 612
        const [at, paperBox] = [await one.boundingBox(), await image.boundingBox()]
        assert.ok(Math.abs((at.x - paperBox.x) / paperBox.width - 72 / 612) < 0.01, JSON.stringify([at, paperBox]))
        await shot(page, 'pdf-selected')
        for (let i = 0; i < 3; i++) await viewer.getByRole('button', { name: 'Larger' }).click()
        await soon(async () => assert.ok((await width()) > fitted * 1.9))
        await soon(async () => assert.ok((await image.evaluate((e) => e.naturalWidth)) > pixels * 1.9))
        await shot(page, 'pdf-zoomed')
        await viewer.getByRole('region').focus()
        await page.keyboard.press('0')
        await soon(async () => assert.ok(Math.abs((await width()) - fitted) < 2))
        await page.keyboard.press('-')
        await soon(async () => assert.ok((await width()) < fitted))
    }))

test('a PDF that cannot be shown is explained, and can be downloaded', () =>
    withPage(server.url, {}, async (page) => {
        await give(page, 'broken.pdf', Buffer.from('%PDF-1.7\n1 0 obj << /OpenAction << /S /JavaScript /JS (app.alert(1)) >> >>\n\0'))
        const viewer = await open(page, 'broken.pdf')
        await soon(async () => assert.match(await viewer.innerText(), /cannot be shown: it is broken or incomplete\. Download it to read it\./))
        const [saved] = await Promise.all([page.waitForEvent('download'), viewer.getByRole('link', { name: 'Download' }).click()])
        assert.equal(saved.suggestedFilename(), 'broken.pdf')
    }))

test('a page that fails can be tried again', () =>
    withPage(server.url, {}, async (page) => {
        let isFailing = true
        await page.route(/[?&]page=1/, (route) => (isFailing ? route.fulfill({ status: 503, contentType: 'application/json', body: '{"error":"x","message":"Too busy."}' }) : route.fallback()))
        await give(page, 'one.pdf', pdf('Hello'))
        const viewer = await open(page, 'one.pdf')
        await soon(async () => assert.match(await viewer.innerText(), /Too busy\./))
        isFailing = false
        await viewer.getByRole('button', { name: 'Try again' }).click()
        await isDrawn(pageOf(viewer, 1, 1))
    }))

for (const colorScheme of ['light', 'dark'])
    test(`a PDF on a phone, ${colorScheme}`, () =>
        withPage(server.url, { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, colorScheme }, async (page) => {
            await give(page, 'report.pdf', report(3))
            const viewer = await open(page, 'report.pdf')
            await isDrawn(pageOf(viewer, 1, 3))
            await eventually(async () => (await viewer.locator('.pdf-words').count()) > 0)
            const box = await viewer.boundingBox()
            assert.ok(box.x >= 0 && box.x + box.width <= 390, JSON.stringify(box))
            assert.ok((await viewer.getByRole('button', { name: 'Larger' }).boundingBox()).height >= 44)
            assert.deepEqual(await serious(page), [])
            await shot(page, `pdf-phone-${colorScheme}`)
        }))
