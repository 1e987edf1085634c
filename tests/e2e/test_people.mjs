// nb init, user, token and workspace: what they write, what they refuse, and what they say.
import fs from 'node:fs'
import path from 'node:path'
import { assert, eventually, nb, startServer, test, tmpdir } from '../support/tap.mjs'
import { openTerminal } from '../support/terminal.mjs'

const PASSWORD = 'correct horse\n'
const env = { NB_API_KEY: '', ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '' }

const read = (...parts) => JSON.parse(fs.readFileSync(path.join(...parts), 'utf8'))
const mode = (...parts) => (fs.statSync(path.join(...parts)).mode & 0o777).toString(8)

function commands(workdir) {
    const call = async (args, { input, code = 0 } = {}) => {
        const r = await nb([...args, '--workdir', workdir], { input, env })
        assert.equal(r.code, code, `nb ${args.join(' ')}: ${r.code}\n${r.stdout}${r.stderr}`)
        return r
    }
    const json = async (args, options) =>
        (await call([...args, '--json'], options)).stdout.trim().split('\n').filter(Boolean).map((line) => JSON.parse(line))
    const fails = async (args, expected, code = 1, options = {}) => {
        const r = await call(args, { ...options, code })
        assert.match(r.stderr, expected)
        assert.equal(r.stdout, '')
    }
    return { call, json, fails }
}

async function setUp() {
    const workdir = tmpdir('nb-people-')
    const x = commands(workdir)
    const [made] = await x.json(['init', '--mode', 'local', '--email', 'Ann@Example.com', '--name', 'Ann', '--password-stdin', '--org', 'Example', '-w', 'Team A'], { input: PASSWORD })
    return { workdir, owner: made.owner, ...x }
}

test('init makes an owner, a workspace and instance.json, for nobody else to read', async () => {
    const { workdir, owner, fails } = await setUp()
    assert.deepEqual(read(workdir, 'instance.json'), { auth: { adapter: 'local' }, orgName: 'Example' })
    assert.equal(mode(workdir, 'instance.json'), '600')
    const profile = read(workdir, 'users', owner, 'profile.json')
    assert.equal(profile.email, 'ann@example.com')
    assert.equal(profile.orgRole, 'owner')
    assert.match(owner, /^usr_[0-9a-f]{16}$/)
    assert.match(read(workdir, 'users', owner, 'credentials.json').password, /^\$argon2id\$/)
    assert.equal(mode(workdir, 'users', owner, 'credentials.json'), '600')
    assert.equal(mode(workdir, 'users', owner), '700')
    const ws = read(workdir, 'workspaces/ws_team_a/workspace.json')
    assert.deepEqual(ws.members, [{ userId: owner, role: 'admin' }])
    assert.equal(ws.name, 'Team A')
    await fails(['init', '--mode', 'single'], /already set up/)
})

test('init refuses what it cannot do, and then has done nothing', async () => {
    const workdir = tmpdir('nb-people-')
    const { call, fails } = commands(workdir)
    await fails(['init'], /--mode/, 2)
    await fails(['init', '--mode', 'ldap'], /single, local, oidc/, 2)
    await fails(['init', '--mode', 'local'], /--email/, 2)
    await fails(['init', '--mode', 'oidc', '--email', 'a@x.org'], /--issuer/, 2)
    await fails(['init', '--mode', 'local', '--email', 'a@x.org'], /--password-stdin/, 2)
    await fails(['init', '--mode', 'local', '--email', 'a@x.org', '--password-stdin'], /at least 8/, 1, { input: 'short\n' })
    await fails(['init', '--mode', 'local', '--email', 'nonsense', '--password-stdin'], /not an e-mail address/, 1, { input: PASSWORD })
    await call(['init', '--mode', 'single'])
    assert.equal(fs.existsSync(path.join(workdir, 'instance.json')), false)
})

test('init with OpenID Connect: the owner has an account beforehand, others only by domain', async () => {
    const workdir = tmpdir('nb-people-')
    const { call } = commands(workdir)
    await call(['init', '--mode', 'oidc', '--email', 'ann@example.com', '--issuer', 'https://id.example.com', '--client-id', 'nb', '--domain', 'example.com'])
    assert.deepEqual(read(workdir, 'instance.json').auth, { adapter: 'oidc', issuer: 'https://id.example.com', clientId: 'nb', allowedDomains: ['example.com'] })
    const closed = tmpdir('nb-people-')
    await commands(closed).call(['init', '--mode', 'oidc', '--email', 'ann@example.com', '--issuer', 'https://id.example.com', '--client-id', 'nb'])
    assert.equal(read(closed, 'instance.json').auth.signup, false)
})

