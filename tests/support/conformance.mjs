// conformance.mjs - runs of the public conformance suite, many of them in one process: its start takes longer than most scenarios.
//
//     const suite = startSuite({ NB: NB_RELEASE })             with these variables of the environment
//     const { code, told } = await suite(['list'])             as on the command line, one after the other
//
// The program of the suite reads its command line when it is loaded, and ends its process. Here its parser is taken from it
// before that, and is given one command line after the other; the first process.exit() of each is its exit code.
import { fork } from 'node:child_process'
import { createRequire } from 'node:module'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const SELF = fileURLToPath(import.meta.url)
const SUITE = path.resolve(path.dirname(SELF), '../../node_modules/@modelcontextprotocol/conformance/dist/index.js')
const LOOPBACK = path.join(path.dirname(SELF), 'loopback.cjs')

/** A process of the suite, which ends with the test: suite(args) gives {code, stdout, told}. */
export function startSuite(env = {}) {
    const child = fork(SELF, { execArgv: ['--require', LOOPBACK], env: { ...process.env, OLLAMA_HOST: '127.0.0.1:1', ...env } })
    const waiting = []
    child.on('message', (answer) => waiting.shift().resolve(answer))
    child.on('exit', (code, signal) => waiting.splice(0).forEach((w) => w.reject(new Error(`the suite has ended: ${signal ?? code}`))))
    return (args) =>
        new Promise((resolve, reject) => {
            waiting.push({ resolve, reject })
            child.send(args, (error) => error && reject(error))
        })
}

// ---- the process ----

const output = { stdout: '', told: '' }

async function loadProgram() {
    const { Command } = createRequire(SUITE)('commander')
    const parse = Command.prototype.parse
    let program
    Command.prototype.parse = function () {
        program = this
        return this
    }
    await import(pathToFileURL(SUITE))
    Command.prototype.parse = parse
    return program
}

async function runOnce(program, args) {
    let code
    output.stdout = output.told = ''
    process.exit = (n = 0) => {
        code ??= n
        throw new Error(`exit ${n}`)
    }
    try {
        await program.parseAsync([process.execPath, SUITE, ...args])
        code ??= 0
    } catch (error) {
        if (code === undefined) output.told += error.stack
        code ??= 1
    }
    return { code, ...output }
}

async function serve() {
    const exit = process.exit
    process.on('disconnect', () => exit(0))
    for (const name of ['stdout', 'stderr']) {
        process[name].write = (text, ...rest) => {
            output.told += text
            if (name === 'stdout') output.stdout += text
            rest.find((f) => typeof f === 'function')?.()
            return true
        }
    }
    let last = loadProgram()
    process.on('message', (args) => {
        last = last.then(async (program) => {
            process.send(await runOnce(program, args))
            return program
        })
    })
}

if (process.argv[1] === SELF) await serve()
