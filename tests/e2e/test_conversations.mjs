// Operations on conversations: from the terminal, over the API and by the agent's tools,
// beside a running server and without one, in both file stores.
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { losePower } from '../support/journal.mjs'
import { assert, eventually, nb, NB, run, sse, startServer, test, tmpdir } from '../support/tap.mjs'

const quick = { NB_DEMO_DELAY_MS: '0', ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '' }
const STORES = ['jsonl', 'folder']

// A terminal on one work directory: conv('list') is `nb conv list`.
function terminal(dir, store = 'jsonl') {
    const call = (args, opts = {}) =>
        nb(['--workdir', dir, '--store', store, ...args], { ...opts, env: { ...quick, ...opts.env } })
    const t = {
        dir,
        call,
        say: async (text, ...args) => {
            const r = await call(['--json', '-p', text, ...args])
            assert.equal(r.code, 0, r.stderr)
            return JSON.parse(r.stdout)
        },
        conv: async (...args) => {
            const r = await call(['conv', ...args])
            assert.equal(r.code, 0, `nb conv ${args.join(' ')}: ${r.stderr}`)
            return r.stdout
        },
        json: async (...args) => lines(await t.conv(...args, '--json')),
        fails: async (code, ...args) => {
            const r = await call(['conv', ...args])
            assert.equal(r.code, code, `nb conv ${args.join(' ')}: ${r.stdout}${r.stderr}`)
            return r.stderr
        },
    }
    return t
}

function lines(text) {
    return text.trim().split('\n').filter(Boolean).map((l) => JSON.parse(l))
}

function api(server) {
    return async (method, url, body) => {
        const res = await fetch(server.url + url, {
            method,
            headers: body === undefined ? {} : { 'content-type': 'application/json' },
            body: body === undefined ? undefined : JSON.stringify(body),
        })
        const text = await res.text()
        return { status: res.status, text, headers: res.headers, body: res.headers.get('content-type') === 'application/json' ? JSON.parse(text) : null }
    }
}

function serve(dir, store = 'jsonl', env = {}) {
    return startServer({ workdir: dir, args: ['--store', store], env: { ...quick, ...env } })
}

