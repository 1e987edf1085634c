// run-tests.mjs - builds, then runs every test and ends with one line: N passed, N failed.
//
//   --only SUITE,...   checks, unit, e2e, conformance, crash, browser, fuzz (default: all these), interop
//   --fuzz-seconds N   per fuzzer (default 3; new inputs are kept when given)
//   --minutes N        repeat until the time is up or something fails
//   --dir DIR          sanitizer build to test (default build-asan)
//   WORD...            only tests with one of these words in their name
//
// Every case counts; builds count only when they fail. Unit tests speak TAP through cmocka; a script tests/<suite>/test_*.{mjs,sh}
// prints `ok NAME` or `not ok NAME` for each case and a plan `1..N`: one that dies before its
// plan, or runs another number of cases, has failed. So has one during which any program
// left a sanitizer report, whether the test noticed or not.
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'

const root = path.resolve(import.meta.dirname, '..')
const SUITES = ['checks', 'unit', 'e2e', 'conformance', 'crash', 'browser', 'fuzz']
const EXTRA_SUITES = ['interop'] // only when asked for: scripts/run-interop installs what it needs
const NEEDS = { checks: ['build'], unit: ['unit-tests'], fuzz: ['fuzzers'] } // others: build and asan
const SOAK_TIMEOUT_S = 3600 // one test of a soak run
const TIMEOUT_S = { checks: 120, unit: 120, e2e: 300, conformance: 500, crash: 300, browser: 300, interop: 500 }
const SMOKE_SECONDS = 3
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

for (const target of targets()) if (total.failed === 0) await build(target)
if (total.failed === 0) await runSuites()
if (total.skipped > 0) console.log(`${total.skipped} skipped`)
console.log(`${total.passed} passed, ${total.failed} failed`)
// Not process.exit(): it would cut off what a slow reader of our output has not yet read.
process.exitCode = total.failed > 0 || total.passed === 0 ? 1 : 0

function fail(message) {
    console.error(`run-tests: ${message}`)
    process.exit(2)
}

function targets() {
    const wanted = new Set(suites.flatMap((suite) => NEEDS[suite] ?? ['build', 'asan']))
    if (options.dir !== 'build-asan') ['asan', 'unit-tests'].forEach((name) => wanted.delete(name)) // the caller's
    return wanted
}

async function build(target) {
    const began = Date.now()
    const result = await execute('make', ['--no-print-directory', target], { ...process.env }, 1800)
    conclude(`build ${target}`, { ...result, passed: 0, failed: 0, skipped: 0 }, began)
}

async function runSuites() {
    const deadline = Date.now() + Number(options.minutes ?? 0) * 60_000
    do {
        await runAll(suites.flatMap(jobsOf).filter(isChosen))
    } while (total.failed === 0 && total.passed > 0 && Date.now() < deadline)
}

function timeoutOf(suite) {
    return options.minutes ? SOAK_TIMEOUT_S : TIMEOUT_S[suite]
}

function isChosen(job) {
    return words.length === 0 || words.some((word) => job.name.includes(word))
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
            name: `${suite}/${file.slice('test_'.length).replace(/\.[a-z]+$/, '')}`,
            command: () => [file.endsWith('.mjs') ? process.execPath : 'sh', path.join(dir, file)],
            timeoutS: timeoutOf(suite),
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
        timeoutS: TIMEOUT_S.unit,
        count: countCases,
    }))
}

function fuzzJobs() {
    const dir = path.join(root, 'build-fuzz')
    const seconds = Number(options['fuzz-seconds'] ?? SMOKE_SECONDS)
    return introspect(dir, 'targets')
        .filter((target) => /^fuzz_/.test(target.name))
        .map((target) => {
            const name = target.name.slice('fuzz_'.length)
            return {
                name: `fuzz/${name}`,
                command: (tmp) => [
                    target.filename[0],
                    `-max_total_time=${seconds}`,
                    ...(options['fuzz-seconds'] ? [] : ['-seed=1']), // a smoke run is the same every time
                    '-timeout=10',
                    '-rss_limit_mb=2048',
                    '-print_final_stats=1',
                    `-artifact_prefix=${dir}/crash-${name}-`,
                    ...corpora(name, options['fuzz-seconds'] ? dir : tmp),
                ],
                timeoutS: seconds + 120,
                count: ({ code }) => ({ passed: code === 0 ? 1 : 0, failed: code === 0 ? 0 : 1, skipped: 0 }),
            }
        })
}

// libFuzzer writes what it finds into the first directory: never into the seeds of the repository.
function corpora(name, dir) {
    const seeds = path.join(root, 'tests/fuzz/corpus', name)
    const found = path.join(dir, 'corpus', name)
    fs.mkdirSync(found, { recursive: true })
    return fs.existsSync(seeds) ? [found, seeds] : [found]
}

async function runAll(jobs) {
    const queue = [...jobs]
    const worker = async () => {
        for (let job; (job = queue.shift()); ) await runJob(job)
    }
    await Promise.all(Array.from({ length: os.availableParallelism() }, worker))
}

async function runJob(job) {
    const began = Date.now()
    const tmp = fs.mkdtempSync(path.join(os.tmpdir(), 'nb-t-'))
    fs.chmodSync(tmp, 0o711) // some tests give up their privileges and must still get through
    const [command, ...args] = job.command(tmp)
    const result = await execute(command, args, environment(tmp), job.timeoutS)
    const counts = job.count(result)
    const reports = sanitizerReports(tmp)
    if (reports) {
        result.output += `\n${reports}`
        counts.failed ||= 1
    }
    conclude(job.name, { ...result, ...counts }, began)
    fs.rmSync(tmp, { recursive: true, force: true })
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

// Runs in a process group of its own, so that a timeout ends everything it started.
function execute(command, args, env, timeoutS) {
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
            if (timedOut) output += `\ntimed out after ${timeoutS} s`
            else if (name) output += `\nended by ${name}`
            resolve({ code: timedOut ? null : code, output })
        })
    })
}

function countCases({ code, output }) {
    const lines = output.split('\n')
    const matching = (regex) => lines.filter((line) => regex.test(line))
    const ok = matching(/^ok\b/)
    const skipped = ok.filter((line) => / # SKIP\b/.test(line)).length
    const passed = ok.length - skipped
    let failed = matching(/^not ok\b/).length
    const plan = matching(/^1\.\.\d+$/).map((line) => Number(line.slice(3)))
    const ran = ok.length + failed
    const isComplete = ran > 0 && plan.reduce((sum, n) => sum + n, 0) === ran
    if (failed === 0 && (code !== 0 || !isComplete)) failed = 1 // died, or did not run what it planned
    return { passed, failed, skipped }
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
    if (failed) console.log(`${excerpt(output)}\n     exit code ${code}`)
}

function excerpt(output) {
    const lines = output.trimEnd().split('\n')
    const shown = lines.slice(-LINES_SHOWN)
    if (shown.length < lines.length) shown.unshift(`(${lines.length - shown.length} lines before)`)
    return shown.map((line) => `     | ${line}`).join('\n')
}
