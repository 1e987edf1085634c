// Packages: units that systemd accepts, scripts of the Debian package, archives with the same bytes, the SBOM.
import fs from 'node:fs'
import path from 'node:path'
import { assert, NB_RELEASE, run, skip, SRC_DIR, test, tmpdir } from '../support/tap.mjs'

const read = (name) => fs.readFileSync(path.join(SRC_DIR, name), 'utf8')
const has = (program) => process.env.PATH.split(':').some((dir) => fs.existsSync(path.join(dir, program)))
const isClone = async () => has('git') && (await run('git', ['rev-parse', 'HEAD'], { cwd: SRC_DIR })).code === 0
const script = (name, args, env = {}) => run(path.join(SRC_DIR, 'scripts', name), args, { cwd: SRC_DIR, env })

test('the date and version of the manual are those of the changelog', async () => {
    const [, version, date] = /^## ([0-9.]+) - (\d{4}-\d\d-\d\d)$/m.exec(read('CHANGELOG.md'))
    assert.match(read('meson.build'), new RegExp(`^  version: '${version}',$`, 'm'))
    const { stdout } = await run(NB_RELEASE, ['man', 'nb'])
    assert.match(stdout, new RegExp(`^\\.TH NB 1 ${date} "nb ${version}"`))
    assert.ok(read('packaging/deb/nb-service.8').includes(date))
})

test('the units do what is promised, and nothing that stops sandboxes', () => {
    const unit = read('packaging/systemd/nb.service')
    const settings = unit.split('\n').filter((line) => !line.startsWith('#'))
    for (const wanted of ['Type=notify', 'ProtectSystem=strict', 'Delegate=memory pids', 'NoNewPrivileges=yes', 'LoadCredential=nb-secrets-key:/etc/nb/secrets.key'])
        assert.ok(settings.includes(wanted), wanted)
    for (const stops of ['RestrictNamespaces', 'SystemCallFilter', 'PrivateUsers', 'ProtectProc', 'ProtectKernelTunables', 'ProtectControlGroups', 'MemoryDenyWriteExecute'])
        assert.ok(!settings.some((line) => line.startsWith(`${stops}=`)), stops)
    assert.match(read('packaging/systemd/nb.socket'), /^ListenStream=127\.0\.0\.1:27247$/m)
    assert.match(read('packaging/systemd/nb-apps.socket'), /^FileDescriptorName=apps$/m)
})

test('systemd accepts the units', async () => {
    if (!has('systemd-analyze')) skip('systemd-analyze is not installed')
    const dir = tmpdir()
    for (const name of ['nb.service', 'nb.socket', 'nb-apps.socket'])
        fs.writeFileSync(path.join(dir, name), read(`packaging/systemd/${name}`).replaceAll('/usr/bin/nb', '/bin/true'))
    const { stderr } = await run('systemd-analyze', ['verify', `${dir}/nb.service`, `${dir}/nb.socket`, `${dir}/nb-apps.socket`])
    assert.deepEqual(stderr.split('\n').filter((line) => line.includes(dir)), [])
})

test('shellcheck finds no fault in the scripts', async () => {
    if (!has('shellcheck')) skip('shellcheck is not installed')
    const names = ['scripts/build-deb', 'scripts/dist', 'scripts/try-deb', 'scripts/install-manual', ...['nb-service', 'postinst', 'prerm', 'postrm'].map((name) => `packaging/deb/${name}`)]
    const { stdout } = await run('shellcheck', names, { cwd: SRC_DIR })
    assert.equal(stdout, '')
})

