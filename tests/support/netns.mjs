// netns.mjs - a network namespace for one server, whose only way to PostgreSQL is a cable that a test pulls: packets vanish, and
// no connection is told.
//
//   const machine = await openMachine(postgres)      null: this system does not let us make namespaces
//   await machine.startServer({ env })      in the namespace; it answers HTTP outside of it, over a socket that it inherits
//   await machine.cut(), await machine.join()
import { spawn, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { after, NB, SRC_DIR, startServer, tmpdir } from './tap.mjs'

const from = (name) => path.join(SRC_DIR, 'tests/support', name)
const isRoot = process.getuid() === 0
const OWN = isRoot ? ['-n'] : ['-Urn'] // a user needs a namespace of users, too
const ENTER = isRoot ? '' : '-U --preserve-credentials '

/** Of this namespace. */
function listeningSocket() {
    return new Promise((resolve) => {
        const server = net.createServer().listen(0, '127.0.0.1', () => resolve(server))
    })
}

export async function openMachine(postgres) {
    if (spawnSync('unshare', [...OWN, 'sh', '-c', 'PATH=$PATH:/usr/sbin ip link add nb0 type veth peer name nb1'], { stdio: 'ignore' }).status !== 0) return null
    const child = spawn('unshare', [...OWN, 'sh', from('netns.sh'), process.execPath, from('forward.mjs'), path.join(postgres.home, '.s.PGSQL.5432')], { stdio: ['pipe', 'pipe', 'inherit'] })
    const waiting = []
    let text = ''
    child.stdout.setEncoding('utf8').on('data', (part) => {
        text += part
        for (let end; (end = text.indexOf('\n')) >= 0; text = text.slice(end + 1)) waiting.shift()?.(text.slice(0, end))
    })
    const ended = new Promise((resolve) => child.on('exit', resolve))
    after(() => {
        child.stdin.end()
        return ended
    })
    const line = () => Promise.race([new Promise((resolve) => waiting.push(resolve)), ended.then(() => Promise.reject(new Error('netns.sh has ended')))])
    const order = (word) => {
        const done = line()
        child.stdin.write(word + '\n')
        return done
    }
    const inside = await line()
    const program = path.join(tmpdir(), 'nb')
    fs.writeFileSync(program, `#!/bin/sh\nexport LISTEN_PID=$$ LISTEN_FDS=1\nexec nsenter -t ${inside} ${ENTER}-n '${NB}' "$@"\n`, { mode: 0o755 })
    return {
        cut: () => order('cut'),
        join: () => order('join'),
        async startServer({ env, ...options }) {
            const socket = await listeningSocket()
            const server = await startServer({ ...options, nb: program, fds: [socket._handle.fd], env: { ...env, NB_STORE_URL: 'postgresql://nb@10.99.0.1:5432/postgres' } })
            socket.close()
            return server
        },
    }
}
