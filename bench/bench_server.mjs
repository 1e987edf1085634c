// The release binary as a whole: start, memory, small requests, idle streams. Chat turns are
// measured by bench_turns.c.
// CPU figures are of the server process (from /proc), so the load generator does not count.
import { spawn, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import http from 'node:http'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { keyHeaders, useKeyOf } from '../tests/support/dev_key.mjs'
import { line, median } from './frame/figures.mjs'

const NB = process.env.NB_RELEASE
const env = { ...process.env, NB_DEMO_DELAY_MS: '0', ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '' }
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'nb-bench-'))
const tick = 1000 / Number(spawnSync('getconf', ['CLK_TCK']).stdout)

function freePort() {
    return new Promise((resolve) => {
        const s = net.createServer().listen(0, '127.0.0.1', () => {
            const { port } = s.address()
            s.close(() => resolve(port))
        })
    })
}

/** Milliseconds from exec to the first 200, by hammering the port with plain connects. */
async function startServer(workdir) {
    fs.mkdirSync(workdir, { recursive: true }) // many connections and streams of one person are measured here
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify({ http: { connectionsPerAddress: 16384, connectionsPerPerson: 16384, streamsPerPerson: 16384 } }))
    const port = await freePort()
    const began = performance.now()
    const child = spawn(NB, ['serve', '--port', String(port), '--workdir', workdir], { env, stdio: 'ignore' })
    for (;;) {
        if (await answers(port)) break
        if (performance.now() - began > 10000) throw new Error('the server does not start')
    }
    const ms = performance.now() - began
    useKeyOf(port, workdir)
    return { child, port, pid: child.pid, ms }
}

function answers(port) {
    return new Promise((resolve) => {
        const s = net.connect(port, '127.0.0.1')
        s.on('error', () => resolve(false))
        s.on('connect', () => s.write('GET /v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n'))
        s.on('data', (d) => {
            s.destroy()
            resolve(d.toString('latin1').startsWith('HTTP/1.1 200'))
        })
    })
}

function stop(server) {
    return new Promise((resolve) => {
        server.child.on('exit', resolve)
        server.child.kill('SIGTERM')
    })
}

function rssKb(pid) {
    return Number(fs.readFileSync(`/proc/${pid}/status`, 'utf8').match(/VmRSS:\s+(\d+)/)[1])
}

function cpuMs(pid) {
    const f = fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')
    return (Number(f[11]) + Number(f[12])) * tick
}

async function measureStart() {
    const times = []
    for (let i = 0; i < 11; i++) {
        const s = await startServer(path.join(dir, 'start'))
        times.push(s.ms)
        await stop(s)
    }
    line('nb serve: start to first 200 (median of 11)', median(times).toFixed(1) + ' ms', '10 ms')
}

function measureOneShot() {
    const times = []
    let peak = 0
    for (let i = 0; i < 11; i++) {
        const began = performance.now()
        const r = spawnSync('/bin/sh', ['-c', `exec "$0" --workdir "$1" -p hello`, NB, path.join(dir, 'once')], { env, input: '' })
        times.push(performance.now() - began)
        if (r.status !== 0) throw new Error(String(r.stderr))
    }
    const probe = `import resource,subprocess,sys; subprocess.run(sys.argv[1:],stdin=subprocess.DEVNULL,stdout=subprocess.DEVNULL); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)`
    const r = spawnSync('python3', ['-c', probe, NB, '--workdir', path.join(dir, 'once'), '-p', 'hello'], { env })
    peak = Number(r.stdout) / 1024
    line('nb -p, demo model (median of 11, shell included)', median(times).toFixed(1) + ' ms', '20 ms')
    line('nb -p, peak RSS', peak.toFixed(1) + ' MB', '20 MB')
}

function wrk(port, seconds) {
    return spawnSync('wrk', ['-t1', '-c64', `-d${seconds}s`, `http://127.0.0.1:${port}/v1/health`]).stdout.toString()
}

function measureRequests(server) {
    wrk(server.port, 1)
    const before = cpuMs(server.pid)
    const out = wrk(server.port, 4)
    const used = cpuMs(server.pid) - before
    const requests = Number(out.match(/(\d+) requests in/)[1])
    line('GET /v1/health, 64 connections, CPU per request', (1000 * used / requests).toFixed(1) + ' µs', '12 µs')
    line('  requests per second (wrk on the other core)', out.match(/Requests\/sec:\s+(\S+)/)[1], '')
}

function post(port, agent, body) {
    return new Promise((resolve, reject) => {
        const req = http.request({ port, host: '127.0.0.1', path: '/v1/chat', method: 'POST', agent, headers: { 'content-type': 'application/json' } }, (res) => {
            let text = ''
            res.on('data', (d) => (text += d))
            res.on('end', () => (res.statusCode === 200 ? resolve(JSON.parse(text)) : reject(new Error(text))))
        })
        req.on('error', reject)
        req.end(JSON.stringify(body))
    })
}

/** Streams of one conversation that nothing happens in. */
async function measureStreams(server, count) {
    const agent = new http.Agent({ keepAlive: true })
    const { conversationId } = await post(server.port, agent, { message: 'hello' })
    const { authorization } = keyHeaders(`http://127.0.0.1:${server.port}`)
    const before = rssKb(server.pid)
    const sockets = []
    for (let i = 0; i < count; i++) {
        sockets.push(await new Promise((resolve, reject) => {
            const s = net.connect(server.port, '127.0.0.1', () =>
                s.write(`GET /v1/conversations/${conversationId}/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${authorization}\r\n\r\n`))
            s.once('data', () => resolve(s))
            s.on('error', reject)
        }))
    }
    await new Promise((r) => setTimeout(r, 300))
    line(`idle SSE stream, ${count} of them`, ((rssKb(server.pid) - before) / count).toFixed(2) + ' kB', '2 kB')
    const began = cpuMs(server.pid)
    await post(server.port, agent, { message: 'hello', conversationId })
    await new Promise((r) => setTimeout(r, 1500))
    line(`  one short answer to all of them, CPU`, (cpuMs(server.pid) - began).toFixed(0) + ' ms', '')
    for (const s of sockets) s.destroy()
    agent.destroy()
}

try {
    const stat = fs.statSync(NB)
    line('binary as built (not stripped)', (stat.size / 1e6).toFixed(1) + ' MB', '')
    const stripped = path.join(dir, 'nb')
    if (spawnSync('strip', ['-o', stripped, NB]).status === 0)
        line('binary, stripped', (fs.statSync(stripped).size / 1e6).toFixed(2) + ' MB', '6 MB')
    await measureStart()
    measureOneShot()
    const server = await startServer(path.join(dir, 'idle'))
    await new Promise((r) => setTimeout(r, 500))
    line('idle RSS', (rssKb(server.pid) / 1024).toFixed(1) + ' MB', '12 MB')
    measureRequests(server)
    await measureStreams(server, 2000)
    await stop(server)
} finally {
    fs.rmSync(dir, { recursive: true, force: true })
}
