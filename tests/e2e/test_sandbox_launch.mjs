// A bundle's variables and command line have no effect outside its sandbox, and a package grants
// itself nothing.
import fs from 'node:fs'
import path from 'node:path'
import { spawnSync } from 'node:child_process'
import { assert, SRC_DIR, test, tmpdir } from '../support/tap.mjs'
import { startHost, unruly } from '../support/bundles.mjs'

const NODE_DIR = path.dirname(process.execPath)

/** A library that leaves a file behind in every process that loads it. */
function canary(dir, mark) {
    fs.writeFileSync(`${dir}/canary.c`, `
#include <fcntl.h>
#include <unistd.h>
__attribute__((constructor)) static void loaded(void) { close(open("${mark}", O_CREAT | O_WRONLY, 0600)); }
`)
    const r = spawnSync('cc', ['-shared', '-fPIC', '-o', `${dir}/canary.so`, `${dir}/canary.c`])
    assert.equal(r.status, 0, String(r.stderr))
    return `${dir}/canary.so`
}

/** bubblewrap fails here when it is not the kind that is wanted. */
function pathOf(kind, dir) {
    if (kind !== 'Landlock') return `${NODE_DIR}:${process.env.PATH}`
    fs.mkdirSync(dir, { recursive: true })
    fs.writeFileSync(`${dir}/bwrap`, '#!/bin/sh\nexit 1\n', { mode: 0o755 })
    return `${dir}:${NODE_DIR}:${process.env.PATH}`
}

for (const kind of ['bubblewrap', 'Landlock', 'off']) {
    test(`variables of a bundle do not reach the loader of what starts it (${kind})`, async () => {
        const dir = tmpdir('nb-loader-')
        const mark = `${dir}/loaded`
        const lib = canary(dir, mark)
        const host = startHost({ env: { PATH: pathOf(kind, `${dir}/bin`), HOME: dir } })
        const variables = { LD_PRELOAD: lib, LD_AUDIT: lib, GCONV_PATH: dir, OPENSSL_CONF: `${dir}/x`, SECRET_OF_BUNDLE: 'sesame' }
        host.apply(unruly('caged', 'ok', { env: variables, ...(kind === 'off' ? { sandbox: 'off' } : {}) }))
        const state = await host.state('caged', 'running')
        assert.ok(state.sandbox.startsWith(kind), state.sandbox)
        const env = JSON.parse(await host.text('caged', 'env'))
        assert.equal(env.SECRET_OF_BUNDLE, 'sesame')
        assert.equal(env.LD_PRELOAD, lib)
        // In the sandbox the library cannot write there; without one only the server itself may have loaded it.
        if (kind !== 'off') assert.ok(!fs.existsSync(mark), 'the library was loaded outside the sandbox')
        const outside = descendants(host.proc.pid).filter((p) => /launch|bwrap/.test(p.args[0] + (p.args[1] ?? '')))
        assert.ok(outside.length >= 2, JSON.stringify(outside))
        for (const p of outside) {
            assert.ok(!/canary/.test(p.maps), `${p.args.slice(0, 2)} has loaded the library`)
            assert.ok(!/sesame|LD_PRELOAD/.test(p.environ), `${p.args.slice(0, 2)}: ${p.environ}`)
            assert.ok(!/sesame|LD_PRELOAD/.test(p.args.join(' ')), p.args.join(' '))
        }
        await host.quit()
    })
}

const read = (file) => {
    try {
        return fs.readFileSync(file, 'utf8')
    } catch {
        return ''
    }
}

function descendants(pid) {
    const all = fs.readdirSync('/proc').filter((d) => /^\d+$/.test(d)).map((d) => ({
        pid: Number(d), parent: Number(read(`/proc/${d}/stat`).replace(/^.*\) \S /, '').split(' ')[0]),
    }))
    const found = [pid]
    for (let grown = true; grown; ) {
        grown = false
        for (const p of all) if (found.includes(p.parent) && !found.includes(p.pid)) grown = found.push(p.pid) > 0
    }
    return found.slice(1).map((p) => ({
        pid: p, args: read(`/proc/${p}/cmdline`).split('\0'), environ: read(`/proc/${p}/environ`), maps: read(`/proc/${p}/maps`),
    }))
}

/** A package that runs the unruly server with a manifest of its own words. */
function makePackage(root, config = {}, more = {}) {
    const dir = `${root}/package`
    fs.mkdirSync(dir, { recursive: true })
    for (const file of ['unruly.mjs', 'network_probes.mjs']) fs.copyFileSync(path.join(SRC_DIR, 'tests/fixtures', file), `${dir}/${file}`)
    fs.writeFileSync(`${dir}/manifest.json`, JSON.stringify({
        manifest_version: '0.3', name: 'greedy', version: '1.0.0', description: 'x', author: { name: 'x' },
        server: { type: 'node', entry_point: 'unruly.mjs', mcp_config: { command: 'node', args: ['${__dirname}/unruly.mjs', 'ok'], ...config } },
        ...more,
    }))
    return dir
}

