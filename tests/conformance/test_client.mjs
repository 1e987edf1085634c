// The client under the public conformance suite: every scenario of both requirement sets that
// is not about OAuth. A scenario can pass without a check having run, so the checks are counted.
import fs from 'node:fs'
import path from 'node:path'
import { assert, BUILD_DIR, run, SRC_DIR, test, tmpdir } from '../support/tap.mjs'

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
    return names.filter((name) => !name.startsWith('auth/'))
}

for (const [revision, scenarios] of Object.entries(CHECKS)) {
    test(`${revision}: no scenario of the suite is left out`, async () => {
        const { code, stdout } = await suite(['list', '--requirements', revision])
        assert.equal(code, 0)
        assert.deepEqual(clientScenarios(stdout).sort(), Object.keys(scenarios).sort())
    })

    for (const [scenario, expected] of Object.entries(scenarios)) {
        test(`${revision}: ${scenario}`, async () => {
            const out = tmpdir('conformance-')
            const { code, stdout, stderr } = await suite(
                ['client', '--command', CLIENT, '--scenario', scenario, '--spec-version', revision, '-o', out],
                { timeoutMs: 60000 },
            )
            const checks = readChecks(out)
            const told = `${stdout}\n${stderr}`
            const bad = checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING')
            assert.deepEqual(bad, [], told)
            assert.equal(code, 0, told)
            assert.equal(checks.filter(({ status }) => status === 'SUCCESS').length, expected, told)
        }, { timeoutMs: 70000 })
    }
}

function readChecks(dir) {
    const [run] = fs.readdirSync(dir)
    assert.ok(run, 'the suite wrote no results')
    return JSON.parse(fs.readFileSync(path.join(dir, run, 'checks.json'), 'utf8'))
}
