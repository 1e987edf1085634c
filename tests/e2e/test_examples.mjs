// The examples work as they are: bundles in three languages, a skill, settings, a CI job, proxies.
import fs from 'node:fs'
import path from 'node:path'
import { assert, nb, run, skip, SRC_DIR, NB, test, tmpdir } from '../support/tap.mjs'

const example = (name) => path.join(SRC_DIR, 'examples', name)
const has = (program) => process.env.PATH.split(':').some((dir) => fs.existsSync(path.join(dir, program)))
const NODE_DIR = path.dirname(process.execPath)

async function done(args, opts = {}) {
    const { code, stdout, stderr } = await nb(args, { ...opts, env: { PATH: `${NODE_DIR}:${process.env.PATH}`, NB_DEMO_DELAY_MS: '0', ...opts.env } })
    assert.equal(code, 0, `nb ${args.join(' ')}: ${stderr}${stdout}`)
    return stdout
}

/** Adds the example to a work directory of its own; returns a function that calls its tools. */
async function added(name) {
    const workdir = tmpdir()
    await done(['bundle', 'validate', example(name)])
    await done(['--workdir', workdir, 'bundle', 'add', '--yes', example(name)])
    return (tool, ...args) => done(['--workdir', workdir, 'mcp', 'call', `${name}__${tool}`, ...args])
}

test('the bundle in sh answers a call', async () => {
    const call = await added('hello-sh')
    assert.match(await call('uptime'), /^up for \d+ seconds$/m)
})

test('the bundle in Python answers a call', async () => {
    const call = await added('hello-python')
    assert.match(await call('count_words', 'text=the cat and the dog'), /^5 words; the: 2, /)
})

test('the bundle in Node.js keeps notes between starts', async () => {
    const call = await added('hello-node')
    assert.match(await call('list_notes'), /no notes yet/)
    assert.match(await call('add_note', 'text=buy milk'), /note 1 is kept/)
    assert.match(await call('list_notes'), /^1\. buy milk$/m)
})

test('the bundles answer unknown methods and ignore notifications', async () => {
    const lines = ['{"jsonrpc":"2.0","method":"notifications/initialized"}', '{"jsonrpc":"2.0","id":7,"method":"x/y","params":{}}', '{"jsonrpc":"2.0","id":"a","method":"ping"}']
    for (const [program, file] of [['sh', 'hello-sh/server.sh'], ['python3', 'hello-python/server.py'], [process.execPath, 'hello-node/server.mjs']]) {
        const { stdout } = await run(program, [example(file)], { input: `${lines.join('\n')}\n`, cwd: tmpdir() })
        const answers = stdout.trim().split('\n').map((line) => JSON.parse(line))
        assert.deepEqual(answers.map(({ id, error }) => [id, error?.code]), [[7, -32601], ['a', undefined]], file)
    }
})

test('the skill is valid, can be written and is listed', async () => {
    const file = example('skill/release-notes/SKILL.md')
    const workdir = tmpdir()
    await done(['skill', 'validate', file])
    await done(['--workdir', workdir, 'skill', 'write', file])
    assert.match(await done(['--workdir', workdir, 'skill', 'list']), /release-notes/)
})

test('the settings with an agent profile are accepted, and the prompt names the profile', async () => {
    const workdir = tmpdir()
    fs.copyFileSync(example('agent-profile/nimblebrain.json'), `${workdir}/nimblebrain.json`)
    const { stdout, stderr } = await nb(['--workdir', workdir, 'prompt', '--for', 'hello'])
    assert.doesNotMatch(stderr, /warning|unknown/)
    assert.match(stdout, /reviewer/)
})

test('the job of a CI reviews a change and leaves nothing behind', async () => {
    if (!has('git')) skip('git is not installed')
    const dir = tmpdir()
    const bin = tmpdir()
    fs.symlinkSync(NB, `${bin}/nb`)
    const env = { PATH: `${bin}:${process.env.PATH}`, HOME: dir, TMPDIR: dir, NB_DEMO_DELAY_MS: '0', GIT_CONFIG_GLOBAL: '/dev/null', GIT_AUTHOR_NAME: 'a', GIT_AUTHOR_EMAIL: 'a@b', GIT_COMMITTER_NAME: 'a', GIT_COMMITTER_EMAIL: 'a@b' }
    fs.mkdirSync(`${dir}/repo`)
    const git = async (...args) => assert.equal((await run('git', args, { cwd: `${dir}/repo`, env })).code, 0)
    await git('init', '-q')
    for (const text of ['one\n', 'two\n']) {
        fs.writeFileSync(`${dir}/repo/file`, text)
        await git('add', 'file')
        await git('commit', '-qm', 'change')
    }
    const { code, stdout, stderr } = await run('sh', [example('ci/review.sh')], { cwd: `${dir}/repo`, env })
    assert.equal(code, 0, stderr)
    assert.ok(stdout.trim().length > 0)
    assert.deepEqual(fs.readdirSync(dir).filter((name) => name.startsWith('tmp.')), [])
    assert.match(fs.readFileSync(example('ci/github-actions.yml'), 'utf8'), /examples\/ci\/review\.sh/)
})

test('nginx accepts its configuration', async () => {
    if (!has('nginx') || !has('openssl')) skip('nginx or openssl is not installed')
    const dir = tmpdir()
    const made = await run('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=nb', '-keyout', `${dir}/privkey.pem`, '-out', `${dir}/fullchain.pem`])
    assert.equal(made.code, 0, made.stderr)
    const text = fs.readFileSync(example('proxy/nginx.conf'), 'utf8').replaceAll('/etc/ssl/nb', dir)
    fs.writeFileSync(`${dir}/nginx.conf`, `pid ${dir}/pid;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n${text}}\n`)
    const { code, stderr } = await run('nginx', ['-t', '-q', '-c', `${dir}/nginx.conf`, '-p', dir])
    assert.equal(code, 0, stderr)
})
