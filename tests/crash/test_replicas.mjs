// Three servers on one PostgreSQL, 32 clients, and everything that can break does: servers are killed and stopped for longer than
// their leases last, their connections to the database are cut or frozen, and the primary dies and its synchronous standby is
// promoted. Afterwards everything is read: nothing acknowledged is lost, nothing was executed twice, no stream has a
// gap or a duplicate, every run has ended once.
//
// CAMPAIGN_SECONDS (make soak: 600) of faults, chosen at random by CAMPAIGN_SEED; without it, each of them once.
import fs from 'node:fs'
import path from 'node:path'
import { assert, before, eventually, freePort, nb, sleep, startServer, test, tmpdir } from '../support/tap.mjs'
import { Campaign, check, readLogs } from '../support/campaign.mjs'
import { client, QUICK, writeOffice } from '../support/office.mjs'
import { openNetwork } from '../support/pg_network.mjs'
import { startPostgres } from '../support/postgres.mjs'
import { sql } from '../support/stored.mjs'
import { startTally } from '../support/tally.mjs'

const SECONDS = Number(process.env.CAMPAIGN_SECONDS ?? 0)
const CLIENTS = 32, CONVERSATIONS = 24, SERVERS = 3
const STOPPED_MS = 14_000 // longer than a lease
let postgres, port = 5432, office, tally, replicas

before(async () => {
    postgres = await startPostgres('fsync=off')
    tally = await startTally()
    office = writeOffice({ ann: 'owner', bob: 'member' }, { ws_team: { ann: 'admin', bob: 'member' } }, { bundles: { ws_team: [{ serverName: 'tally', url: tally.url, allowPrivate: true }] } })
    fs.writeFileSync(path.join(office.workdir, 'nimblebrain.json'), JSON.stringify({ store: { type: 'postgres', replicas: true }, noDefaultBundles: true }))
    const made = await nb(['--workdir', office.workdir, 'store', 'init'], { env: { ...QUICK, NB_STORE_URL: postgres.url } })
    assert.equal(made.code, 0, made.stderr)
    assert.equal(await postgres.standby(), 'standby')
    replicas = []
    for (let i = 0; i < SERVERS; i++) replicas.push(await newReplica()) // the first brings the people
})

const socketOf = (number) => path.join(postgres.home, `.s.PGSQL.${number}`)

async function newReplica() {
    const replica = { net: await openNetwork(socketOf(port)), workdir: tmpdir('nb-replica-'), port: await freePort(), isUp: false }
    fs.cpSync(office.workdir, replica.workdir, { recursive: true })
    replica.url = `http://127.0.0.1:${replica.port}`
    await startReplica(replica)
    return replica
}

async function startReplica(replica) {
    const env = { ...QUICK, NB_DEMO_DELAY_MS: '20', NB_STORE_URL: `postgresql://nb@127.0.0.1:${replica.net.port}/postgres` }
    // The database may be out of reach just then: a service manager would start it again, too.
    replica.server = await eventually(() => startServer({ workdir: replica.workdir, env, args: ['--port', String(replica.port)] }))
    replica.isUp = true
}

// ---- faults: each takes one replica, and ends with it as it was ----

const FAULTS = {
    async kill(replica) {
        replica.isUp = false
        await replica.server.kill9()
        await sleep(Math.random() * 3000)
        await startReplica(replica)
    },
    async stop(replica) {
        process.kill(replica.server.pid, 'SIGSTOP')
        await sleep(STOPPED_MS)
        process.kill(replica.server.pid, 'SIGCONT')
    },
    async cut(replica) {
        for (let i = 0; i < 5; i++) {
            replica.net.cut()
            await sleep(Math.random() * 400)
        }
    },
    async freeze(replica, ms = 1000 + Math.random() * 4000) {
        replica.net.freeze()
        await sleep(ms)
        replica.net.thaw()
    },
    async unplug(replica) {
        await FAULTS.freeze(replica, STOPPED_MS) // the lease ends, and then what was sent before arrives
    },
}

async function promote() {
    assert.equal(await postgres.promote(), 'promote')
    port = 5433
    for (const replica of replicas) replica.net.target = socketOf(port)
}

