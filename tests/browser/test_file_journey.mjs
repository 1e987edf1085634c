// The life of a file: pasted or given in a terminal, seen by the model, shown, forked, exported, imported elsewhere, and
// its bytes are gone from the disk with the last conversation that has them.
import crypto from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { DOT_PNG, pdf } from '../support/pictures.mjs'
import { assert, eventually, nb, test, tmpdir } from '../support/tap.mjs'
import { double, events, refusedNothing, say, server, withAgent } from '../support/agent.mjs'
import { answered, send, soon, withPage } from './browser.mjs'

withAgent({ bundles: [] })

const PNG = Buffer.from(DOT_PNG, 'base64')
const LINES = Array.from({ length: 100_000 }, (_, i) => `line ${i} of a text that is about five megabytes long\n`).join('')

const sha = (bytes) => crypto.createHash('sha256').update(bytes).digest('hex')
const lastUser = () => double.log.findLast((entry) => entry.body?.tools).body.messages.findLast((m) => m.role === 'user').content
const bytesOf = (id, workdir = server.workdir) => path.join(workdir, 'files', id.slice(5, 7), id.slice(5))
const ask = async (method, target) => {
    const res = await fetch(server.url + target, { method, ...(method === 'POST' ? { body: '{}' } : {}) })
    assert.equal(res.status, 200, target)
    return res
}
/** The block of a picture; its bytes may be others than those that were given. */
function isPicture({ type, source }) {
    assert.equal(type, 'image')
    assert.match(source.media_type, /^image\/(png|jpeg)$/)
    assert.match(Buffer.from(source.data, 'base64').subarray(0, 4).toString('latin1'), /^\x89PNG|^\xff\xd8\xff/)
}
const fileOf = (conversation) => events(conversation).find((e) => e.type === 'user.message').content.find((part) => part.file)

/** Everything below the work directory that has these bytes. */
function copies(workdir, bytes) {
    const all = fs.readdirSync(workdir, { recursive: true, withFileTypes: true }).filter((e) => e.isFile()).map((e) => path.join(e.parentPath, e.name))
    return all.filter((p) => {
        try {
            return fs.statSync(p).size === bytes.length && fs.readFileSync(p).equals(bytes)
        } catch (error) {
            if (error.code === 'ENOENT') return false // the server has removed it, or has given it its name
            throw error
        }
    })
}

/** Exports, imports elsewhere, forks and purges; at every step the bytes are where they belong. */
async function travels(conversation, file, bytes) {
    const inode = fs.statSync(bytesOf(file.file)).ino
    assert.deepEqual([...new Set(copies(server.workdir, bytes).map((p) => fs.statSync(p).ino))], [inode]) // once
    const html = await (await ask('GET', `/v1/conversations/${conversation}/export?format=html`)).text()
    if (file.type === 'image') assert.match(html, /src="data:image\/(png|jpeg);base64,[\w+/=]{40,}"/)
    else assert.ok(html.includes(file.name))
    const markdown = await (await ask('GET', `/v1/conversations/${conversation}/export?format=markdown`)).text()
    assert.ok(markdown.includes(`[${file.name}](/v1/conversations/${conversation}/files/${file.file})`), markdown)
    const json = await (await ask('GET', `/v1/conversations/${conversation}/export?format=json`)).json()
    assert.equal(json.messages[0].parts.find((part) => part.file).file, file.file)

    const out = path.join(tmpdir(), 'talk')
    for (const format of ['jsonl', 'md', 'html']) {
        const r = await nb(['conv', 'export', conversation, '-o', `${out}.${format}`, '--workdir', server.workdir])
        assert.equal(r.code, 0, r.stderr)
    }
    assert.ok(fs.readFileSync(`${out}.blobs/${file.file.slice(5)}`).equals(bytes))
    assert.ok(fs.readFileSync(`${out}.md`, 'utf8').includes(`[${file.name}](talk.blobs/${file.file.slice(5)})`))
    const elsewhere = tmpdir()
    const imported = await nb(['conv', 'import', `${out}.jsonl`, '--workdir', elsewhere])
    assert.equal(imported.code, 0, imported.stderr)
    assert.equal(copies(elsewhere, bytes).length, 1)
    if (file.view) { // what models got travels, too
        const view = fs.readFileSync(`${out}.blobs/${file.view.file.slice(5)}`)
        assert.equal(copies(elsewhere, view).length, 1)
    }
    const again = path.join(tmpdir(), 'again.jsonl')
    const id = fs.readdirSync(path.join(elsewhere, 'conversations')).find((p) => p.endsWith('.jsonl')).slice(0, -6)
    assert.equal((await nb(['conv', 'export', id, '-o', again, '--workdir', elsewhere])).code, 0)
    assert.equal(copies(path.dirname(again), bytes).length, 1)

    const fork = await (await ask('POST', `/v1/conversations/${conversation}/fork`)).json()
    const forked = fork.id ?? fork.conversationId
    await ask('DELETE', `/v1/conversations/${conversation}?purge=true`)
    const back = await ask('GET', `/v1/conversations/${forked}/files/${file.file}`)
    assert.ok(Buffer.from(await back.arrayBuffer()).equals(bytes))
    await ask('DELETE', `/v1/conversations/${forked}`) // into the trash
    assert.equal(copies(server.workdir, bytes).length > 0, true)
    await ask('DELETE', `/v1/conversations/${forked}?purge=true`)
    await eventually(() => copies(server.workdir, bytes).length === 0)
}

