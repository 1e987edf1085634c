// PostgreSQL over TLS with a certificate of an own authority, a password file, and the PG* variables of libpq.
// openssl comes with the package postgresql (through ssl-cert).
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { after, assert, before, freePort, nb, startServer, test, tmpdir } from '../support/tap.mjs'
import { startPostgres } from '../support/postgres.mjs'

const PASSWORD = 'herons:stand\\still'
let dir, port, workdir, postgres

const openssl = (...args) => execFileSync('openssl', args, { cwd: dir, stdio: 'pipe' })

function makeAuthority(name) {
    openssl('req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-subj', `/CN=${name}`, '-days', '2',
        '-keyout', `${name}.key`, '-out', `${name}.pem`)
}

function makeCertificate(host) {
    fs.writeFileSync(path.join(dir, 'names'), `subjectAltName=DNS:${host}\n`)
    openssl('req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-subj', `/CN=${host}`, '-keyout', 'server.key', '-out', 'server.csr')
    openssl('x509', '-req', '-in', 'server.csr', '-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2', '-extfile', 'names', '-out', 'server.pem')
}

before(async () => {
    dir = fs.mkdtempSync('/tmp/nb-tls-')
    fs.chmodSync(dir, 0o755)
    makeAuthority('ca')
    makeAuthority('other')
    makeCertificate('localhost')
    fs.writeFileSync(path.join(dir, 'hba'), 'local all all trust\nhostssl all all 127.0.0.1/32 scram-sha-256\n', { mode: 0o644 })
    fs.chmodSync(path.join(dir, 'server.key'), 0o600)
    if (process.getuid() === 0) fs.chownSync(path.join(dir, 'server.key'), ...execFileSync('sh', ['-c', 'id -u nobody; id -g nobody'], { encoding: 'utf8' }).trim().split('\n').map(Number))
    port = await freePort()
    postgres = await startPostgres('fsync=off', 'ssl=on', `ssl_cert_file=${dir}/server.pem`, `ssl_key_file=${dir}/server.key`,
        `hba_file=${dir}/hba`, 'listen_addresses=127.0.0.1', `port=${port}`)
    const sql = `ALTER USER nb PASSWORD '${PASSWORD}'`
    execFileSync('psql', ['-X', '-q', '-c', sql, `${postgres.url}&port=${port}`], { stdio: 'pipe' })
    // In a password file ":" and "\" are escaped.
    fs.writeFileSync(path.join(dir, 'pass'), `localhost:*:*:nb:${PASSWORD.replace(/[:\\]/g, '\\$&')}\n`, { mode: 0o600 })
    workdir = tmpdir()
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify({ store: { type: 'postgres' } }))
})

after(() => fs.rmSync(dir, { recursive: true, force: true }))

const url = (more = '', host = 'localhost', ca = 'ca') => `postgresql://nb@${host}:${port}/postgres?sslmode=verify-full&sslrootcert=${dir}/${ca}.pem${more}`
const status = (env) => nb(['--workdir', workdir, 'store', 'status', '--json'], { env })
const PASSFILE = () => ({ PGPASSFILE: path.join(dir, 'pass') })

test('a certificate that the authority has signed for this host is accepted, with the password of the password file', async () => {
    const env = { NB_STORE_URL: url(), ...PASSFILE() }
    const made = await nb(['--workdir', workdir, 'store', 'init'], { env })
    assert.equal(made.code, 0, made.stderr)
    const looked = await status(env)
    assert.equal(looked.code, 0, looked.stderr)
    assert.equal(JSON.parse(looked.stdout).isEncrypted, true)
    const server = await startServer({ workdir, env: { ...env, NB_DEMO_DELAY_MS: '0', NB_API_KEY: '' } })
    assert.equal((await fetch(server.url + '/v1/health')).status, 200)
    assert.equal((await server.stop('SIGTERM')).code, 0)
})

test('the variables of libpq do the same', async () => {
    const env = { PGHOST: 'localhost', PGPORT: String(port), PGUSER: 'nb', PGDATABASE: 'postgres', PGSSLMODE: 'verify-full', PGSSLROOTCERT: path.join(dir, 'ca.pem'), ...PASSFILE() }
    const looked = await status(env)
    assert.equal(looked.code, 0, looked.stderr)
    assert.equal(JSON.parse(looked.stdout).isEncrypted, true)
})

test('another authority, another host, a wrong password and no encryption are refused; no message has the password', async () => {
    for (const [env, says] of [
        [{ NB_STORE_URL: url('', 'localhost', 'other'), ...PASSFILE() }, /certificate verify failed|self.signed/],
        [{ NB_STORE_URL: url('', '127.0.0.1'), PGPASSWORD: PASSWORD }, /does not match host name/],
        [{ NB_STORE_URL: url(), PGPASSWORD: 'wrong-word' }, /password|authentication/],
        [{ NB_STORE_URL: `postgresql://nb@localhost:${port}/postgres?sslmode=disable`, ...PASSFILE() }, /pg_hba|no encryption|encryption/],
    ]) {
        const looked = await status(env)
        assert.notEqual(looked.code, 0, JSON.stringify(env))
        assert.match(looked.stderr, says)
        assert.ok(!looked.stderr.includes(PASSWORD) && !looked.stderr.includes('wrong-word'))
    }
})