for (const store of STORES) {
    test(`${store}: fork, rename, search, note, export, re-import from the terminal`, async () => {
        const t = terminal(tmpdir(), store)
        const { conversationId: id } = await t.say('what is 6*7?')
        await t.say('call echo about zanzibar', '--resume', id)

        const [before] = await t.json('list')
        assert.equal(before.messageCount, 4)

        const [fork] = await t.json('fork', '--at', '2', id)
        assert.equal(fork.forkedFrom, id)
        assert.equal(fork.messageCount, 2)
        const [forked] = await t.json('show', fork.id)
        assert.equal(forked.messages[0].content, 'what is 6*7?')
        const calls = forked.messages.flatMap((m) => m.toolCalls ?? [])
        assert.equal(calls[0]?.output, '42', 'a fork keeps tool calls and their results')

        assert.match(await t.conv('rename', id, 'Numbers', 'and', 'islands'), /Numbers and islands/)
        assert.equal((await t.json('show', id))[0].title, 'Numbers and islands')

        assert.match(await t.conv('note', id, 'look', 'up', 'the', 'archipelago'), /note added/)
        assert.match(await t.conv('note', id), /^Developer, .*\nlook up the archipelago/)

        const hits = await t.json('search', 'zanzibar')
        assert.ok(hits.some((h) => h.conversationId === id && h.role === 'user'), JSON.stringify(hits))
        assert.match(hits[0].snippet, /zanzibar/)
        const notes = await t.json('search', 'archipelago')
        assert.deepEqual([notes[0].conversationId, notes[0].role], [id, 'note'])
        assert.match(await t.conv('search', 'zanzi*'), /\*zanzi\w*\*/i, 'hits are marked')
        assert.equal((await t.json('search', 'in:title', 'islands'))[0].conversationId, id)
        await t.fails(1, 'search', 'nosuchwordanywhere')

        const out = path.join(t.dir, 'out')
        for (const [suffix, what] of [['md', /^# Numbers and islands/m], ['html', /<html/i], ['json', /"messages"/]]) {
            await t.conv('export', id, '-o', `${out}.${suffix}`)
            assert.match(fs.readFileSync(`${out}.${suffix}`, 'utf8'), what)
        }
        assert.match(await t.fails(1, 'export', id, '-o', `${out}.md`), /exists already/)
        await t.conv('export', id, '-o', `${out}.jsonl`)

        const other = terminal(tmpdir(), store)
        assert.match(await other.conv('import', `${out}.jsonl`), /1 conversation/)
        assert.match(await other.conv('import', `${out}.jsonl`), /already/)
        const [again] = await other.json('show', id)
        const [original] = await t.json('show', id)
        const said = (c) => c.messages.map((m) => [m.role, m.content, m.timestamp, m.toolCalls?.map((x) => x.output)])
        assert.deepEqual(said(again), said(original))
        assert.equal(again.title, 'Numbers and islands')
        assert.match(await other.conv('note', id), /archipelago/)
        assert.equal(again.totalInputTokens, original.totalInputTokens)
    })

    test(`${store}: delete asks, restore brings back, purge does not`, async () => {
        const t = terminal(tmpdir(), store)
        const { conversationId: id } = await t.say('hello')
        assert.match(await t.fails(2, 'delete', id), /--yes/)
        assert.equal((await t.json('list')).length, 1, 'nothing was deleted')
        await t.conv('delete', '--yes', id)
        assert.equal((await t.json('list')).length, 0)
        await t.fails(1, 'show', id)
        await t.conv('restore', id)
        assert.equal((await t.json('show', id))[0].messages[0].content, 'hello')
        await t.conv('delete', '--yes', id)
        await t.conv('delete', '--yes', '--purge', id)
        await t.fails(1, 'restore', id)
        const left = fs.readdirSync(t.dir, { recursive: true }).filter((f) => f.includes(id))
        assert.deepEqual(left, [])
    })

    test(`${store}: the terminal beside a running server sees and changes the same`, async () => {
        const server = await serve(tmpdir(), store)
        const t = terminal(server.workdir, store)
        const ask = api(server)
        const chat = await ask('POST', '/v1/chat', { message: 'remember the quokka' })
        const id = chat.body.conversationId
        assert.deepEqual((await t.json('list')).map((c) => c.id), [id])
        await t.conv('rename', id, 'Marsupials')
        assert.equal((await ask('GET', `/v1/conversations/${id}`)).body.title, 'Marsupials')
        await t.conv('note', id, 'from the terminal')
        const { notes } = (await ask('GET', `/v1/conversations/${id}/notes`)).body
        assert.deepEqual(notes.map((n) => [n.author, n.content]), [['usr_default', 'from the terminal']])
        assert.match(await t.conv('export', id), /quokka/)
        assert.match(await t.conv('verify'), new RegExp(`ok .*${id}`))

        // A changed file is enough: what another process imports is listed.
        const file = path.join(server.workdir, 'x.jsonl')
        await t.conv('export', id, '-o', file)
        const foreign = 'conv_00000000000000aa'
        fs.writeFileSync(file, fs.readFileSync(file, 'utf8').replaceAll(id, foreign))
        await t.conv('import', file)
        assert.equal((await ask('GET', '/v1/conversations')).body.totalCount, 2)
        await t.conv('delete', '--yes', foreign)
        assert.equal((await ask('GET', `/v1/conversations/${foreign}`)).status, 404)
    })

    test(`${store}: the index may be removed while the server runs`, async () => {
        const server = await serve(tmpdir(), store)
        const ask = api(server)
        const ids = []
        for (const word of ['armadillo', 'baboon', 'capybara']) {
            ids.push((await ask('POST', '/v1/chat', { message: `say ${word}` })).body.conversationId)
        }
        assert.equal((await ask('GET', '/v1/search?q=baboon')).body.results[0].conversationId, ids[1])
        for (const f of fs.readdirSync(path.join(server.workdir, 'cache'))) {
            fs.rmSync(path.join(server.workdir, 'cache', f), { recursive: true, force: true }) // journals come and go
        }
        const list = (await ask('GET', '/v1/conversations')).body
        assert.deepEqual(list.conversations.map((c) => c.id).sort(), [...ids].sort())
        assert.equal(list.totalCount, 3)
        const found = (await ask('GET', '/v1/search?q=capybara')).body.results
        assert.equal(found[0]?.conversationId, ids[2])
        await ask('POST', '/v1/chat', { message: 'say dormouse' })
        await eventually(async () => (await ask('GET', '/v1/search?q=dormouse')).body.results.length > 0)
        assert.equal((await ask('GET', '/v1/conversations')).body.totalCount, 4)
    })
}

test('converting to folder and back keeps everything', async () => {
    const t = terminal(tmpdir())
    const { conversationId: id } = await t.say('what is 6*7?')
    await t.conv('rename', id, 'Forty-two')
    await t.conv('note', id, 'a note')
    const [{ converted }] = await t.json('convert', '--to', 'folder')
    assert.equal(converted, 1)
    const folder = terminal(t.dir, 'folder')
    const [there] = await folder.json('show', id)
    assert.equal(there.title, 'Forty-two')
    const back = path.join(t.dir, 'back')
    await folder.conv('convert', '--to', 'jsonl', '--dir', back)
    fs.writeFileSync(path.join(t.dir, 'nimblebrain.json'), JSON.stringify({ store: { type: 'jsonl', dir: back } }))
    const [here] = lines((await nb(['--workdir', t.dir, 'conv', 'show', id, '--json'], { env: quick })).stdout)
    const [original] = await terminal(t.dir).json('show', id)
    assert.deepEqual(here.messages.map((m) => [m.role, m.content, m.timestamp]), original.messages.map((m) => [m.role, m.content, m.timestamp]))
    assert.match((await t.fails(2, 'convert', '--to', 'sqlite')), /jsonl/)
})

test('bad ids and bad calls are refused with the right code', async () => {
    const t = terminal(tmpdir())
    await t.say('hello')
    for (const bad of ['../../etc/passwd', 'conv_/x', 'conv_..', '', 'conv_ffffffffffffffff']) {
        for (const command of [['show', bad], ['rename', bad, 'x'], ['fork', bad], ['delete', '-y', bad],
            ['restore', bad], ['note', bad, 'x'], ['export', bad]]) {
            assert.match(await t.fails(1, ...command), /no (such )?conversation|not in the trash/i)
        }
    }
    assert.match(await t.fails(2, 'frobnicate'), /no such command/)
    assert.match(await t.fails(2, 'list', '--bogus'), /--bogus/)
    assert.match(await t.fails(2, 'search'), /expected WORDS/)
    assert.match(await t.fails(2, 'fork', '--at', '-1', 'conv_x'), /--at/)
    assert.match(await t.fails(1, 'import', '/nonexistent/file'), /nonexistent/)
    const help = await t.call(['conv', 'search', '--help'])
    assert.equal(help.code, 0)
    assert.match(help.stdout, /after:2026/)
    assert.equal((await t.call(['help', 'conv', 'export'])).code, 0)
    assert.equal((await t.call(['conv'])).code, 2)
})

test('the routes refuse what is wrong and hide what is absent', async () => {
    const server = await serve(tmpdir())
    const ask = api(server)
    const id = (await ask('POST', '/v1/chat', { message: 'hello' })).body.conversationId
    const base = `/v1/conversations/${id}`
    for (const [method, url, body, status] of [
        ['PATCH', base, {}, 400],
        ['PATCH', base, { title: '  ' }, 400],
        ['PATCH', base, { title: 7 }, 400],
        ['POST', `${base}/fork`, { atMessage: -1 }, 400],
        ['POST', `${base}/fork`, { atMessage: 'x' }, 400],
        ['POST', `${base}/fork?atMessage=x`, undefined, 400],
        ['POST', `${base}/notes`, { content: '' }, 400],
        ['POST', `${base}/share`, { visibility: 'public' }, 400],
        ['POST', `${base}/share`, { participants: [1] }, 400],
        ['DELETE', `${base}/participants/usr_default`, undefined, 400],
        ['DELETE', `${base}/participants/usr_other`, undefined, 404],
        ['DELETE', `${base}?purge=maybe`, undefined, 400],
        ['GET', `${base}/export?format=docx`, undefined, 400],
        ['GET', '/v1/search', undefined, 400],
        ['GET', '/v1/search?q=x&order=random', undefined, 400],
        ['GET', '/v1/search?q=' + 'w+'.repeat(99), undefined, 400],
        ['GET', '/v1/search?q=x&limit=0', undefined, 400],
        ['GET', '/v1/search?q=hello&conversation=%FF', undefined, 400],
        ['GET', '/v1/conversations?search=%C3', undefined, 400],
        ['GET', '/v1/conversations?hidden=%00', undefined, 400],
        ['POST', `${base}/fork?atMessage=%zz`, undefined, 400],
        ['GET', '/v1/conversations/stats?period=eon', undefined, 400],
        ['POST', '/v1/import', { path: '/etc/passwd' }, 404],
        ['GET', '/v1/import', undefined, 404],
        ['GET', '/v1/conversations/conv_0000000000000000', undefined, 404],
        ['PATCH', '/v1/conversations/..%2f..%2fetc', { title: 'x' }, 400],
        ['DELETE', '/v1/conversations/conv_0000000000000000', undefined, 404],
        ['POST', '/v1/conversations/conv_0000000000000000/fork', undefined, 404],
        ['POST', '/v1/conversations/conv_0000000000000000/restore', undefined, 404],
        ['GET', '/v1/conversations/conv_0000000000000000/export', undefined, 404],
    ]) {
        const r = await ask(method, url, body)
        assert.equal(r.status, status, `${method} ${url}: ${r.text}`)
        if (status < 404) assert.ok(r.body.error && r.body.message)
    }
    assert.equal((await ask('GET', base)).status, 200, 'it is still there')
})

test('the routes do what they say', async () => {
    const server = await serve(tmpdir())
    const ask = api(server)
    const id = (await ask('POST', '/v1/chat', { message: 'what is 6*7?' })).body.conversationId
    const base = `/v1/conversations/${id}`

    const fork = (await ask('POST', `${base}/fork?atMessage=0`)).body
    assert.equal(fork.messageCount, 0)
    assert.equal((await ask('POST', `${base}/fork`)).body.messageCount, 2)

    const stranger = await ask('POST', `${base}/share`, { participants: ['usr_a'] })
    assert.deepEqual([stranger.status, stranger.body.message], [400, "participants: 'usr_a' is not a member of this workspace."])
    assert.equal((await ask('POST', `${base}/participants`, { userId: 'usr_b' })).status, 400)
    const shared = (await ask('POST', `${base}/share`, { participants: ['usr_default'] })).body
    assert.deepEqual([shared.visibility, shared.participants], ['shared', ['usr_default']])
    const alone = (await ask('POST', `${base}/unshare`)).body
    assert.deepEqual([alone.visibility, alone.participants], ['private', ['usr_default']])

    for (const [format, type, what] of [['markdown', /text\/markdown/, /6\*7/], ['html', /text\/html/, /<html/i],
        ['json', /json/, /"messages"/], ['jsonl', /./, /"type":"user.message"/]]) {
        const r = await ask('GET', `${base}/export?format=${format}`)
        assert.equal(r.status, 200)
        assert.match(r.headers.get('content-type'), type)
        assert.match(r.headers.get('content-disposition'), /^attachment/)
        assert.match(r.text, what)
    }
    const stats = (await ask('GET', '/v1/conversations/stats?period=day')).body
    assert.equal(stats.conversations, 3)
    assert.ok(stats.inputTokens > 0)
    const found = (await ask('GET', '/v1/conversations?search=6*7')).body
    assert.ok(found.totalCount >= 1)
})

test('deleting ends live streams and cancels the run', async () => {
    const server = await serve(tmpdir(), 'jsonl', { NB_DEMO_DELAY_MS: '50' })
    const ask = api(server)
    const id = (await ask('POST', '/v1/chat', { message: 'hello' })).body.conversationId
    const stream = sse(`${server.url}/v1/conversations/${id}/events`)
    await stream.next()
    const run = fetch(`${server.url}/v1/chat`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ message: 'count to 10000', conversationId: id }),
    })
    await eventually(async () => (await ask('GET', `/v1/conversations/${id}`)).body.isRunning)
    const gone = await ask('DELETE', `/v1/conversations/${id}`)
    assert.deepEqual([gone.status, gone.body.deleted], [200, true])
    for (;;) if ((await stream.next()).done) break
    const ended = await (await run).json()
    assert.equal(ended.stopReason, 'cancelled', JSON.stringify(ended))
    await ask('POST', `/v1/conversations/${id}/restore`)
    const { messages } = (await ask('GET', `/v1/conversations/${id}/history`)).body
    assert.equal(messages.filter((m) => m.role === 'user').length, 2, 'the restored log is whole')
    assert.equal(messages.at(-1).stopReason, 'cancelled')
})

