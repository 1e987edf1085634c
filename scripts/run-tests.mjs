// run-tests.mjs - builds, then runs every test and ends with one line: N passed, N failed.
//
//   --only SUITE,...   checks, unit, e2e, conformance, crash, browser, fuzz (default: all these), interop, arm64
//   --fuzz-seconds N   per fuzzer, with libFuzzer; new inputs are kept (default: 1, the same inputs each time)
//   --minutes N        repeat until the time is up or something fails
//   --dir DIR          sanitizer build to test (default build-asan)
//   WORD...            only tests with one of these words in their name; a whole name means that test alone
//
// Every case counts; builds count only when they fail. Unit tests speak TAP through cmocka; a script tests/<suite>/test_*.{mjs,sh}
// prints `ok NAME` or `not ok NAME` for each case and a plan `1..N`: one that dies before its
// plan, or runs another number of cases, has failed. So has one during which any program
// left a sanitizer report, whether the test noticed or not.
//
// As many tests as there are cores run beside each other, and as many again of those that mostly
// wait for others (WAITING).
// How each case ended is kept in .cache/test-results.json, which scripts/seeds.mjs reads.
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'

const root = path.resolve(import.meta.dirname, '..')
const SUITES = ['checks', 'unit', 'e2e', 'conformance', 'crash', 'browser', 'fuzz']
const ORDER = ['checks', 'browser', 'conformance', 'unit', 'e2e', 'crash', 'fuzz'] // long ones first: no core waits at the end
const WAITING = ['e2e', 'crash'] // suites that use less than half a core
const EXTRA_SUITES = ['interop', 'arm64'] // only when asked for: scripts/run-interop and make arm64 prepare what they need
const NEEDS = { checks: ['build'], unit: ['unit-tests'], fuzz: ['unit-tests'], arm64: [] } // others: build and asan
const SOAK_TIMEOUT_S = 3600 // one test of a soak run
const TIMEOUT_S = 900 // one test file; only one that hangs reaches it
const BUILD_SILENCE_S = 900 // of a build: one that compiles says so, on a busy machine after minutes
const SMOKE_SECONDS = 1 // of each fuzzer
const OUTPUT_MAX = 1 << 20 // bytes kept of one test's output
const LINES_SHOWN = 200 // of a failed test
const GRACE_MS = 3000 // between SIGTERM and SIGKILL for a test that takes too long

const { values: options, positionals: words } = parseArgs({
    allowPositionals: true,
    options: {
        only: { type: 'string' },
        'fuzz-seconds': { type: 'string' },
        minutes: { type: 'string' },
        dir: { type: 'string', default: 'build-asan' },
    },
})
const suites = options.only?.split(',') ?? SUITES
const known = [...SUITES, ...EXTRA_SUITES]
const unknown = suites.find((suite) => !known.includes(suite))
if (unknown) fail(`no suite ${unknown}; there are ${known.join(', ')}`)

const testDir = path.resolve(root, options.dir)
const total = { passed: 0, failed: 0, skipped: 0 }

const start = Date.now()
const results = {} // suite/name → case → 'ok', 'not ok' or 'skip'

for (const target of targets()) if (total.failed === 0) await build(target)
if (total.failed === 0) await runSuites()
keepResults()
if (total.skipped > 0) console.log(`${total.skipped} skipped`)
console.log(`${((Date.now() - start) / 60_000).toFixed(1)} minutes`)
console.log(`${total.passed} passed, ${total.failed} failed`)
// Not process.exit(): it would cut off what a slow reader of our output has not yet read.
process.exitCode = total.failed > 0 || total.passed === 0 ? 1 : 0

function fail(message) {
    console.error(`run-tests: ${message}`)
    process.exit(2)
}

function targets() {
    if (isLongFuzzing()) return ['fuzzers']
    const wanted = new Set(suites.flatMap((suite) => NEEDS[suite] ?? ['build', 'asan']))
    if (options.dir !== 'build-asan') ['asan', 'unit-tests'].forEach((name) => wanted.delete(name)) // the caller's
    return wanted
}

function isLongFuzzing() {
    return options['fuzz-seconds'] !== undefined
}

async function build(target) {
    const began = Date.now()
    const args = ['--no-print-directory', target]
    const result = await execute('make', args, { ...process.env }, BUILD_SILENCE_S, { isSilence: true })
    conclude(`build ${target}`, { ...result, passed: 0, failed: 0, skipped: 0 }, began)
}

async function runSuites() {
    const deadline = Date.now() + Number(options.minutes ?? 0) * 60_000
    do {
        await runAll()
    } while (total.failed === 0 && total.passed > 0 && Date.now() < deadline)
}

function chosen(jobs) {
    const names = new Set(jobs.map(({ name }) => name))
    const isNamed = (name) => words.some((word) => (names.has(word) ? name === word : name.includes(word)))
    return words.length === 0 ? jobs : jobs.filter(({ name }) => isNamed(name))
}

