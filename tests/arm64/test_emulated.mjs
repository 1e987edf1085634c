// nb for arm64, emulated by qemu-user (make arm64): the page, and a turn through HTTP.
//
// qemu-user translates system calls to those of this machine. It has no seccomp, and the qemu of Debian 12 refuses
// PR_SET_CHILD_SUBREAPER, without which nb starts no bundle, not even one with "sandbox": "off". What is shown of bundles here is that
// none runs unconfined. packaging/arm64/boot (make arm64 ARGS=sandbox) runs one on a kernel for arm64.
import fs from 'node:fs'
import path from 'node:path'
import { NB, SRC_DIR, assert, before, eventually, nb, startServer, test, tmpdir } from '../support/tap.mjs'

const ENV = { NB_DEMO_DELAY_MS: '0', ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '' }
const hello = (serverName, more = {}) => ({ serverName, command: 'sh', args: [path.join(SRC_DIR, 'examples/hello-sh/server.sh')], ...more })
const EM_AARCH64 = 183

let server
before(async () => {
    const workdir = tmpdir()
    const bundles = [hello('free', { sandbox: 'off' }), hello('caged')]
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify({ noDefaultBundles: true, permissions: { allow: ['free__*', 'caged__*'] }, bundles }))
    server = await startServer({ workdir, env: ENV })
})

async function chat(message) {
    const res = await fetch(`${server.url}/v1/chat`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ message }) })
    return { status: res.status, ...(await res.json()) }
}
const bundle = async (name) => (await (await fetch(`${server.url}/v1/bundles/health`)).json()).find((b) => b.name === name)

test('the program is one for arm64', async () => {
    assert.equal(fs.readFileSync(NB).readUInt16LE(18), EM_AARCH64)
    const { code, stdout } = await nb(['--version'])
    assert.equal(code, 0)
    assert.match(stdout, /^nb \d+\.\d+\.\d+/)
})

test('the page and its manual are served', async () => {
    for (const at of ['/', '/docs/']) assert.equal((await fetch(server.url + at)).status, 200, at)
})

test('the demo model answers through HTTP, and the log has the turn', async () => {
    const answer = await chat('what is 6*7?')
    assert.equal(answer.status, 200)
    assert.equal(answer.stopReason, 'complete')
    assert.match(answer.response, /42/)
    const log = fs.readFileSync(path.join(server.workdir, 'conversations', `${answer.conversationId}.jsonl`), 'utf8')
    assert.deepEqual(['user.message', 'run.done'].filter((type) => !log.includes(`"${type}"`)), [])
})

test('where nb cannot keep hold of its processes, a bundle does not run', async () => {
    for (const name of ['free', 'caged']) await eventually(async () => !['starting', 'running'].includes((await bundle(name)).state))
    const answer = await chat('call caged__uptime {}')
    assert.equal(answer.status, 200)
    assert.doesNotMatch(JSON.stringify(answer.toolCalls), /up for \d+ seconds/)
})