const conversationOf = (page) => soon(async () => assert.match(page.url(), /conv_/)).then(() => /conv_\w+/.exec(page.url())[0])

test('a picture that is pasted with the keyboard', () =>
    withPage(server.url, {}, async (page) => {
        await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
        await page.getByLabel('Message', { exact: true }).focus()
        await page.evaluate(async (base64) => {
            const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))
            await navigator.clipboard.write([new ClipboardItem({ 'image/png': new Blob([bytes], { type: 'image/png' }) })])
        }, PNG.toString('base64'))
        await page.keyboard.press('Control+V')
        await eventually(async () => (await page.locator('.attachment:not(.is-sending)').count()) === 1)
        await send(page, say({ text: 'a dot' }))
        await answered(page, 1)
        const conversation = await conversationOf(page)
        const file = fileOf(conversation)
        const bytes = fs.readFileSync(bytesOf(file.file)) // browsers encode pictures of the clipboard again
        isPicture(lastUser()[0])
        refusedNothing()
        const isShown = () => soon(async () => assert.ok(await page.locator('.message-files img').evaluate((e) => e.naturalWidth === 1)))
        await isShown()
        await page.reload()
        await isShown()
        await travels(conversation, file, bytes)
    }))

test('a text of five megabytes that is chosen', () =>
    withPage(server.url, {}, async (page) => {
        const [chooser] = await Promise.all([page.waitForEvent('filechooser'), page.getByRole('button', { name: 'Attach files' }).click()])
        await chooser.setFiles([{ name: 'long.txt', mimeType: 'text/plain', buffer: Buffer.from(LINES) }])
        await eventually(async () => (await page.locator('.attachment:not(.is-sending)').count()) === 1)
        await send(page, say({ text: 'long' }))
        await answered(page, 1)
        assert.match(lastUser()[0].text, /line 0 of a text/)
        await page.reload()
        await page.locator('.file-link', { hasText: 'long.txt' }).waitFor()
        const conversation = await conversationOf(page)
        await travels(conversation, fileOf(conversation), Buffer.from(LINES))
    }))

test('a PDF that is chosen', () =>
    withPage(server.url, {}, async (page) => {
        const paper = pdf('Hello from a page')
        const [chooser] = await Promise.all([page.waitForEvent('filechooser'), page.getByRole('button', { name: 'Attach files' }).click()])
        await chooser.setFiles([{ name: 'paper.pdf', mimeType: 'application/pdf', buffer: paper }])
        await eventually(async () => (await page.locator('.attachment:not(.is-sending)').count()) === 1)
        await send(page, say({ text: 'paper' }))
        await answered(page, 1)
        assert.match(JSON.stringify(lastUser()), /paper\.pdf|application\/pdf/)
        await page.reload()
        await page.locator('.file-link', { hasText: 'paper.pdf' }).waitFor()
        const conversation = await conversationOf(page)
        await travels(conversation, fileOf(conversation), paper)
    }))

test('the same from a terminal', async () => {
    const dir = tmpdir()
    const picture = Buffer.concat([PNG, Buffer.from('terminal')])
    fs.writeFileSync(path.join(dir, 'dot.png'), picture)
    const r = await nb(['-p', say({ text: 'seen' }), '-f', path.join(dir, 'dot.png'), '--workdir', server.workdir, '--json'], { cwd: dir, env: { ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '' } })
    assert.equal(r.code, 0, r.stderr)
    const conversation = /conv_\w+/.exec(r.stdout)[0]
    const file = fileOf(conversation)
    assert.deepEqual([file.name, file.file], ['dot.png', 'file_' + sha(picture)])
    isPicture(lastUser()[0])
    const kept = path.join(tmpdir(), 'nb.tar'), restored = tmpdir()
    await (await fetch(server.url + '/v1/files/uploads', { method: 'POST', body: '{"name":"x","bytes":5}' })).json()
    assert.equal((await nb(['backup', kept, '--workdir', server.workdir])).code, 0)
    assert.equal((await nb(['restore', kept, '--workdir', restored])).code, 0)
    assert.ok(copies(restored, picture).length > 0)
    assert.deepEqual(fs.readdirSync(path.join(restored, 'files')).filter((name) => name.startsWith('part_')), []) // unfinished
    const out = path.join(tmpdir(), 'restored.html')
    assert.equal((await nb(['conv', 'export', conversation, '-o', out, '--workdir', restored])).code, 0)
    assert.match(fs.readFileSync(out, 'utf8'), /src="data:image\/(png|jpeg);base64,[\w+/=]{40,}"/)
    await travels(conversation, file, picture)
    refusedNothing()
})