function jobsOf(suite) {
    if (suite === 'unit') return unitJobs()
    if (suite === 'fuzz') return fuzzJobs()
    const dir = path.join(root, 'tests', suite)
    if (!fs.existsSync(dir)) return []
    return fs
        .readdirSync(dir)
        .filter((name) => /^test_.*\.(mjs|sh)$/.test(name))
        .sort()
        .map((file) => ({
            suite,
            name: `${suite}/${file.slice('test_'.length).replace(/\.[a-z]+$/, '')}`,
            command: () => [file.endsWith('.mjs') ? process.execPath : 'sh', path.join(dir, file)],
            timeoutS: options.minutes ? SOAK_TIMEOUT_S : TIMEOUT_S,
            count: countCases,
        }))
}

function introspect(dir, what) {
    return JSON.parse(fs.readFileSync(path.join(dir, 'meson-info', `intro-${what}.json`), 'utf8'))
}

function unitJobs() {
    return introspect(testDir, 'tests').map((test) => ({
        name: `unit/${test.name}`,
        command: () => test.cmd,
        timeoutS: TIMEOUT_S,
        count: countCases,
    }))
}

function fuzzJobs() {
    const dir = isLongFuzzing() ? path.join(root, 'build-fuzz') : testDir
    return introspect(dir, 'targets')
        .filter((target) => /^fuzz_/.test(target.name))
        .map((target) => (isLongFuzzing() ? longFuzzJob : replayJob)(target.name.slice('fuzz_'.length), target.filename[0], dir))
}

function seedsOf(name) {
    return path.join(root, 'tests/fuzz/corpus', name)
}

/** tests/fuzz/replay.c */
function replayJob(name, program, dir) {
    return {
        name: `fuzz/${name}`,
        command: () => [program, String(SMOKE_SECONDS), path.join(dir, `crash-${name}`), seedsOf(name)],
        timeoutS: TIMEOUT_S,
        count: countCases,
    }
}

function longFuzzJob(name, program, dir) {
    const seconds = Number(options['fuzz-seconds'])
    const found = path.join(dir, 'corpus', name) // libFuzzer writes into the first directory: not into the seeds
    fs.mkdirSync(found, { recursive: true })
    const limits = [`-max_total_time=${seconds}`, '-timeout=10', '-rss_limit_mb=2048', '-print_final_stats=1']
    return {
        name: `fuzz/${name}`,
        command: () => [program, ...limits, `-artifact_prefix=${dir}/crash-${name}-`, found, seedsOf(name)],
        timeoutS: seconds + 120,
        count: ({ code }) => ({ passed: code === 0 ? 1 : 0, failed: code === 0 ? 0 : 1, skipped: 0 }),
    }
}

async function runAll() {
    const order = [...suites].sort((a, b) => ORDER.indexOf(a) - ORDER.indexOf(b))
    const queue = chosen(order.flatMap(jobsOf))
    const take = (isMine) => {
        const found = queue.findIndex(isMine)
        return found < 0 ? undefined : queue.splice(found, 1)[0]
    }
    const work = async (isMine) => {
        for (let job; (job = take(isMine)); ) await runJob(job)
    }
    const cores = os.availableParallelism()
    const any = Array.from({ length: cores }, () => work(() => true))
    const waiting = Array.from({ length: cores }, () => work(({ suite }) => WAITING.includes(suite)))
    await Promise.all([...any, ...waiting])
}

async function runJob(job) {
    const began = Date.now()
    const tmp = fs.mkdtempSync(path.join(os.tmpdir(), 'nb-t-'))
    fs.chmodSync(tmp, 0o711) // some tests give up their privileges and must still get through
    const [command, ...args] = job.command(tmp)
    const result = await execute(command, args, environment(tmp), job.timeoutS)
    const counts = job.count(result)
    results[job.name] = { ...results[job.name], ...outcomes(result.output) }
    const reports = sanitizerReports(tmp)
    if (reports) {
        result.output += `\n${reports}`
        counts.failed ||= 1
    }
    conclude(job.name, { ...result, ...counts }, began)
    // A program that a test has left behind may still write.
    await fs.promises.rm(tmp, { recursive: true, force: true, maxRetries: 30, retryDelay: 100 }).catch((error) => console.log(`     ${error.message}`))
}

// What a test sees: its own home and temporary directory, no keys, no proxies. Tests talk to
// nobody but this machine.
function environment(tmp) {
    const env = Object.fromEntries(
        Object.entries(process.env).filter(([name]) => !/_API_KEY$|^NB_|_PROXY$|^MAKE|^MFLAGS$/i.test(name)),
    )
    const home = path.join(tmp, 'home')
    fs.mkdirSync(home)
    const log = `log_path=${tmp}/sanitizer`
    return {
        ...env,
        HOME: home,
        TMPDIR: tmp,
        SRC_DIR: root,
        BUILD_DIR: testDir,
        NB: path.join(testDir, 'nb'),
        NB_RELEASE: path.join(root, 'build/nb'),
        CMOCKA_MESSAGE_OUTPUT: 'TAP',
        ASAN_OPTIONS: `${log}:detect_stack_use_after_return=1:strict_string_checks=1`,
        UBSAN_OPTIONS: `${log}:print_stacktrace=1`,
        LSAN_OPTIONS: log,
    }
}

