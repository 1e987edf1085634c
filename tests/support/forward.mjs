// forward.mjs SOCKET ADDRESS PORT - connections to a TCP port become connections to a socket in the file system.
import net from 'node:net'

const [socket, address, port] = process.argv.slice(2)
net.createServer((near) => {
    const far = net.connect(socket)
    const end = () => [near, far].forEach((s) => s.destroy())
    for (const s of [near, far]) s.setNoDelay(true).on('error', end).on('close', end)
    near.pipe(far).pipe(near)
}).listen(Number(port), address)
