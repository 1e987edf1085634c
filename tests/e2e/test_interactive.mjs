// The conversation in a terminal, as somebody at the keyboard sees it: nb runs in tmux, which
// is typed into and whose screen is read.
import fs from 'node:fs'
import path from 'node:path'
import { assert, eventually, NB, run, startServer, test, tmpdir } from '../support/tap.mjs'
import { offline, openTerminal as open } from '../support/terminal.mjs'

const PROMPT_LAST = /❯$/

function count(text, what) {
    return text.split(what).length - 1
}

test('a message is answered, the footer counts, Ctrl-D leaves with 0', async () => {
    const dir = tmpdir()
    const t = await open(['--workdir', dir])
    const hello = await t.sees(PROMPT_LAST)
    assert.match(hello, /^nb \d+\.\d+\.\d+ · demo/)
    assert.match(hello, new RegExp(dir))
    assert.match(hello, /\/help/)
    await t.message('what is 6*7?')
    const text = await t.sees(/\d+ in · \d+ out[^]*❯$/)
    assert.match(text, /^❯ what is 6\*7\?$/m)
    assert.match(text, /^✓ nb__calculate .*→ 42 \(\d+ ms\)$/m)
    assert.equal(count(text, '✓ nb__calculate'), 1)
    await t.key('C-d')
    assert.equal((await t.ended()).code, 0)
    const [, id] = await eventually(async () => /nb --resume (conv_\w+)/.exec(await t.all()))
    assert.ok(fs.existsSync(path.join(dir, 'conversations', id + '.jsonl')))
})

