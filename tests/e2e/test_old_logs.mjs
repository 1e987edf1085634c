// Logs that earlier versions wrote (tests/fixtures/logs): every answer about them is the one that those versions gave, the
// requests to models can be made again byte for byte, and nothing on disk changes.
import fs from 'node:fs'
import path from 'node:path'
import { assert, nb, SRC_DIR, startServer, test, tmpdir } from '../support/tap.mjs'
import { answersOf } from '../fixtures/logs/answers.mjs'

const FIXTURES = path.join(SRC_DIR, 'tests/fixtures/logs')
const ENV = { ANTHROPIC_API_KEY: 'sk-ant-test-key', OPENAI_API_KEY: '', NB_DEMO_DELAY_MS: '0' }

/** What was answered then is answered now. There may be more: new members, and a text where there was none (of large results). */
function assertHas(now, then, where) {
    if (then === '') return assert.equal(typeof now, 'string', where)
    if (Array.isArray(then)) assert.equal(now?.length, then.length, `${where}: length`)
    if (typeof then !== 'object' || then === null) return assert.deepEqual(now, then, where)
    for (const [key, value] of Object.entries(then)) assertHas(now?.[key], value, `${where}.${key}`)
}

/** Name → content of every file below a directory, without what nb keeps about each person. */
function bytesBelow(dir) {
    const files = fs.readdirSync(dir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile() && path.basename(entry.parentPath) !== '.people')
    return Object.fromEntries(files.map((entry) => path.join(entry.parentPath, entry.name)).map((file) => [path.relative(dir, file), fs.readFileSync(file, 'base64')]))
}

function workdirOf(name) {
    const workdir = tmpdir()
    fs.cpSync(path.join(FIXTURES, name), workdir, { recursive: true })
    fs.rmSync(path.join(workdir, 'answers.json'))
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify({ noDefaultBundles: true, defaultModel: 'anthropic:claude-sonnet-4-5-20250929' }))
    return workdir
}

for (const name of fs.readdirSync(FIXTURES).filter((entry) => fs.existsSync(path.join(FIXTURES, entry, 'answers.json')))) {
    test(`${name}: list, history, exports, blobs and files are as they were`, async () => {
        const workdir = workdirOf(name)
        const parts = ['conversations', 'files'].map((part) => path.join(workdir, part)).filter((dir) => fs.existsSync(dir))
        const before = parts.map(bytesBelow)
        const server = await startServer({ workdir, env: ENV })
        const then = JSON.parse(fs.readFileSync(path.join(FIXTURES, name, 'answers.json')))
        const now = await answersOf(server.url)
        assert.ok(then.list.conversations.length >= 3)
        assertHas(now, then, name)
        await server.stop()
        assert.deepEqual(parts.map(bytesBelow), before)
    })

    test(`${name}: the requests that were sent to models are made again, byte for byte`, async () => {
        const workdir = workdirOf(name)
        const { conversations } = JSON.parse(fs.readFileSync(path.join(FIXTURES, name, 'answers.json')))
        let compared = 0
        for (const id of Object.keys(conversations)) {
            const r = await nb(['replay', id, '--workdir', workdir], { env: ENV })
            assert.equal(r.code, 0, `${id}\n${r.stdout}${r.stderr}`)
            const [, equal] = /(\d+) equal, 0 different, 0 unknown/.exec(r.stdout) ?? assert.fail(r.stdout)
            compared += Number(equal)
        }
        assert.ok(compared > 0)
    })

    test(`${name}: a check finds nothing wrong`, async () => {
        const r = await nb(['conv', 'verify', '--workdir', workdirOf(name)], { env: ENV })
        assert.equal(r.code, 0, r.stdout + r.stderr)
    })
}
