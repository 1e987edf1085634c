// run-bench.mjs - runs benchmarks: build/bench/bench_* and bench/bench_*.mjs.
//
//   WORD...         only those with one of these words in their name; `floors`: those with a floor (bench/frame/floors.mjs)
//   --base REF      the same with the nb of that commit, in turns: nb, base, nb, base ... (builds it in build-bench-base/)
//   --rounds N      how often each is run (default: 1, with --base 5, with `floors` 3)
//   --quick         smaller sizes, for those that have them (index, store)
//   --json          figures as lines of JSON, {chart, x, series, y, unit, low, high, n}, instead of a table
//   --docs          keep the figures in docs/performance.jsonl, and draw the charts and tables of docs/performance.md again
//
// One round prints what the benchmarks print. Several rounds print medians and the extremes, never the best. CPU is
// that of all threads of the server.
import { spawn, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { baseOf } from '../bench/frame/base.mjs'
import { FLOORS } from '../bench/frame/floors.mjs'
import { median } from '../bench/frame/figures.mjs'
import { merge, rowsOf, textTable, unmeasured } from '../bench/frame/table.mjs'

const root = path.resolve(import.meta.dirname, '..')
const IN_PROCESS = ['http', 'index', 'json', 'store'] // benchmarks that contain nb's code
const ONCE = ['memory'] // many minutes long: once is enough, unless --rounds says how often
const DRAWN = ['mcp', 'peers'] // without floors, but on the page that --docs draws
const TIMEOUT_MS = 3600_000 // one run of one benchmark; only one that hangs reaches it
const QUIET = 0.1 // share of the processors that others may use before the figures are called disturbed
const SAMPLE_MS = 500

const { values: options, positionals: words } = parseArgs({
    allowPositionals: true,
    options: { base: { type: 'string' }, rounds: { type: 'string' }, json: { type: 'boolean' }, quick: { type: 'boolean' }, docs: { type: 'boolean' } },
})

function fail(message) {
    console.error(`bench: ${message}`)
    process.exit(1)
}

const wantsFloors = words.includes('floors')
const rounds = Number(options.rounds ?? (options.base ? 5 : wantsFloors ? 3 : 1))
if (!Number.isInteger(rounds) || rounds < 1) fail('--rounds takes a number above 0')
const isPlain = rounds === 1 && !options.base && !options.json && !options.docs

// ---- which ones ----

function isChosen(name) {
    if (words.length === 0) return true
    const isPromised = FLOORS.some(({ program }) => program === name) || (options.docs && DRAWN.includes(name))
    return words.some((word) => (word === 'floors' ? isPromised : name.includes(word)))
}

/** What a chosen benchmark measures with, or against, must be there. */
function checkTools(names) {
    const has = (command, args) => spawnSync(command, args, { stdio: 'ignore' }).status === 0
    const needs = [
        ['wrk', ['people', 'server'], () => has('sh', ['-c', 'command -v wrk'])],
        ['strace', ['idle'], () => has('sh', ['-c', 'command -v strace'])],
        ['jansson', ['json'], () => has('pkg-config', ['--exists', 'jansson'])],
        ['libcjson', ['json'], () => has('pkg-config', ['--exists', 'libcjson'])],
    ]
    const absent = needs.filter(([, users, isThere]) => users.some((name) => names.includes(name)) && !isThere()).map(([tool]) => tool)
    if (absent.length > 0) fail(`missing: ${absent.join(' ')}; run: ./dev bench`)
}

function programs() {
    const names = fs.readdirSync(path.join(root, 'bench')).map((file) => /^bench_(\w+)\.(?:c|mjs)$/.exec(file)?.[1])
    return names.filter((name) => name && isChosen(name)).sort()
}

// ---- one run ----

const isScript = (name) => fs.existsSync(path.join(root, `bench/bench_${name}.mjs`))

/** The share of the processors that others use right now: nothing of ours runs. */
async function foreignShare() {
    const read = () => fs.readFileSync('/proc/stat', 'utf8').split('\n')[0].trim().split(/\s+/).slice(1).map(Number)
    const before = read()
    await new Promise((resolve) => setTimeout(resolve, SAMPLE_MS))
    const spent = read().map((value, i) => value - before[i])
    const all = spent.slice(0, 8).reduce((a, b) => a + b, 0)
    return all > 0 ? 1 - (spent[3] + spent[4]) / all : 0
}

const build = path.join(root, 'build')
const work = path.join(process.env.TMPDIR ?? build, `bench-work-${process.pid}`)
process.on('exit', () => fs.rmSync(work, { recursive: true, force: true }))

/** Work directories are on the disk of the source tree: /tmp may be memory, which syncs in no time. They are removed after the
 *  last run: for a minute ext4 avoids inodes of deleted files, one by one, so that thousands of them would slow down the next run. */
function environment(nb, figures) {
    fs.mkdirSync(work, { recursive: true })
    return { ...process.env, TMPDIR: work, BENCH_KEEPS_FILES: '1', SRC_DIR: root, BUILD_DIR: build, NB: nb, NB_RELEASE: nb, ...(figures && { BENCH_FIGURES: figures }) }
}

let running // what is measured now, which must not outlive us
for (const signal of ['SIGINT', 'SIGTERM'])
    process.on(signal, () => {
        running?.kill('SIGTERM')
        process.exit(1)
    })

/** Runs a program to its end; resolves with false if it failed. */
function execute(program, args, env) {
    return new Promise((resolve) => {
        const child = spawn(program, args, { cwd: root, env, stdio: isPlain ? 'inherit' : ['ignore', 'pipe', 'pipe'] })
        let text = ''
        for (const stream of [child.stdout, child.stderr]) stream?.on('data', (data) => (text = (text + data).slice(-20_000)))
        const timer = setTimeout(() => child.kill('SIGKILL'), TIMEOUT_MS)
        running = child
        child.on('error', (error) => (text += error.message))
        child.on('close', (code) => {
            clearTimeout(timer)
            if (code !== 0 && !isPlain) console.error(text)
            resolve(code === 0)
        })
    })
}

async function measure(name, { series, nb, program }, dir) {
    const file = path.join(dir, 'figures')
    fs.rmSync(file, { force: true })
    const own = isScript(name) ? [process.execPath, `bench/bench_${name}.mjs`] : [program(name)]
    const isOk = await execute(own[0], [...own.slice(1), ...(options.quick ? ['--quick'] : [])], environment(nb, isPlain ? '' : file))
    const text = fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : ''
    const figures = text.split('\n').filter(Boolean).map((line) => JSON.parse(line))
    return { isOk, figures: figures.map((figure) => (figure.series === 'nb' ? { ...figure, series } : figure)) }
}

// ---- all of them ----

function baseOrFail(ref) {
    try {
        return baseOf(ref)
    } catch (error) {
        return fail(error.message)
    }
}

/** The binaries that are measured: nb of this tree, and with --base the one of that commit. */
function variants() {
    const ours = { series: 'nb', nb: path.join(root, 'build/nb'), program: (name) => path.join(root, 'build/bench', `bench_${name}`) }
    if (!options.base) return [ours]
    const base = baseOrFail(options.base)
    return [ours, { series: 'base', nb: base.nb, commit: base.commit, program: (name) => (IN_PROCESS.includes(name) ? base.program(name) : ours.program(name)) }]
}

/** A benchmark that cannot be built against the base is measured alone. */
function comparable(name, all) {
    return all.filter((variant) => {
        try {
            if (!isScript(name)) variant.program(name)
            return true
        } catch (error) {
            console.error(`bench: ${error.message.split('\n')[0]}: measured without it`)
            return false
        }
    })
}

async function measureAll(names, all) {
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'nb-bench-run-'))
    const result = { figures: [], shares: [], isOk: true }
    try {
        for (const name of names) {
            if (!options.json) console.log(`== ${name}`)
            const compared = comparable(name, all)
            const before = result.figures.length
            const times = ONCE.includes(name) && !options.rounds ? 1 : rounds
            for (let round = 0; round < times; round++) {
                for (const variant of compared) {
                    result.shares.push(await foreignShare())
                    const one = await measure(name, variant, dir)
                    result.isOk &&= one.isOk
                    result.figures.push(...one.figures)
                }
                if (rounds > 1) process.stderr.write(`bench: ${name}, round ${round + 1} of ${times}\n`)
            }
            if (!isPlain && !options.json && !wantsFloors) console.log(textTable(rowsOf(merge(result.figures.slice(before)))))
        }
    } finally {
        fs.rmSync(dir, { recursive: true, force: true })
    }
    return result
}

