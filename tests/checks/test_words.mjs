// The words of the page: every text that people read goes through t(), tn(), tParts() or msg(), and every language has all
// of them, with the same placeholders and all plural forms.
import fs from 'node:fs'
import path from 'node:path'
import { parse } from 'acorn'
import { transformSync } from 'esbuild'
import { assert, SRC_DIR, test } from '../support/tap.mjs'

const root = path.join(SRC_DIR, 'web/src')
const LANGUAGES = ['ar', 'de', 'es', 'fr', 'ja', 'zh']
const SAME = /^(nb|OK|JSON|CSV|PDF|MCP|API|URL|[^\p{L}]*|\{\w+\}|.*(https?:|@).*)$/u // needs no translation
const MARKERS = new Set(['t', 'msg', 'tParts', 'tn'])
// Members and arguments that a program reads, not a person.
const TECHNICAL_MEMBERS = new Set(['class', 'id', 'type', 'role', 'name', 'rel', 'target', 'for', 'autocomplete', 'key', 'code', 'kind', 'event', 'method', 'href', 'lang', 'dir'])
const TECHNICAL_CALLS = new Set(['addEventListener', 'removeEventListener', 'querySelector', 'querySelectorAll', 'closest', 'matches', 'getAttribute', 'setAttribute', 'startsWith', 'endsWith', 'includes', 'split', 'Error', 'TypeError', 'RangeError', 'DOMException', 'warn', 'debug', 'matchMedia', 'createElementNS', 'recall', 'remember', 'Set', 'toggleAttribute', 'get', 'has', 'execCommand'])

const files = fs.readdirSync(root, { recursive: true }).filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts') && !name.startsWith('words/') && name !== 'api/schema.ts')

const treeOf = (file) => {
    const source = fs.readFileSync(path.join(root, file), 'utf8')
    const { code } = transformSync(source, { loader: 'ts', target: 'es2022', charset: 'utf8' })
    return { source, tree: parse(code, { ecmaVersion: 2023, sourceType: 'module' }) }
}

const calleeName = ({ callee }) => callee?.name ?? callee?.property?.name

function walk(node, visit, parents = []) {
    if (!node || typeof node.type !== 'string') return
    if (visit(node, parents) === false) return
    for (const [key, value] of Object.entries(node)) {
        if (key === 'type') continue
        for (const child of Array.isArray(value) ? value : [value]) if (child && typeof child === 'object') walk(child, visit, [...parents, { node, key }])
    }
}

/** The text of a literal, with `${}` as a gap; null for anything else. */
function textOf(node) {
    if (node?.type === 'Literal' && typeof node.value === 'string') return node.value
    if (node?.type === 'TemplateLiteral') return node.quasis.map(({ value }) => value.cooked).join('\u0000')
    return null
}