test('a run can be cancelled when its log is gone', async () => {
    const dir = tmpdir()
    const server = await serve(dir, 'jsonl', { NB_DEMO_DELAY_MS: '50' })
    const ask = api(server)
    const id = (await ask('POST', '/v1/chat', { message: 'hello' })).body.conversationId
    const run = ask('POST', '/v1/chat', { message: 'count to 10000', conversationId: id })
    await eventually(async () => (await ask('GET', `/v1/conversations/${id}`)).body.isRunning)
    fs.rmSync(path.join(dir, 'conversations', `${id}.jsonl`))
    const answer = await ask('POST', `/v1/conversations/${id}/cancel`)
    assert.deepEqual([answer.status, answer.body?.cancelled], [200, true])
    await run
    assert.equal((await ask('POST', `/v1/conversations/${id}/cancel`)).status, 404)
})

test('a title given by a person survives a late automatic one', async () => {
    const server = await serve(tmpdir(), 'jsonl', { NB_DEMO_DELAY_MS: '30' })
    const ask = api(server)
    const stream = await fetch(`${server.url}/v1/chat/stream`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ message: 'count to 20' }),
    })
    const { conversations: [{ id }] } = await eventually(async () => {
        const list = (await ask('GET', '/v1/conversations')).body
        return list.totalCount > 0 && list
    })
    assert.equal((await ask('PATCH', `/v1/conversations/${id}`, { title: 'Mine' })).body.title, 'Mine')
    await stream.text()
    const log = path.join(server.workdir, 'conversations', `${id}.jsonl`)
    // Its usage is recorded when the automatic title is there, just before it would be stored.
    await eventually(() => /"type":"aux.usage","source":"title"/.test(fs.readFileSync(log, 'utf8')))
    await ask('POST', '/v1/chat', { message: 'hello', conversationId: id }) // stored after it
    assert.equal((await ask('GET', `/v1/conversations/${id}`)).body.title, 'Mine')
})