async function eachOnce() {
    const [a, b, c] = replicas
    await sleep(1500)
    await Promise.all([
        FAULTS.stop(b),
        (async () => {
            await FAULTS.cut(c)
            await FAULTS.kill(a)
            await FAULTS.freeze(a, 3000)
            await FAULTS.cut(a)
        })(),
        FAULTS.cut(c).then(() => FAULTS.unplug(c)),
    ])
    await promote()
    await FAULTS.kill(c)
    return { stop: 1, cut: 3, kill: 2, freeze: 1, unplug: 1, promote: 1 }
}

function random(seed) {
    let x = seed >>> 0 || 1
    return () => ((x = (Math.imul(x, 1664525) + 1013904223) >>> 0), x / 2 ** 32)
}

// Two of three servers have trouble at a time, so that somebody is there to notice.
async function atRandom(seconds) {
    const seed = Number(process.env.CAMPAIGN_SEED ?? Date.now() % 1e6)
    console.log(`# seed ${seed}`)
    const next = random(seed), free = new Set(replicas), done = {}
    const until = Date.now() + seconds * 1000
    let isPromoted = false
    const trouble = async () => {
        while (Date.now() < until) {
            const replica = [...free][Math.floor(next() * free.size)]
            const name = Object.keys(FAULTS)[Math.floor(next() * Object.keys(FAULTS).length)]
            free.delete(replica)
            done[name] = (done[name] ?? 0) + 1
            await FAULTS[name](replica)
            await sleep(next() * 1500)
            free.add(replica)
            if (!isPromoted && Date.now() > until - seconds * 500) {
                isPromoted = true
                await promote()
                done.promote = 1
            }
        }
    }
    await Promise.all([trouble(), trouble()])
    return done
}

const left = (table) => Number(sql(postgres.home, 'postgres', `SELECT count(*) FROM ${table}`, port)[0][0])

test('three servers, 32 clients, and every fault: nothing acknowledged is lost, nothing happens twice, no stream has a gap', async () => {
    const headers = client({}, office.tokens.bob, 'ws_team').headers()
    const bob = client(replicas[0], office.tokens.bob, 'ws_team')
    const ids = []
    for (let i = 0; i < CONVERSATIONS; i++) {
        const r = await eventually(async () => (await bob.post('/v1/chat', { message: 'call tally__mark {"id":"begin"}', allowedTools: ['tally__*'] })))
        assert.equal(r.status, 200, r.text)
        ids.push(r.body.conversationId)
    }
    const servers = () => (replicas.some((r) => r.isUp) ? replicas.filter((r) => r.isUp) : replicas)
    const campaign = new Campaign({ servers, headers, ids })
    for (const id of ids) campaign.watch(id), campaign.watch(id)
    const load = Promise.all(Array.from({ length: CLIENTS }, () => campaign.client()))
    const faults = SECONDS > 0 ? await atRandom(SECONDS) : await eachOnce()
    campaign.isOver = true
    await load
    // Nobody works any more when no lease and no queued message are left; then no log grows.
    await eventually(() => left('nb_lease') === 0 && left('nb_queue') === 0)
    const logs = readLogs(postgres.home, port)
    const ends = new Map([...logs].map(([id, { lines }]) => [id, String(lines.findLast(({ event }) => !/^(aux\.usage|llm\.request|skills\.)/.test(event.type)).seq)]))
    await eventually(() => campaign.streams.every((s) => s.positions.at(-1) === ends.get(s.id))).catch(() => {}) // the checker says which
    campaign.closeStreams()
    const { problems, counts } = check(campaign, logs, tally.marks)
    console.log(`# faults: ${JSON.stringify(faults)}\n# answers: ${JSON.stringify(campaign.counts)}\n# read: ${JSON.stringify(counts)}`)
    assert.deepEqual(problems, [])
    assert.ok(counts.complete > CONVERSATIONS && counts['stream positions'] > 0 && counts['tool calls'] > 0 && counts.acknowledged > 0)
}, { timeoutMs: (SECONDS + 600) * 1000 })
