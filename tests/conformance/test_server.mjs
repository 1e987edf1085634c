// The gateway under the public conformance suite: /mcp/<source> in front of our fixture server, with
// fixtures that speak both eras or only one of them. A scenario can pass without a check having
// run, so the checks are counted.
import fs from 'node:fs'
import path from 'node:path'
import { assert, before, run, SRC_DIR, startServer, test, tmpdir } from '../support/tap.mjs'
import { keyRelay } from '../support/dev_key.mjs'
import { gatewayWith, ready } from '../support/mcp.mjs'

const SUITE = path.join(SRC_DIR, 'node_modules/@modelcontextprotocol/conformance/dist/index.js')

// Checks that succeed in each scored scenario.
const CHECKS = {
    '2025-11-25': {
        'server-initialize': 3, 'logging-set-level': 2, ping: 2, 'completion-complete': 2, 'tools-list': 3,
        'tools-call-simple-text': 2, 'tools-call-image': 2, 'tools-call-audio': 2, 'tools-call-embedded-resource': 2,
        'tools-call-mixed-content': 2, 'tools-call-with-logging': 2, 'tools-call-error': 2, 'tools-call-with-progress': 2,
        'tools-call-sampling': 2, 'tools-call-elicitation': 2, 'elicitation-sep1034-defaults': 6, 'server-sse-multiple-streams': 1,
        'elicitation-sep1330-enums': 6, 'resources-list': 2, 'resources-read-text': 2, 'resources-read-binary': 2,
        'resources-templates-read': 2, 'resources-subscribe': 2, 'resources-unsubscribe': 2, 'prompts-list': 2,
        'prompts-get-simple': 2, 'prompts-get-with-args': 2, 'prompts-get-embedded-resource': 2, 'prompts-get-with-image': 2,
        'dns-rebinding-protection': 2,
    },
    '2026-07-28': {
        'server-stateless': 30, 'completion-complete': 2, 'tools-list': 4, 'tools-call-simple-text': 2, 'tools-call-image': 2,
        'tools-call-audio': 2, 'tools-call-embedded-resource': 2, 'tools-call-mixed-content': 2, 'tools-call-error': 2,
        'tools-call-with-progress': 2, 'server-sse-multiple-streams': 1, 'resources-list': 2, 'resources-read-text': 2,
        'resources-read-binary': 2, 'resources-templates-read': 2, 'sep-2164-resource-not-found': 4, 'prompts-list': 2,
        'prompts-get-simple': 2, 'prompts-get-with-args': 2, 'prompts-get-embedded-resource': 2, 'prompts-get-with-image': 2,
        'dns-rebinding-protection': 2, caching: 8, 'input-required-result-basic-elicitation': 3,
        'input-required-result-basic-sampling': 3, 'input-required-result-basic-list-roots': 3,
        'input-required-result-request-state': 3, 'input-required-result-multiple-input-requests': 3,
        'input-required-result-multi-round': 4, 'input-required-result-missing-input-response': 2,
        'input-required-result-non-tool-request': 3, 'input-required-result-result-type': 2,
        'input-required-result-unsupported-methods': 2, 'input-required-result-tampered-state': 2,
        'input-required-result-capability-check': 2, 'input-required-result-ignore-extra-params': 2,
        'input-required-result-validate-input': 3,
    },
}

// Run and reported by the suite, but not scored: we hold them all the same.
const UNSCORED = {
    '2025-11-25': { 'server-session-lifecycle': 3, 'json-schema-2020-12': 8 },
    '2026-07-28': {
        'tasks-lifecycle': 9, 'tasks-capability-negotiation': 5, 'tasks-wire-fields': 4, 'tasks-request-state-removal': 3,
        'tasks-mrtr-input': 4, 'tasks-request-headers': 5, 'tasks-dispatch-and-envelope': 9, 'tasks-required-task-error': 3,
        'tasks-mrtr-composition': 2, 'json-schema-2020-12': 8, 'http-header-validation': 14,
        'http-custom-header-server-validation': 10,
    },
}

// A server of the older revisions cannot declare which capability a tool needs, and under which
// key a question goes.
const OUT_OF_REACH = ['server-stateless', 'input-required-result-basic-elicitation']

