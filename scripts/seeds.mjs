// seeds.mjs - what docs/seeds.md says, against the tests that it names.
//
//   seeds.mjs           how the rows stand after the last run of the tests (.cache/test-results.json)
//   seeds.mjs --check   only: every row is whole, and every test that it names exists (TAP)
//
// A row is `| id | statement | state | suite/file: “case”; ... |`; `*` in a case stands for anything.
import fs from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'

const root = path.resolve(import.meta.dirname, '..')
const STATES = ['works', 'differently', 'missing']
const STATEMENTS = 254 // rows that the table has to have

const { values: options } = parseArgs({ options: { check: { type: 'boolean' } } })
const rows = readRows(fs.readFileSync(path.join(root, 'docs/seeds.md'), 'utf8'))
if (options.check) check()
else report()

function readRows(text) {
    const lines = text.split('\n').filter((line) => /^\| [A-Z]\d+ \|/.test(line))
    return lines.map((line) => {
        const [, id, statement, state, shown] = line.split('|').map((cell) => cell.trim())
        const tests = [...shown.matchAll(/([a-z0-9]+\/[\w/]+): “([^”]+)”/g)].map(([, file, name]) => ({ file, name }))
        return { id, statement, state, tests }
    })
}

function matcher(name) {
    const parts = name.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'))
    return new RegExp(parts.join('.*'))
}

function sourceOf(file) {
    const [suite, ...rest] = file.split('/')
    const name = `test_${rest.at(-1)}`
    const dir = path.join(root, 'tests', suite, ...rest.slice(0, -1))
    const found = ['.mjs', '.sh', '.c'].map((end) => path.join(dir, name + end)).find((at) => fs.existsSync(at))
    // As it will be printed, except for the values that are put in.
    return found && fs.readFileSync(found, 'utf8').replace(/\$\{[^}]*\}/g, '').replace(/\\'/g, "'")
}

function problems() {
    const found = []
    const ids = new Set(rows.map(({ id }) => id))
    if (ids.size !== STATEMENTS || rows.length !== STATEMENTS) found.push(`${rows.length} rows with ${ids.size} ids, not ${STATEMENTS}`)
    for (const { id, state, tests } of rows) {
        if (!STATES.includes(state)) found.push(`${id}: '${state}' is not a state`)
        if (state === 'works' && tests.length === 0) found.push(`${id} works, and no test shows it`)
        for (const { file, name } of tests) {
            const source = sourceOf(file)
            if (!source) found.push(`${id}: there is no test ${file}`)
            else if (!matcher(name).test(source)) found.push(`${id}: ${file} has no case “${name}”`)
        }
    }
    return found
}

function check() {
    const found = problems()
    console.log(`${found.length > 0 ? 'not ok' : 'ok'} every statement of the seeds names tests that exist`)
    for (const problem of found) console.log(`# ${problem}`)
    console.log('1..1')
    process.exitCode = found.length > 0 ? 1 : 0
}

function outcome({ file, name }, results) {
    const cases = Object.entries(results[file] ?? {}).filter(([title]) => matcher(name).test(title))
    if (cases.length === 0) return 'not run'
    return cases.every(([, word]) => word === 'ok') ? 'ok' : 'failed'
}

function report() {
    const file = path.join(root, '.cache/test-results.json')
    const results = fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, 'utf8')) : {}
    const counts = { works: 0, differently: 0, missing: 0, failed: 0, 'not run': 0 }
    for (const { id, statement, state, tests } of rows) {
        const outcomes = tests.map((test) => outcome(test, results))
        const worst = ['failed', 'not run'].find((word) => outcomes.includes(word))
        const verdict = state === 'works' && worst ? worst : state
        counts[verdict]++
        if (verdict !== 'works') console.log(`${verdict.padEnd(12)} ${id.padEnd(5)} ${statement}`)
    }
    const told = Object.entries(counts).filter(([word, n]) => n > 0 || STATES.includes(word))
    console.log(`${told.map(([word, n]) => `${n} ${word}`).join(', ')} of ${rows.length}`)
    process.exitCode = counts.failed > 0 || problems().length > 0 ? 1 : 0
}
