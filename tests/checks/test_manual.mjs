// Manual pages, completions and the schema of settings: written from the tables, accepted by the
// programs that read them, and complete. Programs that are not installed are not asked (./dev lint
// installs them).
import fs from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { assert, before, NB_RELEASE, run, skip, SRC_DIR, test, tmpdir } from '../support/tap.mjs'

const require = createRequire(import.meta.url)
const read = (name) => fs.readFileSync(path.join(SRC_DIR, name), 'utf8')
const has = (program) => process.env.PATH.split(':').some((dir) => fs.existsSync(path.join(dir, program)))

async function nb(...args) {
    const { code, stdout, stderr } = await run(NB_RELEASE, args)
    assert.equal(code, 0, `nb ${args.join(' ')}: ${stderr}`)
    return stdout
}

/** The names in a list of a help page: "  name   text". */
function listed(help, title) {
    const block = help.split(`\n${title}:\n`)[1]?.split('\n\n')[0] ?? ''
    return [...block.matchAll(/^ {2}([a-z][\w-]*) {2}/gm)].map(([, name]) => name)
}
const optionsIn = (text) => new Set([...text.matchAll(/^ {2}(?:-\w, | {4})(--[a-z-]+)/gm)].map(([, name]) => name))

let dir, commands, help
before(async () => {
    dir = tmpdir()
    await nb('man', '--dir', dir)
    commands = listed(await nb('--help'), 'Commands')
    help = new Map()
    for (const name of commands) {
        help.set(name, await nb('help', name))
        for (const sub of listed(help.get(name), 'Commands')) help.set(`${name} ${sub}`, await nb('help', name, sub))
    }
})

const page = (name, section = 1) => fs.readFileSync(`${dir}/man${section}/${name}.${section}`, 'utf8')

test('each command has a page with all its options and subcommands', () => {
    assert.ok(commands.length > 20)
    const main = page('nb')
    for (const [name, text] of help) {
        const [top, sub] = name.split(' ')
        const own = page(`nb-${top}`)
        assert.ok(main.includes(`nb\\-${top}(1)`), `nb(1) does not name ${top}`)
        if (sub) assert.ok(own.includes(`.SS "nb ${name.replaceAll('-', '\\-')}"`), `nb-${top}(1) does not have ${sub}`)
        for (const option of optionsIn(text)) assert.ok(own.includes(option.replaceAll('-', '\\-')), `nb-${top}(1): ${option} of ${name}`)
    }
    const pages = fs.readdirSync(`${dir}/man1`).filter((name) => name !== 'nb.1')
    assert.deepEqual(pages.sort(), commands.map((name) => `nb-${name}.1`).sort())
})

test('one page can be printed, by its name or that of the command', async () => {
    assert.equal(await nb('man', 'bundle'), page('nb-bundle'))
    assert.equal(await nb('man', 'nb-log'), page('nb-log', 5))
    assert.equal((await run(NB_RELEASE, ['man', 'nothing'])).code, 1)
})

test('the page of the settings has the keys of docs/configuration.md', () => {
    const text = page('nimblebrain.json', 5)
    const keys = [...read('docs/configuration.md').matchAll(/^\| `([a-zA-Z.]+)` \|(?:[^|]*\|){4}$/gm)].map(([, key]) => key)
    assert.ok(keys.length > 60)
    assert.deepEqual(keys.filter((key) => !text.includes(`\\fB${key}\\fR (`)), [])
})

test('the page of the log has the events of docs/log-format.md', () => {
    const text = page('nb-log', 5)
    const names = [...read('docs/log-format.md').matchAll(/^\| `([a-z]+\.[a-z]+)` \|/gm)].map(([, name]) => name)
    assert.ok(names.length > 10)
    assert.deepEqual(names.filter((name) => !text.includes(`\\fB${name}\\fR`)), [])
})

test('mandoc finds no fault in a page', async () => {
    if (!has('mandoc')) skip('mandoc is not installed')
    for (const section of [1, 5])
        for (const name of fs.readdirSync(`${dir}/man${section}`)) {
            const { stdout } = await run('mandoc', ['-T', 'lint', '-W', 'warning', `${dir}/man${section}/${name}`])
            assert.equal(stdout, '')
        }
})

test('groff finds no fault in the largest pages', async () => {
    if (!has('groff')) skip('groff is not installed')
    for (const section of [1, 5])
        for (const name of fs.readdirSync(`${dir}/man${section}`).filter((name) => /^(nb|nb-bundle|nb-log|nimblebrain.json)\.\d$/.test(name))) {
            const { stderr } = await run('groff', ['-man', '-ww', '-z', '-Tutf8', `${dir}/man${section}/${name}`])
            assert.equal(stderr, '', name)
        }
})

// ---- completions ----

/** What bash proposes for the last of the words. */
async function inBash(...words) {
    const script = `source nb.bash
COMP_WORDS=(nb "$@"); COMP_CWORD=$#
_nb
printf '%s\\n' "\${COMPREPLY[@]}"`
    fs.writeFileSync(`${dir}/nb.bash`, await nb('completions', 'bash'))
    const { code, stdout, stderr } = await run('bash', ['-c', script, 'bash', ...words], { cwd: dir })
    assert.equal(code, 0, stderr)
    assert.equal(stderr, '')
    return stdout.split('\n').filter(Boolean).sort()
}

