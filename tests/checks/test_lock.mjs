// package-lock.json: what `npm ci` of every version takes. Later ones refuse a lock file that
// names a package without describing it, even one of another platform; npm itself writes such
// a file when its registry does not know that package yet.
import fs from 'node:fs'
import path from 'node:path'

const root = path.resolve(import.meta.dirname, '../..')
const { packages } = JSON.parse(fs.readFileSync(path.join(root, 'package-lock.json'), 'utf8'))
let count = 0

function check(name, faults) {
    count++
    console.log(`${faults.length === 0 ? 'ok' : 'not ok'} ${name}`)
    for (const fault of faults) console.log(`# ${fault}`)
}

/** Where Node would find `name` for the package at `at`: beside it, or in a folder above. */
function resolve(at, name) {
    for (let base = at; ; base = base.slice(0, Math.max(base.lastIndexOf('/node_modules/'), 0))) {
        const candidate = path.posix.join(base, 'node_modules', name)
        if (packages[candidate]) return candidate
        if (base === '') return undefined
    }
}

const undescribed = []
for (const [at, { dependencies, optionalDependencies }] of Object.entries(packages))
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies }))
        if (!resolve(at, name)) undescribed.push(`${at} needs ${name}, which is not there`)

const entries = Object.entries(packages).filter(([at]) => at !== '')
check('every dependency is described', undescribed)
check('every package has a checksum', entries.filter(([, entry]) => !entry.integrity).map(([at]) => at))
check('no download addresses', entries.filter(([, entry]) => entry.resolved).map(([at]) => at))
console.log(`1..${count}`)
