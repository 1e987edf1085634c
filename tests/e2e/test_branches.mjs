// Branches of a conversation, and the roles of its participants.
import { after, assert, before, test } from '../support/tap.mjs'
import { openOffice } from '../support/office.mjs'

let office
before(async () => {
    office = await openOffice({ ann: 'owner', bob: 'member', cat: 'member', eve: 'member' }, { ws_team: { ann: 'admin', bob: 'member', cat: 'member', eve: 'member' } })
})
after(() => office.server.stop())

const bob = () => office.as('bob'), cat = () => office.as('cat')
const at = (id, rest = '') => `/v1/conversations/${id}${rest}`

async function say(who, message, conversationId) {
    const r = await who.post('/v1/chat', { message, conversationId })
    assert.equal(r.status, 200, r.text)
    return r.body.conversationId
}

async function branch(id, atMessage) {
    const r = await bob().post(at(id, '/fork'), { kind: 'branch', atMessage })
    assert.equal(r.status, 200, r.text)
    return r.body
}

const listed = async (who, query = '') => (await who.get(`/v1/conversations?limit=1000${query}`)).body.conversations.map((c) => c.id)
const branches = async (id, who = bob()) => (await who.get(at(id, '/branches'))).body.branches.map((b) => b.id).sort()

test('a branch is hidden behind its conversation until it is promoted', async () => {
    const root = await say(bob(), 'first')
    await say(bob(), 'second', root)
    const one = await branch(root, 2)
    assert.deepEqual([one.forkedFrom, one.forkKind, one.branch, one.messageCount], [root, 'branch', { of: root, at: 2, rootAt: 2 }, 2])
    await say(bob(), 'second, again', one.id)
    await say(bob(), 'third', one.id)
    const two = await branch(one.id, 4)
    assert.deepEqual([two.forkedFrom, two.branch], [one.id, { of: root, at: 4, rootAt: 2 }])
    const early = await branch(two.id, 0)
    assert.deepEqual([early.branch, early.messageCount], [{ of: root, at: 0, rootAt: 0 }, 0])
    const visible = await listed(bob())
    assert.deepEqual([root, one.id, two.id, early.id].map((id) => visible.includes(id)), [true, false, false, false])
    assert.ok((await listed(bob(), '&hidden=true')).includes(two.id))
    for (const id of [root, one.id, two.id]) assert.deepEqual(await branches(id), [one.id, two.id, early.id].sort(), id)
    const own = await bob().post(at(one.id, '/promote'), {})
    assert.deepEqual([own.status, own.body.branch, own.body.forkedFrom], [200, undefined, root])
    assert.ok((await listed(bob())).includes(one.id))
    assert.deepEqual(await branches(root), [two.id, early.id].sort())
    assert.equal((await bob().post(at(one.id, '/promote'), {})).status, 200, 'once more changes nothing')
    const fork = (await bob().post(at(one.id, '/fork'), {})).body
    assert.ok(!fork.branch && (await listed(bob())).includes(fork.id), 'a fork made on purpose is as it was')
})

test('a branch is private, and only the owner makes one', async () => {
    const root = await say(bob(), 'ours')
    assert.equal((await bob().post(at(root, '/share'), { participants: ['usr_cat'] })).status, 200)
    for (const [who, status] of [['cat', 403], ['ann', 403], ['eve', 404]]) {
        assert.equal((await office.as(who).post(at(root, '/fork'), { kind: 'branch', atMessage: 0 })).status, status, who)
    }
    assert.equal((await bob().post(at(root, '/fork'), { kind: 'twig' })).status, 400)
    const mine = await branch(root, 0)
    await say(bob(), 'a thought of mine', mine.id)
    assert.equal((await cat().get(at(mine.id))).status, 404)
    assert.deepEqual(await branches(root, cat()), [])
    assert.equal((await cat().get(at(mine.id, '/branches'))).status, 404)
    assert.equal((await cat().post(at(mine.id, '/promote'), {})).status, 404)
    assert.equal((await office.as('ann').post(at(mine.id, '/promote'), {})).status, 403)
    // Shared, it is a conversation that the others find.
    const shared = await bob().post(at(mine.id, '/participants'), { userId: 'usr_cat' })
    assert.deepEqual([shared.status, shared.body.branch, shared.body.visibility], [200, undefined, 'shared'])
    assert.ok((await listed(cat())).includes(mine.id))
    assert.deepEqual(await branches(root), [])
})

