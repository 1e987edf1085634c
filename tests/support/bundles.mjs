// bundles.mjs - bundles without a server around them: drives bundle_host (tests/crash).
import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { assert, BUILD_DIR, SRC_DIR, WAIT_MS, eventually, start, tmpdir } from './tap.mjs'

export const HOST = path.join(BUILD_DIR, 'tests/crash/bundle_host')
export const UNRULY = path.join(SRC_DIR, 'tests/fixtures/unruly.mjs')

/** An entry that runs the unruly server. */
export function unruly(serverName, kind = 'ok', { args = [], ...more } = {}) {
    return { serverName, command: process.execPath, args: [UNRULY, kind, ...args], ...more }
}

/** Arguments of Node for the tiny server that starts only when the file `gate` is there. */
export function startsAt(gate) {
    const tiny = path.join(SRC_DIR, 'tests/fixtures/tiny-server.mjs')
    const look = `fs.existsSync(${JSON.stringify(gate)}) ? import(${JSON.stringify(tiny)}) : setTimeout(look, 20)`
    return ['-e', `const look = () => ${look}; look()`]
}

/** An entry whose server starts within milliseconds: the host's own bash. */
export function quick(serverName, more = {}) {
    return { serverName, command: HOST, args: ['mcp', 'bash'], ...more }
}

export function startHost({ healthMs = 30000, backoffMs = 50, env = {}, workdir, home, project, user } = {}) {
    const mark = randomUUID()
    workdir ??= tmpdir('nb-bundles-')
    const args = [HOST, workdir, String(healthMs), String(backoffMs), ...(home ? [home, project] : [])]
    const as = user ? ['setpriv', `--reuid=${user}`, `--regid=${user}`, '--clear-groups', '--'] : []
    const [cmd, ...rest] = [...as, ...args]
    const proc = start(cmd, rest, { env: { ...env, NB_TEST_MARK: mark } })
    const host = { proc, mark, workdir, events: [], nextId: 1, read: 0 }

    const pump = () => {
        let lf
        while ((lf = proc.stdout.indexOf('\n', host.read)) >= 0) {
            host.events.push(JSON.parse(proc.stdout.slice(host.read, lf)))
            host.read = lf + 1
        }
    }
    host.send = (command) => proc.child.stdin.write(JSON.stringify(command) + '\n')
    host.apply = (...entries) =>
        host.send({ apply: entries.map((e) => ({ ...e, env: { ...e.env, NB_TEST_MARK: mark } })) })
    host.until = (test) =>
        eventually(() => {
            pump()
            if (proc.result) throw new Error(`the host ended: ${JSON.stringify(proc.result)} ${proc.stderr}`)
            const i = host.events.findIndex(test)
            return i >= 0 ? host.events.splice(i, 1)[0] : null
        })
    /** The next time it is in that state; what came before is forgotten. */
    host.state = (name, state) => host.until((e) => e.event === 'state' && e.name === name && e.state === state)
    host.forget = () => {
        pump()
        host.events = []
    }
    host.info = (name) => {
        host.send({ info: name })
        return host.until((e) => e.event === 'info' && e.name === name)
    }
    host.start = (call, tool, args = {}, more = {}) => {
        const id = host.nextId++
        host.send({ call, tool, args, id, ...more })
        return { id, answer: () => host.until((e) => e.id === id) }
    }
    host.call = (...args) => host.start(...args).answer()
    /** The text of a tool's answer. */
    host.text = async (...args) => {
        const r = await host.call(...args)
        assert.ok(r.result, JSON.stringify(r))
        return r.result.content[0].text
    }
    host.quit = async () => {
        host.send({ quit: true })
        const timer = setTimeout(() => proc.signal('SIGKILL'), WAIT_MS)
        const result = await proc.exited
        clearTimeout(timer)
        assert.equal(result.code, 0, `${JSON.stringify(result)} ${proc.stderr}`)
    }
    return host
}

const isHelper = (args) => args[1] === 'launch' || path.basename(args[0]) === 'bwrap'

/** Processes with the mark in their environment: bundles of this host, and all they started. The
 *  launcher and bubblewrap start with an empty environment: they are known as their parents. */
export function marked(mark, exceptPid) {
    const found = new Map()
    const take = (pid) => found.set(pid, `${pid} ${fs.readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ').slice(0, 200)}`)
    const parentOf = (pid) => Number(fs.readFileSync(`/proc/${pid}/stat`, 'latin1').replace(/^.*\) \S /s, '').split(' ')[0])
    for (const pid of fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name)).map(Number)) {
        try {
            if (pid === exceptPid || !fs.readFileSync(`/proc/${pid}/environ`, 'latin1').includes(mark)) continue
            take(pid)
            for (let up = parentOf(pid); up > 1 && isHelper(fs.readFileSync(`/proc/${up}/cmdline`, 'latin1').split('\0')); up = parentOf(up)) take(up)
        } catch {
            // it has ended meanwhile
        }
    }
    return [...found.values()]
}

/** All that were started are gone, soon. */
export async function noneLeft(mark) {
    let left = []
    await eventually(() => (left = marked(mark)).length === 0).catch(() => {})
    assert.deepEqual(left, [], 'processes were left behind')
}