test('the data of a single person become the first workspace of the owner', async () => {
    const workdir = tmpdir('nb-people-')
    const { call, json } = commands(workdir)
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify({ noDefaultBundles: true, bundles: [{ path: 'tools/x' }] }))
    await call(['-p', 'hello', '--model', 'demo:demo'])
    const [log] = fs.readdirSync(path.join(workdir, 'conversations')).filter((name) => name.endsWith('.jsonl'))
    fs.writeFileSync(path.join(workdir, 'own.md'), 'Answer briefly.')
    await call(['instructions', 'set', path.join(workdir, 'own.md')])
    await call(['budget', 'set', 'workspace', '100'])
    const [token] = await json(['token', 'create', 'from-before'])
    const [made] = await json(['init', '--mode', 'local', '--email', 'ann@x.org', '--password-stdin'], { input: PASSWORD })
    assert.equal(made.owner, 'usr_default')
    assert.equal(read(workdir, 'workspaces/ws_default/texts.json').people.usr_default.instructions.text, 'Answer briefly.')
    assert.equal(read(workdir, 'workspaces/ws_default/budgets.json').workspaceUsd, 100)
    assert.ok(fs.existsSync(path.join(workdir, 'workspaces/ws_default/conversations', log)))
    assert.equal(fs.existsSync(path.join(workdir, 'conversations')), false)
    assert.deepEqual(read(workdir, 'workspaces/ws_default/workspace.json').bundles, [{ path: path.join(workdir, 'tools/x') }])
    const users = await json(['user', 'list'])
    assert.deepEqual(users.map((u) => [u.id, u.email, u.displayName, u.orgRole]), [['usr_default', 'ann@x.org', 'ann', 'owner']])
    assert.deepEqual((await json(['token', 'list'])).map((t) => t.id), [token.id])
})

test('a directory of the settings for conversations stays, with one of each workspace in it', async () => {
    for (const dir of ['./conversations', 'elsewhere']) {
        const workdir = tmpdir('nb-people-')
        const { call, json, fails } = commands(workdir)
        const settings = (store) => fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify({ noDefaultBundles: true, store }))
        settings({ dir: '.' })
        await fails(['init', '--mode', 'local', '--email', 'ann@x.org', '--password-stdin'], /directory of its own/, 1, { input: PASSWORD })
        settings({ dir })
        await call(['-p', 'hello', '--model', 'demo:demo'])
        const [{ id }] = await json(['conv', 'list'])
        await call(['-p', 'and this goes', '--model', 'demo:demo'])
        await call(['conv', 'delete', '--yes', 'latest'])
        await call(['init', '--mode', 'local', '--email', 'ann@x.org', '--password-stdin'], { input: PASSWORD })
        assert.deepEqual((await json(['conv', 'list'])).map((c) => c.id), [id])
        assert.deepEqual(fs.readdirSync(path.join(workdir, dir)), ['ws_default'])
        assert.ok(fs.readdirSync(path.join(workdir, dir, 'ws_default/trash')).some((name) => name.endsWith('.jsonl')))
    }
})

