// Files in a terminal: -f, @path with completion, a pasted path; pictures of tools inside the terminal, or opened.
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { DOT_PNG, pdf } from '../support/pictures.mjs'
import { assert, before, eventually, nb, NB, run, SRC_DIR, start, startServer, test, tmpdir } from '../support/tap.mjs'
import { double, refusedNothing, say, server, settings, withAgent } from '../support/agent.mjs'
import { offline, openTerminal } from '../support/terminal.mjs'

withAgent({ bundles: [] })

const PNG = Buffer.from(DOT_PNG, 'base64')
const READY = /\d+ in · \d+ out[^]*❯$/
const env = { ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '' }
const lastUser = () => double.log.findLast((entry) => entry.body?.tools).body.messages.findLast((m) => m.role === 'user').content

let demo
before(async () => {
    const workdir = tmpdir()
    const read = [SRC_DIR, fs.realpathSync(path.join(SRC_DIR, 'node_modules'))]
    const results = { serverName: 'results', command: process.execPath, args: [path.join(SRC_DIR, 'tests/fixtures/results-server.mjs')], sandbox: { read } }
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify({ bundles: [results] }))
    demo = await startServer({ workdir, env: { ...env, NB_DEMO_DELAY_MS: '0' } })
    await eventually(async () => (await (await fetch(demo.url + '/v1/apps')).json()).apps.some((a) => a.name === 'results' && a.status === 'running'))
})

function files() {
    const dir = tmpdir('nb-files-')
    fs.writeFileSync(path.join(dir, 'dot.png'), PNG)
    fs.writeFileSync(path.join(dir, 'my picture.png'), PNG)
    fs.writeFileSync(path.join(dir, 'notes.md'), '# A note\n')
    return dir
}

/** nb in a terminal whose current directory is `dir`. */
const openIn = (dir, args) =>
    openTerminal([], { cols: 120, command: ['sh', '-c', 'cd "$0" && exec env "$@"', dir, ...Object.entries({ ...offline, ...env }).map(([k, v]) => `${k}=${v}`), NB, ...args] })

test('@path attaches a file, Tab completes it, and a path that is pasted is enough for a picture', async () => {
    const dir = files()
    const t = await openIn(dir, ['--workdir', server.workdir])
    await t.sees(/❯$/)
    await t.type(`${say({ text: 'one' })} @do`)
    await t.key('Tab')
    await t.sees(/@dot\.png$/m)
    await t.type('and @"my picture.png" but not @nobody @no')
    await t.key('Tab')
    await t.sees(/@notes\.md$/m)
    await t.key('Enter')
    const text = await t.sees(READY)
    assert.match(text, /attached \.\/dot\.png[^]*attached \.\/my picture\.png[^]*attached \.\/notes\.md/)
    const parts = lastUser()
    assert.deepEqual(parts.map((p) => p.type), ['image', 'image', 'text', 'text'])
    assert.match(parts[0].source.media_type, /^image\/(png|jpeg)$/)
    assert.match(parts[2].text, /"notes\.md"[^]*# A note/)
    assert.match(parts[3].text, /@dot\.png/)
    await t.paste(`'${path.join(dir, 'my picture.png')}' `)
    await t.type(say({ text: 'two' }))
    await t.key('Enter')
    await t.sees(/two[^]*\d+ in · \d+ out[^]*❯$/)
    assert.deepEqual(lastUser().map((p) => p.type), ['image', 'text'])
    refusedNothing()
})

test('a file that is refused is told, and the message is not sent', async () => {
    const dir = files()
    fs.writeFileSync(path.join(dir, 'large.png'), Buffer.concat([PNG, Buffer.alloc(65 * 1024 * 1024)]))
    const t = await openIn(dir, ['--workdir', server.workdir])
    await t.sees(/❯$/)
    const before = double.log.length
    await t.message('look @dot.png @large.png')
    await t.sees(/large\.png: [^]*❯$/)
    assert.equal(double.log.length, before)
    await t.message(say({ text: 'three' }))
    await t.sees(READY)
    assert.equal(lastUser().length, 1) // nothing is left of the one that was not sent
})

test('-f takes pictures, PDFs and long texts', async () => {
    const dir = files()
    fs.writeFileSync(path.join(dir, 'paper.pdf'), pdf('Hello from a page'))
    fs.writeFileSync(path.join(dir, 'long.txt'), 'a long line\n'.repeat(400_000))
    const given = ['dot.png', 'paper.pdf', 'long.txt', 'notes.md'].flatMap((name) => ['-f', path.join(dir, name)])
    const r = await nb(['-p', say({ text: 'all' }), ...given, '--workdir', server.workdir], { cwd: dir, env })
    assert.equal(r.code, 0, r.stderr)
    const parts = lastUser()
    assert.equal(parts[0].type, 'image')
    assert.match(JSON.stringify(parts), /paper\.pdf|application\/pdf/)
    assert.match(JSON.stringify(parts), /long\.txt[^]*a long line/)
    assert.match(parts.at(-1).text, /File notes\.md:[^]*# A note/) // short texts are part of the message
    refusedNothing()
})

/** What nb writes to a terminal that says it is this one. */
async function written(vars, prompt) {
    const words = ['env', ...Object.entries({ ...offline, ...env, TMUX: '', STY: '', ...vars }).map(([k, v]) => `${k}=${v}`), NB, '-p', prompt, '--workdir', demo.workdir]
    const quoted = words.map((w) => `'${w.replaceAll("'", "'\\''")}'`).join(' ')
    const r = await run('script', ['-qec', quoted, '/dev/null'])
    assert.equal(r.code, 0, r.stdout + r.stderr)
    return r.stdout
}

test('a picture of a tool is shown inside a terminal that can, and only there', async () => {
    const prompt = 'call results__picture {"side":20}'
    const kitty = await written({ TERM: 'xterm-kitty' }, prompt)
    assert.match(kitty, /\x1b_Ga=T,f=100,q=2,m=[01];iVBORw0KGgo/)
    const iterm = await written({ TERM: 'xterm-256color', TERM_PROGRAM: 'iTerm.app' }, prompt)
    assert.match(iterm, /\x1b\]1337;File=inline=1;size=\d+;preserveAspectRatio=1:iVBORw0KGgo[\w+/=]+\x07/)
    for (const vars of [{ TERM: 'xterm-256color' }, { TERM: 'xterm-kitty', TMUX: '/tmp/x' }, { TERM: 'dumb', TERM_PROGRAM: 'iTerm.app' }]) {
        const plain = await written(vars, prompt)
        assert.doesNotMatch(plain, /\x1b_G|\x1b\]1337/, JSON.stringify(vars))
        assert.match(plain, /image\/png|1 picture/)
    }
    const piped = await nb(['-p', prompt, '--workdir', demo.workdir], { env: { ...env, TERM: 'xterm-kitty' } })
    assert.doesNotMatch(piped.stdout, /\x1b/)
})

