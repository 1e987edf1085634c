// Agents of other people as clients of the gateway: each lists every tool through /mcp and calls
// one of nb and one of each bundle, as its model wishes. The model is the strict double, which the
// directive in the prompt tells what to call; nothing leaves this machine.
import fs from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { after, assert, before, eventually, run, SRC_DIR, startServer, test, tmpdir } from '../support/tap.mjs'
import { gatewayWith, modernClient, ready } from '../support/mcp.mjs'
import { start as startDouble } from '../support/model_double.mjs'
import { toolResults } from '../support/model_script.mjs'
import { keyHeaders } from '../support/dev_key.mjs'

const MODULES = path.join(SRC_DIR, 'build-interop/node_modules')
const BETAS = ['claude-code-20250219', 'interleaved-thinking-2025-05-14'] // of Claude Code

let server, double, outside, toolNames

before(async () => {
    double = await startDouble({ betas: BETAS })
    outside = await startOutside()
    server = await startServer({ workdir: gatewayWith({ legacy: ['--era', 'legacy'], modern: ['--era', 'modern'] }) })
    for (const source of ['legacy', 'modern']) await ready(server, source)
    toolNames = await listTools()
})
after(() => Promise.all([double.close(), outside.close()]))

// Stands for the rest of the world: the proxy of everything but this machine. It remembers who was asked for.
function startOutside() {
    const asked = []
    const proxy = http.createServer((req, res) => {
        asked.push(req.url)
        res.writeHead(502).end()
    })
    proxy.on('connect', (req, socket) => {
        asked.push(req.url)
        socket.on('error', () => {})
        socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n')
    })
    const close = () => new Promise((done) => proxy.close(done))
    return new Promise((resolve) => {
        proxy.listen(0, '127.0.0.1', () => resolve({ url: `http://127.0.0.1:${proxy.address().port}`, asked, close }))
    })
}

async function listTools() {
    const client = modernClient(server.url + '/mcp')
    const names = []
    for (let cursor; ; ) {
        const { result } = await client.request('tools/list', cursor === undefined ? {} : { cursor })
        names.push(...result.tools.map((tool) => tool.name))
        cursor = result.nextCursor
        if (cursor === undefined) return names
    }
}

function audit() {
    const file = path.join(server.workdir, 'logs/audit.jsonl')
    return fs.readFileSync(file, 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line))
}

const namesOf = (request) => (request.tools ?? []).map((tool) => tool.name ?? tool.function.name)

/** The surroundings of an agent: a home and a project of its own, and no way out. */
function surroundings() {
    const home = tmpdir('nb-agent-')
    const cwd = path.join(home, 'project')
    fs.mkdirSync(cwd)
    const proxies = Object.fromEntries(['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy'].map((name) => [name, outside.url]))
    const xdg = Object.fromEntries(['CONFIG', 'DATA', 'CACHE', 'STATE'].map((name) => [`XDG_${name}_HOME`, path.join(home, name)]))
    const env = { HOME: home, PWD: cwd, TMPDIR: home, NO_PROXY: '127.0.0.1,localhost', no_proxy: '127.0.0.1,localhost', ...proxies, ...xdg }
    return { cwd, env }
}

/** Runs `agent` with a prompt that makes its model call tools, and looks at all three sides of it. */
async function exercise(agent) {
    double.reset()
    outside.asked.length = 0
    const who = agent.title
    const calls = [
        ['nb__calculate', { expression: '6*7' }, /\b42\b/],
        ['legacy__greet', { name: who }, new RegExp(`Hello, ${who}!`)],
        ['modern__greet', { name: who }, new RegExp(`Hello, ${who}!`)],
    ]
    const wish = { thinking: agent.thinks ? 'Tools will do.' : undefined, calls: calls.map(([name, args]) => ({ name: agent.nameOf(name), args })) }
    const place = surroundings()
    const { command, args, env } = agent.prepare(place.cwd)
    const { code, stdout, stderr } = await run(command, args, {
        cwd: place.cwd,
        env: { ...place.env, ...env },
        input: '@double ' + JSON.stringify([wish]),
    })
    const said = `${stdout}\n${stderr}`
    assert.equal(code, 0, said)
    assert.deepEqual(double.refusals.map((entry) => entry.refusal), [], said)

    const requests = double.log.filter((entry) => entry.body?.tools).map((entry) => entry.body)
    assert.ok(requests.length >= 2, said)
    const shown = agent.listsInText ? JSON.stringify(requests[0].messages) : namesOf(requests[0])
    const missing = toolNames.filter((name) => !shown.includes(agent.nameOf(name)) && !agent.leavesOut?.test(name))
    assert.deepEqual(missing, [], 'tools that the model was not shown')

    const results = toolResults(requests.at(-1).messages)
    assert.equal(results.length, calls.length, said)
    calls.forEach(([name, , expected], i) => assert.match(results[i], expected, name))
    assert.match(stdout, new RegExp(`Hello, ${who}!`), 'the last answer of the model')

    const entries = await eventually(() => {
        const found = audit().filter((entry) => agent.client.test(entry.client ?? ''))
        return found.length >= calls.length && found
    })
    assert.deepEqual(entries.map((e) => e.tool).sort(), calls.map(([name]) => name).sort())
    assert.deepEqual(entries.filter((e) => e.outcome !== 'ok'), [])
    assert.deepEqual(outside.asked, [], 'it wanted to leave this machine')
}

