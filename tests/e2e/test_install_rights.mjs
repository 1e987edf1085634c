// Packages that an admin of a workspace may install without the owner of the server.
import fs from 'node:fs'
import path from 'node:path'
import { NB, assert, nb, startServer, test, tmpdir } from '../support/tap.mjs'
import { QUICK, writeOffice } from '../support/office.mjs'

test('paths, variables and headers of bundles are for owners of the server', async () => {
    const office = writeOffice({ olga: 'owner', ada: 'member' }, { ws_a: { olga: 'admin', ada: 'admin' } })
    fs.writeFileSync(path.join(office.workdir, 'nimblebrain.json'), JSON.stringify({ noDefaultBundles: true, allowInstall: ['@ours/*', 'https://mcp.ours.example/*'] }))
    const server = await startServer({ workdir: office.workdir, env: QUICK })
    const send = async (who, route, body) => {
        const res = await fetch(server.url + route, {
            method: 'POST', body: JSON.stringify(body),
            headers: { authorization: `Bearer ${office.tokens[who]}`, 'x-workspace-id': 'ws_a', 'content-type': 'application/json' },
        })
        return { status: res.status, ...(await res.json()) }
    }
    const dir = tmpdir()
    for (const entry of [
        { path: dir }, { path: '/nonexistent' }, { path: '/etc/passwd' },
        { name: '@ours/x', env: { LD_PRELOAD: '/x.so' } },
        { url: 'https://mcp.ours.example/mcp', transport: { headers: { a: 'b' } } },
        { name: '@theirs/x' }, { url: 'https://other.example/mcp' },
        { command: 'sh' }, { name: '@ours/x', sandbox: 'off' }, { name: '@ours/x', userConfig: { d: '/' } },
    ]) {
        const answer = await send('ada', '/v1/apps/install', entry)
        assert.equal(answer.status, 403, `${JSON.stringify(entry)}: ${JSON.stringify(answer)}`)
        assert.ok(!/nonexistent|passwd/.test(answer.message ?? ''), 'says nothing about files')
    }
    const text = JSON.stringify({ mcpServers: { a: { command: 'sh' }, b: { url: 'https://other.example/mcp' } } })
    const seen = await send('ada', '/v1/apps/import', { text })
    assert.equal(seen.status, 200, JSON.stringify(seen))
    for (const s of seen.servers) assert.deepEqual([s.isForOwner, s.entry], [true, null])
    // An owner gets as far as the file.
    const owner = await send('olga', '/v1/apps/install', { path: '/nonexistent' })
    assert.notEqual(owner.status, 403, JSON.stringify(owner))
    const tool = await send('ada', '/v1/tools/call', { server: 'nb', tool: 'manage_bundle', arguments: { action: 'install', name: '@theirs/x' } })
    assert.match(JSON.stringify(tool), /allowInstall/)
})

test('commands take the name of a workspace where they take its id', async () => {
    const office = writeOffice({ olga: 'owner' }, { ws_a: { olga: 'admin' }, ws_b: { olga: 'admin' }, ws_c: { olga: 'admin' } })
    const file = (id) => path.join(office.workdir, 'workspaces', id, 'workspace.json')
    for (const [id, name] of [['ws_a', 'Team North'], ['ws_b', 'Same'], ['ws_c', 'Same']])
        fs.writeFileSync(file(id), JSON.stringify({ ...JSON.parse(fs.readFileSync(file(id))), name }))
    const nbw = (...args) => nb(['--workdir', office.workdir, ...args], { env: QUICK })
    const add = (ws, name) => nbw('--workspace', ws, 'bundle', 'add', '--url', 'https://mcp.example.com/mcp', '--name', name)
    for (const [i, ws] of ['Team North', 'team north', 'a', 'ws_a'].entries()) {
        const added = await add(ws, `far${i}`)
        assert.equal(added.code, 0, added.stderr)
    }
    assert.equal(JSON.parse(fs.readFileSync(file('ws_a'))).bundles.length, 4)
    assert.match((await nbw('--workspace', 'Team North', 'bundle', 'list')).stdout, /far3/)
    assert.match((await add('Same', 'x')).stderr, /2 workspaces are called 'Same'; use an id/)
    assert.match((await add('Nowhere', 'x')).stderr, /no workspace 'Nowhere'/)
})