const QUESTION = '\x1b[c', SIXELS = /\x1bP0;1;0q"1;1;20;20(#\d+;2;\d+;\d+;\d+)+[!-~]+\x1b\\/

/** nb in a terminal that is written to by the test, and says what it can do when it is asked. */
function answering(args, answer, vars = {}) {
    const words = ['env', ...Object.entries({ ...offline, ...env, TMUX: '', STY: '', TERM: 'xterm-256color', ...vars }).map(([k, v]) => `${k}=${v}`), NB, ...args, '--workdir', demo.workdir]
    const proc = start('script', ['-qec', words.map((w) => `'${w.replaceAll("'", "'\\''")}'`).join(' '), '/dev/null'])
    proc.child.stdout.on('data', (text) => text.includes(QUESTION) && proc.child.stdin.write(answer))
    return proc
}

test('a terminal that says that it shows sixels gets them, and its answer is not typed text', async () => {
    const chat = answering([], '\x1b[?62;4;22c')
    await chat.waitFor(/\x1b\[c/)
    await chat.waitFor(/❯/)
    chat.child.stdin.write('call results__picture {"side":20}\r')
    await chat.waitFor(SIXELS)
    assert.doesNotMatch(chat.stdout, /62;4;22c/)
    chat.child.stdin.write('\x04')
    await chat.exited
    // one that cannot, by the same question
    const other = answering([], '\x1b[?62;22c')
    await other.waitFor(/❯/)
    other.child.stdin.write('call results__picture {"side":20}\r')
    await other.waitFor(/\/open shows what was returned/)
    assert.doesNotMatch(other.stdout, /\x1bP/)
    await other.stop()
})

test('a single answer asks the terminal, too', async () => {
    // Again, because nb does not wait for ever, and the machine may be busy.
    await eventually(async () => {
        const one = answering(['-p', 'call results__picture {"side":20}'], '\x1b[?62;4c')
        assert.equal((await one.exited).code, 0)
        assert.match(one.stdout, SIXELS)
        return true
    })
    const known = answering(['-p', 'call results__picture {"side":20}'], '\x1b[?62;4c', { TERM: 'xterm-kitty' })
    assert.equal((await known.exited).code, 0)
    assert.ok(!known.stdout.includes(QUESTION) && !SIXELS.test(known.stdout))
})

test('what only says that it is a picture is not written to the terminal', async () => {
    const broken = await written({ TERM: 'xterm-kitty' }, 'call results__broken {}')
    assert.doesNotMatch(broken, /\x1b_G/)
})

test('/open saves what the last answer returned', async () => {
    const t = await openTerminal(['--workdir', demo.workdir], { cols: 120 })
    await t.sees(/❯$/)
    await t.message('/open')
    await t.sees(/returned no picture/)
    await t.message('call results__picture {"side":20}')
    await t.sees(/\/open shows what was returned: \[image: image\/png[^]*❯$/)
    await t.message('/open')
    const text = await t.sees(/\/tmp\/nb-open-\w+\/1\.png \(saved\)/)
    const [saved] = /\/tmp\/nb-open-\w+\/1\.png/.exec(text)
    assert.equal(fs.readFileSync(saved).subarray(1, 4).toString(), 'PNG')
    fs.rmSync(path.dirname(saved), { recursive: true })
})

test('-f takes a file of any size that the server takes, in pieces', async () => {
    const file = path.join(tmpdir(), 'large.bin')
    const bytes = Buffer.alloc(70 * 1024 * 1024 + 5)
    for (let i = 0; i < bytes.length; i += 4096) bytes.writeUInt32LE(i, Math.min(i, bytes.length - 4))
    bytes.set([0, 255, 0, 254], 0)
    fs.writeFileSync(file, bytes)
    const own = { ...settings({ files: { maxMb: 100 } }) }
    const workdir = tmpdir()
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify(own))
    for (const isServed of [true, false]) {
        const running = isServed ? await startServer({ workdir, env }) : null
        const r = await nb(['-p', say({ text: 'got it' }), '-f', file, '--workdir', workdir], { env })
        assert.equal(r.code, 0, r.stdout + r.stderr)
        assert.match(r.stdout, /got it/)
        await running?.stop()
    }
    const sha = createHash('sha256').update(bytes).digest('hex')
    assert.ok(fs.readFileSync(path.join(workdir, 'files', sha.slice(0, 2), sha)).equals(bytes))
    assert.deepEqual(fs.readdirSync(path.join(workdir, 'files')).filter((name) => name.length > 2), [], 'no upload is left')

    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify(settings({ files: { maxMb: 20 } })))
    const refused = await nb(['-p', 'x', '-f', file, '--workdir', workdir], { env })
    assert.notEqual(refused.code, 0)
    assert.match(refused.stderr, /20 MB|too large|at most/i)
})

