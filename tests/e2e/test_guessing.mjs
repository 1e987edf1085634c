// Keys and passwords that are guessed: guessing is slow and noted, and locks out nobody known.
import { assert, bareFetch, nb, sleep, startServer, test, tmpdir } from '../support/tap.mjs'
import { openOffice, QUICK } from '../support/office.mjs'

const KEY = 'a-long-enough-api-key'

const bearer = (value) => ({ authorization: `Bearer ${value}` })
const ask = async (server, headers, target = '/v1/conversations') => (await bareFetch(server.url + target, { headers })).status
const linesAbout = (server, words) => server.stderr.split('\n').filter((line) => line.includes(words))

const WINDOW_MS = 60_000 // from the first attempt on
const count = (codes, code) => codes.filter((c) => c === code).length

/** The answers to so many wrong keys within one window, and how many attempts at that were needed. */
async function guesses(server, target, n) {
    for (let tries = 1; ; tries++) {
        const began = performance.now(), codes = []
        const some = async () => {
            for (let i; (i = codes.length) < n; ) {
                codes.push(0)
                codes[i] = await ask(server, bearer(`guess-number-${i}-of-many-others`), target)
            }
        }
        await Promise.all([some(), some(), some(), some()])
        if (performance.now() - began < WINDOW_MS) return { codes, tries }
        await sleep(WINDOW_MS) // the machine was too slow: a new window
    }
}

async function guess(server, target, valid, limit = 30) {
    const { codes, tries } = await guesses(server, target, limit + 30)
    assert.deepEqual([count(codes, target === '/v1/health' ? 200 : 401), count(codes, 429)], [limit, 30])
    for (const value of valid) assert.equal(await ask(server, bearer(value), target), 200, 'a right one is accepted at any time')
    assert.ok(linesAbout(server, 'wrong key').length <= 2 || tries > 1, server.stderr)
    await server.waitFor(/from 127\.0\.0\.1/)
    assert.ok(!server.stderr.includes('guess-number'))
}

for (const target of ['/v1/conversations', '/mcp', '/v1/health']) {
    test(`wrong API keys at ${target} are slowed down and noted in the log`, async () => {
        const server = await startServer({ env: { ...QUICK, NB_API_KEY: KEY } })
        await guess(server, target, target === '/mcp' ? [] : [KEY])
    })
}

test('wrong keys of an installation without users are slowed down and noted in the log', async () => {
    const server = await startServer({ env: QUICK })
    await guess(server, '/v1/conversations', [server.key])
})

test('wrong tokens are slowed down and noted in the log', async () => {
    const office = await openOffice({ ann: 'owner' }, { ws_a: { ann: 'admin' } })
    await guess(office.server, '/v1/conversations', [office.tokens.ann], 300)
})

test('a key that is short or has few different characters is refused at the start', async () => {
    for (const [key, why] of [['12345678', /8 characters; it needs at least 16/], ['0123456789abcde', /at least 16/], ['a'.repeat(40), /easy to guess/]]) {
        const { code, stderr } = await nb(['serve', '--port', '0', '--workdir', tmpdir()], { env: { ...QUICK, NB_API_KEY: key } })
        assert.equal(code, 1)
        assert.match(stderr, why)
        assert.ok(!stderr.includes(key))
    }
})

test('wrong passwords from many addresses do not lock out addresses of earlier logins', async () => {
    const settings = { http: { trustedProxies: ['127.0.0.1'] } }
    const office = await openOffice({ ann: 'owner' }, { ws_a: { ann: 'admin' } }, { settings })
    const set = await office.nb(['user', 'passwd', 'ann@example.com', '--password-stdin'], { input: 'correct horse battery\n' })
    assert.equal(set.code, 0, set.stderr)
    const logIn = async (password, from, email = 'ann@example.com') =>
        (await bareFetch(`${office.server.url}/v1/auth/login`, {
            method: 'POST',
            headers: { 'content-type': 'application/json', 'x-forwarded-for': from },
            body: JSON.stringify({ email, password }),
        })).status
    assert.equal(await logIn('correct horse battery', '192.0.2.1'), 200)
    // One address against many accounts, and many addresses against one.
    const spray = await Promise.all(Array.from({ length: 14 }, (_, i) => logIn('wrong', '198.51.100.1', `u${i}@example.com`)))
    assert.deepEqual([count(spray, 401), count(spray, 429)], [10, 4])
    const swarm = await Promise.all(Array.from({ length: 24 }, (_, i) => logIn('wrong', `203.0.113.${i}`)))
    assert.ok(count(swarm, 401) <= 10 && swarm.includes(429), String(swarm))
    const rest = await Promise.all(Array.from({ length: 6 }, (_, i) => logIn('wrong', `2001:db8:1:${i}::1`, `v${i}@example.com`)))
    assert.ok(rest.every((s) => s === 401), 'delayed, not refused')
    // Somebody known is not touched by all that, and still cannot guess at speed.
    assert.equal(await logIn('correct horse battery', '192.0.2.1'), 200)
    // All at once: attempts are counted when they arrive, and ten passwords may take longer than the minute they are counted in.
    const own = await Promise.all(Array.from({ length: 12 }, () => logIn('wrong', '192.0.2.1')))
    assert.deepEqual([count(own, 401), count(own, 429)], [10, 2], String(own))
}, { timeoutMs: 800_000 }) // about forty passwords are checked, by a thread that gives way to everything else
