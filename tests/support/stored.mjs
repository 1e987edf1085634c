// stored.mjs - what servers of a test have stored, in files or in PostgreSQL.
//
// TEST_POSTGRES (the directory of the socket, tests/e2e/test_on_postgres.mjs) makes each work directory of startServer() use a database of its
// own, as a replica. Cases about files are left out there (isDatabase); the others read logs with storedEvents().
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'

const TEMPLATE = 'nb_template' // a database with the tables of nb
const host = process.env.TEST_POSTGRES

export const isDatabase = Boolean(host)
export const databaseUrl = (socket, name) => `postgresql://nb@/${name}?host=${socket}`
const tool = (name) => fs.globSync(`/usr/lib/postgresql/*/bin/${name}`).sort().at(-1)

/** Runs SQL and returns its rows, each a list of texts. */
export function sql(socket, database, text, port = 5432) {
    const rows = execFileSync(tool('psql'), ['-h', socket, '-p', String(port), '-U', 'nb', '-d', database, '-qAt0F', '\x1f', '-c', text], { encoding: 'utf8', maxBuffer: 1 << 28 })
    return rows.split('\0').filter(Boolean).map((row) => row.split('\x1f'))
}

export function createDatabase(socket, name, template = TEMPLATE) {
    execFileSync(tool('createdb'), ['-h', socket, '-U', 'nb', '-T', template, name])
}

const nameOf = (workdir) => path.basename(workdir).replaceAll(/\W/g, '_').toLowerCase()

/** Before a server starts: its settings name a database, which is made for its first start. */
export function useDatabase(workdir) {
    if (!isDatabase) return
    const file = path.join(workdir, 'nimblebrain.json')
    const settings = fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, 'utf8')) : {}
    if (settings.store) return
    const marker = path.join(workdir, '.database')
    if (!fs.existsSync(marker)) createDatabase(host, nameOf(workdir))
    fs.writeFileSync(marker, '')
    fs.writeFileSync(file, JSON.stringify({ ...settings, store: { type: 'postgres', replicas: true, url: databaseUrl(host, nameOf(workdir)) } }))
}

/** The events of a log behind its first line, each with the position that streams give it. */
export function storedEvents(workdir, workspace, id) {
    if (isDatabase) {
        const found = `SELECT key FROM nb_conversation WHERE id = '${id}' AND deleted_ms = 0`
        return sql(host, nameOf(workdir), `SELECT seq, line FROM nb_event WHERE conversation = (${found}) AND seq > 0 ORDER BY seq`).map(([seq, line]) => ({
            position: seq, event: JSON.parse(line),
        }))
    }
    const bytes = fs.readFileSync(path.join(workdir, workspace ? `workspaces/${workspace}` : '', 'conversations', id + '.jsonl'))
    const out = []
    for (let from = bytes.indexOf(10) + 1, end; (end = bytes.indexOf(10, from)) >= 0; from = end + 1)
        out.push({ position: String(end + 1), event: JSON.parse(bytes.subarray(from, end)) })
    return out
}

/** The ids of the files that a person or a project keeps in a workspace. */
export function keptFiles(workdir, workspace, keeper) {
    if (isDatabase)
        return sql(host, nameOf(workdir), `SELECT sha256 FROM nb_file_giver WHERE workspace = '${workspace}' AND user_id = '${keeper}'`).map(([hash]) => `file_${hash}`)
    const dir = path.join(workdir, 'workspaces', workspace, 'files')
    const names = fs.readdirSync(dir).filter((name) => name.length === 2).flatMap((name) => fs.readdirSync(path.join(dir, name)))
    return names.filter((name) => name.endsWith(`.${keeper}.json`)).map((name) => `file_${name.slice(0, 64)}`)
}
