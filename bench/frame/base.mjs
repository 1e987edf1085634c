// base.mjs - an earlier commit of nb as the second binary of a measurement.
//
// build-bench-base/COMMIT/ holds a copy of that commit's files and their build; it is made once.
// Its benchmarks are those of today, so that both binaries are measured by the same code. One that
// runs nb's code in its own process must be compiled against the earlier code as well; where that
// code has another interface, it cannot be compared, and says so.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'

const ROOT = path.resolve(import.meta.dirname, '../..')

function run(what, command, args, options = {}) {
    const result = spawnSync(command, args, { cwd: ROOT, encoding: 'utf8', maxBuffer: 1 << 28, ...options })
    if (result.status !== 0) throw new Error(`${what}: ${result.error?.message ?? `${result.stdout}${result.stderr}`.slice(-4000)}`)
    return result.stdout
}

function copyFiles(commit, src) {
    fs.mkdirSync(src, { recursive: true })
    run(`git archive ${commit}`, 'sh', ['-c', 'git archive "$0" | tar -x -C "$1"', commit, src])
    fs.symlinkSync(path.join(ROOT, 'node_modules'), path.join(src, 'node_modules'))
}

/** Benchmarks of today in the place of those of then. */
function copyBenchmarks(src) {
    fs.rmSync(path.join(src, 'bench'), { recursive: true, force: true })
    fs.cpSync(path.join(ROOT, 'bench'), path.join(src, 'bench'), { recursive: true })
}

/** Returns { commit, nb, program(name) }; program() gives the path of a benchmark built against the commit, or an error. */
export function baseOf(ref) {
    const commit = run(`no commit ${ref}`, 'git', ['rev-parse', '--verify', '--end-of-options', `${ref}^{commit}`]).trim()
    const dir = path.join(ROOT, 'build-bench-base', commit.slice(0, 12))
    const src = path.join(dir, 'src')
    const build = path.join(dir, 'build')
    const nb = path.join(build, 'nb')
    if (!fs.existsSync(nb)) {
        console.error(`bench: building ${commit.slice(0, 12)} in ${path.relative(ROOT, dir)}`)
        fs.rmSync(dir, { recursive: true, force: true })
        copyFiles(commit, src)
        copyBenchmarks(src)
        run('meson', 'meson', ['setup', build, src])
        run('ninja', 'ninja', ['-C', build, 'nb'])
    }
    return {
        commit,
        nb,
        program(name) {
            copyBenchmarks(src)
            run(`bench_${name} does not compile with the code of ${commit.slice(0, 12)}`, 'ninja', ['-C', build, `bench/bench_${name}`])
            return path.join(build, 'bench', `bench_${name}`)
        },
    }
}