test('the agent can list, search, note and read conversations, but asks before it deletes', async () => {
    const t = terminal(tmpdir())
    const first = await t.say('tell me about pangolins')
    const list = await t.say('call conversations__list {}')
    assert.match(list.toolCalls[0].output, new RegExp(first.conversationId))
    const found = await t.say('call conversations__search {"query":"pangolins"}')
    assert.match(found.toolCalls[0].output, /pangolins/)
    const read = await t.say(`call conversations__get {"id":"${first.conversationId}"}`)
    assert.match(read.toolCalls[0].output, /pangolins/)
    await t.say(`call conversations__note {"id":"${first.conversationId}","text":"scaly"}`)
    assert.match(await t.conv('note', first.conversationId), /model[^]*scaly/)
    const absent = await t.say('call conversations__get {"id":"conv_0000000000000000"}')
    assert.equal(absent.toolCalls[0].ok, false)
    const fork = await t.say(`call conversations__fork {"id":"${first.conversationId}","atMessage":2}`)
    assert.match(fork.toolCalls[0].output, /conv_[0-9a-f]{16}/)
    const doc = await t.say(`call conversations__export {"id":"${first.conversationId}","format":"markdown"}`)
    assert.match(doc.toolCalls[0].output, /pangolins/)
    const stats = await t.say('call conversations__stats {}')
    assert.match(stats.toolCalls[0].output, /conversations/)
    const named = await t.say(`call conversations__update {"id":"${first.conversationId}","title":"Pangolins"}`)
    assert.match(named.toolCalls[0].output, /Pangolins/)
    await t.call(['--json', '-p', `call conversations__delete {"id":"${first.conversationId}"}`])
    assert.equal((await t.json('show', first.conversationId))[0].title, 'Pangolins', 'nobody agreed')
})