test('Markdown is rendered and streamed without a line lost or doubled', async () => {
    const t = await open(['--workdir', tmpdir()], { rows: 12, cols: 60, env: { NB_DEMO_DELAY_MS: '5' } })
    await t.sees(PROMPT_LAST)
    await t.message('help')
    await t.sees(/\d+ in · \d+ out[^]*❯$/)
    const all = await t.all()
    assert.match(all, /^• /m)
    assert.doesNotMatch(all, /\*\*|`/)
    for (const line of ['Things to try:', 'lists the tools', '❯ help', 'demo model that is built'])
        assert.equal(count(all, line), 1, `${line}\n${all}`)
    await t.message('count to 60')
    await t.sees(/60[^]*\d+ in · \d+ out[^]*❯$/)
    const counted = (await t.all()).split('❯ count to 60')[1].replace(/\d+ in · [^]*/, '')
    assert.deepEqual(counted.match(/\d+/g).map(Number), Array.from({ length: 60 }, (_, i) => i + 1))
})

test('a window that changes its size during an answer ends up right', async () => {
    const t = await open(['--workdir', tmpdir()], { cols: 80, rows: 20, env: { NB_DEMO_DELAY_MS: '30' } })
    await t.sees(PROMPT_LAST)
    await t.message('help')
    await t.sees(/Things to try/)
    await t.resize(50, 20)
    await t.resize(90, 24)
    await t.sees(/\d+ in · \d+ out[^]*❯$/)
    const all = await t.all()
    assert.equal(count(all, 'Things to try:'), 1, all)
    assert.equal(count(all, 'lists the tools'), 1, all)
    await t.type('typed in a window of ninety columns, which then becomes much narrower than it')
    await t.sees(/narrower than it$/)
    await t.resize(40, 24)
    await eventually(async () => {
        const text = (await t.all()).split('\n').slice(-4).join('').replace(/\s+/g, '')
        assert.ok(text.endsWith('❯typedinawindowofninetycolumns,whichthenbecomesmuchnarrowerthanit'), text)
        return true
    })
})

test('Ctrl-C stops a slow answer and the conversation continues', async () => {
    const t = await open(['--workdir', tmpdir()], { env: { NB_DEMO_DELAY_MS: '200' } })
    await t.sees(PROMPT_LAST)
    await t.message('count to 500')
    await t.sees(/❯ count to 500\n\n\w+ \w+/)
    await t.key('C-c')
    await t.sees(/❯ count to 500\n\n\w+ \w+[^]*^stopped$[^]*❯$/m)
    await t.message('/id')
    await t.sees(/^conv_\w+[^]*❯$/m)
    await t.key('C-d')
    assert.equal((await t.ended()).code, 0)
})

test('Ctrl-C twice during an answer leaves', async () => {
    const t = await open(['--workdir', tmpdir()], { env: { NB_DEMO_DELAY_MS: '2000' } })
    await t.sees(PROMPT_LAST)
    await t.message('count to 500')
    await t.sees(/❯ count to 500\n\n\S/)
    await t.key('C-c', 'C-c')
    assert.equal((await t.ended()).code, 0)
})

test('at the prompt Ctrl-C clears the line, and twice on an empty one leaves', async () => {
    const t = await open(['--workdir', tmpdir()])
    await t.sees(PROMPT_LAST)
    await t.type('a draft')
    await t.sees(/❯ a draft$/)
    await t.key('C-c')
    await t.sees(PROMPT_LAST)
    await t.key('C-c')
    await t.sees(/Ctrl-C again/)
    await t.type('x') // not in a row any more
    await t.key('BSpace', 'C-c')
    await t.sees(/Ctrl-C again/)
    await t.key('C-c')
    assert.equal((await t.ended()).code, 0)
})

test('history survives, is private, and can be searched', async () => {
    const dir = tmpdir()
    let t = await open(['--workdir', dir])
    await t.sees(PROMPT_LAST)
    await t.message('say alpha')
    await t.sees(/\d+ out[^]*❯$/)
    await t.message('/id')
    await t.sees(/conv_[^]*❯$/)
    await t.key('C-d')
    await t.ended()
    const file = path.join(dir, 'history')
    assert.equal(fs.readFileSync(file, 'utf8'), 'say alpha\n/id\n')
    assert.equal(fs.statSync(file).mode & 0o777, 0o600)

    t = await open(['--workdir', dir])
    await t.sees(PROMPT_LAST)
    await t.key('Up', 'Up')
    await t.sees(/❯ say alpha$/)
    await t.key('Down')
    await t.sees(/❯ \/id$/)
    await t.key('C-u', 'C-r')
    await t.type('alp')
    await t.sees(/❯ say alpha\n\s+search: alp$/)
    await t.key('Enter')
    await t.sees(/❯ say alpha\n[^]*alpha[^]*\d+ out[^]*❯$/)
})

test('the memory store leaves neither history nor conversation', async () => {
    const dir = tmpdir()
    const t = await open(['--workdir', dir, '--store', 'memory'])
    await t.sees(PROMPT_LAST)
    await t.message('hello')
    await t.sees(/\d+ out[^]*❯$/)
    await t.key('C-d')
    await t.ended()
    assert.ok(!fs.existsSync(path.join(dir, 'history')))
    assert.ok(!fs.existsSync(path.join(dir, 'conversations')))
})

test('editing: words, wide characters, wrapped lines, several lines, pasted lines', async () => {
    const t = await open(['--workdir', tmpdir()], { cols: 40 })
    await t.sees(PROMPT_LAST)
    await t.type('one two three')
    await t.key('M-b', 'M-b', 'M-d')
    await t.type('2日本')
    await t.sees(/❯ one 2日本 three$/)
    await t.key('C-a', 'C-k', 'C-y', 'C-y')
    await t.sees(/❯ one 2日本 threeone 2日本 three$/)
    await t.key('C-u')
    await t.type('x'.repeat(100))
    await t.sees(/❯ x{37}\n {2}x{37}\n {2}x{26}$/)
    await t.key('C-u')
    await t.type('say first')
    await t.key('M-Enter')
    await t.type('second\\')
    await t.key('Enter')
    await t.paste('third\nfourth')
    await t.sees(/❯ say first\n {2}second\n {2}third\n {2}fourth$/)
    await t.key('Enter')
    const text = await t.sees(/\d+ out[^]*❯$/)
    assert.equal(count(text, '❯'), 2)
})

test('commands: help, completion, new, unknown ones', async () => {
    const t = await open(['--workdir', tmpdir()], { rows: 50 })
    await t.sees(PROMPT_LAST)
    await t.type('/he')
    await t.key('Tab', 'Enter')
    await eventually(async () => /\/resume \[ID\|WORDS\][^]*Ctrl-R[^]*❯$/.test(await t.all()))
    await t.message('hello')
    await t.sees(/\d+ out[^]*❯$/)
    await t.message('/id')
    const first = /conv_\w+/.exec(await t.sees(/conv_\w+[^]*❯$/))[0]
    await t.message('/new')
    await t.sees(/a new conversation[^]*❯$/)
    await t.message('hello again')
    await t.sees(/hello again[^]*\d+ out[^]*❯$/)
    await t.message(`/resume ${first}`)
    await t.sees(new RegExp(`continuing ${first}`))
    await t.message('/resume conv_nothing')
    await t.sees(/no conversation 'conv_nothing'|not found/i)
    await t.message('/model demo')
    await t.sees(/❯ \/model demo\n\ndemo:demo\n[^]*❯$/)
    await t.message('/nonsense')
    await t.sees(/no such command \/nonsense/)
    await t.message('/quit')
    assert.equal((await t.ended()).code, 0)
})

test('the terminal is restored when nb ends, also by SIGTERM', async () => {
    const dir = tmpdir()
    const t = await open([], { command: ['sh'] })
    const vars = Object.entries(offline).map(([k, v]) => `${k}=${v}`).join(' ')
    for (const end of ['C-d', 'TERM']) {
        await t.message(`${vars} '${NB}' --workdir '${dir}'; stty -a | grep -o ' .icanon\\| .echo ' | tr -d '\\n'; echo "code $?"`)
        await t.sees(/❯$/)
        if (end === 'TERM') {
            const shell = await t.pid()
            const child = (await run('ps', ['-o', 'pid=', '--ppid', `${shell}`])).stdout.trim()
            process.kill(Number(child), 'SIGTERM')
        } else {
            await t.key(end)
        }
        const text = await t.sees(/code \d/)
        assert.doesNotMatch(text, /-icanon|-echo /)
        await t.message('clear')
        await eventually(async () => !/code/.test(await t.screen()))
    }
})

test('Ctrl-Z stops nb, fg brings the draft back', async () => {
    const t = await open([], { command: ['sh', '-i'] })
    const vars = Object.entries(offline).map(([k, v]) => `${k}=${v}`).join(' ')
    await t.message(`${vars} '${NB}' --workdir '${tmpdir()}'`)
    await t.sees(PROMPT_LAST)
    await t.type('a draft')
    await t.sees(/❯ a draft$/)
    await t.key('C-z')
    await t.sees(/Stopped/)
    await t.message('fg')
    await t.sees(/fg\n[^]*❯ a draft$/)
    await t.key('C-u', 'C-d')
    await t.sees(/[$#]$/)
})

test('--continue shows the earlier messages', async () => {
    const dir = tmpdir()
    await run(NB, ['--workdir', dir, '-p', 'what is 6*7?'], { env: offline })
    let t = await open(['--workdir', dir, '--continue'])
    const text = await t.sees(/continuing conv_\w+[^]*❯$/)
    assert.match(text, /^❯ what is 6\*7\?\n\n[^]*42/m)
    await t.message('what is 2+3?')
    await t.sees(/✓ nb__calculate .*→ 5[^]*\d+ out[^]*❯$/)
    await t.key('C-d')
    await t.ended()

    const server = await startServer({ workdir: dir, env: offline })
    t = await open(['--workdir', server.workdir, '--continue'])
    assert.match(await t.sees(/❯ what is 6\*7[^]*❯ what is 2\+3\?[^]*❯$/), /through the running server/)
})

test('a running server does the work', async () => {
    const server = await startServer({ env: offline })
    const t = await open(['--workdir', server.workdir])
    const hello = await t.sees(/through the running server[^]*❯$/)
    assert.match(hello.replaceAll('\n', ''), /Commands run in \S+\./)
    await t.message('call bash__bash_exec {"command":"pwd"}')
    const question = await t.sees(/Allow bash__bash_exec in \/[^]*\[N\]o/)
    const [, where] = /bash_exec in (\/[^?\s]+)/.exec(question)
    await t.key('y')
    await t.sees(new RegExp(`printed:[^]*${where}[^]*❯$`))
    await t.message('what is 6*7?')
    await t.sees(/✓ nb__calculate .*→ 42[^]*\d+ out[^]*❯$/)
    const list = await (await fetch(server.url + '/v1/conversations')).json()
    assert.equal(list.conversations.length, 1)
    await t.key('C-d')
    assert.equal((await t.ended()).code, 0)
})

test('hostile text from a model cannot reach the terminal as a sequence', async () => {
    const t = await open(['--workdir', tmpdir()])
    await t.sees(PROMPT_LAST)
    await t.message('say &#27;]0;owned&#7; &#27;[2J and &#x9b;31m')
    const text = await t.sees(/\d+ out[^]*❯$/)
    assert.match(text, /^nb \d/) // the screen was not cleared
    assert.match(text, /␛\[2J/)
})

test('nb -p on a terminal renders Markdown', async () => {
    const t = await open(['--workdir', tmpdir(), '-p', 'help'], { rows: 40 })
    assert.equal((await t.ended()).code, 0)
    const text = await t.sees(/^• /m) // tmux may show it after the program has ended
    assert.doesNotMatch(text, /`/)
})
