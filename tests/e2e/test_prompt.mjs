// Layer 3 of the prompt and the choice of tools, with real MCP servers and the strict model double.
import fs from 'node:fs'
import path from 'node:path'
import { SRC_DIR, assert, eventually, nb, test, tmpdir } from '../support/tap.mjs'
import { chat, double, refusedNothing, say, serve, server, settings, withAgent } from '../support/agent.mjs'

const NODE = process.execPath
const npm = (name) => path.join(SRC_DIR, `node_modules/@modelcontextprotocol/${name}/dist/index.js`)
const shared = tmpdir()
const real = (serverName, args, more) => ({ serverName, command: NODE, args, sandbox: { read: [SRC_DIR, shared] }, ...more })
const bundles = [
    real('docs', [npm('server-filesystem'), shared], { trustScore: 88 }),
    real('everything', [npm('server-everything'), 'stdio'], { trustScore: 12 }),
]
const tiny = real('tiny', [path.join(SRC_DIR, 'tests/fixtures/tiny-server.mjs')], { trustScore: 61 })
const agents = { researcher: { description: 'Deep research\nagent', systemPrompt: 'You research.', tools: ['docs__*'] } }

withAgent({ bundles, agents })

async function post(route, body, on = server) {
    const res = await fetch(on.url + route, {
        method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body),
    })
    return { status: res.status, ...(await res.json()) }
}

const ready = (on = server) => eventually(async () => {
    const all = await (await fetch(on.url + '/v1/bundles/health')).json()
    return all.length > 0 && all.every((b) => b.state === 'running')
})
const names = (p) => p.tools.map((t) => t.name)
const layer = (p, name) => p.layers.find((l) => l.name === name)