test('verify names what was changed', async () => {
    const t = terminal(tmpdir())
    fs.writeFileSync(path.join(t.dir, 'nimblebrain.json'), JSON.stringify({ store: { integrity: true } }))
    const { conversationId: id } = await t.say('what is 6*7?')
    const [good] = await t.json('verify')
    assert.deepEqual([good.id, good.ok, good.isChained], [id, true, true])
    const file = path.join(t.dir, 'conversations', `${id}.jsonl`)
    fs.writeFileSync(file, fs.readFileSync(file, 'utf8').replace('what is 6*7?', 'what is 6*8?'))
    const r = await t.call(['conv', 'verify', '--json'])
    assert.equal(r.code, 1)
    const [bad] = lines(r.stdout)
    assert.deepEqual([bad.ok, bad.brokenLine], [false, 2])
})

test('a request that cannot be met gets an error, and nothing is half done', async () => {
    const t = terminal(tmpdir())
    const { conversationId: id } = await t.say('what is 6*7?')
    const nowhere = path.join(t.dir, 'none/x.md')
    assert.equal(await t.fails(1, 'export', id, '-o', nowhere), `nb: cannot create ${nowhere}: no such file or directory\n`)
    assert.equal(await t.fails(1, 'share', id, 'nobody@example.com'), "nb: 'nobody@example.com' is not a member of this workspace\n")
    assert.equal((await t.json('participants', id))[0].visibility, 'private')
})

test('after a loss of power, a copy of the logs has everything that was acknowledged', async () => {
    const t = terminal(tmpdir())
    const { conversationId: id } = await t.say('what is 6*7?')
    const log = path.join(t.dir, 'conversations', `${id}.jsonl`)
    const whole = fs.readFileSync(log, 'utf8')
    const file = path.join(tmpdir(), 'all.tar')
    const copied = {
        backup: async () => {
            assert.equal((await t.call(['backup', file])).code, 0)
            return execFileSync('tar', ['xOf', file, `conversations/${id}.jsonl`], { encoding: 'utf8' })
        },
        export: () => t.conv('export', id, '--format', 'jsonl'),
        verify: async () => ((await t.json('verify'))[0].lines === lines(whole).length ? whole : ''),
        convert: async () => {
            const [report] = await t.json('convert', '--to', 'folder')
            return report.events === lines(whole).length - 1 ? whole : ''
        },
    }
    for (const [name, copy] of Object.entries(copied)) {
        const lost = losePower(log)
        assert.ok((await copy()).includes(lost), name)
        assert.equal(fs.readFileSync(log, 'utf8'), whole, name)
        assert.ok(!fs.existsSync(path.join(t.dir, 'conversations/.journal')), name)
    }
})

