// The words of the page (web/src/base/words.ts): every text that people read goes through t(), tn(), tParts() or msg(), and
// every language has all of them, with the same placeholders and all plural forms.
//
// A line that ends in "// not translated" has a text for programs that looks like one for people: the value of a header, a
// message to an app. LIST_WORDS=1 prints all texts, for translators.
import fs from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import path from 'node:path'
import { parse } from 'acorn'
import { transformSync } from 'esbuild'
import { assert, SRC_DIR, test } from '../support/tap.mjs'

const root = path.join(SRC_DIR, 'web/src')
const LANGUAGES = ['ar', 'de', 'es', 'fr', 'ja', 'zh']
const MARKERS = new Set(['t', 'tn', 'tParts', 'msg'])
const UNTRANSLATED = /^(nb|OK|JSON|CSV|PDF|MCP|API|URL|[^\p{L}]*|\{\w+\}|.*(https?:|@).*)$/u // the same in every language
const HIDDEN = /^.*\/\/ not translated$/m // the rest of a line
const GAP = '\0' // in the place of ${} in a template

// Files whose texts are not those of the page.
const FOREIGN = [
    /^reference\//, // the page of the API: its text is that of the API's document, which is in English only
    /^math\//, // names of LaTeX and MathML; where a formula has an error, it is shown as it was written
    /^diagram\/(?!figure\.ts$)/, // names of mermaid's language, and classes of shapes; a diagram with an error is shown as its source
    /^markdown\/highlight\.ts$/, // keywords of programming languages
    /^model\/model_names\.ts$/, // products
    /^gallery\//, // for people who work on the page; not part of the binary
]

const setOf = (names) => new Set(names.split(' '))
// What is given to these is read by a program.
const MEMBERS = setOf('class id type role name rel target for autocomplete key code kind event method href lang dir')
const VARIABLES = setOf('className font')
const CALLS = setOf(
    'addEventListener removeEventListener querySelector querySelectorAll closest matches getAttribute toggleAttribute ' +
        'startsWith endsWith includes split get has recall remember matchMedia execCommand createElementNS warn debug Set RpcError',
)

// ---- the sources ----

const isSource = (name) => /(?<!\.d)\.ts$/.test(name) && !name.startsWith('words/') && name !== 'api/schema.ts'
const files = fs.readdirSync(root, { recursive: true }).filter(isSource).sort()

/** Blanks in the place of types: what is left stays where it was. Members that constructors declare have no such form. */
function withoutTypes(source) {
    const plain = source.replace(/\b(?:public|private|protected|readonly)\b(?= +(?:readonly )?\w+\??[:!=])/g, (word) => ' '.repeat(word.length))
    return stripTypeScriptTypes(plain)
}

/** Calls visit(node, parents) for everything; the nearest parent is the last. */
function walk(node, visit, parents = []) {
    visit(node, parents)
    for (const [key, value] of Object.entries(node)) {
        const children = Array.isArray(value) ? value : [value]
        for (const child of children) if (typeof child?.type === 'string') walk(child, visit, [...parents, { node, key }])
    }
}

/** The text of a literal, or of several that are added; null: it is something else. */
function textOf(node) {
    if (node?.type === 'Literal' && typeof node.value === 'string') return node.value
    if (node?.type === 'TemplateLiteral') return node.quasis.map(({ value }) => value.cooked).join(GAP)
    if (node?.type !== 'BinaryExpression' || node.operator !== '+') return null
    const [left, right] = [textOf(node.left), textOf(node.right)]
    return left === null || right === null ? null : left + right
}

const isCall = ({ type }) => type === 'CallExpression' || type === 'NewExpression'
const nameOf = (node) => node.name ?? node.property?.name ?? node.value // `f`, `object.f`, 'f'
const isMarker = (node) => node.type === 'CallExpression' && MARKERS.has(node.callee.name)

// ---- what is wrong with a call of a marker ----

/** Modules are read before the language is known, and with them their static members. */
const isLater = ({ node }) => /Function/.test(node.type) || (node.type === 'PropertyDefinition' && !node.static)

const texts = new Map() // key → { key, isPlural, one?, file }
const faults = []

function note(file, call, parents) {
    const name = call.callee.name
    const isPlural = name === 'tn'
    const given = (isPlural ? call.arguments.slice(1, 3) : call.arguments.slice(0, 1)).map(textOf)
    const fault = (what) => faults.push(`${file}: ${name}(): ${what}`)
    if (name !== 'msg' && !parents.some(isLater)) fault('called while the module is read; use msg() here')
    if (given.some((text) => text?.includes(GAP))) return fault('a template; use {name} and values')
    if (given.includes(null)) return isPlural || name === 'msg' ? fault('not a literal') : undefined // t(row.label): msg() has it
    const text = { key: given.at(-1), isPlural, ...(isPlural && { one: given[0] }), file }
    const known = texts.get(text.key)
    if (known && (known.isPlural !== isPlural || known.one !== text.one)) fault(`“${text.key}” has other forms in ${known.file}`)
    texts.set(text.key, known ?? text)
}