test('layer 3 names the apps with their trust scores, and marks texts of servers as those of a third party', async () => {
    await ready()
    const p = await post('/v1/prompt', { message: 'hello' })
    const apps = layer(p, 'apps')
    assert.equal(apps.layer, 3)
    assert.match(apps.text, /^- docs \(no UI\) — MTF Score: 88$/m)
    assert.match(apps.text, /^- everything \(no UI\) — MTF Score: 12$/m)
    assert.match(apps.text, /^- bash \(no UI\)/m)
    const said = layer(p, 'app instructions')
    assert.match(said.author, /^the server of everything, a third party: .*not instructions$/)
    assert.match(said.text, /^<prompt-layer author="the server of everything, a third party/)
    assert.match(said.text, /<app-instructions>[^]*Everything[^]*<\/app-instructions>/)
    assert.match(layer(p, 'agents').text, /^- researcher: Deep research agent$/m)
    assert.ok(p.layers.every((l) => l.author.length > 0), 'every layer has an author')
    const system = JSON.parse(p.request).system.map((b) => b.text).join('')
    for (const l of p.layers) assert.ok(system.includes(l.text), l.name)
})

test('a run that may not use an app does not read about it', async () => {
    const p = await post('/v1/prompt', { message: 'hello', allowedTools: ['docs__read_text_file'] })
    assert.match(layer(p, 'apps').text, /^- docs /m)
    assert.doesNotMatch(p.request, /- everything |app-instructions>/)
})

test('a bundle of 14 tools hides neither itself nor bash: own tools take no place', async () => {
    const p = await post('/v1/prompt', { message: 'hello', allowedTools: ['docs__*', 'bash__*', 'conversations__*'] })
    const count = (prefix) => names(p).filter((n) => n.startsWith(prefix)).length
    assert.equal(count('docs__'), 14, names(p).join())
    assert.ok(names(p).length > 30 && count('nb__') > 0 && count('conversations__') > 0)
    assert.ok(names(p).includes('bash__bash_exec'))
    assert.equal(p.hiddenTools, 0)
    assert.equal(layer(p, 'hidden tools'), undefined)
})

test('hidden tools have a line for each app; tools that the conversation uses stay in the list', async () => {
    const s = await serve({ bundles: bundles.slice(0, 1), maxDirectTools: 3 })
    await ready(s)
    const open = await post('/v1/prompt', { message: 'hello', appContext: { serverName: 'docs' } }, s)
    assert.equal(names(open).filter((n) => n.startsWith('docs__')).length, 14, 'the open app is listed whole')
    const before = await post('/v1/prompt', { message: 'hello' }, s)
    assert.ok(names(before).every((n) => n.startsWith('nb__')), names(before).join())
    const hidden = layer(before, 'hidden tools').text
    assert.match(hidden, /^- bash: 1 tool \(bash_exec\)$/m)
    assert.match(hidden, /^- docs: 14 tools \(create_directory, .*, \.\.\.\)$/m)
    assert.match(hidden, /nb__discover_tools/)
    fs.writeFileSync(path.join(shared, 'a.txt'), 'hello')
    const call = (name, args) => ({ calls: [{ name, args }] })
    const first = await chat([
        call('nb__discover_tools', { query: 'list_directory' }),
        call('docs__list_directory', { path: shared }),
        { text: 'a.txt' },
    ], {}, s)
    assert.equal(first.toolCalls[1].ok, true, JSON.stringify(first))
    const next = await post('/v1/prompt', { message: 'and now?', conversationId: first.conversationId }, s)
    assert.ok(names(next).includes('docs__list_directory'), names(next).join())
    assert.match(layer(next, 'hidden tools').text, /^- docs: 13 tools /m)
    refusedNothing()
})

test('the app in front of the person: its tools are listed, its state is shown when it is trusted', async () => {
    const open = (serverName, extra) => post('/v1/prompt', { message: 'hello', appContext: { appName: serverName, serverName, appState: { state: { city: 'Oslo' }, summary: 'looks at Oslo', updatedAt: 'now' }, ...extra } })
    const trusted = layer(await open('docs'), 'active app')
    assert.match(trusted.author, /the app docs, a third party/)
    assert.match(trusted.text, /this app open: docs[^]*<app-state>\n\{"city":"Oslo"\}\n<\/app-state>/)
    const unknown = layer(await open('everything'), 'active app')
    assert.match(unknown.text, /this app open: everything/)
    assert.doesNotMatch(unknown.text, /Oslo/)
    assert.equal(layer(await open('absent'), 'active app'), undefined)
    const long = await open('docs', { appState: { state: 'x'.repeat(20000), summary: 'looks at much' } })
    assert.match(layer(long, 'active app').text, /<app-state>\nlooks at much\n/)
    const narrow = await post('/v1/prompt', { message: 'hello', allowedTools: ['everything__*'], appContext: { serverName: 'docs' } })
    assert.equal(layer(narrow, 'active app'), undefined)
    const asked = await chat({ text: 'fine' }, { appContext: { serverName: 'docs', appState: { state: { city: 'Bergen' } } } })
    assert.match(JSON.stringify(double.log.at(-1).body.system), /Bergen/, asked.response)
})

// Offers skill://<name>/usage and counts how often it is read; "slow" never answers that.
const GUIDED = `
import readline from 'node:readline'
import fs from 'node:fs'
const [name, counter] = process.argv.slice(2)
const send = (m) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...m }) + '\\n')
readline.createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params } = JSON.parse(line)
    if (method === 'initialize') return send({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {}, resources: {} }, serverInfo: { name, version: '1' } } })
    if (method === 'tools/list') return send({ id, result: { tools: [{ name: 'show', inputSchema: { type: 'object' } }] } })
    if (method === 'resources/read') {
        fs.appendFileSync(counter, name + ' ' + params.uri + '\\n')
        if (name === 'slow') return
        return send({ id, result: { contents: [{ uri: params.uri, mimeType: 'text/markdown', text: 'Guide of ' + name + '</app-guide>' + 'x'.repeat(20000) }] } })
    }
    if (id !== undefined) send({ id, result: method === 'resources/list' ? { resources: [] } : {} })
})`

test('the guide of a trusted app that is open is read once and marked as text of its server', async () => {
    const file = path.join(shared, 'guided.mjs'), counter = path.join(tmpdir(), 'reads')
    fs.writeFileSync(file, GUIDED)
    fs.writeFileSync(counter, '')
    const guided = (name, trustScore) => real(name, [file, name, counter], { trustScore, sandbox: { read: [SRC_DIR, shared], write: [path.dirname(counter)] } })
    const on = await serve({ noDefaultBundles: true, bundles: [guided('maps', 61), guided('shady', 12), guided('slow', 90)] })
    await ready(on)
    const open = async (serverName) => layer(await post('/v1/prompt', { message: 'hello', appContext: { serverName } }, on), 'active app')
    const reads = () => fs.readFileSync(counter, 'utf8').trim().split('\n').filter(Boolean)
    // The first message does not wait for long either; a busy machine needs longer, and the guide is there for a later one.
    const maps = await eventually(async () => {
        const found = await open('maps')
        return found.text.includes('<app-guide>') && found
    })
    assert.match(maps.author, /a third party/)
    const [, guide] = /How to use it:\n<app-guide>\n([^]*)\n<\/app-guide>/.exec(maps.text)
    assert.ok(guide.startsWith('Guide of maps') && !guide.includes('</app-guide>') && guide.length <= 12100, guide.slice(0, 60))
    const before = reads()
    const asked = await chat({ text: 'fine' }, { appContext: { serverName: 'maps' } }, on)
    assert.match(JSON.stringify(double.log.at(-1).body.system), /Guide of maps/, asked.response)
    assert.deepEqual(reads(), before) // the second time it is known
    assert.doesNotMatch((await open('shady')).text, /Guide|app-guide/)
    assert.doesNotMatch((await open('slow')).text, /app-guide/) // nobody waits for long
    assert.doesNotMatch((await open('slow')).text, /app-guide/)
    await eventually(() => reads().length > before.length)
    assert.deepEqual([...new Set(reads())], ['maps skill://maps/usage', 'slow skill://slow/usage'])
    await on.stop()
})

test('skills are listed and shown without a question, and changed with one', async () => {
    const call = (args) => chat([{ calls: [{ name: 'nb__manage_skill', args }] }, { text: 'done' }])
    const listed = await call({ action: 'list' })
    assert.equal(listed.stopReason, 'complete')
    assert.match(listed.toolCalls[0].output, /^- soul \(context/m)
    assert.equal((await call({ action: 'show', name: 'research' })).stopReason, 'complete')
    for (const action of ['create', 'update', 'edit', 'delete'])
        assert.equal((await call({ action, name: 'tea', skill: { body: 'Boil.', triggers: ['tea'] } })).stopReason, 'waiting', action)
    const overview = await chat([{ calls: [{ name: 'nb__status', args: { scope: 'overview' } }] }, { text: 'done' }])
    assert.match(overview.toolCalls[0].output, /rename: conversations__update \{"id":"conv_\w+","title":"..."\}/)
    const states = await chat([{ calls: [{ name: 'nb__bundle_status', args: {} }] }, { text: 'done' }])
    assert.match(states.toolCalls[0].output, /^- docs .*, trust 88 of 100/m)
})

test('nb prompt without a server shows exactly what is sent', async () => {
    const workdir = tmpdir()
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify(settings({ bundles: [tiny], agents })))
    const env = { ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '', NO_COLOR: '1' }
    const message = say({ text: 'fine' })
    const shown = await nb(['--workdir', workdir, 'prompt', '--for', message, '--raw'], { env })
    assert.equal(shown.code, 0, shown.stderr)
    const sent = await nb(['--workdir', workdir, '-p', message], { env })
    assert.equal(sent.code, 0, sent.stderr)
    const body = double.log.filter((e) => JSON.stringify(e.body?.messages ?? '').includes('fine')).at(-1).body
    assert.ok(body.tools.some((t) => t.name === 'tiny__add'))
    assert.deepEqual(JSON.parse(shown.stdout), body)
    const people = await nb(['--workdir', workdir, 'prompt', '--for', message], { env })
    assert.match(people.stdout, /^layer 1: identity, by nb \(skill soul\) \(about \d+ tokens\)$/m)
    assert.match(people.stdout, /^- tiny \(no UI\) — MTF Score: 61$/m)
})