const AGENTS = [
    {
        title: 'Claude Code',
        client: /^claude/,
        thinks: true,
        leavesOut: /__json_schema_2020_12_tool$/, // allOf at the top of a schema, which its model's API refuses
        nameOf: (tool) => `mcp__nb__${tool}`,
        prepare: () => ({
            command: path.join(MODULES, '@anthropic-ai/claude-code-linux-x64/claude'),
            args: [
                '--print', '--model', 'claude-sonnet-4-5-20250929', '--strict-mcp-config', '--allowedTools', 'mcp__nb',
                '--mcp-config', JSON.stringify({ mcpServers: { nb: { type: 'http', url: server.url + '/mcp', headers: keyHeaders(server.url) } } }),
            ],
            env: {
                ANTHROPIC_BASE_URL: double.url,
                ANTHROPIC_API_KEY: 'sk-ant-test-key',
                CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
                CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS: '1', // of which the double knows nothing
            },
        }),
    },
    {
        title: 'opencode',
        client: /^opencode/,
        nameOf: (tool) => `nb_${tool}`,
        prepare: (cwd) => {
            const provider = { npm: '@ai-sdk/openai-compatible', name: 'double', options: { baseURL: double.url + '/v1', apiKey: 'test-key' }, models: { scripted: {} } }
            fs.writeFileSync(path.join(cwd, 'opencode.json'), JSON.stringify({
                provider: { double: provider },
                model: 'double/scripted',
                small_model: 'double/scripted',
                share: 'disabled',
                mcp: { nb: { type: 'remote', url: server.url + '/mcp', headers: keyHeaders(server.url) } },
            }))
            return {
                command: path.join(MODULES, 'opencode-linux-x64-baseline/bin/opencode'),
                args: ['run'],
                env: {
                    OPENCODE_DISABLE_AUTOUPDATE: '1',
                    OPENCODE_DISABLE_MODELS_FETCH: '1',
                    OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
                    OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
                    npm_config_registry: double.url, // it looks for a package of its own, and can do without
                },
            }
        },
    },
    {
        title: 'Qwen Code',
        client: /^qwen/,
        listsInText: true, // schemas come when it searches for them
        nameOf: (tool) => `mcp__nb__${tool}`,
        prepare: (cwd) => {
            fs.mkdirSync(path.join(cwd, '.qwen'))
            fs.writeFileSync(path.join(cwd, '.qwen/settings.json'), JSON.stringify({
                mcpServers: { nb: { httpUrl: server.url + '/mcp', headers: keyHeaders(server.url), trust: true } },
                privacy: { usageStatisticsEnabled: false },
                telemetry: { enabled: false },
                general: { disableAutoUpdate: true, enableAutoUpdate: false },
                security: { auth: { selectedType: 'openai' } },
            }))
            return {
                command: process.execPath,
                args: [path.join(MODULES, '@qwen-code/qwen-code/cli-entry.js'), '--yolo'],
                env: { OPENAI_BASE_URL: double.url + '/v1', OPENAI_API_KEY: 'test-key', OPENAI_MODEL: 'scripted' },
            }
        },
    },
]

for (const agent of AGENTS) test(`${agent.title} lists and calls tools`, () => exercise(agent))