// ---- texts outside of them ----

/** Two words, or one with a capital letter. */
const isProse = (text) => /\p{L}{2,}[,.:;!?…]? \(?\p{L}{2,}/u.test(text) || /^[\0 ]*\p{Lu}\p{Ll}+[.:…!?]?[\0 ]*$/u.test(text)

/** By where it stands. */
function isForPrograms(parents) {
    const { node: parent, key } = parents.at(-1)
    if (/^(Import|Export|SwitchCase|TaggedTemplate|MemberExpression)/.test(parent.type)) return true
    if (parent.type === 'Property' && key === 'key') return true
    if (parent.type === 'BinaryExpression' && /^([=!]==?|in)$/.test(parent.operator)) return true
    for (const { node } of parents.toReversed()) {
        if (node.type === 'Property') return MEMBERS.has(nameOf(node.key))
        if (node.type === 'VariableDeclarator') return VARIABLES.has(node.id.name)
        if (node.type === 'AssignmentExpression') return VARIABLES.has(nameOf(node.left))
        if (isCall(node)) return CALLS.has(nameOf(node.callee))
        if (/Function|Statement/.test(node.type)) return false
    }
    return false
}

/** It is a text of t() and the like, or a part of one. */
function isMarked({ start }, parents) {
    const call = parents.findLast(({ node }) => isCall(node))?.node
    const isIn = (given) => given.start <= start && start < given.end
    return call !== undefined && isMarker(call) && call.arguments.some((given) => textOf(given) !== null && isIn(given))
}

const loose = []

for (const file of files) {
    const source = fs.readFileSync(path.join(root, file), 'utf8')
    const isForeign = FOREIGN.some((pattern) => pattern.test(file))
    walk(parse(withoutTypes(source), { ecmaVersion: 'latest', sourceType: 'module' }), (node, parents) => {
        if (isMarker(node)) note(file, node, parents)
        const text = node.type === 'BinaryExpression' ? null : textOf(node)
        if (text === null || isForeign || !isProse(text) || isForPrograms(parents) || isMarked(node, parents)) return
        const isHidden = HIDDEN.test(source.slice(node.end, source.indexOf('\n', node.end)))
        if (!isHidden) loose.push(`${file}: ${text.replaceAll(GAP, '${}')}`)
    })
}

// Styles have no words: content: attr(data-…) shows what a script has put there.
const isStyle = (name) => name.endsWith('.css') && !FOREIGN.some((pattern) => pattern.test(name))
for (const file of fs.readdirSync(root, { recursive: true }).filter(isStyle)) {
    const contents = fs.readFileSync(path.join(root, file), 'utf8').match(/\bcontent:[^;]*/g) ?? []
    const strings = contents.flatMap((content) => content.match(/'[^']*'|"[^"]*"/g) ?? [])
    loose.push(...strings.filter((text) => /\p{L}{2}/u.test(text)).map((text) => `${file}: ${text}`))
}

if (process.env.LIST_WORDS) console.log(JSON.stringify([...texts.values()], null, 1))

test('texts can be found in the sources, and are not needed before the language is known', () => assert.deepEqual(faults, []))
test('nothing that people read is outside the tables', () => assert.deepEqual(loose, []))

// ---- the languages ----

async function tableOf(language) {
    const { code } = transformSync(fs.readFileSync(path.join(root, 'words', `${language}.ts`), 'utf8'), { loader: 'ts' })
    return (await import(`data:text/javascript,${encodeURIComponent(code)}`)).default
}

const placeholders = (text) => [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort().join()

/** A form for one or two may say so in words instead of {n}. */
function hasPlaceholders(form, { key, isPlural }) {
    return placeholders(form) === placeholders(key) || (isPlural && placeholders(`${form}{n}`) === placeholders(key))
}

function isRight(words, text, categories) {
    if (!text.isPlural) return typeof words === 'string' && hasPlaceholders(words, text)
    const hasAll = typeof words === 'object' && categories.every((category) => category in words)
    return hasAll && Object.values(words).every((form) => hasPlaceholders(form, text))
}

for (const language of LANGUAGES) {
    test(`${language} has every text, and no other`, async () => {
        const table = await tableOf(language)
        assert.deepEqual([...texts.keys()].filter((key) => !(key in table) && !UNTRANSLATED.test(key)), [])
        assert.deepEqual(Object.keys(table).filter((key) => !texts.has(key)), [])
    })
    test(`${language} has the placeholders and plural forms of each text`, async () => {
        const { pluralCategories } = new Intl.PluralRules(language).resolvedOptions()
        const known = Object.entries(await tableOf(language)).filter(([key]) => texts.has(key))
        assert.deepEqual(known.filter(([key, words]) => !isRight(words, texts.get(key), pluralCategories)), [])
    })
}