test('branches go to the trash with their conversation, and come back with it', async () => {
    const root = await say(bob(), 'keep')
    const one = await branch(root, 0), two = await branch(root, 1)
    await bob().post(at(two.id, '/promote'), {})
    assert.equal((await bob().ask('DELETE', at(root))).status, 200)
    assert.deepEqual([(await bob().get(at(one.id))).status, (await bob().get(at(two.id))).status], [404, 200])
    assert.equal((await bob().post(at(root, '/restore'), {})).status, 200)
    assert.equal((await bob().get(at(one.id))).status, 200)
    assert.deepEqual(await branches(root), [one.id])
    assert.equal((await bob().ask('DELETE', at(root, '?purge=true'))).status, 200)
    assert.equal((await bob().post(at(one.id, '/restore'), {})).status, 404, 'deleted permanently')
    assert.equal((await bob().get(at(two.id))).status, 200)
})

test('a reader reads, and may write nowhere', async () => {
    const id = await say(bob(), 'look')
    const shared = await bob().post(at(id, '/participants'), { userId: 'usr_cat', role: 'read' })
    assert.deepEqual([shared.body.participants, shared.body.readers], [['usr_bob', 'usr_cat'], ['usr_cat']])
    assert.equal((await bob().post(at(id, '/participants'), { userId: 'usr_cat', role: 'admin' })).status, 400)
    const seen = (await cat().get(at(id))).body
    assert.deepEqual([seen.may.send, seen.may.leave, seen.may.share], [false, true, false])
    const r = await cat().post('/v1/chat', { message: 'x', conversationId: id })
    assert.deepEqual([r.status, /may not write/.test(r.body.message)], [403, true], r.text)
    for (const [path, body] of [['/notes', { content: 'x' }], ['/typing', {}], ['/cancel', {}], ['/inputs/inp_none', { action: 'decline' }]])
        assert.equal((await cat().post(at(id, path), body)).status, 403, path)
    // Clients that know nothing of roles lift none.
    await bob().post(at(id, '/share'), { participants: ['usr_cat', 'usr_eve'] })
    await bob().post(at(id, '/participants'), { userId: 'usr_cat' })
    assert.deepEqual((await bob().get(at(id))).body.readers, ['usr_cat'])
    assert.equal((await office.as('eve').post('/v1/chat', { message: 'x', conversationId: id })).status, 200)
    await bob().post(at(id, '/participants'), { userId: 'usr_cat', role: 'write' })
    assert.equal((await cat().post('/v1/chat', { message: 'x', conversationId: id })).status, 200)
    // The owner cannot become a reader, nor can somebody who does not take part.
    const odd = await bob().post(at(id, '/share'), { participants: ['usr_eve'], readers: ['usr_bob', 'usr_cat'] })
    assert.deepEqual([odd.status, odd.body.readers], [200, undefined])
    assert.equal((await cat().get(at(id))).status, 404)
})

test('the terminal gives roles and promotes branches', async () => {
    const id = await say(bob(), 'from the terminal')
    const nb = async (...words) => {
        const r = await office.nb(['conv', ...words, '--workspace', 'ws_team'])
        assert.equal(r.code, 0, r.stderr)
        return r.stdout
    }
    assert.match(await nb('share', id, 'cat@example.com', '--role', 'read'), /\(reads\)/)
    assert.equal((await cat().post('/v1/chat', { message: 'x', conversationId: id })).status, 403)
    const made = await branch(id, 0)
    assert.match(await nb('show', made.id), /a branch of/)
    assert.match(await nb('promote', made.id), /of its own/)
})