test('bash completes commands, options and their values', async () => {
    assert.deepEqual(await inBash(''), [...commands, 'help'].sort())
    assert.deepEqual(await inBash('bundle', 'ad'), ['add'])
    assert.deepEqual(await inBash('--workdir', 'x', 'bundle', 'ad'), ['add'])
    assert.deepEqual(await inBash('conv', 'exp'), ['export'])
    assert.deepEqual(await inBash('bundle', 'add', '--auth', ''), ['bearer', 'none', 'oauth'])
    assert.deepEqual(await inBash('bundle', 'add', '--auth', '=', 'b'), ['bearer'])
    assert.deepEqual(await inBash('--workdir', 'man'), ['man1', 'man5'].filter((name) => fs.existsSync(`${dir}/${name}`)))
    assert.deepEqual(await inBash('status', 'x'), [])
    fs.writeFileSync(`${dir}/a file.tar`, '')
    assert.deepEqual(await inBash('restore', 'a'), ['a file.tar'])
})

test('bash completes every option of every command', async () => {
    for (const name of ['serve', 'bundle add', 'token create', 'init']) {
        const found = await inBash(...name.split(' '), '--')
        for (const option of optionsIn(help.get(name))) assert.ok(found.includes(option), `${name}: ${option}`)
        assert.equal(new Set(found).size, found.length, name)
    }
})

test('fish completes commands, options and their values', async () => {
    if (!has('fish')) skip('fish is not installed')
    fs.writeFileSync(`${dir}/nb.fish`, await nb('completions', 'fish'))
    const lines = ['nb bundle ad', 'nb conv exp', 'nb bundle add --auth ', 'nb -c x.json bundle ad', 'nb serve --po']
    const script = `source nb.fish; ${lines.map((line) => `complete -C '${line}'; echo ---`).join('; ')}`
    const { stdout, stderr } = await run('fish', ['--no-config', '-c', script], { cwd: dir, env: { HOME: dir } })
    assert.equal(stderr, '')
    const words = stdout.split('---\n').map((part) => part.split('\n').filter(Boolean).map((line) => line.split('\t')[0]).sort())
    assert.deepEqual(words.slice(0, 5), [['add'], ['export'], ['bearer', 'none', 'oauth'], ['add'], ['--port']])
})

test('zsh completes commands and options', async () => {
    if (!has('zsh')) skip('zsh is not installed')
    fs.writeFileSync(`${dir}/_nb`, await nb('completions', 'zsh'))
    // A shell in a pseudo-terminal completes a line; its accept-line prints what the line became.
    const script = `zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z "PS1= PS2=; autoload -U compinit; compinit -u -D; fpath=($1 \\$fpath); compdef -d nb; source $1/_nb; unset zle_bracketed_paste"
zpty -w z "show() { print -r -- '<<'\\$BUFFER'>>'; BUFFER=; zle .accept-line }; zle -N accept-line show; print -r READ''Y"
zpty -r -m z line '*READY*'
for text in 'nb conver' 'nb bundle valid' 'nb -c x bundle valid' 'nb serve --po'; do
    zpty -n -w z "$text"$'\\t\\n'
    zpty -r -m z line '*<<*>>*'
    print -r -- \${\${line##*<<}%%>>*}
done
print -r -- $line
zpty -d z`
    const { stdout, stderr, code } = await run('zsh', ['-f', '-c', script, 'zsh', dir], { env: { HOME: dir, TERM: 'dumb' } })
    assert.equal(code, 0, stderr)
    const lines = stdout.split('\n').map((line) => line.trim())
    assert.deepEqual(lines.slice(0, 3), ['nb conversations', 'nb bundle validate', 'nb -c x bundle validate'])
    assert.match(stdout, /--port +-- listen on this port/) // options are listed, with what they do
})

// ---- the schema ----

let validate
before(async () => {
    const Ajv = require(path.join(SRC_DIR, 'node_modules/ajv/dist/2020.js')).default
    validate = new Ajv({ strict: true, allowUnionTypes: true }).compile(JSON.parse(await nb('schema')))
})

test('the schema accepts the settings in the documents', () => {
    const found = []
    for (const name of ['README.md', ...fs.readdirSync(path.join(SRC_DIR, 'docs')).filter((file) => file.endsWith('.md')).map((file) => `docs/${file}`)])
        for (const [, text] of read(name).matchAll(/^```json\n(.*?)^```/gms)) {
            let value
            try {
                value = JSON.parse(text)
            } catch {
                continue // an outline, or with comments
            }
            if (!['providers', 'bundles', 'permissions', 'http', 'agents', 'store'].some((key) => key in value)) continue
            found.push(name)
            assert.ok(validate(value), `${name}: ${JSON.stringify(validate.errors)}`)
        }
    assert.ok(found.length >= 3, String(found))
})

test('the schema refuses what nb refuses or warns about', () => {
    for (const value of [
        { http: { port: 70000 } },
        { http: { prot: 80 } },
        { htpp: {} },
        { store: { type: 'mysql' } },
        { permissions: { alow: [] } },
        { permissions: { default: 'deny' } },
        { version: '2' },
        { maxIterations: '10' },
        { bundles: [{ command: 7 }] },
        { agents: { a: { description: 'x' } } },
    ])
        assert.ok(!validate(value), JSON.stringify(value))
})

test('nb accepts $schema in the settings without a warning', async () => {
    const workdir = tmpdir()
    fs.writeFileSync(`${workdir}/nimblebrain.json`, JSON.stringify({ $schema: './schema.json' }))
    const { code, stderr } = await run(NB_RELEASE, ['--workdir', workdir, 'user', 'list'])
    assert.equal(code, 0)
    assert.ok(!stderr.includes('warning'), stderr)
})
