// Names and paths in ARCHITECTURE.md, CONTRIBUTING.md and docs/debugging.md exist: a reader who follows one arrives.
import fs from 'node:fs'
import path from 'node:path'

const root = path.resolve(import.meta.dirname, '../..')
const DOCUMENTS = ['ARCHITECTURE.md', 'CONTRIBUTING.md', 'docs/debugging.md']
const ENDINGS = /\.(c|h|mjs|ts|sh|md|build)$/
// Examples of names, and words of other programs.
const EXAMPLES = new Set(['module_verb_object', 'timeout_ms', 'is_shared', 'ret_x', 'on_x', 'x_new', 'x_init', 'x_ref', 'a_short_read_is_not_an_error'])
// Trees that hold no source, and what a build or an install puts there.
const SKIPPED = /^(node_modules|build|\.)/

const files = []
for (const top of fs.readdirSync(root).filter((name) => !SKIPPED.test(name))) {
    const at = path.join(root, top)
    if (fs.statSync(at).isDirectory())
        for (const name of fs.readdirSync(at, { recursive: true }).map(String)) files.push(`${top}/${name}`)
    else files.push(top)
}
const words = new Set()
for (const name of files.filter((file) => /^(src|tests|scripts|web|bench)\//.test(file) && /(\.(c|h|mjs|ts|sh)|meson.build)$/.test(file)))
    for (const word of fs.readFileSync(path.join(root, name), 'utf8').match(/[a-z][a-z0-9]*(_[a-z0-9]+)+/g) ?? []) words.add(word)

const isFile = (name) => files.some((file) => file === name || file.endsWith(`/${name}`) || file.endsWith(`/${name}.c`))
let count = 0
for (const document of DOCUMENTS) {
    const faults = []
    for (const [, quoted] of fs.readFileSync(path.join(root, document), 'utf8').matchAll(/`([^`\n]+)`/g)) {
        if (/^\w[\w./-]*$/.test(quoted) && ENDINGS.test(quoted) && !/[A-Z]{3}/.test(quoted) && !isFile(quoted)) faults.push(`no file ${quoted}`)
        for (const [name] of quoted.matchAll(/(?<![\w./<-])[a-z][a-z0-9]*(_[a-z0-9]+)+(?![\w./*<-])/g))
            if (!words.has(name) && !EXAMPLES.has(name)) faults.push(`no name ${name}`)
    }
    count++
    console.log(`${faults.length === 0 ? 'ok' : 'not ok'} ${document}: every name and path exists`)
    for (const fault of new Set(faults)) console.log(`# ${fault}`)
}
console.log(`1..${count}`)