function commitOf(ref) {
    return spawnSync('git', ['rev-parse', '--short=12', ref], { cwd: root, encoding: 'utf8' }).stdout?.trim() ?? ''
}

/** What a reader must know about a run besides its figures. */
function aboutRun({ shares }, all) {
    return {
        about: 'run',
        date: new Date().toISOString().slice(0, 10),
        commit: commitOf('HEAD'),
        base: all[1]?.commit.slice(0, 12) ?? '',
        rounds,
        processors: os.availableParallelism(),
        memoryGb: Math.round(os.totalmem() / 2 ** 30),
        kernel: os.release().split('.').slice(0, 2).join('.'),
        foreignCpu: Number(median(shares).toFixed(2)),
    }
}

function print(merged, about, names) {
    const rows = rowsOf(merged)
    if (wantsFloors) console.log(textTable(rows.filter(({ floor }) => floor)))
    for (const floor of unmeasured(rows, names)) console.log(`not measured: ${floor.what}`)
    const judged = rows.filter(({ verdict }) => verdict !== '')
    if (judged.length > 0) console.log(`floors: ${judged.filter(({ verdict }) => verdict === 'held').length} held, ${judged.filter(({ verdict }) => verdict === 'short').length} short`)
    if (about.foreignCpu > QUIET) console.log(`other programs used ${Math.round(100 * about.foreignCpu)} % of the processors: times are disturbed`)
}

const names = programs()
if (names.length === 0) fail(`no benchmark ${words.join(' ')}`)
checkTools(names)
const all = variants()
const built = spawnSync('ninja', ['-C', path.join(root, 'build'), 'benchmarks'], { encoding: 'utf8' })
if (built.status !== 0) fail(`the benchmarks do not compile:\n${built.stdout}`)
const result = await measureAll(names, all)
if (!isPlain) {
    const merged = merge(result.figures)
    const about = aboutRun(result, all)
    if (options.json) for (const entry of [about, ...merged]) console.log(JSON.stringify(entry))
    else print(merged, about, names)
    if (options.docs) {
        const { keep } = await import('../bench/frame/keep.mjs')
        keep(about, merged)
    }
}
process.exitCode = result.isOk ? 0 : 1
