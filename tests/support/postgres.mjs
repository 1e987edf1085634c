// postgres.mjs - a PostgreSQL for a test file (postgres.sh): { url, home, stop(), kill(), start(), standby(),
// promote() }. It ends with the test, however that ends.
import path from 'node:path'
import { spawn } from 'node:child_process'
import { after, SRC_DIR } from './tap.mjs'

export async function startPostgres(...settings) {
    const child = spawn('sh', [path.join(SRC_DIR, 'tests/support/postgres.sh'), ...settings], {
        stdio: ['pipe', 'pipe', 'inherit'],
    })
    let text = ''
    const waiting = []
    child.stdout.on('data', (data) => {
        text += data
        for (let end; (end = text.indexOf('\n')) >= 0; text = text.slice(end + 1)) waiting.shift()?.resolve(text.slice(0, end))
    })
    const ended = new Promise((resolve) => child.on('exit', resolve))
    child.on('exit', () => waiting.splice(0).forEach((w) => w.reject(new Error('PostgreSQL has ended'))))
    const line = () => new Promise((resolve, reject) => waiting.push({ resolve, reject }))
    const order = (word) => {
        const answer = line()
        child.stdin.write(word + '\n')
        return answer
    }
    after(async () => {
        child.stdin.end()
        await ended
    })
    const url = await line()
    return {
        url,
        home: url.split('host=')[1],
        stop: () => order('stop'),
        kill: () => order('kill'),
        start: () => order('start'),
        standby: () => order('standby'),
        promote: () => order('promote'),
    }
}
