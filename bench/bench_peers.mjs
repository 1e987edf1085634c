// nb beside another agent that serves HTTP: opencode, from npm. Same machine, same minute, same model double in the same dialect
// (chat completions), same client; one message after another, the two programs in turns. nb's answers are durable
// when they are acknowledged; nothing is known to make opencode's so. `make interop` installs opencode into build-interop/.
import fs from 'node:fs'
import path from 'node:path'
import { figure, line, median } from './frame/figures.mjs'
import { ask, cpuMs, descendants, makeDir, rssMb, startModel, startNb, startProgram, stop } from './frame/server.mjs'

const PACKAGE = 'opencode-linux-x64-baseline'
const MODULES = [process.env.PEERS_DIR, 'build-interop'].filter(Boolean).map((dir) => path.resolve(process.env.SRC_DIR, dir, 'node_modules', PACKAGE))
const TURNS = 20
const WARM_UP = 3

async function startOwn(dir, model) {
    const server = await startNb(dir, { defaultModel: 'openai:scripted', models: { fast: 'demo:demo' }, providers: { openai: { type: 'openai', baseURL: `${model.url}/v1`, apiKey: 'k' } } })
    const say = (conversationId) => ask(`${server.url}/v1/chat`, 'POST', { message: 'hi', ...(conversationId && { conversationId }) })
    return { name: 'nb', server, create: async () => (await say()).conversationId, further: (id) => say(id) }
}

async function startOpencode(home, dir, model) {
    const provider = { npm: '@ai-sdk/openai-compatible', name: 'double', options: { baseURL: `${model.url}/v1`, apiKey: 'k' }, models: { scripted: {} } }
    fs.writeFileSync(path.join(dir, 'opencode.json'), JSON.stringify({ provider: { double: provider }, model: 'double/scripted', small_model: 'double/scripted', share: 'disabled' }))
    const env = { PATH: process.env.PATH, HOME: dir, npm_config_registry: model.url, OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_MODELS_FETCH: '1', OPENCODE_DISABLE_LSP_DOWNLOAD: '1', OPENCODE_DISABLE_DEFAULT_PLUGINS: '1' }
    const server = await startProgram(path.join(home, 'bin/opencode'), ['serve', '--port', '0', '--hostname', '127.0.0.1'], { cwd: dir, env })
    const further = (id) => ask(`${server.url}/session/${id}/message`, 'POST', { parts: [{ type: 'text', text: 'hi' }] })
    const create = async () => {
        const { id } = await ask(`${server.url}/session`, 'POST', {})
        await further(id)
        return id
    }
    return { name: `opencode ${JSON.parse(fs.readFileSync(path.join(home, 'package.json'), 'utf8')).version}`, server, create, further }
}

async function timed(times, fn) {
    const began = performance.now()
    const result = await fn()
    times.push(performance.now() - began)
    return result
}

const cpuOfAll = (pid) => [pid, ...descendants(pid)].reduce((sum, id) => sum + cpuMs(id), 0)

async function measure(peers, model) {
    for (const peer of peers) {
        Object.assign(peer, { created: [], furthered: [], cpu: 0, idle: rssMb(peer.server.pid) })
        for (let i = 0; i < WARM_UP; i++) peer.id = await peer.create()
    }
    for (let i = 0; i < TURNS; i++) {
        for (const peer of peers) {
            const before = cpuOfAll(peer.server.pid)
            await timed(peer.created, peer.create)
            await timed(peer.furthered, () => peer.further(peer.id))
            peer.bytes = model.bytes
            peer.cpu += (cpuOfAll(peer.server.pid) - before) / (2 * TURNS)
        }
    }
}

function report(peers) {
    for (const { name, server, created, furthered, cpu, idle, bytes } of peers) {
        const say = (what, value, unit) => {
            console.log(`${`${name}: ${what}`.padEnd(58)} ${`${value.toFixed(1)} ${unit}`.padStart(16)}`)
            figure(`beside an agent from npm, ${what}`, 1, value, unit, name)
        }
        say('new conversation, p50', median(created), 'ms')
        say('further turn, p50', median(furthered), 'ms')
        say('CPU of a turn', cpu, 'ms')
        say('memory after the start', idle, 'MB')
        say('memory after these turns', rssMb(server.pid), 'MB')
        say('bytes of a model request', bytes / 1000, 'kB')
    }
}

const home = MODULES.find((dir) => fs.existsSync(dir))
if (!home) {
    line('opencode is not installed: make interop', '-')
} else {
    const dir = makeDir()
    const model = await startModel()
    const peers = []
    try {
        for (const name of ['nb', 'opencode']) fs.mkdirSync(path.join(dir, name))
        peers.push(await startOwn(path.join(dir, 'nb'), model))
        peers.push(await startOpencode(home, path.join(dir, 'opencode'), model))
        await measure(peers, model)
        report(peers)
    } finally {
        for (const { server } of peers) await stop(server)
        model.close()
        fs.rmSync(dir, { recursive: true, force: true })
    }
}
