// The OCI image: a valid layout, small, the same bytes again, not root, and a server that its own health check finds.
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { assert, eventually, NB_RELEASE, run, skip, SRC_DIR, start, test, tmpdir } from '../support/tap.mjs'

async function build(dir) {
    const r = await run('sh', [path.join(SRC_DIR, 'scripts/oci'), dir], { env: { NB_BINARY: NB_RELEASE, OCI_LEVEL: '1' } })
    assert.equal(r.code, 0, r.stderr)
    const [name] = fs.readdirSync(dir)
    return path.join(dir, name)
}

test('an image without a daemon: every blob is what its hash says, and a server in it is healthy', async () => {
    const file = await build(tmpdir()), again = await build(tmpdir())
    assert.ok(fs.readFileSync(file).equals(fs.readFileSync(again)), 'two builds differ')
    assert.ok(fs.statSync(file).size < 40e6)
    const dir = tmpdir(), root = tmpdir()
    assert.equal((await run('tar', ['-C', dir, '-xf', file])).code, 0)
    const read = (name) => JSON.parse(fs.readFileSync(path.join(dir, name), 'utf8'))
    const blob = ({ digest, size }) => {
        const at = `blobs/${digest.replace(':', '/')}`, bytes = fs.readFileSync(path.join(dir, at))
        assert.deepEqual([`sha256:${createHash('sha256').update(bytes).digest('hex')}`, bytes.length], [digest, size])
        return at
    }
    assert.equal(read('oci-layout').imageLayoutVersion, '1.0.0')
    const [entry] = read('index.json').manifests
    const manifest = read(blob(entry)), config = read(blob(manifest.config)).config
    assert.equal(config.User, '65532:65532')
    assert.deepEqual(config.Healthcheck.Test, ['CMD', '/usr/bin/nb', 'health'])
    assert.equal(manifest.layers.length, 1)
    const layer = path.join(dir, blob(manifest.layers[0]))
    const listed = (await run('tar', ['-tvzf', layer, '--numeric-owner'])).stdout
    assert.match(listed, /^drwx------ 65532\/65532 .*\.\/data\/$/m)
    assert.doesNotMatch(listed, /^-..s|^-.....s|\/(sh|bash|busybox|apt)$/m) // nothing with the rights of another, no shell
    assert.equal((await run('tar', ['-C', root, '--no-same-owner', '-xzf', layer])).code, 0)

    const inside = ['--bind', root, '/', '--proc', '/proc', '--dev', '/dev', '--unshare-user', '--unshare-pid', '--die-with-parent', '--uid', '65532', '--gid', '65532', '--clearenv',
        ...config.Env.flatMap((pair) => ['--setenv', pair.split('=')[0], pair.slice(pair.indexOf('=') + 1)]), '--setenv', 'NB_API_KEY', 'key-of-the-test-of-the-image', '--chdir', config.WorkingDir]
    if ((await run('bwrap', [...inside, '/usr/bin/nb', '--version'])).code !== 0) skip('this machine cannot make a namespace')
    const health = () => run('bwrap', [...inside, ...config.Healthcheck.Test.slice(1)])
    assert.equal((await health()).code, 1)
    const server = start('bwrap', [...inside, ...config.Entrypoint, 'serve', '--port', '0'])
    await server.waitFor(/Open +http/)
    await eventually(async () => (await health()).code === 0)
    assert.deepEqual(await run('bwrap', [...inside, '/usr/bin/nb', '-p', 'hello', '--model', 'demo']).then((r) => r.code), 0)
})