const placeholders = (text) => [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort()

const keys = new Map() // key → { isPlural, file }
const loose = [] // texts outside
const dynamic = [] // calls with something else than a literal

function collect(file, node) {
    const name = calleeName(node)
    if (name === 'tn') {
        const [, one, other] = node.arguments.map(textOf)
        if (one === null || other === null || other?.includes('\u0000')) return dynamic.push(`${file}: tn() without literals`)
        keys.set(other, { isPlural: true, file })
    } else {
        const [first] = node.arguments
        const text = textOf(first)
        if (text?.includes('\u0000')) dynamic.push(`${file}: a template in ${name}(): use {name} and values`)
        else if (text !== null) keys.set(text, { isPlural: false, file })
        else if (name === 'msg') dynamic.push(`${file}: msg() without a literal`)
    }
}

/** Two words, or one with a capital letter: a person reads that. */
const isProse = (text) => /\p{L}{2,}[,.:;!?…]? \(?\p{L}{2,}/u.test(text) || /^[\u0000 ]*\p{Lu}\p{Ll}+[.:…!?]?[\u0000 ]*$/u.test(text)

function isTechnical(text, parents) {
    const at = parents.at(-1)
    if (/^(Import|Export)/.test(at.node.type) || at.node.type === 'SwitchCase' || at.node.type === 'TaggedTemplateExpression') return true
    if (at.node.type === 'BinaryExpression' && /^[=!]==?$/.test(at.node.operator)) return true
    if (at.node.type === 'MemberExpression' || (at.node.type === 'Property' && at.key === 'key')) return true
    for (const { node } of [...parents].reverse()) {
        if (node.type === 'Property') return TECHNICAL_MEMBERS.has(node.key.name ?? node.key.value)
        if (node.type === 'CallExpression' || node.type === 'NewExpression') return TECHNICAL_CALLS.has(calleeName(node)) || (calleeName(node) === 'h' && node.arguments[0] && textOf(node.arguments[0]) === text)
        if (/Function|Statement|Declaration/.test(node.type)) return false
    }
    return false
}

for (const file of files) {
    const { source, tree } = treeOf(file)
    // A line that ends in "// not shown" has texts for programs: keys of the keyboard, names of headers.
    const hidden = source.split('\n').filter((line) => /\/\/ not shown$/.test(line)).join('\n')
    walk(tree, (node, parents) => {
        if (node.type === 'CallExpression' && MARKERS.has(node.callee.name)) return void collect(file, node)
        const text = textOf(node)
        if (text === null || parents.length === 0) return
        if (parents.some(({ node: above, key }) => above.type === 'CallExpression' && MARKERS.has(above.callee.name) && key === 'arguments') && node.type === 'Literal') {
            const call = parents.findLast(({ node: above }) => above.type === 'CallExpression')
            if (MARKERS.has(call.node.callee.name)) return
        }
        if (!isProse(text) || isTechnical(text, parents)) return
        if (hidden.includes(text.split('\u0000')[0] || text)) return
        loose.push(`${file}: ${text.replaceAll('\u0000', '${}')}`)
    })
}

const tables = Object.fromEntries(await Promise.all(LANGUAGES.map(async (code) => {
    const { code: js } = transformSync(fs.readFileSync(path.join(root, 'words', `${code}.ts`), 'utf8'), { loader: 'ts' })
    return [code, (await import(`data:text/javascript,${encodeURIComponent(js)}`)).default]
})))

if (process.env.LIST_WORDS) console.log(JSON.stringify([...keys].map(([key, { isPlural, file }]) => ({ key, isPlural, file })), null, 1))

test('texts are literals, so that they can be found', () => assert.deepEqual(dynamic, []))
test('nothing that people read is outside the tables', () => assert.deepEqual(loose, []))
for (const code of LANGUAGES) {
    const table = tables[code]
    test(`${code} has every text, and no other`, () => {
        assert.deepEqual([...keys.keys()].filter((key) => !(key in table) && !SAME.test(key)), [])
        assert.deepEqual(Object.keys(table).filter((key) => !keys.has(key)), [])
    })
    test(`${code} has the placeholders and plural forms of each text`, () => {
        const categories = new Intl.PluralRules(code).resolvedOptions().pluralCategories
        const wrong = Object.entries(table).filter(([key, value]) => {
            const forms = typeof value === 'string' ? { other: value } : value
            if ((typeof value === 'object') !== Boolean(keys.get(key)?.isPlural)) return true
            if (typeof value === 'object' && !categories.every((category) => category in value)) return true
            const wanted = placeholders(key)
            const isSame = (text) => JSON.stringify(placeholders(text)) === JSON.stringify(wanted)
            const isWithoutNumber = (text) => JSON.stringify([...placeholders(text), 'n'].sort()) === JSON.stringify(wanted)
            return !Object.values(forms).every((text) => isSame(text) || (typeof value === 'object' && isWithoutNumber(text)))
        })
        assert.deepEqual(wrong, [])
    })
}
