// Secrets at rest: encrypted, absent from backups, and what happens where their key is not.
import fs from 'node:fs'
import path from 'node:path'
import { assert, nb, startServer, test, tmpdir } from '../support/tap.mjs'
import { operator, QUICK } from '../support/office.mjs'
import { readSealed } from '../support/sealed.mjs'

const KEY = 'sk-test-0123456789abcdef'
const env = { ...QUICK, OLLAMA_HOST: '127.0.0.1:1' }

async function withKey(workdir, more = {}) {
    const s = await startServer({ workdir, env: { ...env, ...more } })
    const r = await operator(s)('PUT', '/v1/providers/openai/key', { apiKey: KEY })
    assert.equal(r.status, 200, JSON.stringify(r.body))
    await s.stop()
    return path.join(workdir, 'credentials/@providers.json')
}

test('a backup alone reveals no secret; elsewhere nb starts without them and takes new ones', async () => {
    const workdir = tmpdir('nb-secrets-')
    const file = await withKey(workdir)
    assert.ok(!fs.readFileSync(file, 'utf8').includes(KEY))
    assert.equal(fs.statSync(path.join(workdir, '.secrets.key')).mode & 0o777, 0o600)
    const key = fs.readFileSync(path.join(workdir, '.secrets.key'), 'utf8').trim()

    const tar = path.join(tmpdir('nb-backup-'), 'b.tar')
    const made = await nb(['backup', tar, '--workdir', workdir], { env })
    assert.equal(made.code, 0, made.stderr)
    assert.match(made.stderr, /encrypted[^]*\.secrets\.key/)
    const bytes = fs.readFileSync(tar, 'latin1')
    for (const secret of [KEY, key, '.secrets.key']) assert.ok(!bytes.includes(secret), secret)

    const elsewhere = tmpdir('nb-secrets-')
    assert.equal((await nb(['restore', tar, '--force', '--workdir', elsewhere], { env })).code, 0)
    const again = await withKey(elsewhere)
    assert.deepEqual(readSealed(elsewhere, again), { openai: KEY })
    assert.ok(fs.existsSync(again + '.unreadable'))
})

test('a plain file of an older version is read, and encrypted when it is next written', async () => {
    const workdir = tmpdir('nb-secrets-')
    const file = path.join(workdir, 'credentials/@providers.json')
    fs.mkdirSync(path.dirname(file), { mode: 0o700 })
    fs.writeFileSync(file, JSON.stringify({ anthropic: KEY + 'old' }), { mode: 0o600 })
    await withKey(workdir)
    assert.ok(!fs.readFileSync(file, 'utf8').includes(KEY))
    assert.deepEqual(readSealed(workdir, file), { anthropic: KEY + 'old', openai: KEY })
})

test('a key that the administrator names is used, and none is made', async () => {
    const workdir = tmpdir('nb-secrets-')
    const named = path.join(tmpdir('nb-key-'), 'key')
    fs.writeFileSync(named, 'a1'.repeat(32) + '\n', { mode: 0o600 })
    await withKey(workdir, { NB_SECRETS_KEY_FILE: named })
    assert.ok(!fs.existsSync(path.join(workdir, '.secrets.key')))
})