test('a backup made while the server writes holds whole lines and their blobs', async () => {
    const server = await serve(tmpdir())
    const ask = api(server)
    fs.mkdirSync(path.join(server.workdir, 'skills'), { recursive: true })
    fs.writeFileSync(path.join(server.workdir, 'skills/own.md'), '---\nname: own\n---\nhi\n')
    fs.symlinkSync('/etc/passwd', path.join(server.workdir, 'link'))
    const id = (await ask('POST', '/v1/chat', { message: 'what is 6*7?' })).body.conversationId
    let isWriting = true
    const writing = (async () => {
        while (isWriting) await ask('POST', '/v1/chat', { message: 'say more', conversationId: id })
    })()
    const file = path.join(tmpdir(), 'all.tar')
    const t = terminal(server.workdir)
    const r = await t.call(['backup', file])
    isWriting = false
    await writing
    assert.equal(r.code, 0, r.stderr)
    assert.match(r.stderr, /1 links/)
    assert.equal(fs.statSync(file).mode & 0o777, 0o600)
    assert.equal((await t.call(['backup', file])).code, 1, 'it is not replaced unasked')

    // Any tar can read it.
    const names = execFileSync('tar', ['tf', file], { encoding: 'utf8' }).trim().split('\n')
    assert.ok(names.includes('skills/own.md'))
    assert.ok(!names.some((n) => n.startsWith('cache') || n === 'nb.sock' || n === 'link'))

    const other = terminal(tmpdir())
    const back = await other.call(['restore', file])
    assert.equal(back.code, 0, back.stderr)
    assert.equal((await other.json('show', id, '--all'))[0].messages[0].content, 'what is 6*7?')
    assert.match(await other.conv('verify'), /ok/)
    const log = fs.readFileSync(path.join(other.dir, 'conversations', `${id}.jsonl`), 'utf8')
    assert.ok(log.endsWith('\n'))
    for (const [, name, sha] of log.matchAll(/"(system|tools|\$blob)":"([0-9a-f]{64})"/g)) {
        const blob = path.join(other.dir, 'conversations', name === '$blob' ? `${id}.blobs` : 'blobs', sha)
        assert.ok(fs.existsSync(blob), `${name} ${sha} is there`)
    }
    assert.equal((await other.call(['restore', file])).code, 1, 'nothing is replaced unasked')
    assert.equal((await other.call(['restore', '--force', file])).code, 0)
    assert.equal((await t.call(['restore', '--force', file])).code, 1, 'not under a running server')
})

test('a restore refuses archives that lead elsewhere, and damaged ones, and changes nothing', async () => {
    const dir = tmpdir()
    const evil = path.join(dir, 'evil')
    fs.mkdirSync(path.join(evil, 'in'), { recursive: true })
    fs.writeFileSync(path.join(evil, 'a.txt'), 'a')
    fs.writeFileSync(path.join(dir, 'outside.txt'), 'x')
    fs.symlinkSync('/etc', path.join(evil, 'in/link'))
    const tar = (name, ...args) => {
        execFileSync('tar', ['--format=ustar', '-P', '-cf', path.join(dir, name), ...args], { cwd: evil })
        return path.join(dir, name)
    }
    const whole = tar('whole.tar', 'a.txt')
    const cut = path.join(dir, 'cut.tar')
    fs.writeFileSync(cut, fs.readFileSync(whole).subarray(0, 700))
    const flipped = path.join(dir, 'flipped.tar')
    const bytes = fs.readFileSync(whole)
    bytes[2] ^= 1
    fs.writeFileSync(flipped, bytes)
    fs.writeFileSync(path.join(dir, 'text.tar'), 'this is not an archive')
    for (const file of [tar('up.tar', 'a.txt', '../outside.txt'), tar('abs.tar', 'a.txt', path.join(dir, 'outside.txt')),
        tar('link.tar', 'a.txt', 'in/link'), cut, flipped, path.join(dir, 'text.tar'), '/nonexistent.tar']) {
        const t = terminal(tmpdir())
        const r = await t.call(['restore', '--force', file])
        assert.equal(r.code, 1, `${file}: ${r.stdout}`)
        assert.deepEqual(fs.readdirSync(t.dir), [], `${file} changed nothing`)
    }
    const t = terminal(tmpdir())
    assert.equal((await t.call(['restore', whole])).code, 0)
    assert.equal(fs.readFileSync(path.join(t.dir, 'a.txt'), 'utf8'), 'a')
})

