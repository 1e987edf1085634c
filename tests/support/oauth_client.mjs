// oauth_client.mjs URL - the client of the public suite's auth/ scenarios: the real program signs in, with this script as the
// person at the browser, and calls a tool.
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'

const NB = process.env.NB
const url = process.argv.at(-1)
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}')
const workdir = fs.mkdtempSync(path.join(os.tmpdir(), 'nb-oauth-'))
// Used where the authorization server takes metadata documents, and only there.
const DOCUMENT = 'https://conformance-test.local/client-metadata.json'
const auth = { type: 'oauth', clientId: context.client_id ?? DOCUMENT, clientSecret: context.client_secret }
const entry = { serverName: 'far', url, allowPrivate: true, transport: { auth } }
fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify({ noDefaultBundles: true, bundles: [entry] }))

let last = '' // what the last command said
function nb(...args) {
    return new Promise((resolve) => {
        const child = spawn(NB, [...args, '--workdir', workdir], { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '' } })
        let visited = false
        last = ''
        child.stderr.on('data', (data) => {
            process.stderr.write(data)
            last += data
            const address = last.match(/^ {2}(http\S+)\n/m)?.[1]
            if (!address || visited) return
            visited = true
            fetch(address).catch((error) => console.error(error.message))
        })
        child.stdout.on('data', (data) => {
            process.stdout.write(data)
            last += data
        })
        child.on('exit', resolve)
    })
}

// A person who is told to sign in again does so, as long as nb proposes it.
let code = 1
for (let round = 0; round < 4 && code !== 0; round++) {
    if (round > 1 && !/nb bundle auth far/.test(last)) break
    code = await nb('bundle', 'auth', 'far')
    for (let call = 0; call < 2 && code === 0; call++) code = await nb('mcp', 'call', 'far__test-tool')
}
fs.rmSync(workdir, { recursive: true, force: true })
process.exitCode = code
