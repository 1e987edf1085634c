// What the chat shows folded, and how it is unfolded: results of tools, changes of files, thoughts. With CAPTURES=DIR in the
// environment the screens are written there, to be looked at.
import fs from 'node:fs'
import path from 'node:path'
import { assert, SRC_DIR, test, tmpdir } from '../support/tap.mjs'
import { say, serve, withAgent } from '../support/agent.mjs'
import { openTerminal } from '../support/terminal.mjs'

withAgent()

const NODE = process.execPath
// A server that says that it has edited a file; and one line of escape sequences, which must not reach the terminal.
const EDITOR = `
import readline from 'node:readline'
const send = (m) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...m }) + '\\n')
const schema = { type: 'object', properties: { path: { type: 'string' }, oldText: { type: 'string' }, newText: { type: 'string' }, content: { type: 'string' } } }
const lines = ['first', 'second \\x1b[31mred', ...Array.from({ length: 30 }, (_, i) => 'line ' + (i + 3))].join('\\n')
readline.createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params } = JSON.parse(line)
    if (method === 'initialize') send({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'ed', version: '1' } } })
    else if (method === 'tools/list') send({ id, result: { tools: ['edit_file', 'write_file', 'look'].map((name) => ({ name, description: name, inputSchema: schema })) } })
    else if (method === 'tools/call') send({ id, result: { isError: params.arguments.path === 'bad', content: [{ type: 'text', text: params.name === 'look' ? lines : 'done' }] } })
    else if (id !== undefined) send({ id, result: {} })
})`

function capture(name, text) {
    if (!process.env.CAPTURES) return
    fs.mkdirSync(process.env.CAPTURES, { recursive: true })
    fs.writeFileSync(path.join(process.env.CAPTURES, name + '.txt'), text + '\n')
}

test('results, changes and thoughts are folded, numbered and unfolded, at 40, 80 and 200 columns, with and without colours', async () => {
    const program = path.join(tmpdir(), 'editor.mjs')
    fs.writeFileSync(program, EDITOR)
    const server = await serve({ noDefaultBundles: true, maxDirectTools: 200, permissions: { allow: ['ed__*'] }, bundles: [{ serverName: 'ed', command: NODE, args: [program], sandbox: { read: [path.dirname(program), SRC_DIR] } }] })
    const long = Array.from({ length: 30 }, (_, i) => `row ${i + 1}`).join('\n')
    const calls = [
        { name: 'ed__edit_file', args: { path: 'src/a.c', oldText: 'one\ntwo\nthree', newText: 'one\n2\nthree \x1b[31m' } },
        { name: 'ed__write_file', args: { path: 'notes.txt', content: long } },
        { name: 'ed__edit_file', args: { path: 'bad', oldText: 'x', newText: 'y' } },
        { name: 'ed__look', args: { path: 'a' } },
    ]
    const message = say([{ thinking: 'let me see\nwhat is there', calls }, { text: 'that is all' }])
    for (const [cols, colour] of [[40, false], [80, true], [200, false]]) {
        const t = await openTerminal(['--workdir', server.workdir], { cols, rows: 60, env: { NO_COLOR: colour ? '' : '1' } })
        await t.sees(/❯$/)
        await t.hasTool('ed__edit_file')
        await t.message('/clear')
        await t.sees(/^\s*(\S+:\S+ .*\n)?❯$/)
        await t.paste(message)
        await t.key('Enter')
        const done = await t.sees(/that is all[^]*\d+ out[^]*❯$/)
        capture(`folds-${cols}-${colour ? 'colour' : 'mono'}`, await t.screen('-e'))
        const shown = done.slice(done.indexOf('… thought'))
        assert.match(shown, /^… thought for \d+ s \[1\]$/m)
        assert.match(shown, /^✓ ed__edit_file src\/a\.c \+2.* \(\d+ ms\)\n {3}one\n {2}-two\n {2}-three\n {2}\+2\n {2}\+three ␛\[31m$/m)
        assert.match(shown, /^✓ ed__write_file .*\n {2}\+row 1\n[^]* {2}\+row 12\n {2}… 18 more lines \[3\]$/m)
        assert.match(shown, /^✗ ed__edit_file .*→ done \(\d+ ms\)$/m, 'a change that failed is not shown')
        assert.match(shown, /^✓ ed__look .*first .*\(\d+ ms\) \[4\]$/m)
        for (const line of shown.split('\n')) assert.ok([...line].length <= cols, line)
        const raw = await t.screen('-e')
        if (colour) assert.match(raw, /\x1b\[31m-two[^]*\x1b\[32m\+2/)
        else assert.doesNotMatch(raw, /\x1b\[[\d;]*[1-9][\d;]*m/)
        await t.message('/clear')
        await t.message('/expand 3')
        assert.match(await t.sees(/\[3\] notes\.txt \+30 -0[^]*\+row 30[^]*❯$/), /^ {2}\+row 13$/m)
        await t.key('C-o') // the newest
        assert.match(await t.sees(/\[4\] ed__look[^]*line 32[^]*❯$/), /second (␛\[31m)?red/)
        await t.message('/expand 1')
        await t.sees(/\[1\] thoughts\s+let me see\nwhat is there/)
        capture(`expanded-${cols}-${colour ? 'colour' : 'mono'}`, await t.screen('-e'))
        await t.message('/expand 99')
        await t.sees(/nothing is folded under 99/)
        await t.message('/expand x')
        await t.sees(/takes a number/)
        await t.key('C-d')
        assert.equal((await t.ended()).code, 0)
    }
})