test('users: add, list, role, passwd, sign-out, remove', async () => {
    const { workdir, owner, call, json, fails } = await setUp()
    const [bob] = await json(['user', 'add', 'bob@x.org', '--name', 'Bob', '--workspace', 'team a', '--password-stdin'], { input: PASSWORD })
    assert.deepEqual(bob.workspaces, ['ws_team_a'])
    assert.equal(bob.orgRole, 'member')
    assert.equal(bob.hasPassword, true)
    await fails(['user', 'add', 'BOB@X.ORG', '--password-stdin'], /another user/, 1, { input: PASSWORD })
    await fails(['user', 'add', 'c@x.org', '--role', 'king'], /owner, admin(,| or) member/, 2)
    await fails(['user', 'add', 'c@x.org', '-w', 'nowhere'], /no workspace 'nowhere'/)
    await fails(['user', 'add'], /expected EMAIL/, 2)
    const [carl] = await json(['user', 'add', 'carl@x.org', '--no-password', '--role', 'admin'])
    assert.equal(carl.hasPassword, false)
    const table = (await call(['user', 'list'])).stdout.trim().split('\n')
    assert.equal(table.length, 4)
    assert.match(table[0], /^EMAIL +NAME +ROLE/)

    await fails(['user', 'role', 'ann@example.com', 'member'], /the only owner/)
    await fails(['user', 'remove', 'ann@example.com', '--yes'], /the only owner/)
    assert.equal((await json(['user', 'role', bob.id, 'owner']))[0].orgRole, 'owner')
    assert.equal((await json(['user', 'role', 'ann@example.com', 'member']))[0].id, owner)

    const before = read(workdir, 'users', bob.id, 'credentials.json')
    const changed = Date.now()
    await call(['user', 'passwd', 'bob@x.org', '--password-stdin'], { input: 'battery staple\n' })
    const after = read(workdir, 'users', bob.id, 'credentials.json')
    assert.notEqual(after.password, before.password)
    assert.ok(after.sessionsFrom >= changed)
    await fails(['user', 'passwd', 'bob@x.org', '--password-stdin'], /at least 8/, 1, { input: 'x\n' })
    await call(['user', 'sign-out', 'bob@x.org'])

    await fails(['user', 'remove', 'carl@x.org'], /--yes/, 2)
    assert.deepEqual(await json(['user', 'remove', 'carl@x.org', '--yes']), [{ id: carl.id, removed: true }])
    assert.equal(fs.existsSync(path.join(workdir, 'users', carl.id)), false)
    await fails(['user', 'remove', 'carl@x.org', '--yes'], /no user 'carl@x.org'/)
    await fails(['user', 'remove', 'ann@example.com', '--yes'], /only admin of ws_team_a/)
})

test('tokens: shown once, stored as a hash, bounded, revoked', async () => {
    const { workdir, owner, call, json, fails } = await setUp()
    const { stdout } = await call(['token', 'create', 'ci', '--scope', 'read,mcp', '--tools', 'files__*', '--expires', '30d'])
    const value = stdout.trim()
    assert.match(value, /^nb_[A-Za-z0-9_-]{43}$/)
    const text = fs.readFileSync(path.join(workdir, 'users', owner, 'credentials.json'), 'utf8')
    assert.ok(!text.includes(value))
    const [listed] = await json(['token', 'list'])
    assert.deepEqual(listed.scopes, ['read', 'mcp'])
    assert.deepEqual(listed.tools, ['files__*'])
    assert.equal(listed.lastUsedAt, null)
    const days = (Date.parse(listed.expiresAt) - Date.now()) / 86400000
    assert.ok(days > 29.9 && days < 30.1)
    const [wide] = await json(['token', 'create', 'wide', '--user', 'ann@example.com', '--scope', 'all', '--expires', 'never', '-w', 'team_a'])
    assert.equal(wide.expiresAt, null)
    assert.equal(wide.workspaceId, 'ws_team_a')
    assert.deepEqual(wide.scopes, ['read', 'write', 'mcp', 'admin'])
    await fails(['token', 'create', 'x', '--scope', 'root'], /not a scope/, 2)
    for (const bad of ['5m', '0d', '-1d', 'soon', '2020-01-01', '']) await fails(['token', 'create', 'x', `--expires=${bad}`], /--expires/, 2)
    await fails(['token', 'create', 'x', '--user', 'nobody@x.org'], /no user/)
    await fails(['token', 'create'], /expected NAME/, 2)
    await call(['user', 'add', 'bob@x.org', '--no-password'])
    await fails(['token', 'create', 'x'], /--user/, 2)
    await fails(['token', 'create', 'x', '--user', 'bob@x.org', '-w', 'team_a'], /not a member/)
    await call(['token', 'revoke', listed.id])
    await fails(['token', 'revoke', listed.id], /no token/)
    assert.deepEqual((await json(['token', 'list', '--user', 'ann@example.com'])).map((t) => t.id), [wide.id])
    assert.deepEqual(await json(['token', 'list', '--user', 'bob@x.org']), [])
})

