// What tools return besides short texts: in the history, on streams, and whole by its address.
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { assert, nb, SRC_DIR, test } from '../support/tap.mjs'
import { chat, double, events, refusedNothing, server, withAgent } from '../support/agent.mjs'
import { exif, jpeg, png, readPng } from '../support/pictures.mjs'

const FIXTURE = path.join(SRC_DIR, 'tests/fixtures/results-server.mjs')
withAgent({ bundles: [{ serverName: 'results', command: process.execPath, args: [FIXTURE], sandbox: { read: [SRC_DIR] } }] })

async function historyOf(id) {
    const { messages } = await (await fetch(`${server.url}/v1/conversations/${id}/history`)).json()
    return messages.flatMap((message) => message.toolCalls ?? [])[0]
}

/** A conversation with a call of this tool, and the call as the history has it. */
async function callOf(name, args = {}) {
    const { conversationId, stopReason } = await chat([{ calls: [{ name: `results__${name}`, args }] }, { text: 'ok' }])
    assert.equal(stopReason, 'complete')
    return { conversationId, call: await historyOf(conversationId) }
}

const get = (address) => fetch(server.url + address)

async function bytesAt(address) {
    const res = await get(address)
    assert.equal(res.status, 200, address)
    assert.match(res.headers.get('content-disposition'), /^attachment; filename="[\w.-]+"$/)
    assert.equal(res.headers.get('content-security-policy'), "sandbox; default-src 'none'")
    assert.equal(res.headers.get('x-content-type-options'), 'nosniff')
    return { type: res.headers.get('content-type'), total: Number(res.headers.get('x-total-bytes')), bytes: Buffer.from(await res.arrayBuffer()) }
}

test('a large text: its beginning in the history, all of it at its address', async () => {
    const { conversationId, call } = await callOf('text', { bytes: 700_000 })
    assert.match(call.output, /^line 1 of a long text\n/)
    assert.ok(call.output.length > 4000 && call.output.length <= 4096, String(call.output.length))
    const [part] = call.parts
    assert.ok(part.bytes >= 700_000)
    const whole = await bytesAt(part.address)
    assert.equal(whole.type, 'text/plain; charset=utf-8')
    assert.equal(whole.bytes.length, part.bytes)
    assert.ok(whole.bytes.toString().startsWith(call.output))
    const piece = await bytesAt(`${part.address}?offset=${part.bytes - 10}&limit=4`)
    assert.deepEqual([piece.bytes.toString(), piece.total], [whole.bytes.subarray(-10, -6).toString(), part.bytes])

    const blob = await bytesAt(call.blob.address)
    assert.deepEqual([blob.type, blob.bytes.length], ['application/json', call.blob.bytes])
    assert.equal(createHash('sha256').update(blob.bytes).digest('hex'), call.blob.sha256)
    assert.equal(JSON.parse(blob.bytes).content[0].text, whole.bytes.toString())
    assert.equal((await bytesAt(`${call.blob.address}?offset=2&limit=9`)).bytes.toString(), 'content":')

    const done = await frameOf(conversationId)
    assert.deepEqual([done.output, done.parts, done.blob], [call.output, call.parts, call.blob])
})

/** The tool.done frame of a conversation's stream. */
async function frameOf(conversationId) {
    const gone = new AbortController()
    const res = await fetch(`${server.url}/v1/conversations/${conversationId}/events`, { signal: gone.signal, headers: { 'last-event-id': '0' } })
    let text = ''
    for await (const piece of res.body.pipeThrough(new TextDecoderStream())) {
        text += piece
        const found = /event: tool\.done\n(?:id: .*\n)?data: (.*)\n/.exec(text)
        if (found) {
            gone.abort()
            return JSON.parse(found[1])
        }
    }
    throw new Error('no tool.done')
}

test('blobs that no result of this conversation names are not there', async () => {
    const { conversationId, call } = await callOf('text', { bytes: 100_000 })
    const other = await callOf('text', { bytes: 10 })
    assert.equal((await get(`/v1/conversations/${other.conversationId}/blobs/${call.blob.sha256}`)).status, 404)
    const request = events(conversationId).find(({ type }) => type === 'llm.request')
    assert.match(request.system, /^[0-9a-f]{64}$/, 'prompts are blobs too')
    assert.equal((await get(`/v1/conversations/${conversationId}/blobs/${request.system}`)).status, 404)
    for (const name of ['x', call.blob.sha256.toUpperCase()])
        assert.equal((await get(`/v1/conversations/${conversationId}/blobs/${name}`)).status, 404, name)
    const file = path.join(server.workdir, 'conversations', `${conversationId}.blobs`, call.blob.sha256)
    fs.appendFileSync(file, 'x')
    assert.equal((await get(call.blob.address)).status, 500, 'damaged')
    fs.rmSync(file)
    assert.equal((await get(call.blob.address)).status, 404, 'lost')
})

