// All example apps of the MCP Apps project that start by stdio, as published on npm, in a browser and without a network. The
// last case prints what works in which, as a table.
import path from 'node:path'
import { assert, SRC_DIR, test } from '../support/tap.mjs'
import { APPS, exercise } from '../support/published_apps.mjs'

const MODULES = path.join(SRC_DIR, 'build-interop/node_modules')
const STEPS = ['up', 'result', 'interaction', 'theme', 'reload']
const rows = new Map(APPS.map((app) => [app.name, {}]))

for (const app of APPS)
    test(`${app.name} ${app.needs && !app.isWhole ? 'does what it can without a network' : 'comes up, shows its result, reacts, follows the theme and survives a reload'}`, () =>
        exercise(app, MODULES, rows.get(app.name)))

test('at least ten apps do everything', () => {
    const cell = (row, step) => (row[step] ? 'yes' : '–')
    const lines = APPS.map((app) => {
        const row = rows.get(app.name)
        return `| ${app.name} | ${row.version} | ${STEPS.map((step) => cell(row, step)).join(' | ')} | ${app.needs ? `needs the network for ${app.needs}` : ''} |`
    })
    for (const line of ['| app | version | comes up | result | interaction | theme | reload | |', '|---|---|---|---|---|---|---|---|', ...lines]) console.log(`# ${line}`)
    assert.ok([...rows.values()].filter((row) => STEPS.every((step) => row[step])).length >= 10)
})
