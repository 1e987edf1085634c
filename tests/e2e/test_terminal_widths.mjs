// The chat at 40, 80 and 200 columns, with and without colours: what a person sees of each part. With CAPTURES=DIR
// in the environment the screens are written there, to be looked at.
import fs from 'node:fs'
import path from 'node:path'
import { assert, test, tmpdir } from '../support/tap.mjs'
import { openTerminal as open } from '../support/terminal.mjs'

const READY = /❯$/

async function keep(t, name, cols, isColour) {
    const plain = await t.screen()
    const raw = await t.screen('-e')
    const joined = await t.screen('-J')
    if (process.env.CAPTURES) {
        fs.mkdirSync(process.env.CAPTURES, { recursive: true })
        fs.writeFileSync(path.join(process.env.CAPTURES, `${name}-${cols}-${isColour ? 'colour' : 'mono'}.txt`), raw + '\n')
    }
    // nb breaks lines itself: a line that the terminal had to break would be longer when joined. Only the command
    // of a question is left as it is, so that nobody takes a line break for a part of it.
    if (name !== 'permission')
        for (const line of joined.split('\n')) assert.ok([...line].length <= cols, `${name}, ${cols} columns: ${line}`)
    if (!isColour) assert.doesNotMatch(raw, /\x1b\[[\d;]*[1-9][\d;]*m/, `${name}: no colours`)
    return plain
}

for (const cols of [40, 80, 200])
    for (const isColour of [true, false])
        test(`${cols} columns, ${isColour ? 'with' : 'without'} colours: answer, tool, permission, lists, context, a command of the shell, status, hints`, async () => {
            const workdir = tmpdir('nb-w-')
            // A bundle that cannot start, for the notice in front of the greeting.
            fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify({ bundles: [{ command: '/nonexistent/program', serverName: 'broken' }] }))
            const t = await open(['--workdir', workdir], { cols, rows: 50, env: { NO_COLOR: isColour ? '' : '1' } })
            const snap = (name) => keep(t, name, cols, isColour)
            await t.sees(READY)
            assert.match((await snap('greeting')).replace(/\s+/g, ' '), /nb: the tools of broken are missing: it is \w+: /)
            await t.hasTool('bash__bash_exec')
            await t.message('/clear')
            await t.sees(/^\s*(demo:demo .*\n)?❯$/)
            await t.message('help')
            await t.sees(/\d+ out[^]*❯$/)
            assert.match(await snap('markdown'), /^• /m)
            await t.message('what is 6*7?')
            await t.sees(/✓ nb__calculate .*→ 42[^]*\d+ out[^]*❯$/)
            assert.match(await snap('tool'), /of 200k \(\d+%\)/)
            await t.message('call bash__bash_exec {"command":"echo one two three four five six seven eight nine ten eleven"}')
            const question = await t.sees(/\[y\]es \/ \[N\]o/)
            await snap('permission')
            // The whole command can be read before it is allowed.
            assert.match(question.replace(/\s+/g, ' '), /echo one two three four five six seven eight nine ten eleven/)
            await t.key('n')
            await t.sees(/\d+ out[^]*❯$/)
            await t.message('/clear')
            await t.message('/resume')
            await t.sees(/Continue a conversation[^]*1 of 1/)
            await snap('list')
            await t.key('Escape')
            await t.sees(READY)
            await t.message('/model')
            await t.sees(/Use a model[^]*answers now/)
            await snap('models')
            await t.key('Escape')
            await t.sees(READY)
            await t.message('/context')
            await t.sees(/tools[^]*hidden[^]*❯$/)
            await snap('context')
            await t.message('/clear')
            await t.message('!echo a line of the shell')
            await t.sees(/Send these \d+ bytes/)
            assert.match((await snap('command')).replace(/\s+/g, ' '), /next message\? \[y\]es \/ \[N\]o/, 'all of the question can be read')
            await t.key('n')
            await t.sees(READY)
            await t.type('/')
            await t.key('Tab')
            await t.sees(/\/help +\/new/)
            await snap('hints')
            await t.key('C-u', 'C-d')
            assert.equal((await t.ended()).code, 0)
        })
