// The client under the public conformance suite: every scenario of both requirement sets, those about OAuth with the
// real program. A scenario can pass without a check having run, so the checks are counted.
import fs from 'node:fs'
import path from 'node:path'
import { assert, BUILD_DIR, NB_RELEASE, SRC_DIR, test, tmpdir } from '../support/tap.mjs'
import { startSuite } from '../support/conformance.mjs'

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

// Checks that succeed, in the scenarios of each set.
const AUTH_CHECKS = {
    'metadata-default': 21,
    'metadata-var1': 21,
    'metadata-var2': 21,
    'metadata-var3': 21,
    'scope-from-www-authenticate': 17,
    'scope-from-scopes-supported': 17,
    'scope-omitted-when-undefined': 17,
    'basic-cimd': 15,
    'scope-step-up': 32,
    'scope-retry-limit': 21,
    'token-endpoint-auth-basic': 22,
    'token-endpoint-auth-post': 22,
    'token-endpoint-auth-none': 22,
    'pre-registration': 15,
    'resource-mismatch': 3,
    'offline-access-scope': 15,
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
const AUTH_CHECKS_LEGACY = {
    'metadata-default': 24,
    'metadata-var1': 24,
    'metadata-var2': 24,
    'metadata-var3': 24,
    'basic-cimd': 19,
    'scope-from-www-authenticate': 20,
    'scope-from-scopes-supported': 20,
    'scope-omitted-when-undefined': 20,
    'scope-step-up': 29,
    'scope-retry-limit': 19,
    'token-endpoint-auth-basic': 25,
    'token-endpoint-auth-post': 25,
    'token-endpoint-auth-none': 25,
    'pre-registration': 19,
}
const OAUTH_CLIENT = `${process.execPath} ${path.join(SRC_DIR, 'tests/support/oauth_client.mjs')}`

const suites = [startSuite({ NB: NB_RELEASE }), startSuite({ NB: NB_RELEASE })]
const suite = suites[0]

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

async function runScenario(command, scenario, revision, by = suite) {
    const out = tmpdir('conformance-')
    const ran = await by(['client', '--command', command, '--scenario', scenario, '--spec-version', revision, '--timeout', '110000', '-o', out])
    const checks = readChecks(path.join(out, path.dirname(scenario)))
    const told = `${scenario}\n${ran.told}`
    const bad = checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING')
    assert.deepEqual(bad, [], told)
    assert.equal(ran.code, 0, told)
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
        })
    }
}

// Scored ones; the others are extensions.
async function authScenarios(revision) {
    const { stdout } = await suite(['list', '--requirements', revision])
    return stdout.split('\n').map((line) => /^ {2}- auth\/(\S+)$/.exec(line)?.[1]).filter(Boolean)
}

for (const [revision, checks] of Object.entries({ '2025-11-25': AUTH_CHECKS_LEGACY, '2026-07-28': AUTH_CHECKS })) {
    test(`${revision}: signing in: no scenario of the suite is left out`, async () => {
        assert.deepEqual((await authScenarios(revision)).sort(), Object.keys(checks).sort())
    })

    test(`${revision}: signing in: every scenario`, async () => {
        const queue = Object.keys(checks)
        const seen = {}
        const worker = async (by) => {
            for (let name; (name = queue.shift()); ) seen[name] = (await runScenario(OAUTH_CLIENT, `auth/${name}`, revision, by)).passed
        }
        await Promise.all(suites.map(worker))
        const sorted = (all) => Object.fromEntries(Object.entries(all).sort())
        assert.deepEqual(sorted(seen), sorted(checks))
    })
}

function readChecks(dir) {
    const [run] = fs.readdirSync(dir)
    assert.ok(run, 'the suite wrote no results')
    return JSON.parse(fs.readFileSync(path.join(dir, run, 'checks.json'), 'utf8'))
}
