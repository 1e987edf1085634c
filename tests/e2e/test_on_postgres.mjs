// Tests of chats, access, live streams, sharing, the queue and tokens, once more: with everything in PostgreSQL, as a replica has it (store.replicas).
// One PostgreSQL serves all of them; each work directory gets a database of its own (support/stored.mjs).
import fs from 'node:fs'
import path from 'node:path'
import { assert, before, nb, run, SRC_DIR, test, tmpdir } from '../support/tap.mjs'
import { startPostgres } from '../support/postgres.mjs'
import { createDatabase, databaseUrl } from '../support/stored.mjs'

const FILES = ['chat_api', 'live', 'queue', 'for_people', 'project_files', 'access']
const LONGEST = 'access'
let postgres, longest

before(async () => {
    postgres = await startPostgres('fsync=off', 'max_connections=80')
    createDatabase(postgres.home, 'nb_template', 'template0')
    const workdir = tmpdir()
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify({ store: { type: 'postgres', url: databaseUrl(postgres.home, 'nb_template') } }))
    const made = await nb(['--workdir', workdir, 'store', 'init'])
    assert.equal(made.code, 0, made.stderr)
    longest = runFile(LONGEST)
    longest.catch(() => {}) // its case says so
})

// The longest goes on while the others run: much of it is waiting.
const runFile = (name) => run(process.execPath, [path.join(SRC_DIR, 'tests/e2e', `test_${name}.mjs`)], { env: { TEST_POSTGRES: postgres.home }, timeoutMs: 600_000 })

for (const name of FILES) {
    test(`on PostgreSQL: e2e/${name}`, async () => {
        const r = await (name === LONGEST ? longest : runFile(name))
        const count = (word) => r.stdout.split('\n').filter((line) => line.startsWith(word)).length
        assert.equal(r.code, 0, r.stdout + r.stderr)
        assert.equal(count('not ok'), 0)
        assert.ok(count('ok ') > 0 && r.stdout.includes(`\n1..${count('ok ')}\n`), r.stdout)
        console.log(`# ${name}: ${count('ok ')} cases`)
    }, { timeoutMs: 600_000 })
}
