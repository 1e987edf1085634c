// terminal.mjs - nb in a terminal of its own: tmux, which is typed into and whose screen is read.
import fs from 'node:fs'
import path from 'node:path'
import { assert, eventually, NB, run, start, tmpdir } from './tap.mjs'

export const offline = { ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '', NB_DEMO_DELAY_MS: '1', NO_COLOR: '', TERM: 'screen' }

// A terminal of its own with nb in it; ends with the case.
export async function openTerminal(args, { env = {}, cols = 80, rows = 24, command } = {}) {
    const dir = tmpdir('nb-tmux-')
    const socket = path.join(dir, 's')
    const status = path.join(dir, 'status') // tmux does not always show that the program has ended
    const server = start('tmux', ['-u', '-D', '-f', '/dev/null', '-S', socket])
    const tmux = async (...words) => {
        const r = await run('tmux', ['-N', '-u', '-S', socket, ...words]) // -N: it starts no second server
        assert.equal(r.code, 0, `tmux ${words.join(' ')}: ${r.stderr}${server.stderr}`)
        return r.stdout
    }
    const vars = Object.entries({ ...offline, ...env }).map(([k, v]) => `${k}=${v}`)
    const program = command ?? ['sh', '-c', 'trap : INT; "$@"; echo $? > "$0"', status, 'env', ...vars, NB, ...args]
    // Again until the server listens.
    await eventually(async () => {
        assert.equal(server.result, undefined, server.stderr)
        await tmux('set-option', '-g', 'remain-on-exit', 'on', ';', 'new-session', '-d', '-x', `${cols}`, '-y', `${rows}`, '--', ...program)
        return true
    })
    const term = {
        type: (text) => tmux('send-keys', '-l', '--', text),
        key: (...names) => tmux('send-keys', ...names),
        paste: (text) => tmux('set-buffer', '--', text, ';', 'paste-buffer', '-p'),
        resize: (c, r) => tmux('resize-window', '-x', `${c}`, '-y', `${r}`),
        screen: async (...more) => (await tmux('capture-pane', '-p', ...more)).trimEnd(),
        all: () => term.screen('-J', '-S', '-'), // with what has scrolled away, wrapped lines joined
        pid: async () => Number(await tmux('display-message', '-p', '#{pane_pid}')),
        sees: (what) =>
            eventually(async () => {
                const text = await term.screen()
                assert.match(text, what)
                return text
            }),
        ended: () =>
            eventually(async () => {
                assert.ok(fs.existsSync(status), 'still running:\n' + (await term.screen()))
                const code = fs.readFileSync(status, 'utf8')
                return code.endsWith('\n') && { code: Number(code) }
            }),
        // A chat waits only some seconds for a bundle that is starting: asks until the tool is there.
        hasTool: async (name) => {
            const line = `/tools ${name}`
            let asked = 0
            await eventually(async () => {
                await term.message(line)
                asked++
                const answer = await eventually(async () => {
                    const parts = (await term.all()).trimEnd().split(line)
                    return parts.length > asked && /\n(no tool has that word|\w+__\w+)[^]*[❯>]$/.test(parts.at(-1)) && parts.at(-1)
                })
                return answer.includes(`\n${name}`)
            })
        },
        message: async (text) => {
            await term.type(text)
            await term.key('Enter')
        },
    }
    return term
}
