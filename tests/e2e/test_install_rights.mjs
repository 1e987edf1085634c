// What an admin of a workspace may install without the owner of the server.
import fs from 'node:fs'
import path from 'node:path'
import { NB, assert, startServer, test, tmpdir } from '../support/tap.mjs'
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