function makeHome() {
    const root = tmpdir('nb-greedy-')
    for (const d of ['home/.ssh', 'home/notes', 'work']) fs.mkdirSync(`${root}/${d}`, { recursive: true })
    fs.writeFileSync(`${root}/home/.ssh/id_rsa`, '// KEY') // node can run them all
    fs.writeFileSync(`${root}/home/notes/list`, '// NOTE')
    fs.writeFileSync(`${root}/work/nimblebrain.json`, '{"apiKey":"SETTINGS"}')
    return root
}

const start = (root, kind) => startHost({ workdir: `${root}/work`, env: { PATH: pathOf(kind, `${root}/bin`), HOME: `${root}/home` } })

for (const kind of ['bubblewrap', 'Landlock']) {
    test(`defaults of a manifest show no directory (${kind})`, async () => {
        const root = makeHome()
        const option = (value) => ({ type: 'directory', title: 'x', description: 'x', default: value })
        const dir = makePackage(root, {}, { user_config: { a: option('${HOME}'), b: option('${HOME}/.ssh'), c: option('${HOME}/notes') } })
        const host = start(root, kind)
        host.apply({ path: dir, serverName: 'greedy' })
        const state = await host.state('greedy', 'running')
        assert.ok(!/\.ssh|notes/.test(state.sandbox), state.sandbox)
        for (const file of ['.ssh/id_rsa', 'notes/list']) assert.match(await host.text('greedy', 'read', { path: `${root}/home/${file}` }), /^refused/)
        await host.text('greedy', 'write', { path: `${root}/home/.bashrc` })
        assert.ok(!fs.existsSync(`${root}/home/.bashrc`))
        await host.quit()
    })

    test(`a chosen directory can be read, not written (${kind})`, async () => {
        const root = makeHome()
        const dir = makePackage(root, {}, { user_config: { c: { type: 'directory', title: 'x', description: 'x' } } })
        const host = start(root, kind)
        host.apply({ path: dir, serverName: 'greedy', userConfig: { c: `${root}/home/notes` } })
        const state = await host.state('greedy', 'running')
        assert.match(state.sandbox, /reads ~\/notes/)
        assert.match(await host.text('greedy', 'read', { path: `${root}/home/notes/list` }), /NOTE/)
        assert.match(await host.text('greedy', 'write', { path: `${root}/home/notes/new` }), /^refused/)
        await host.quit()
    })

    test(`arguments of a manifest show no file (${kind})`, async () => {
        const root = makeHome()
        const targets = ['${HOME}/.ssh/id_rsa', '${HOME}/notes/list', '${DATA_DIR}/../../nimblebrain.json']
        for (const target of targets) {
            // The interpreter's first operand is the file; the script comes with an option.
            const dir = makePackage(root, { command: 'node', args: ['--import=${__dirname}/unruly.mjs', target, 'ok'] })
            fs.writeFileSync(`${dir}/unruly.mjs`, fs.readFileSync(path.join(SRC_DIR, 'tests/fixtures/unruly.mjs'), 'utf8').replace('process.argv[2]', "'ok'"))
            const host = start(root, kind)
            host.apply({ path: dir, serverName: 'greedy' })
            const e = await host.until((s) => s.event === 'state' && s.name === 'greedy' && s.state !== 'starting')
            if (e.state === 'running') {
                for (const file of ['home/.ssh/id_rsa', 'home/notes/list', 'work/nimblebrain.json']) {
                    const { result } = await host.call('greedy', 'read', { path: `${root}/${file}` })
                    if (result) assert.match(result.content[0].text, /^refused/, `${target}: ${file}`) // else it has ended
                }
            }
            await host.quit()
        }
    })
}

test('a person who names a file in a hidden place as script is told to declare it', async () => {
    const root = makeHome()
    const host = start(root, 'bubblewrap')
    for (const [file, words] of [['home/.ssh/id_rsa', /sandbox\.read/], ['work/nimblebrain.json', /work directory/]]) {
        host.apply({ serverName: `odd-${file.slice(0, 4)}`, command: process.execPath, args: [`${root}/${file}`] })
        const state = await host.state(`odd-${file.slice(0, 4)}`, 'stopped')
        assert.match(state.reason ?? JSON.stringify(state), words)
    }
    await host.quit()
})

test('a manifest that sets a variable of a loader is refused', async () => {
    const root = makeHome()
    for (const name of ['LD_PRELOAD', 'GCONV_PATH', 'NODE_OPTIONS', 'BASH_ENV']) {
        const dir = makePackage(root, { env: { [name]: '${__dirname}/x.so' } })
        const host = start(root, 'bubblewrap')
        host.apply({ path: dir, serverName: 'greedy' })
        const e = await host.until((s) => s.event === 'state' && s.name === 'greedy' && s.state !== 'starting')
        assert.equal(e.state, 'stopped')
        assert.match(JSON.stringify(e), new RegExp(name))
        await host.quit()
    }
})
