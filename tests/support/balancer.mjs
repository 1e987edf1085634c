// balancer.mjs - a load balancer for servers of a test: new connections go to those that are alive, in turns; one that breaks is
// closed on both sides.
//
//   const { url } = await startBalancer(() => servers)
import net from 'node:net'
import { after } from './tap.mjs'

export function startBalancer(servers) {
    let turn = 0
    const sockets = new Set()
    const balancer = net.createServer((near) => {
        const alive = servers().filter((s) => !s.result)
        const far = net.connect(alive[turn++ % alive.length].port, '127.0.0.1')
        const end = () => [near, far].forEach((s) => (sockets.delete(s), s.destroy()))
        for (const s of [near, far]) sockets.add(s), s.on('error', end).on('close', end)
        near.pipe(far).pipe(near)
    })
    after(() => {
        balancer.close()
        sockets.forEach((s) => s.destroy())
    })
    return new Promise((resolve) => balancer.listen(0, '127.0.0.1', () => resolve({ url: `http://127.0.0.1:${balancer.address().port}` })))
}