test('workspaces: create, rename, members, roles, delete', async () => {
    const { workdir, owner, call, json, fails } = await setUp()
    const [sales] = await json(['workspace', 'create', 'Sales & Marketing'])
    assert.equal(sales.id, 'ws_sales_marketing')
    assert.deepEqual(sales.members.map((m) => [m.userId, m.role]), [[owner, 'admin']])
    await fails(['workspace', 'create', 'x', '--id', 'ws_../x'], /workspace id/)
    await fails(['workspace', 'create', 'x', '--id', 'ws_team_a'], /already/)
    await call(['user', 'add', 'bob@x.org', '--no-password'])
    await call(['ws', 'add-member', 'sales_marketing', 'bob@x.org'])
    await fails(['ws', 'add-member', 'sales_marketing', 'bob@x.org'], /member already/)
    await fails(['ws', 'role', 'team_a', 'bob@x.org', 'admin'], /not a member/)
    await fails(['ws', 'role', 'sales_marketing', 'ann@example.com', 'member'], /the only admin/)
    await fails(['ws', 'remove-member', 'sales_marketing', 'ann@example.com'], /the only admin/)
    await call(['ws', 'role', 'sales_marketing', 'bob@x.org', 'admin'])
    await call(['ws', 'remove-member', 'Sales & Marketing', 'ann@example.com'])
    assert.deepEqual((await json(['workspace', 'members', 'ws_sales_marketing'])).map((m) => [m.email, m.role]), [['bob@x.org', 'admin']])
    assert.equal((await json(['workspace', 'rename', 'ws_sales_marketing', 'Sales']))[0].name, 'Sales')
    await fails(['workspace', 'rename', 'nowhere', 'x'], /no workspace/)
    await fails(['workspace', 'delete', 'Sales'], /--yes/, 2)
    fs.mkdirSync(path.join(workdir, 'workspaces/ws_sales_marketing/files'))
    await call(['workspace', 'delete', 'Sales', '--yes'])
    assert.deepEqual((await json(['workspace', 'list'])).map((w) => w.id), ['ws_team_a'])
    const [trashed] = fs.readdirSync(path.join(workdir, 'trash'))
    assert.ok(fs.existsSync(path.join(workdir, 'trash', trashed, 'files')))
})

test('names of strangers cannot write to the terminal', async () => {
    const { workdir, call, fails } = await setUp()
    await fails(['workspace', 'create', 'a\u001b[2Jb'], /control characters/)
    const file = path.join(workdir, 'workspaces/ws_team_a/workspace.json')
    fs.writeFileSync(file, JSON.stringify({ ...read(file), name: 'x\u001b]0;owned\u0007y' }))
    const { stdout } = await call(['workspace', 'list'])
    assert.ok(!stdout.includes('\u001b'))
})

test('many commands at the same time lose nothing', async () => {
    const { json } = await setUp()
    const emails = Array.from({ length: 8 }, (_, i) => `p${i}@x.org`)
    await Promise.all(emails.map((email) => json(['user', 'add', email, '--no-password', '-w', 'team_a'])))
    assert.equal((await json(['user', 'list'])).length, 9)
    assert.equal((await json(['workspace', 'members', 'team_a'])).length, 9)
})

test('a file that cannot be read is named, and nobody else is locked out', async () => {
    const { workdir, call, json } = await setUp()
    const [bob] = await json(['user', 'add', 'bob@x.org', '--no-password', '-w', 'team_a'])
    fs.writeFileSync(path.join(workdir, 'users', bob.id, 'profile.json'), '{')
    const { stdout, stderr } = await call(['user', 'list', '--json'])
    assert.match(stderr, new RegExp(`${bob.id}/profile.json`))
    assert.equal(stdout.trim().split('\n').length, 1)
    // Somebody else's change does not throw him out of the workspace.
    await call(['user', 'add', 'carl@x.org', '--no-password', '-w', 'team_a'])
    assert.equal(read(workdir, 'workspaces/ws_team_a/workspace.json').members.length, 3)
})

test('without users there is one person, and little to do', async () => {
    const { json, fails } = commands(tmpdir('nb-people-'))
    assert.deepEqual((await json(['user', 'list'])).map((u) => u.id), ['usr_default'])
    assert.deepEqual((await json(['workspace', 'list'])).map((w) => w.id), ['ws_default'])
    await fails(['user', 'add', 'a@x.org'], /nb init/)
    await fails(['user', 'passwd', 'usr_default', '--password-stdin'], /local users/, 1, { input: PASSWORD })
    await fails(['workspace', 'create', 'x'], /nb init/)
})