test('the Debian package has everything, and all of it belongs to root', async () => {
    if (!has('dpkg-shlibdeps') || !(await isClone())) skip('dpkg-dev is not installed, or this is not a clone')
    const bin = tmpdir() // without lintian, which make deb runs: it needs a minute
    fs.writeFileSync(`${bin}/lintian`, '#!/bin/sh\n', { mode: 0o755 })
    const made = await script('build-deb', [tmpdir()], { NB_BINARY: NB_RELEASE, DEB_COMPRESSION: 'none', PATH: `${bin}:${process.env.PATH}` })
    assert.equal(made.code, 0, made.stderr)
    const deb = made.stdout.trim().split('\n').at(-1)
    const list = (await run('dpkg-deb', ['-c', deb])).stdout
    for (const file of ['usr/bin/nb', 'usr/sbin/nb-service', 'usr/lib/systemd/system/nb.service', 'etc/nb/environment', 'usr/share/man/man1/nb.1.gz', 'usr/share/man/man5/nimblebrain.json.5.gz', 'usr/share/bash-completion/completions/nb', 'usr/share/nb/examples/table/manifest.json', 'usr/share/doc/nb/copyright'])
        assert.match(list, new RegExp(` \\./${file.replaceAll('.', '\\.')}$`, 'm'))
    assert.deepEqual(list.split('\n').filter((line) => line && !line.includes(' root/root ')), [])
    const control = (await run('dpkg-deb', ['-f', deb])).stdout
    assert.doesNotMatch(control.replace(/<.*>/, ''), /@/)
    assert.match(control, /^Depends: .*\blibc6 \(>= .*\bbubblewrap\b/m)
    // Names in Debian 13 and Ubuntu 24.04 first, then those of Debian 12.
    assert.match(control, /^Depends: .*\blibcurl4t64 \| libcurl4, .*\blibzip5 \| libzip4t64 \| libzip4$/m)
    assert.match(control, /^Recommends: libpng16-16t64 \| libpng16-16, libturbojpeg0 \| libturbojpeg,/m)
})

test('the source archive has the committed files, and no others', async () => {
    if (!(await isClone())) skip('not a clone')
    const out = tmpdir()
    const made = await script('dist', ['--source', out])
    assert.equal(made.code, 0, made.stderr)
    const [archive] = fs.readdirSync(out).filter((name) => name.endsWith('.tar.gz'))
    const list = (await run('tar', ['-tzf', path.join(out, archive)])).stdout.split('\n').filter((name) => name && !name.endsWith('/'))
    const committed = (await run('git', ['ls-tree', '-r', '--name-only', 'HEAD'], { cwd: SRC_DIR })).stdout.split('\n').filter(Boolean)
    assert.equal(list.length, committed.length)
    assert.equal((await run('sha256sum', ['-c', 'SHA256SUMS'], { cwd: out })).code, 0)
})

test('the SBOM names every library that nb links or loads', async () => {
    if (!has('readelf') || !has('dpkg')) skip('readelf or dpkg is not installed')
    const { code, stdout, stderr } = await run(process.execPath, [path.join(SRC_DIR, 'scripts/sbom.mjs'), NB_RELEASE, '1.2.3', '1700000000', '/'])
    assert.equal(code, 0, stderr)
    const document = JSON.parse(stdout)
    assert.equal(document.spdxVersion, 'SPDX-2.3')
    assert.equal(document.creationInfo.created, '2023-11-14T22:13:20Z')
    const named = document.packages.flatMap((one) => (one.comment ?? '').split(' '))
    const linked = [...(await run('readelf', ['-d', NB_RELEASE])).stdout.matchAll(/\(NEEDED\).*\[(.*)\]/g)].map(([, name]) => name)
    assert.ok(linked.length > 5)
    for (const soname of [...linked, 'libcurl.so.4', 'libpq.so.5', 'libsodium.so.23']) assert.ok(named.includes(soname), soname)
    const ids = new Set(['SPDXRef-DOCUMENT', ...document.packages.map((one) => one.SPDXID)])
    assert.equal(ids.size, document.packages.length + 1)
    for (const { spdxElementId, relatedSpdxElement } of document.relationships) assert.ok(ids.has(spdxElementId) && ids.has(relatedSpdxElement))
})
