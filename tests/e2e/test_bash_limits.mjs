// A command of the bash bundle that goes over a limit harms itself only: it gets an error that names the limit, and
// the commands of other people beside it go on.
import fs from 'node:fs'
import path from 'node:path'
import { assert, eventually, test, tmpdir } from '../support/tap.mjs'
import { noneLeft, quick, startHost } from '../support/bundles.mjs'

const EAT = 'node -e "const kept = []; for (;;) kept.push(Buffer.alloc(8 << 20, 1))"'
const FILL = 'for i in $(seq 64); do head -c 8M /dev/zero > /dev/shm/$i || exit 3; head -c 8M /dev/zero > /tmp/$i || exit 3; done; sleep 30'
const FORK = 'mkfifo held; for i in $(seq 700); do { read; } < held & done; wait' // each waits for a writer
const PATIENCE_S = 90 // on a machine with much else to do
const WAIT = 'until [ -e go ]; do sleep 0.05; done; echo untouched'

async function withBash(kind, fn) {
    const root = tmpdir('nb-limits-')
    const env = { HOME: root, WITH_BASH: '1' }
    if (kind === 'Landlock') {
        fs.mkdirSync(path.join(root, 'bin'))
        fs.writeFileSync(path.join(root, 'bin/bwrap'), '#!/bin/sh\nexit 1\n', { mode: 0o755 })
        env.PATH = `${root}/bin:${process.env.PATH}`
    }
    const host = startHost({ env, healthMs: 1000 })
    host.apply({ name: '@nimblebraininc/bash', memoryMb: 256 })
    const state = await host.state('bash', 'running')
    assert.ok(state.sandbox.startsWith(kind), state.sandbox)
    await fn(host, (command) => {
        const call = host.start('bash', 'bash_exec', { command, timeout: PATIENCE_S }, { timeoutMs: PATIENCE_S * 1000 })
        return call
    })
    const info = await host.info('bash')
    assert.deepEqual([info.state, info.restarts, info.pid], ['running', 0, state.pid])
    await host.quit()
    await noneLeft(host.mark)
}

const outputOf = ({ result }) => result.structuredContent

for (const kind of ['bubblewrap', 'Landlock']) {
    test(`a command over the memory limit ends alone, and its caller gets the reason (${kind})`, () =>
        withBash(kind, async (host, run) => {
            const beside = run(WAIT)
            const hungry = await run(EAT).answer()
            assert.equal(hungry.result?.isError, true, JSON.stringify(hungry))
            assert.match(outputOf(hungry).stderr, /more than 256 MB of memory/)
            assert.equal(outputOf(hungry).exit_code, 137)
            assert.equal(outputOf(await run('touch go; echo next').answer()).stdout, 'next\n')
            assert.equal(outputOf(await beside.answer()).stdout, 'untouched\n')
        }))

    test(`a command with too many processes ends alone, and its caller gets the reason (${kind})`, () =>
        withBash(kind, async (host, run) => {
            const beside = run(WAIT)
            const many = await run(FORK).answer()
            assert.equal(many.result?.isError, true, JSON.stringify(many))
            assert.match(outputOf(many).stderr, /more than 512 processes/)
            await run('touch go').answer()
            assert.equal(outputOf(await beside.answer()).stdout, 'untouched\n')
        }))
}

test('files in memory are memory of the command that wrote them', () =>
    withBash('bubblewrap', async (host, run) => {
        const full = await run(FILL).answer()
        const { stderr, exit_code } = outputOf(full)
        assert.ok(exit_code === 3 ? /No space left/.test(stderr) : /MB of memory/.test(stderr), JSON.stringify(full))
    }))

test('long calls of one person do not hold up another; a call that waits says so and can be cancelled', () =>
    withBash('bubblewrap', async (host, run) => {
        const as = (person, command) => host.start('bash', 'bash_exec', { command, timeout: PATIENCE_S }, { person })
        const long = Array.from({ length: 16 }, (_, i) => as('ann', `touch began-${i}; ${WAIT}`))
        const began = async () => outputOf(await as('eve', 'ls | grep -c began').answer()).stdout
        while ((await began()) !== '16\n');
        const waiting = [as('ann', 'echo next'), as('ann', 'touch never')]
        for (const { id } of waiting) {
            const told = await host.until((e) => e.event === 'progress' && e.of === id)
            assert.match(told.message, /waiting: 16 calls of bash are running, 16 of them yours/)
        }
        // Another person has a place, and the place that becomes free is for the person with the fewest calls.
        const bob = [as('bob', `touch bobs; ${WAIT}`), as('bob', `sleep 0.2; ls | grep -c go; true`)]
        host.send({ cancel: waiting[1].id })
        while (!/bobs/.test(outputOf(await as('eve', 'ls').answer()).stdout));
        assert.equal(outputOf(await as('eve', 'touch go; echo here').answer()).stdout, 'here\n')
        for (const call of [...long, bob[0]]) assert.equal(outputOf(await call.answer()).stdout, 'untouched\n')
        assert.equal(outputOf(await bob[1].answer()).stdout, '1\n')
        assert.equal(outputOf(await waiting[0].answer()).stdout, 'next\n')
        assert.doesNotMatch(outputOf(await as('eve', 'ls').answer()).stdout, /never/)
    }))

test('a full data directory: a server is stopped with the reason, commands of bash can delete and not write', async () => {
    const host = startHost({ env: { WITH_BASH: '1' } })
    host.apply({ name: '@nimblebraininc/bash', diskMb: 2 }, quick('greedy', { diskMb: 2 }))
    const run = async (command, name = 'bash') => outputOf(await host.call(name, 'bash_exec', { command }))
    await host.state('greedy', 'running')
    await run('head -c 4M /dev/zero > "$MPAK_WORKSPACE/big"', 'greedy')
    assert.match((await host.state('greedy', 'stopped')).reason, /data directory holds \d+ MB .* 2 MB \("diskMb"/)
    assert.equal((await run('head -c 4M /dev/zero > big')).exit_code, 0)
    const full = await eventually(async () => {
        const r = await run('echo more > more')
        return r.exit_code !== 0 && r
    })
    assert.match(full.stderr, /holds more than 2 MB .* commands can delete files but not write any/)
    assert.equal((await run('rm big more; ls')).stdout, '')
    await eventually(async () => (await run('echo again > again')).exit_code === 0)
    await host.quit()
})
