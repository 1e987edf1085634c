// /mcp under load: tools/call through a server that does nothing, in both eras, beside a bridge from
// npm in front of the same server. Both are asked by the same C client in the same run.
import { spawn, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { keyHeaders, useKeyOf } from '../tests/support/dev_key.mjs'
import { figure } from './frame/figures.mjs'

const ROOT = path.resolve(import.meta.dirname, '..')
const NB = process.env.NB_RELEASE
const BIN = path.join(process.env.BUILD_DIR, 'bench')
const ECHO = path.join(BIN, 'mcp_echo')
const LOAD = path.join(BIN, 'mcp_load')
const PEER = path.join(ROOT, 'node_modules/mcp-proxy/dist/bin/mcp-proxy.mjs')
const SECONDS = '4'
const TICKS_PER_SECOND = Number(spawnSync('getconf', ['CLK_TCK']).stdout)
const children = []
process.on('exit', () => children.forEach((child) => child.kill('SIGKILL')))

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

function freePort() {
    return new Promise((resolve) => {
        const server = net.createServer().listen(0, '127.0.0.1', () => {
            const { port } = server.address()
            server.close(() => resolve(port))
        })
    })
}

function begin(command, args) {
    const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'ignore'] })
    children.push(child)
    return child
}

async function untilAnswered(url, body, workdir) {
    for (let i = 0; i < 200; i++) {
        await sleep(50)
        if (workdir && fs.existsSync(path.join(workdir, 'auth/dev.key'))) useKeyOf(new URL(url).port, workdir)
        const res = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }, body }).catch(() => undefined)
        if (res && (await res.text()).includes('"result"')) return
    }
    throw new Error(`${url} does not answer`)
}

/** Of all threads, in microseconds. */
function cpuUs(pid) {
    const ticks = fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ').slice(11, 13)
    return (1e6 / TICKS_PER_SECOND) * (Number(ticks[0]) + Number(ticks[1]))
}

const rss = (pid) => Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024

function measure(what, pid, port, at, tool, era, connections) {
    const before = cpuUs(pid)
    const { stdout } = spawnSync(LOAD, ['127.0.0.1', String(port), at, tool, era, String(connections), SECONDS], { encoding: 'utf8', env: { ...process.env, MCP_AUTHORIZATION: keyHeaders(`http://127.0.0.1:${port}`).authorization ?? '' } })
    const cpu = cpuUs(pid) - before
    const r = JSON.parse(stdout)
    const rate = `${r.perSecond}/s`.padStart(10)
    const times = `p50 ${(r.p50 / 1000).toFixed(2)} ms  p99 ${(r.p99 / 1000).toFixed(2)} ms`
    const floor = what === 'nb' && connections === 64 ? '   floor: 30000/s, p99 5 ms' : ''
    console.log(`${`${what}, ${era}, ${connections} connections`.padEnd(40)} ${rate}  ${times.padEnd(30)} ${rss(pid).toFixed(0).padStart(4)} MB${r.errors ? `  ${r.errors} errors` : ''}${r.stalled ? `  ${r.stalled} stalled` : ''}${floor}`)
    const chart = `tools/call through /mcp, ${era}`
    figure(`${chart}, per second`, connections, r.perSecond, '/s', what)
    figure(`${chart}, p50`, connections, r.p50 / 1000, 'ms', what)
    figure(`${chart}, p99`, connections, r.p99 / 1000, 'ms', what)
    figure(`${chart}, CPU per call`, connections, cpu / r.sent, 'us', what)
    return r.perSecond
}

const workdir = fs.mkdtempSync(path.join(os.tmpdir(), 'nb-bench-'))
fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify({ noDefaultBundles: true, bundles: [{ serverName: 'echo', command: ECHO, sandbox: 'off' }] }))
const port = await freePort()
const nb = begin(NB, ['serve', '--workdir', workdir, '--port', String(port)])
await untilAnswered(`http://127.0.0.1:${port}/mcp`, '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo__echo","arguments":{}}}', workdir)

const peerPort = await freePort()
const peer = begin(process.execPath, [PEER, '--host', '127.0.0.1', '--port', String(peerPort), '--server', 'stream', '--', ECHO])
await untilAnswered(`http://127.0.0.1:${peerPort}/mcp`, '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}')

for (const n of [1, 16, 64]) {
    measure('nb', nb.pid, port, '/mcp', 'echo__echo', 'modern', n)
    const ours = measure('nb', nb.pid, port, '/mcp', 'echo__echo', 'legacy', n)
    const theirs = measure('mcp-proxy', peer.pid, peerPort, '/mcp', 'echo', 'legacy', n)
    console.log(`  nb answers ${(ours / theirs).toFixed(1)} times as often`)
}
children.forEach((child) => child.kill('SIGTERM'))
await sleep(300)
fs.rmSync(workdir, { recursive: true, force: true })
process.exit(0)
