// nb --server in front of three servers: the one that streams the answer is killed. The terminal says that the answer was interrupted, and the next
// message works, without a restart.
import fs from 'node:fs'
import path from 'node:path'
import { assert, before, eventually, nb, startServer, test, tmpdir } from '../support/tap.mjs'
import { startBalancer } from '../support/balancer.mjs'
import { QUICK, writeOffice } from '../support/office.mjs'
import { startPostgres } from '../support/postgres.mjs'
import { sql } from '../support/stored.mjs'
import { openTerminal } from '../support/terminal.mjs'

let postgres, servers, balancer, home

before(async () => {
    postgres = await startPostgres('fsync=off')
    const env = { ...QUICK, NB_STORE_URL: postgres.url, NB_DEMO_DELAY_MS: '30' }
    const office = writeOffice({ ann: 'owner' }, { ws_team: { ann: 'admin' } })
    fs.writeFileSync(path.join(office.workdir, 'nimblebrain.json'), JSON.stringify({ store: { type: 'postgres', replicas: true }, noDefaultBundles: true }))
    const made = await nb(['--workdir', office.workdir, 'store', 'init'], { env })
    assert.equal(made.code, 0, made.stderr)
    servers = [await startServer({ workdir: office.workdir, env })] // it brings the people
    for (let i = 0; i < 2; i++) {
        const workdir = tmpdir('nb-replica-')
        for (const file of ['instance.json', 'nimblebrain.json']) fs.copyFileSync(path.join(office.workdir, file), path.join(workdir, file))
        servers.push(await startServer({ workdir, env }))
    }
    balancer = await startBalancer(() => servers)
    home = tmpdir('nb-home-')
    const r = await nb(['login', balancer.url, '--workspace', 'ws_team', '--workdir', home], { env: QUICK, input: office.tokens.ann + '\n' })
    assert.equal(r.code, 0, r.stderr)
})

test('the server of an answer is killed: the terminal says so, and the conversation goes on without a restart', async () => {
    const t = await openTerminal(['--server', balancer.url, '--workdir', home], { env: QUICK, rows: 40, cols: 100 })
    await t.sees(/❯$/)
    await t.message('count to 10000') // longer than any test takes
    await t.sees(/\b5\b/)
    const worker = await eventually(() => servers.find((s) => / begins/.test(s.stderr)))
    const [, id] = /of (conv_\w+) begins/.exec(worker.stderr)
    await worker.kill9()
    await t.sees(/✗ the answer was interrupted: [^]*❯$/)
    await t.message('count to 3')
    await t.sees(/count to 3[^]*1[^]*2[^]*3[^]*\d+ out[^]*❯$/)
    // It is the same conversation, whose first run has ended once.
    const log = sql(postgres.home, 'postgres', `SELECT e.line FROM nb_event e JOIN nb_conversation c ON c.key = e.conversation WHERE c.id = '${id}' ORDER BY e.seq`)
    const ends = log.map(([line]) => JSON.parse(line)).filter((e) => /^run\.(done|error)$/.test(e.type)).map((e) => e.errorType ?? e.stopReason)
    assert.deepEqual(ends, ['interrupted', 'complete'])
    await t.key('C-d')
    assert.equal((await t.ended()).code, 0)
})