test('pictures, sound and resources: described, and their bytes at their addresses', async () => {
    for (const side of [16, 300]) {
        const { call } = await callOf('picture', { side })
        const [text, image] = call.parts
        assert.deepEqual(text, { type: 'text', text: 'Here is a picture.' })
        assert.deepEqual([image.type, image.mimeType], ['image', 'image/png'])
        assert.equal(call.blob !== undefined, side === 300, 'a large picture is a blob')
        const { type, bytes } = await bytesAt(image.address)
        assert.deepEqual([type, bytes.length], ['image/png', image.bytes])
        assert.equal(bytes.subarray(1, 4).toString(), 'PNG')
    }
    const { call: sound } = await callOf('sound')
    assert.equal((await bytesAt(sound.parts[0].address)).type, 'audio/wav')
    const { call: embedded } = await callOf('embedded')
    assert.deepEqual(embedded.parts.map(({ uri, text, bytes }) => [uri, text ?? bytes > 0]), [
        ['demo://notes/a.txt', 'the embedded note'], ['demo://pictures/b.png', true], ['demo://files/c.pdf', true],
    ])
    const pdf = await bytesAt(embedded.parts[2].address)
    assert.deepEqual([pdf.type, pdf.bytes.toString()], ['application/octet-stream', '%PDF-1.4 x'])
    const { call: broken } = await callOf('broken')
    assert.equal((await bytesAt(broken.parts[1].address)).type, 'application/octet-stream', 'SVG is a document')
    assert.equal((await get(broken.parts[2].address)).status, 422)
})

test('a command: how it ended, and the beginning of long output', async () => {
    const { call } = await callOf('command', { code: 3 })
    assert.equal(call.parts.at(-1).value.exit_code, 3)
    const { call: long } = await callOf('command', { code: 1, bytes: 100_000 })
    const part = long.parts.at(-1)
    assert.deepEqual([part.type, part.value.exit_code], ['structured', 1])
    assert.match(part.value.stdout, /^line 1 /)
    const whole = JSON.parse((await bytesAt(part.address)).bytes)
    assert.ok(whole.stdout.length >= 100_000 && whole.stdout.startsWith(part.value.stdout))
})

/** The parts of the last result that the model got. */
const seenResult = () => {
    const { messages } = double.log.findLast((entry) => entry.body?.tools).body
    return messages.flatMap((m) => m.content).findLast((part) => part.type === 'tool_result').content
}
const pixels = ({ source }) => Buffer.from(source.data, 'base64')

test('the model gets pictures of results without metadata and in its size; the log keeps them as they came', async () => {
    const photo = jpeg(exif(6)), wide = png(3000, 30, (x) => (x < 1500 ? [255, 0, 0] : [0, 0, 255]))
    const data = [photo, wide].map((bytes) => bytes.toString('base64'))
    const { conversationId, call } = await callOf('given', { data })
    const [, first, second] = seenResult()
    assert.ok(photo.includes('AT-MY-HOUSE') && !pixels(first).includes('AT-MY-HOUSE') && !pixels(first).includes('Exif'))
    assert.deepEqual([readPng(pixels(second)).width, readPng(pixels(second)).height], [1568, 15])
    const done = events(conversationId).find((e) => e.type === 'tool.done')
    assert.deepEqual(done.result.content.slice(1).map((part) => part.data), data)
    assert.deepEqual(done.views.map(({ part, width, height }) => [part, width, height]), [[1, 8, 16], [2, 1568, 15]])
    assert.ok(!JSON.stringify(call).includes('views'), 'clients do not need them')

    const before = JSON.stringify([first, second])
    assert.equal((await chat({ text: 'again' }, { conversationId })).response, 'again')
    assert.equal(JSON.stringify(seenResult().slice(1)), before, 'a later turn sends the same')
    const replay = await nb(['replay', conversationId, '--workdir', server.workdir])
    assert.equal(replay.code, 0, replay.stdout + replay.stderr)
    refusedNothing()
})

test('a picture of a result that is broken becomes a sentence, and the conversation goes on', async () => {
    const cut = png(16, 8, () => [1, 2, 3]).subarray(0, 60)
    const { conversationId } = await callOf('given', { data: [cut.toString('base64')] })
    assert.match(seenResult()[1].text, /^\[A picture that cannot be shown: .*broken or incomplete.*\.\]$/)
    assert.equal((await chat({ text: 'goes on' }, { conversationId })).response, 'goes on')
    await callOf('broken')
    assert.deepEqual(seenResult().map(({ type }) => type), ['text', 'text', 'text'])
    refusedNothing()
})

test('large views are blobs like large results', async () => {
    const { conversationId } = await callOf('picture', { side: 300 })
    const done = events(conversationId).find((e) => e.type === 'tool.done')
    assert.ok(done.views.$blob && done.result.$blob, JSON.stringify(done).slice(0, 300))
    const before = pixels(seenResult()[1])
    assert.equal(readPng(before).width, 300)
    assert.equal((await chat({ text: 'again' }, { conversationId })).response, 'again')
    assert.ok(pixels(seenResult()[1]).equals(before))
})

test('nb mcp call names bytes instead of printing them; --json has them', async () => {
    const call = (...args) => nb(['--workdir', server.workdir, 'mcp', 'call', ...args])
    const shown = await call('results__picture')
    assert.match(shown.stdout, /^Here is a picture\.\n\[image: image\/png, .*\] \(--json prints its bytes\)\n$/)
    assert.match((await call('results__embedded')).stdout, /the embedded note[^]*\[.*application\/pdf.*\] \(--json/)
    assert.ok(JSON.parse((await call('results__picture', '--json')).stdout).content[1].data.length > 100)
})
