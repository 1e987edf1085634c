// Links in the documents lead to files and headings that exist; every chapter can be reached.
import fs from 'node:fs'
import path from 'node:path'

const root = path.resolve(import.meta.dirname, '../..')
const inDir = (dir) => fs.readdirSync(path.join(root, dir), { recursive: true }).map(String).filter((name) => name.endsWith('.md')).map((name) => `${dir}/${name}`)
const documents = [...fs.readdirSync(root).filter((name) => name.endsWith('.md')), ...inDir('docs'), ...inDir('examples')]
let count = 0

function check(name, faults) {
    count++
    console.log(`${faults.length === 0 ? 'ok' : 'not ok'} ${name}`)
    for (const fault of faults) console.log(`# ${fault}`)
}

const withoutCode = (text) => text.replace(/^```.*?^```/gms, '').replace(/`[^`\n]*`/g, '')
const texts = new Map(documents.map((name) => [name, fs.readFileSync(path.join(root, name), 'utf8')]))

/** The anchors of a document's headings, as GitHub makes them. */
function anchorsOf(name) {
    const found = new Set()
    const text = (texts.get(name) ?? fs.readFileSync(path.join(root, name), 'utf8')).replace(/^```.*?^```/gms, '')
    for (const [, title] of text.matchAll(/^#+ (.+)$/gm)) {
        const plain = title.replace(/`/g, '').replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase()
        const anchor = plain.replace(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-')
        let unique = anchor
        for (let i = 1; found.has(unique); i++) unique = `${anchor}-${i}`
        found.add(unique)
    }
    return found
}

function faultsOf(name) {
    const faults = []
    for (const [, target] of withoutCode(texts.get(name)).matchAll(/\]\(([^()\s]+)\)/g)) {
        if (/^(https?|mailto):/.test(target)) continue
        const [file, anchor] = target.split('#')
        const to = file ? path.posix.join(path.posix.dirname(name), decodeURIComponent(file)) : name
        if (to.startsWith('..') || !fs.existsSync(path.join(root, to))) faults.push(`${target}: no such file`)
        else if (anchor && to.endsWith('.md') && !anchorsOf(to).has(anchor)) faults.push(`${target}: no such heading`)
    }
    return faults
}

for (const name of documents) check(`${name}: every link leads somewhere`, faultsOf(name))

// docs/seeds.md is for those who work on nb; everything else can be reached from the table of contents.
const reached = new Set(['docs/README.md'])
for (const name of reached)
    for (const [, target] of withoutCode(texts.get(name)).matchAll(/\]\(([^()\s#]+)[^()\s]*\)/g)) {
        const to = path.posix.join(path.posix.dirname(name), target)
        if (texts.has(to)) reached.add(to)
    }
check('every chapter can be reached from docs/README.md', inDir('docs').filter((name) => name !== 'docs/seeds.md' && !reached.has(name)))
console.log(`1..${count}`)
