// The client under the public conformance suite: every scenario of both requirement sets, and of those about OAuth
// the ones of the newer set, with the real program. A scenario can pass without a check having run, so the checks are counted.
import fs from 'node:fs'
import path from 'node:path'
import { assert, BUILD_DIR, NB_RELEASE, run, SRC_DIR, test, tmpdir } from '../support/tap.mjs'

const SUITE = path.join(SRC_DIR, 'node_modules/@modelcontextprotocol/conformance/dist/index.js')
const LOOPBACK = path.join(SRC_DIR, 'tests/support/loopback.cjs')
const CLIENT = path.join(BUILD_DIR, 'tests/conformance/conformance-client')

// Checks that succeed in each scenario.
const CHECKS = {
    '2025-11-25': {
        initialize: 1,
        tools_call: 2,
        'elicitation-sep1034-client-defaults': 5,
        'sse-retry': 3,
        'json-schema-2020-12-preservation': 9,
    },
    '2026-07-28': {
        tools_call: 2,
        'request-metadata': 8,
        'sep-2322-client-request-state': 5,
        'http-standard-headers': 9,
        'http-custom-headers': 18,
        'http-invalid-tool-headers': 12,
        'json-schema-ref-no-deref': 1,
        'json-schema-2020-12-preservation': 9,
    },
}

// Out of reach: basic-cimd wants a client that is published somewhere; scope-step-up, one that asks for more in the middle of a call.
const AUTH_REVISION = '2026-07-28'
const AUTH_OUT_OF_REACH = ['basic-cimd', 'scope-step-up']
const AUTH_CHECKS = {
    'metadata-default': 21,
    'metadata-var1': 21,
    'metadata-var2': 21,
    'metadata-var3': 21,
    'scope-from-www-authenticate': 17,
    'scope-from-scopes-supported': 17,
    'scope-omitted-when-undefined': 17,
    'scope-retry-limit': 21,
    'token-endpoint-auth-basic': 22,
    'token-endpoint-auth-post': 22,
    'token-endpoint-auth-none': 22,
    'pre-registration': 15,
    'resource-mismatch': 3,
    'offline-access-scope': 18,
    'offline-access-not-supported': 17,
    'authorization-server-migration': 31,
    'iss-supported': 17,
    'iss-not-advertised': 17,
    'iss-supported-missing': 15,
    'iss-wrong-issuer': 15,
    'iss-unexpected': 15,
    'iss-normalized': 15,
    'metadata-issuer-mismatch': 5,
}
const OAUTH_CLIENT = `${process.execPath} ${path.join(SRC_DIR, 'tests/support/oauth_client.mjs')}`

function suite(args, opts) {
    return run(process.execPath, ['--require', LOOPBACK, SUITE, ...args], opts)
}

// The list has a section of scored client scenarios, and marks the others with [client].
function clientScenarios(list) {
    const names = []
    let section = ''
    for (const line of list.split('\n')) {
        const item = /^\s+- (\S+)( \[client\])?$/.exec(line)
        if (!item) section = line.trim() === '' ? section : line
        else if (item[2] || section.startsWith('Client scenarios')) names.push(item[1])
    }
    return names
}

async function runScenario(command, scenario, revision) {
    const out = tmpdir('conformance-')
    const { code, stdout, stderr } = await suite(
        ['client', '--command', command, '--scenario', scenario, '--spec-version', revision, '-o', out],
        { timeoutMs: 60000, env: { NB: NB_RELEASE } },
    )
    const checks = readChecks(path.join(out, path.dirname(scenario)))
    const told = `${scenario}\n${stdout}\n${stderr}`
    const bad = checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING')
    assert.deepEqual(bad, [], told)
    assert.equal(code, 0, told)
    return { told, passed: checks.filter(({ status }) => status === 'SUCCESS').length }
}

for (const [revision, scenarios] of Object.entries(CHECKS)) {
    test(`${revision}: no scenario of the suite is left out`, async () => {
        const { code, stdout } = await suite(['list', '--requirements', revision])
        assert.equal(code, 0)
        const names = clientScenarios(stdout).filter((name) => !name.startsWith('auth/'))
        assert.deepEqual(names.sort(), Object.keys(scenarios).sort())
    })

    for (const [scenario, expected] of Object.entries(scenarios)) {
        test(`${revision}: ${scenario}`, async () => {
            const { passed, told } = await runScenario(CLIENT, scenario, revision)
            assert.equal(passed, expected, told)
        }, { timeoutMs: 70000 })
    }
}

test('signing in: no scenario is left out but those that are out of reach', async () => {
    const { stdout } = await suite(['list', '--requirements', AUTH_REVISION])
    const scored = stdout.split('\n').map((line) => /^ {2}- auth\/(\S+)$/.exec(line)?.[1]).filter(Boolean)
    assert.deepEqual(scored.sort(), [...Object.keys(AUTH_CHECKS), ...AUTH_OUT_OF_REACH].sort())
})

test('signing in: every scenario within reach', async () => {
    const queue = Object.entries(AUTH_CHECKS)
    const worker = async () => {
        for (let next; (next = queue.shift()); ) {
            const { passed, told } = await runScenario(OAUTH_CLIENT, `auth/${next[0]}`, AUTH_REVISION)
            assert.equal(passed, next[1], told)
        }
    }
    await Promise.all([worker(), worker(), worker()])
}, { timeoutMs: 180000 })

function readChecks(dir) {
    const [run] = fs.readdirSync(dir)
    assert.ok(run, 'the suite wrote no results')
    return JSON.parse(fs.readFileSync(path.join(dir, run, 'checks.json'), 'utf8'))
}