function sanitizerReports(tmp) {
    return fs
        .readdirSync(tmp)
        .filter((name) => name.startsWith('sanitizer.'))
        .map((name) => fs.readFileSync(path.join(tmp, name), 'utf8'))
        .join('\n')
        .replace(/^==\d+==WARNING: .*symbolizer.*$/gm, '') // says that names are missing, not that a test failed
        .trim()
}

// Runs in a process group of its own, so that a timeout ends everything it started. With isSilence
// the time counts from the last output.
function execute(command, args, env, timeoutS, { isSilence = false } = {}) {
    return new Promise((resolve) => {
        const child = spawn(command, args, { cwd: root, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
        let output = ''
        let timedOut = false
        const signal = (name) => {
            try {
                process.kill(-child.pid, name)
            } catch {
                // gone already
            }
        }
        const timer = setTimeout(() => {
            timedOut = true
            signal('SIGTERM')
            setTimeout(signal, GRACE_MS, 'SIGKILL').unref()
        }, timeoutS * 1000)
        const keep = (text) => {
            if (isSilence) timer.refresh()
            if (output.length < OUTPUT_MAX) output += text
        }
        child.stdout.setEncoding('utf8').on('data', keep)
        child.stderr.setEncoding('utf8').on('data', keep)
        child.on('error', (error) => {
            clearTimeout(timer)
            resolve({ code: null, output: String(error) })
        })
        child.on('close', (code, name) => {
            clearTimeout(timer)
            if (timedOut) output += isSilence ? `\nsilent for ${timeoutS} s` : `\ntimed out after ${timeoutS} s`
            else if (name) output += `\nended by ${name}`
            resolve({ code: timedOut ? null : code, output })
        })
    })
}

function countCases({ code, output }) {
    const lines = output.split('\n')
    const matching = (regex) => lines.filter((line) => regex.test(line))
    const skipped = matching(/^(not )?ok\b.* # SKIP\b/).length // cmocka says `not ok 3 # SKIP name`
    const passed = matching(/^ok\b(?!.* # SKIP\b)/).length
    let failed = matching(/^not ok\b(?!.* # SKIP\b)/).length
    const plan = matching(/^1\.\.\d+$/).map((line) => Number(line.slice(3)))
    const ran = passed + skipped + failed
    const isComplete = ran > 0 && plan.reduce((sum, n) => sum + n, 0) === ran
    if (failed === 0 && (code !== 0 || !isComplete)) failed = 1 // died, or did not run what it planned
    return { passed, failed, skipped }
}

// Unit tests number their cases: `ok 3 - test_name`; scripts may add `# 12 ms`.
function outcomes(output) {
    const found = output.replace(/^not ok \d+ # SKIP (.*)$/gm, 'ok $1 # SKIP by the test').matchAll(/^(not ok|ok) (?:\d+ - )?(.*?)( # SKIP .*| # \d+ ms)?$/gm)
    return Object.fromEntries([...found].map(([, word, name, note]) => [name, note?.startsWith(' # SKIP') ? 'skip' : word]))
}

// A run of a part leaves what is known of the others.
function keepResults() {
    const file = path.join(root, '.cache/test-results.json')
    let known = {}
    try {
        known = JSON.parse(fs.readFileSync(file, 'utf8'))
    } catch {
        // the first run
    }
    fs.mkdirSync(path.dirname(file), { recursive: true })
    fs.writeFileSync(file, JSON.stringify({ ...known, ...results }, null, 1))
}

function conclude(name, { code, output, passed, failed, skipped }, began) {
    if (code !== 0 && failed === 0) [passed, failed] = [0, 1]
    total.passed += passed
    total.failed += failed
    total.skipped += skipped
    const seconds = ((Date.now() - began) / 1000).toFixed(1)
    const cases = Object.entries({ passed, failed, skipped })
        .filter(([, n]) => n > 0)
        .map(([word, n]) => `${n} ${word}`)
        .join(', ')
    console.log(`${failed ? 'FAIL' : 'ok  '} ${name.padEnd(32)} ${seconds.padStart(6)} s  ${cases}`)
    if (failed) console.log(`${excerpt(output)}\n     exit code ${code}; run it again: ${rerun(name)}`)
}

// The suites are targets of make, except for the checks; and make fuzz is longer than a smoke run.
function rerun(name) {
    if (name.startsWith('build ')) return `make ${name.slice(6)}`
    const suite = name.split('/')[0]
    const seconds = options['fuzz-seconds']
    if (suite === 'checks' || (suite === 'fuzz' && !seconds))
        return `node_modules/.bin/node scripts/run-tests.mjs --only ${suite} ${name}`
    return `make ${suite} ARGS=${name}${suite === 'fuzz' ? ` FUZZ_SECONDS=${seconds}` : ''}`
}

function excerpt(output) {
    const lines = output.trimEnd().split('\n')
    const shown = lines.slice(-LINES_SHOWN)
    if (shown.length < lines.length) shown.unshift(`(${lines.length - shown.length} lines before)`)
    return shown.map((line) => `     | ${line}`).join('\n')
}
