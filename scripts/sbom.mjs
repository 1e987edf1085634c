// sbom.mjs PROGRAM VERSION SECONDS ROOT - an SPDX 2.3 document of what nb consists of.
//
// Libraries that the program links are read from it; those that it loads while it runs are named in
// its source. Their versions are those of the Debian in ROOT, with which it was built. The same program and
// the same system give the same document.
import { execFileSync, spawnSync } from 'node:child_process'
import crypto from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'

const [program, version, seconds, system] = process.argv.slice(2)
const root = path.resolve(import.meta.dirname, '..')
const run = (command, ...args) => execFileSync(command, args, { encoding: 'utf8', env: { ...process.env, LC_ALL: 'C' } })

const linked = [...run('readelf', '-d', program).matchAll(/\(NEEDED\).*\[(.*)\]/g)].map(([, name]) => name)
const loaded = fs
    .readdirSync(path.join(root, 'src'), { recursive: true })
    .filter((name) => name.endsWith('.c'))
    .flatMap((name) => [...fs.readFileSync(path.join(root, 'src', name), 'utf8').matchAll(/"(lib[\w-]+\.so\.\d+)"/g)].map(([, soname]) => soname))

const sonames = [...new Set([...linked, ...loaded])].sort()

/** soname → {name, version} of the package that has it; without those that are not installed. */
function packagesOf(names) {
    const places = new Map()
    for (const soname of names)
        for (const directory of ['/usr/lib/x86_64-linux-gnu', '/lib/x86_64-linux-gnu', '/usr/lib/aarch64-linux-gnu', '/lib/aarch64-linux-gnu'])
            if (fs.existsSync(path.join(system, directory, soname))) places.set(path.join(directory, soname), soname)
    // dpkg knows a file by one of its names, and fails for the others
    const { stdout } = spawnSync('dpkg', [`--root=${system}`, '-S', ...places.keys()], { encoding: 'utf8', env: { ...process.env, LC_ALL: 'C' } })
    const owners = new Map([...stdout.matchAll(/^([^:,\s]+)[^/]*(\/.*)$/gm)].map(([, owner, file]) => [places.get(file), owner]))
    const versions = new Map(run('dpkg-query', `--root=${system}`, '-W', '-f', '${Package}\t${Version}\n', ...new Set(owners.values())).trim().split('\n').map((line) => line.split('\t')))
    return new Map([...owners].map(([soname, name]) => [soname, { name, version: versions.get(name) }]))
}

const packages = packagesOf(sonames)
const libraries = new Map()
for (const soname of sonames) {
    const found = packages.get(soname)
    const how = linked.includes(soname) ? 'DYNAMIC_LINK' : 'OPTIONAL_DEPENDENCY_OF'
    const key = found?.name ?? soname
    const known = libraries.get(key)
    libraries.set(key, { version: found?.version, sonames: [...(known?.sonames ?? []), soname], how: known?.how === 'DYNAMIC_LINK' ? known.how : how })
}

const sha256 = crypto.createHash('sha256').update(fs.readFileSync(program)).digest('hex')
const idOf = (name) => `SPDXRef-${name.replace(/[^A-Za-z0-9.-]/g, '-')}`
const described = (name, rest) => ({
    SPDXID: idOf(name),
    name,
    downloadLocation: 'NOASSERTION',
    filesAnalyzed: false,
    licenseConcluded: 'NOASSERTION',
    licenseDeclared: 'NOASSERTION',
    copyrightText: 'NOASSERTION',
    ...rest,
})

const document = {
    spdxVersion: 'SPDX-2.3',
    dataLicense: 'CC0-1.0',
    SPDXID: 'SPDXRef-DOCUMENT',
    name: `nb-${version}`,
    documentNamespace: `urn:nb:spdx:${version}:${sha256}`,
    creationInfo: { created: new Date(seconds * 1000).toISOString().replace('.000', ''), creators: ['Tool: scripts/sbom.mjs'] },
    documentDescribes: [idOf('nb')],
    packages: [
        described('nb', {
            versionInfo: version,
            primaryPackagePurpose: 'APPLICATION',
            licenseDeclared: 'Apache-2.0',
            checksums: [{ algorithm: 'SHA256', checksumValue: sha256 }],
        }),
        ...[...libraries].map(([name, { version: versionInfo, sonames: names }]) =>
            described(name, {
                ...(versionInfo ? { versionInfo } : {}),
                primaryPackagePurpose: 'LIBRARY',
                comment: names.join(' '),
                ...(versionInfo
                    ? { externalRefs: [{ referenceCategory: 'PACKAGE-MANAGER', referenceType: 'purl', referenceLocator: `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(versionInfo)}` }] }
                    : {}),
            }),
        ),
    ],
    relationships: [
        { spdxElementId: 'SPDXRef-DOCUMENT', relationshipType: 'DESCRIBES', relatedSpdxElement: idOf('nb') },
        ...[...libraries].map(([name, { how }]) =>
            how === 'DYNAMIC_LINK'
                ? { spdxElementId: idOf('nb'), relationshipType: how, relatedSpdxElement: idOf(name) }
                : { spdxElementId: idOf(name), relationshipType: how, relatedSpdxElement: idOf('nb') },
        ),
    ],
}
process.stdout.write(`${JSON.stringify(document, null, 2)}\n`)
