// The events of src/bus/vocabulary.c are the ones in the documents and in the page's types, and
// their names are written in no other C file.
import fs from 'node:fs'
import path from 'node:path'

const root = path.resolve(import.meta.dirname, '../..')
const read = (name) => fs.readFileSync(path.join(root, name), 'utf8')
let count = 0

function check(name, faults) {
    count++
    console.log(`${faults.length === 0 ? 'ok' : 'not ok'} ${name}`)
    for (const fault of faults) console.log(`# ${fault}`)
}

const difference = (a, b) => [...a].filter((item) => !b.has(item))

// ---- the table ----

const source = read('src/bus/vocabulary.c').replaceAll('\\\n', ' ')
const macros = Object.fromEntries(
    [...source.matchAll(/^#define ([A-Z]+)\s+"([^"]*)"/gm)].map(([, name, text]) => [name, text]),
)
const types = [...read('src/bus/vocabulary.h').matchAll(/^ {4}(EV_[A-Z_]+)( = EV_\w+)?,/gm)].map(([, type]) => type)
const storedEnd = types.indexOf('EV_STORED_END')

function words(text) {
    const spelled = text.replace(/\b[A-Z]{3,}\b/g, (name) => (macros[name] ? `"${macros[name]}"` : name))
    return [...spelled.matchAll(/"([^"]*)"/g)].map(([, part]) => part).join('').split(/\s+/).filter(Boolean)
}

const events = []
for (const [, type, macro, body] of source.matchAll(/\[(EV_\w+)\]\s*=\s*(SAME|EVENT)\(([^)]*)\)/g)) {
    const [name, ...rest] = body.split(/,(.*)/s)
    const [shown, members] = macro === 'SAME' ? [name, rest[0]] : rest[0].split(/,(.*)/s)
    events.push({
        name: JSON.parse(name.trim()),
        shown: JSON.parse(shown.trim()),
        members: new Set(words(members)),
        isStored: types.indexOf(type) < storedEnd,
    })
}
const bare = (members) => new Set([...members].map((member) => member.replace('?', '')))

check('the table is read whole', events.length > 50 ? [] : [`only ${events.length} rows were found`])

// ---- docs/log-format.md: one row for each stored event, with exactly its members ----

const documented = new Map()
for (const [, name, text] of read('docs/log-format.md').matchAll(/^\| `([a-z.]+)` \| (.*) \|$/gm)) {
    const outside = text.replace(/\([^()]*\)/g, '') // values and explanations are in parentheses
    documented.set(name, new Set([...outside.matchAll(/`(\w+)[^`?]*(\?)?`/g)].map(([, word, mark]) => word + (mark ?? ''))))
}
const stored = events.filter((event) => event.isStored)
check(
    'docs/log-format.md has the members of every stored event',
    stored.flatMap(({ name, members }) => {
        const found = documented.get(name)
        if (!found) return [`${name}: no row`]
        const faults = [...difference(members, found).map((m) => `lacks ${m}`), ...difference(found, members).map((m) => `has ${m}`)]
        return faults.map((fault) => `${name}: the row ${fault}`)
    }),
)

// ---- docs/live.md: names every event that clients receive ----

const live = read('docs/live.md')
check(
    'docs/live.md names every event that clients receive',
    events.filter(({ shown }) => shown && !live.includes(`\`${shown}`)).map(({ shown }) => shown),
)

// ---- the page ----

const typeText = read('web/src/api/types.ts').replace(/\/\/.*|\/\*.*?\*\//g, '')
const interfaces = {}
for (const [, name, base, body] of typeText.matchAll(/^(?:export )?interface (\w+)(?: extends (\w+))? \{\n(.*?)^\}/gms))
    interfaces[name] = { base, body }

/** The members at the top of an object type, with those of the interfaces it is made of. */
function membersOf(text) {
    const found = new Set()
    for (const name of Object.keys(interfaces))
        if (new RegExp(`\\b${name}\\b(?!\\[)`).test(text.replace(/\{.*\}/s, ''))) {
            const { base, body } = interfaces[name]
            for (const member of membersOf(`{${body}}`)) found.add(member)
            if (base) for (const member of membersOf(base)) found.add(member)
        }
    let depth = 0
    for (const [token, word] of text.matchAll(/[{}<>]|\b(\w+)\??:/g))
        if (token === '{') depth++
        else if (token === '}') depth--
        else if (word && depth === 1) found.add(word)
    return found
}

// What src/api/frames.c adds to the stored form.
const ADDED = { 'user.message': ['displayName'], 'tool.done': ['output', 'parts', 'blob'] }
const page = new Map()
for (const [, name, text] of interfaces.ConversationEvents.body.matchAll(/^ {2}'?([\w.]+)'?: (.*?)(?=^ {2}'?[\w.]+'?: |$(?![\s\S]))/gms))
    page.set(name, membersOf(text))
check(
    'the types of the page have no event and no member that the server does not send',
    [...page].flatMap(([name, members]) => {
        const event = events.find(({ shown }) => shown === name)
        if (!event) return [`${name} is not sent`]
        const sent = new Set([...bare(event.members), ...(event.isStored ? ['ts'] : []), ...(ADDED[name] ?? [])])
        return difference(members, sent).filter((m) => m !== 'ts').map((m) => `${name} has no ${m}`)
    }),
)
check(
    'the page has a type for every stored event that clients receive',
    stored.filter(({ shown }) => shown && !page.has(shown)).map(({ shown }) => shown),
)

// ---- one place ----

const names = events.map(({ name }) => name).filter((name) => name.includes('.'))
const literal = new RegExp(`"(${names.map((name) => name.replaceAll('.', '\\.')).join('|')})"`, 'g')
const strays = fs
    .readdirSync(path.join(root, 'src'), { recursive: true })
    .filter((name) => /\.[ch]$/.test(name) && !name.endsWith('bus/vocabulary.c'))
    .flatMap((name) => [...read(`src/${name}`).matchAll(literal)].map(([text]) => `src/${name}: ${text}`))
check('names of events are written only in src/bus/vocabulary.c', strays)
console.log(`1..${count}`)