test('instance.json with a mistake stops every command, with the reason', async () => {
    const { workdir, fails } = await setUp()
    fs.writeFileSync(path.join(workdir, 'instance.json'), '{"auth":{"adapter":"local","allowedDomain":["x"]}}')
    await fails(['user', 'list'], /instance\.json: unknown key 'auth\.allowedDomain'/)
})

test('a running server applies changes immediately: tokens, passwords, accounts', async () => {
    const { workdir, call, json } = await setUp()
    const server = await startServer({ workdir, env })
    const status = async (headers) => (await fetch(server.url + '/v1/bootstrap', { headers })).status
    const login = async (password) => {
        const res = await fetch(server.url + '/v1/auth/login', {
            method: 'POST',
            headers: { 'content-type': 'application/json', origin: server.url },
            body: JSON.stringify({ email: 'ann@example.com', password }),
        })
        return { status: res.status, cookie: res.headers.getSetCookie().map((line) => line.split(';')[0]).join('; ') }
    }
    assert.equal(await status({}), 401)

    const [token] = await json(['token', 'create', 'ci'])
    const bearer = { authorization: `Bearer ${token.token}` }
    await eventually(async () => (await status(bearer)) === 200)
    await call(['token', 'revoke', token.id])
    await eventually(async () => (await status(bearer)) === 401)

    const session = await login('correct horse')
    assert.equal(session.status, 200)
    assert.match(session.cookie, /nb_session=[A-Za-z0-9_-]{43}; nb_refresh=/)
    assert.equal(await status({ cookie: session.cookie }), 200)
    await call(['user', 'passwd', 'ann@example.com', '--password-stdin'], { input: 'battery staple\n' })
    await eventually(async () => (await status({ cookie: session.cookie })) === 401)
    assert.equal((await login('correct horse')).status, 401)
    const again = await login('battery staple')
    assert.equal(await status({ cookie: again.cookie }), 200)

    // The session is still there after a restart, and ends with the account.
    await server.stop()
    const next = await startServer({ workdir, env })
    const there = async () => (await fetch(next.url + '/v1/bootstrap', { headers: { cookie: again.cookie } })).status
    assert.equal(await there(), 200)
    const [bob] = await json(['user', 'add', 'bob@x.org', '--no-password', '--role', 'owner', '-w', 'team_a'])
    await call(['ws', 'role', 'team_a', bob.id, 'admin'])
    await call(['user', 'remove', 'ann@example.com', '--yes'])
    await eventually(async () => (await there()) === 401)
})

test('init walks a person through it, and shows no password', async () => {
    const workdir = tmpdir('nb-people-')
    const term = await openTerminal(['init', '--workdir', workdir], { env, rows: 40 })
    await term.sees(/1, 2 or 3 \[1\]:/)
    await term.message('2')
    await term.sees(/E-mail address:/)
    await term.message('ann@x.org')
    await term.sees(/Name:/)
    await term.message('Ann')
    await term.sees(/first workspace \[Team\]:/)
    await term.key('Enter')
    await term.sees(/Password:/)
    await term.type('correct horx')
    await term.key('BSpace')
    await term.type('se')
    await term.key('Enter')
    await term.sees(/Repeat the password:/)
    await term.message('correct horse')
    assert.equal((await term.ended()).code, 0)
    const screen = await term.sees(/Done: .*instance\.json/)
    assert.ok(!/corr|horse/.test(screen), screen)
    const [user] = await commands(workdir).json(['user', 'list'])
    assert.equal(user.displayName, 'Ann')
})

test('Ctrl-C at the password changes nothing and gives the terminal back', async () => {
    const workdir = tmpdir('nb-people-')
    const term = await openTerminal([], {
        env, rows: 40,
        command: ['sh', '-c', `"${process.env.NB ?? 'build/nb'}" init --mode local --email a@x.org --workdir "${workdir}"; echo "code $?"; stty -a | grep -o -- ' -*echo '; sleep 5`],
    })
    await term.sees(/Password:/)
    await term.key('C-c')
    const screen = await term.sees(/code 1[\s\S]*echo/)
    assert.match(screen, /nothing was changed/)
    assert.ok(!/ -echo/.test(screen))
    assert.equal(fs.existsSync(path.join(workdir, 'instance.json')), false)
})