test('-f continues where the server stopped when the connection is lost', async () => {
    const workdir = tmpdir(), file = path.join(tmpdir(), 'large.bin')
    const bytes = Buffer.alloc(20 * 1024 * 1024, 'nb\0')
    fs.writeFileSync(file, bytes)
    let got = Buffer.alloc(0), drops = 2
    const asked = []
    const double = http.createServer(async (req, res) => {
        asked.push(`${req.method} ${req.headers['upload-offset'] ?? ''}`)
        const reply = (status, body) => res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
        if (req.method === 'POST' && req.url === '/v1/files/uploads') return reply(200, { id: 'part_1', offset: 0 })
        if (req.method === 'GET' && req.url === '/v1/files/uploads/part_1') return reply(200, { offset: got.length })
        if (req.method === 'GET') return reply(200, {})
        if (req.method !== 'PATCH') return reply(404, { error: 'not_found', message: 'not here' })
        if (Number(req.headers['upload-offset']) !== got.length) return reply(409, { error: 'wrong_offset', message: 'no' })
        const pieces = []
        for await (const piece of req) pieces.push(piece)
        const body = Buffer.concat(pieces), isDropped = got.length > 0 && drops-- > 0
        got = Buffer.concat([got, isDropped ? body.subarray(0, 1_000_000) : body])
        if (isDropped) return req.socket.destroy()
        return reply(200, { offset: got.length, file: got.length === bytes.length ? { id: 'file_x' } : null })
    })
    await new Promise((resolve) => double.listen(path.join(workdir, 'nb.sock'), resolve))
    const r = await nb(['-p', 'x', '-f', file, '--workdir', workdir], { env })
    double.close()
    assert.ok(got.equals(bytes), `${got.length} bytes\n${asked.join('\n')}\n${r.stdout}${r.stderr}`)
    assert.ok(drops <= 0)
})
