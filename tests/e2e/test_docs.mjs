// Commands in the documents do what they say. Every block of shell commands is one of these:
//   ```sh run           executed; those of one document run one after the other in one directory, with a
//                       home of their own, nb in PATH and examples/ beside them
//   ```sh run server    the same, while a server of that home runs; the default port stands for its port.
//                       A line `nb serve` starts it too, for what follows
//   ```sh by TESTS...   needs another machine, the network or a person: these tests run its nb commands,
//                       with the same options and routes
import fs from 'node:fs'
import path from 'node:path'
import { assert, bareFetch, NB, run, SRC_DIR, startServer, test, tmpdir } from '../support/tap.mjs'

const read = (name) => fs.readFileSync(path.join(SRC_DIR, name), 'utf8')
const files = ['README.md', 'examples/README.md', ...fs.readdirSync(path.join(SRC_DIR, 'docs')).filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`)]
const blocks = Object.fromEntries(files.map((name) => [name, blocksOf(name)]))
const names = files.filter((name) => runOf(name).length > 0)

function blocksOf(name) {
    const text = read(name)
    return [...text.matchAll(/^```sh\b *(.*)\n((?:.*\n)*?)^```$/gm)].map((found) => {
        const [word, ...rest] = found[1].split(' ')
        return { at: `${name}:${text.slice(0, found.index).split('\n').length}`, word, rest, script: found[2] }
    })
}

function runOf(name) {
    return blocks[name].filter(({ word }) => word === 'run')
}

/** What a block does before and after its line `nb serve`, if it has one. */
function stepsOf({ script, rest, at }) {
    const [before, ...after] = script.split(/^nb serve *(?:#.*)?\n/m)
    assert.ok(after.length < 2, `${at}: one server is enough`)
    if (rest[0] === 'server') return [{ at, script, needsServer: true }]
    return [{ at, script: before, needsServer: false }, ...after.map((text) => ({ at, script: text, needsServer: true }))]
}

async function runAll(steps) {
    const home = tmpdir()
    const bin = tmpdir()
    fs.symlinkSync(NB, path.join(bin, 'nb'))
    fs.mkdirSync(`${home}/work`)
    fs.symlinkSync(path.join(SRC_DIR, 'examples'), `${home}/work/examples`)
    const workdir = `${home}/.nimblebrain`
    const env = { HOME: home, PATH: `${bin}:${path.dirname(process.execPath)}:${process.env.PATH}`, NB_SOURCE: SRC_DIR, NB_DEMO_DELAY_MS: '0' }
    let server
    for (const { at, needsServer, script } of steps) {
        if (needsServer && !server) server = await startServer({ workdir, env })
        if (!needsServer && server) {
            await server.stop()
            server = null
        }
        if (script.trim() === '') continue // it only starts the server
        const text = server ? script.replaceAll('27247', String(server.port)) : script
        const { code, stdout, stderr } = await run('bash', ['--norc', '-eu', '-o', 'pipefail', '-c', text], { cwd: `${home}/work`, env })
        assert.equal(code, 0, `${at}: ${stderr}\n${stdout}`)
    }
}

for (const name of names) test(`the commands of ${name} work`, () => runAll(runOf(name).flatMap(stepsOf)))

test('every block of commands is run here, or names the tests that do', () => {
    const all = Object.values(blocks).flat()
    assert.ok(all.length > 40, `${all.length}`)
    assert.deepEqual(all.filter(({ word }) => word !== 'run' && word !== 'by').map(({ at }) => at), [])
})

/** Where a command may begin: a line, a pipe, a list, $(...), after variables that are set for it. */
const COMMAND = /(?:^|[|(]|&&)\s*(?:.* env )?(?:[A-Z_]+=\S+ )*(?:build\/)?nb ([^|&;)]+)/g

/** The words, options and routes that say what a block does: `nb bundle add ./x --name y` has bundle, add, --name. */
function marksOf(script) {
    const lines = script.replaceAll(/\\\n */g, ' ').split('\n').map((line) => line.replace(/(^|\s)#.*/, ''))
    return lines.flatMap((line) => [
        ...[...line.matchAll(COMMAND)].flatMap(([, rest]) => wordsOf(rest.split(' -- ')[0])),
        ...[...line.matchAll(/\/v1\/[a-z]+(?:\/[a-z]+(?![a-z_]))*/g)].map(([route]) => route),
    ])
}

/** Verbs of a command, up to its first argument, and all of its options. */
function wordsOf(text) {
    const words = text.trim().split(/ +/)
    const plain = words.filter((word) => !word.startsWith('-'))
    const argument = plain.find((word) => !/^[a-z]+$/.test(word))
    const verbs = plain.slice(0, argument ? plain.indexOf(argument) : plain.length)
    return words.filter((word) => /^--[a-z-]+$/.test(word) || verbs.includes(word))
}

/** As a word of its own, the way tests write commands: in quotes or between spaces. */
function has(text, mark) {
    if (mark.startsWith('/')) return text.includes(mark)
    return new RegExp(`['"\`\\s]${mark}['"\`\\s=]`).test(text)
}

for (const { at, rest, script } of Object.values(blocks).flat().filter(({ word }) => word === 'by'))
    test(`the commands of ${at.split(':')[0]} that cannot be run here are those of ${rest.join(', ')}: ${script.split('\n')[0].slice(0, 40).trim()}`, () => {
        const sources = rest.map((name) => {
            const [suite, test] = name.split('/')
            const file = ['mjs', 'sh'].map((end) => path.join(SRC_DIR, 'tests', suite, `test_${test}.${end}`)).find(fs.existsSync)
            assert.ok(file, `${at}: no test ${name}`)
            return fs.readFileSync(file, 'utf8')
        })
        const missing = marksOf(script).filter((mark) => !sources.some((text) => has(text, mark)))
        assert.deepEqual(missing, [], at)
    })

test('every target of make and script that a document names exists', () => {
    const makefile = read('Makefile')
    const targets = new Set([...makefile.matchAll(/^([a-z][a-z -]*):/gm)].flatMap(([, list]) => list.split(' ')))
    for (const { at, script } of Object.values(blocks).flat()) {
        for (const [, target] of script.matchAll(/^(?:make|\.\/dev) ([a-z-]+)/gm)) assert.ok(targets.has(target), `${at}: make ${target}`)
        for (const [, file] of script.matchAll(/(?:^|\s)(scripts\/[\w.-]+)/gm)) assert.ok(fs.existsSync(path.join(SRC_DIR, file)), `${at}: ${file}`)
    }
})

test('the server has the manual at /docs, for anybody, with nothing from other hosts and no way to act', async () => {
    const workdir = tmpdir()
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), '{"noDefaultBundles": true, "http": {"basePath": "/nb"}}')
    const server = await startServer({ workdir })
    const get = (target) => bareFetch(server.url + target, { redirect: 'manual' })
    const moved = await get('/docs')
    assert.deepEqual([moved.status, moved.headers.get('location')], [308, '/nb/docs/'])
    const index = await get('/nb/docs/')
    const csp = index.headers.get('content-security-policy')
    assert.match(csp, /^default-src 'none'; script-src 'self'/)
    assert.doesNotMatch(csp, /unsafe|http|connect-src/)
    const seen = new Set(['index.html'])
    const pages = [await index.text()]
    while (pages.length > 0) {
        const html = pages.pop()
        assert.doesNotMatch(html, /<(script|link|img|iframe)[^>]*(src|href)="(https?:)?\/\//)
        assert.doesNotMatch(html, /<script(?![^>]*src=)|style="|onclick/)
        for (const [, name] of html.matchAll(/(?:href|src)="([^"#:]+)(?:#[^"]*)?"/g)) {
            if (seen.has(name)) continue
            seen.add(name)
            const r = await get(`/docs/${name}`)
            assert.equal(r.status, 200, name)
            const text = await r.text()
            if (name.endsWith('.html')) pages.push(text)
        }
    }
    assert.ok(seen.size > 30, `${seen.size}`)
    assert.equal((await get('/docs/nothing.html')).status, 404)
    assert.equal((await get('/docs/../v1/users')).status, 401)
})