test('at a terminal, deleting asks and lists are coloured; in a pipe neither', async () => {
    const t = terminal(tmpdir())
    const { conversationId: id } = await t.say('hello')
    const atTerminal = (input, ...args) =>
        run('script', ['-qec', [NB, '--workdir', t.dir, 'conv', ...args].join(' '), '/dev/null'], {
            input,
            env: { ...quick, TERM: 'xterm', NO_COLOR: '' },
        })
    const kept = await atTerminal('n\n', 'delete', id)
    assert.equal(kept.code, 1)
    assert.match(kept.stdout, /7 days.*\[y\/N\]/)
    assert.equal((await t.json('list')).length, 1)
    assert.match((await atTerminal('', 'list')).stdout, /\x1b\[/)
    assert.doesNotMatch(await t.conv('list'), /\x1b/)
    const gone = await atTerminal('y\n', 'delete', id)
    assert.equal(gone.code, 0, gone.stdout)
    assert.equal((await t.json('list')).length, 0)
})

test('repair mends the tail, keeps the rest, and says what it did', async () => {
    const t = terminal(tmpdir())
    const { conversationId: id } = await t.say('hello')
    const file = path.join(t.dir, 'conversations', `${id}.jsonl`)
    const whole = fs.readFileSync(file, 'utf8')
    fs.appendFileSync(file, '{"ts":"2026-01-01T00:00:00.000Z","type":"user.mess')
    const [torn] = await t.json('repair')
    assert.deepEqual([torn.id, torn.tornBytes, torn.badLines], [id, 50, 0])
    assert.equal(fs.readFileSync(file, 'utf8'), whole)
    assert.match(fs.readFileSync(file + '.torn', 'utf8'), /user\.mess/)
    fs.writeFileSync(file, whole.trimEnd())
    assert.equal((await t.json('repair', id))[0].wasTerminated, true)
    assert.equal(fs.readFileSync(file, 'utf8'), whole)
    fs.appendFileSync(file, 'no JSON\n')
    assert.match(await t.fails(1, 'repair'), /0 repaired, 1 still damaged/)
    assert.match(fs.readFileSync(file, 'utf8'), /no JSON/, 'nothing but the tail is touched')
    assert.equal((await t.json('show', id))[0].messages[0].content, 'hello')
    assert.match(await t.fails(1, 'repair', 'conv_0000000000000000'), /0 repaired, 0 still damaged, 1 failed/)
})

test('a log that lost its first line gets a new one, and keeps every other byte', async () => {
    const t = terminal(tmpdir())
    const { conversationId: id } = await t.say('what is 6*7?')
    const file = path.join(t.dir, 'conversations', `${id}.jsonl`)
    const [, ...rest] = fs.readFileSync(file, 'utf8').split('\n')
    for (const start of [[], ['{"id":"conv_']]) {
        const damaged = [...start, ...rest].join('\n')
        fs.rmSync(file + '.damaged', { force: true })
        fs.writeFileSync(file, damaged)
        const [fork] = await t.json('fork', id)
        assert.equal((await t.json('show', fork.id))[0].messages[0].content, 'what is 6*7?', 'the fork has the first event')
        assert.match((await t.call(['conv', 'repair', id])).stdout, /line 1 is lost/)
        assert.equal(fs.readFileSync(file, 'utf8'), damaged, 'only when it is agreed')
        const [mended] = await t.json('repair', '--yes', id)
        assert.deepEqual([mended.hasNewHeader, mended.lacksHeader], [true, false])
        assert.equal(fs.readFileSync(file + '.damaged', 'utf8'), damaged)
        const [header, ...kept] = fs.readFileSync(file, 'utf8').split('\n')
        assert.deepEqual(kept, rest)
        const line = JSON.parse(header)
        assert.deepEqual([line.id, line.ownerId, line.createdAt], [id, 'usr_default', JSON.parse(rest[0]).ts])
        assert.equal((await t.json('show', id))[0].messages[0].content, 'what is 6*7?')
        assert.equal((await t.json('repair', '--yes', id))[0].hasNewHeader, false)
    }
})

test('logs that cannot be read are left out of lists, and named', async () => {
    const t = terminal(tmpdir())
    const { conversationId: id } = await t.say('hello')
    const dir = path.join(t.dir, 'conversations')
    fs.mkdirSync(path.join(dir, 'conv_dir.jsonl'))
    execFileSync('mkfifo', [path.join(dir, 'conv_fifo.jsonl')])
    fs.symlinkSync('/etc/passwd', path.join(dir, 'conv_link.jsonl'))
    const named = (text) => ['conv_dir', 'conv_fifo', 'conv_link'].filter((n) => text.includes(`${n}.jsonl`)).length
    for (const store of ['beside', 'served']) {
        const server = store === 'served' ? await serve(t.dir) : null
        for (let i = 0; i < 2; i++) {
            const r = await t.call(['conv', 'list', '--json'])
            assert.equal(r.code, 0)
            assert.deepEqual(lines(r.stdout).map((c) => c.id), [id])
            assert.equal(named(r.stderr), 3, r.stderr)
            assert.match(r.stderr, /conv_link.jsonl: it is a symbolic link/)
        }
        await server?.stop()
        if (server) assert.equal(named(server.stderr), 3)
        if (server) assert.equal(server.stderr.match(/is left out of lists/g).length, 3, 'once each')
    }
    const doctor = await t.call(['doctor', '--json'])
    assert.equal(doctor.code, 1)
    const problems = JSON.parse(doctor.stdout).filter((c) => c.status === 'problem')
    assert.equal(named(JSON.stringify(problems)), 3)
    for (const name of ['conv_fifo', 'conv_link']) fs.rmSync(path.join(dir, `${name}.jsonl`))
    fs.rmdirSync(path.join(dir, 'conv_dir.jsonl'))
    assert.equal((await t.call(['conv', 'list'])).stderr, '')
})

test('an import of a file that is not a conversation fails and creates nothing', async () => {
    const t = terminal(tmpdir())
    assert.match(await t.fails(1, 'import', '/etc/passwd'), /contains no conversation/)
    assert.deepEqual(await t.json('list'), [])
})

test('a search finds phrases, prefixes, other scripts, and keeps to what was asked', async () => {
    const t = terminal(tmpdir())
    const a = (await t.say('say the quick brown fox')).conversationId
    const b = (await t.say('say brown quick Überraschung 東京都')).conversationId
    const ids = async (...q) => [...new Set((await t.json('search', ...q)).map((h) => h.conversationId))].sort()
    assert.deepEqual(await ids('quick', 'brown'), [a, b].sort())
    assert.deepEqual(await ids('"quick brown"'), [a])
    assert.deepEqual(await ids('uberrasch*'), [b])
    assert.deepEqual(await ids('quick', 'uberra'), [b], 'the last word may not be complete')
    await t.fails(1, 'search', '"uberra"')
    await t.fails(1, 'search', 'uberra', 'quick')
    assert.deepEqual(await ids('東京'), [b])
    assert.deepEqual(await ids('--in', a, 'brown'), [a])
    assert.equal((await t.json('search', '-n', '1', 'brown')).length, 1)
    await t.fails(1, 'search', 'before:2020-01-01', 'brown')
})

test("somebody else's conversation: an admin reads it, only its owner changes it, the terminal may", async () => {
    const dir = tmpdir()
    const id = 'conv_a1b2c3d4e5f67890'
    fs.mkdirSync(path.join(dir, 'conversations'))
    const meta = { id, createdAt: '2026-03-25T10:30:00.000Z', format: 'events', workspaceId: 'ws_default', ownerId: 'user_abc123', visibility: 'private', participants: ['user_abc123'] }
    const event = { ts: '2026-03-25T10:30:00.000Z', type: 'user.message', content: [{ type: 'text', text: 'Summarize my meetings' }], userId: 'user_abc123' }
    fs.writeFileSync(path.join(dir, 'conversations', `${id}.jsonl`), JSON.stringify(meta) + '\n' + JSON.stringify(event) + '\n')
    const server = await serve(dir)
    const ask = api(server)
    const base = `/v1/conversations/${id}`
    assert.equal((await ask('GET', base)).body.ownerId, 'user_abc123')
    for (const [method, url, body] of [['PATCH', base, { title: 'x' }], ['DELETE', base], ['POST', `${base}/notes`, { content: 'x' }],
        ['POST', `${base}/cancel`], ['POST', '/v1/chat', { message: 'x', conversationId: id }]]) {
        assert.equal((await ask(method, url, body)).status, 403, `${method} ${url}`)
    }
    assert.equal((await ask('POST', `${base}/fork`)).body.ownerId, 'usr_default', 'a fork is the forker\'s own')
    const t = terminal(dir)
    await t.conv('rename', id, 'Meetings')
    assert.equal((await ask('GET', base)).body.title, 'Meetings')
    await t.conv('delete', '--yes', id)
    assert.equal((await ask('POST', `${base}/restore`)).status, 404, 'restoring is for the owner')
    assert.equal((await ask('GET', base)).status, 404, 'and it stays in the trash')
    await t.conv('restore', id)
    assert.equal((await ask('GET', base)).status, 200)
})
