// Commands of the bash bundle do not meet: a sandbox for each call.
import fs from 'node:fs'
import path from 'node:path'
import { assert, eventually, SRC_DIR, skip, test, tmpdir } from '../support/tap.mjs'
import { startHost } from '../support/bundles.mjs'

const NOBODY = 65534
const PATIENCE_S = 300 // of a command that waits for its turn

function pathOf(kind, dir) {
    if (kind === 'bubblewrap') return process.env.PATH
    fs.mkdirSync(dir, { recursive: true })
    fs.writeFileSync(`${dir}/bwrap`, '#!/bin/sh\nexit 1\n', { mode: 0o755 })
    return `${dir}:${process.env.PATH}`
}

function mayOthersRead(dir) {
    for (let at = dir; at !== '/'; at = path.dirname(at)) if (!(fs.statSync(at).mode & 0o005)) return false
    return true
}

async function withBash(kind, user, fn) {
    if (user && (process.getuid() !== 0 || !mayOthersRead(SRC_DIR))) skip('only root can become somebody else')
    const root = tmpdir('nb-apart-')
    const workdir = path.join(root, 'work')
    fs.mkdirSync(workdir)
    const PATH = pathOf(kind, path.join(root, 'bin'))
    if (user) for (const dir of ['', ...fs.readdirSync(root, { recursive: true })]) fs.chownSync(path.join(root, dir), user, user)
    const host = startHost({ user, workdir, env: { PATH, HOME: root, WITH_BASH: '1' } })
    const state = await host.state('bash', 'running')
    assert.ok(state.sandbox.startsWith(kind), state.sandbox)
    const run = async (command, more = {}) => {
        const r = await host.call('bash', 'bash_exec', { command, timeout: PATIENCE_S, ...more })
        assert.ok(r.result, JSON.stringify(r))
        return r.result.structuredContent ?? JSON.parse(r.result.content[0].text)
    }
    await fn({ host, run, workdir })
    await host.quit()
}

for (const kind of ['bubblewrap', 'Landlock']) {
    for (const user of [undefined, NOBODY]) {
        const who = `${kind}${user ? ', without privileges' : ''}`
        test(`nothing of one command is left for the next, or seen by another (${who})`, () =>
            withBash(kind, user, async ({ host, run, workdir }) => {
                assert.equal((await run('echo $((6 * 7)); exit 3')).exit_code, 3)
                // A spy that leaves its session, and one that stays in the foreground meanwhile.
                const spying = 'for i in $(seq 40); do cat /proc/[0-9]*/cmdline 2>/dev/null | tr "\\0" " "; sleep 0.05; done'
                const left = await run(`setsid sh -c '${spying.replaceAll("'", '')} > "$HOME/left"' >/dev/null 2>&1 & echo started`)
                assert.match(left.stdout, /started/)
                const spy = host.start('bash', 'bash_exec', { command: `${spying} | grep -c 'SECRET-OF-B[O]B'; echo seen`, timeout: PATIENCE_S })
                for (let i = 0; i < 5; i++) assert.match((await run('echo SECRET-OF-BOB; sleep 0.1; : SECRET-OF-BOB')).stdout, /SECRET/)
                const seen = (await spy.answer()).result
                assert.match(JSON.stringify(seen), /\D0\\n?.{0,3}nseen/, JSON.stringify(seen).slice(0, 300))
                const file = path.join(workdir, 'data/bash/left')
                assert.ok(!/SECRET-OF-BOB/.test(fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : ''))
                // Processes, /tmp and memory of the server itself.
                await run('echo mine > /tmp/of-one; sleep 300 >/dev/null 2>&1 &')
                if (kind === 'bubblewrap') assert.match((await run('ls /tmp | grep -c of-one; ls /proc | grep -c "^[0-9]"')).stdout, /^0\n\d\n$/)
                const others = await run('cat /proc/[0-9]*/comm /proc/[0-9]*/cmdline 2>/dev/null | tr "\\0" "\\n" | grep -c "bundle[_]host"; true')
                assert.match(others.stdout, /^0\n/, others.stdout)
                const memory = await run('n=0; for p in $(seq 1 400); do [ -e /proc/$p ] && (exec 3<>/proc/$p/mem && readlink /proc/$p/exe | grep -q "bundle[_]host") 2>/dev/null && n=$((n+1)); done; echo $n')
                assert.match(memory.stdout, /^0\n/)
                assert.match((await run('kill -9 $PPID 2>/dev/null; kill -9 -1 2>/dev/null; true')).stdout ?? '', /^$/)
                assert.equal((await run('echo still here')).stdout.trim(), 'still here')
                // Files of the data directory are common.
                await run('echo shared > $HOME/common')
                assert.match((await run('cat common')).stdout, /shared/)
                assert.match((await run('pwd; echo $VAR', { cwd: '/usr', env: { VAR: 'given' } })).stdout, /^\/usr\ngiven/)
            }))
    }
}

test('a command is answered within tens of milliseconds', () =>
    withBash('bubblewrap', undefined, async ({ run }) => {
        const times = []
        // A busy machine delays most of them, but not all.
        await eventually(async () => {
            const began = performance.now()
            await run('true')
            times.push(performance.now() - began)
            return times.length >= 20 && Math.min(...times) < 1000
        })
        times.sort((a, b) => a - b)
        console.log(`# ${times.length} calls of true: p50 ${times[times.length >> 1].toFixed(1)} ms, max ${times.at(-1).toFixed(1)} ms`)
    }))