// Answered by the gateway itself, whatever is behind it: held on /mcp too, where names have prefixes.
const OWN = {
    '2025-11-25': ['server-initialize', 'ping', 'logging-set-level', 'tools-list', 'server-sse-multiple-streams', 'dns-rebinding-protection', 'resources-list', 'prompts-list', 'resources-read-text', 'resources-templates-read', 'resources-subscribe', 'resources-unsubscribe'],
    '2026-07-28': ['tools-list', 'server-sse-multiple-streams', 'dns-rebinding-protection', 'caching', 'resources-list', 'prompts-list', 'resources-read-text', 'sep-2164-resource-not-found', 'input-required-result-unsupported-methods'],
}

async function suite(server, at, args) {
    const out = tmpdir('conformance-')
    const relay = await keyRelay(server)
    const { stdout, stderr } = await run(process.execPath, [SUITE, 'server', '--url', relay.url + at, ...args, '-o', out])
    relay.close()
    const results = new Map()
    for (const dir of fs.readdirSync(out)) {
        const scenario = /^server-(.*)-\d{4}-\d\d-\d\dT/.exec(dir)[1]
        results.set(scenario, JSON.parse(fs.readFileSync(path.join(out, dir, 'checks.json'), 'utf8')))
    }
    return { results, told: `${stdout}\n${stderr}` }
}

const passed = (checks) => checks.filter(({ status }) => status === 'SUCCESS').length
const failures = (checks) => checks.filter(({ status }) => status === 'FAILURE').map(({ id, errorMessage }) => `${id}: ${errorMessage}`)

function hold({ results, told }, expected) {
    for (const [scenario, n] of Object.entries(expected)) {
        const checks = results.get(scenario)
        assert.ok(checks, `${scenario} was not run\n${told}`)
        assert.deepEqual(failures(checks), [], scenario)
        assert.equal(passed(checks), n, `${scenario}: checks\n${JSON.stringify(checks, null, 1)}`)
    }
}

const servers = {}

before(async () => {
    for (const era of ['dual', 'legacy', 'modern']) servers[era] = await startServer({ workdir: gatewayWith({ fx: ['--era', era] }) })
    for (const server of Object.values(servers)) await ready(server, 'fx')
})

for (const era of ['dual', 'modern']) {
    for (const revision of Object.keys(CHECKS)) {
        test(`${revision} in front of a ${era} server`, async () => {
            const ran = await suite(servers[era], '/mcp/fx', ['--requirements', revision])
            hold(ran, { ...CHECKS[revision], ...UNSCORED[revision] })
        })
    }
}

test('2025-11-25 in front of a legacy server', async () => {
    const ran = await suite(servers.legacy, '/mcp/fx', ['--requirements', '2025-11-25'])
    hold(ran, { ...CHECKS['2025-11-25'], ...UNSCORED['2025-11-25'] })
})

/** Each scenario in a process of its own, three at a time; then what looks at a list that other scenarios change. */
async function oneByOne(server, at, revision, scenarios, check) {
    const runs = async (queue) => {
        for (let scenario; (scenario = queue.shift()); ) check(scenario, await suite(server, at, ['--spec-version', revision, '--scenario', scenario]))
    }
    const queue = scenarios.filter((scenario) => !/-list$/.test(scenario))
    await Promise.all([runs(queue), runs(queue), runs(queue)])
    await runs(scenarios.filter((scenario) => /-list$/.test(scenario)))
}

test('2026-07-28 in front of a legacy server: all but two', async () => {
    const revision = '2026-07-28'
    const failed = []
    const ran = await suite(servers.legacy, '/mcp/fx', ['--requirements', revision])
    for (const [scenario, checks] of Object.entries(CHECKS[revision])) {
        if (OUT_OF_REACH.includes(scenario)) failed.push(...(failures(ran.results.get(scenario)).length > 0 ? [scenario] : []))
        // One check warns instead: answers to questions that were not asked yet are not kept.
        else hold(ran, { [scenario]: checks - (scenario.endsWith('ignore-extra-params') ? 1 : 0) })
    }
    assert.deepEqual(failed.sort(), OUT_OF_REACH.toSorted())
})

for (const revision of Object.keys(OWN)) {
    test(`${revision} on /mcp itself`, async () => {
        await oneByOne(servers.dual, '/mcp', revision, OWN[revision], (scenario, ran) => hold(ran, { [scenario]: CHECKS[revision][scenario] }))
    })
}
