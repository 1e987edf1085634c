// A class whose rules are in a style sheet that is loaded later (*.lazy.css) is used only where that sheet is loaded:
// elsewhere it would look right or wrong depending on what was opened before.
import fs from 'node:fs'
import path from 'node:path'
import { assert, SRC_DIR, test } from '../support/tap.mjs'

const root = path.join(SRC_DIR, 'web/src')
const all = fs.readdirSync(root, { recursive: true })
const read = (name) => fs.readFileSync(path.join(root, name), 'utf8')

/** With the sheets that it imports. */
function sheet(name) {
    const text = read(name).replace(/\/\*[^]*?\*\//g, '')
    return text.replace(/@import\s+'([^']+)'[^;]*;/g, (_, other) => sheet(path.join(path.dirname(name), other)))
}

/** Without those that only qualify another one: is-... */
const classesOf = (css) => new Set([...css.replace(/\{[^{}]*\}/g, ' {} ').matchAll(/\.((?!is-)[a-z][\w-]*)/g)].map(([, name]) => name))

/** Words in the values of `class:` and in literals given to classList. */
function used(source) {
    const values = [...source.matchAll(/\bclass: ([^,}\n]*)|classList\.\w+\(([^\n]*)/g)].map(([, a, b]) => a ?? b)
    const literals = values.flatMap((value) => [...value.matchAll(/['"`]([^'"`]*)['"`]/g)].map(([, text]) => text))
    return new Set(literals.flatMap((text) => text.split(/[^\w-]+/)))
}

const sources = all.filter((name) => name.endsWith('.ts') && !/^(words|reference|shared)\//.test(name))
const lazy = all.filter((name) => name.endsWith('.lazy.css')).sort()
const rules = new Map(lazy.map((name) => [name, classesOf(sheet(name))]))
const first = classesOf(sheet('styles/index.css'))

/** Modules beside and below the one that loads the sheet, and those that load such a module and make a place for it. */
function loads(name) {
    const loaders = sources.filter((one) => read(one).includes(`${path.basename(name)}'`)).map((one) => path.dirname(one))
    const places = sources.filter((one) => loaders.some((dir) => read(one).includes(`import('../${dir}/`)))
    return new Set([...sources.filter((one) => loaders.some((dir) => one.startsWith(`${dir}/`))), ...places])
}

const loadedWith = new Map(lazy.map((name) => [name, loads(name)]))
const isLoaded = (one, source) => first.has(one) || lazy.some((name) => rules.get(name).has(one) && loadedWith.get(name).has(source))

for (const name of lazy) {
    test(`classes of ${name} are used where it is loaded`, () => {
        assert.ok(rules.get(name).size > 0 && loadedWith.get(name).size > 0, 'rules, and a module that loads them')
        const wrong = sources.flatMap((source) => {
            const names = used(read(source))
            return [...rules.get(name)].filter((one) => names.has(one) && !isLoaded(one, source)).map((one) => `${source}: ${one}`)
        })
        assert.deepEqual(wrong, [])
    })
}
