// pg_network.mjs - the network between one server and PostgreSQL: a TCP proxy that a test cuts, freezes and points elsewhere.
//
//   const net = await openNetwork('/run/x/.s.PGSQL.5432')      net.port: what the server connects to
//   net.cut()             every connection breaks now
//   net.freeze()          nothing arrives in either direction, also on new connections; nothing is lost
//   net.thaw()            what was sent meanwhile arrives
//   net.target = path     for connections from now on
import net from 'node:net'
import { after } from './tap.mjs'

export async function openNetwork(target) {
    const pairs = new Set()
    const self = { target, isFrozen: false }
    const server = net.createServer((near) => {
        const far = net.connect(self.target)
        const pair = [near, far]
        pairs.add(pair)
        const end = () => {
            pairs.delete(pair)
            pair.forEach((s) => s.destroy())
        }
        for (const [from, to] of [[near, far], [far, near]]) {
            from.setNoDelay(true)
            from.on('data', (bytes) => {
                if (!to.write(bytes)) from.pause()
            })
            to.on('drain', () => self.isFrozen || from.resume())
            from.on('error', end).on('close', end)
            if (self.isFrozen) from.pause()
        }
    })
    self.cut = () => pairs.forEach((pair) => pair.forEach((s) => s.destroy()))
    const all = (what) => pairs.forEach((pair) => pair.forEach((s) => s[what]()))
    self.freeze = () => {
        self.isFrozen = true
        all('pause')
    }
    self.thaw = () => {
        self.isFrozen = false
        all('resume')
    }
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
    self.port = server.address().port
    after(() => {
        self.cut()
        server.close()
    })
    return self
}
