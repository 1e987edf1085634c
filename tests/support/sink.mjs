// sink.mjs - a server where nothing may arrive. It counts what does: connections, requests, datagrams.
//
//     const sink = await startSink()      // {url, arrived, close()}
//     assert.deepEqual(sink.arrived, [])  // names of the ways on which something came: 'GET /img', 'tcp', 'udp'
import dgram from 'node:dgram'
import http from 'node:http'

export async function startSink({ pages = {} } = {}) {
    const arrived = []
    const server = http.createServer((req, res) => {
        const { pathname } = new URL(req.url, 'http://sink')
        if (Object.hasOwn(pages, pathname)) {
            res.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(pages[pathname]())
            return
        }
        if (pathname !== '/favicon.ico') arrived.push(`${req.method} ${pathname}`)
        res.writeHead(200, { 'content-type': 'text/plain', 'access-control-allow-origin': '*' }).end('taken')
    })
    server.on('connection', () => Object.keys(pages).length === 0 && arrived.push('tcp'))
    server.on('upgrade', (req, socket) => {
        arrived.push(`upgrade ${req.url}`)
        socket.destroy()
    })
    server.on('clientError', (error, socket) => {
        arrived.push(`bytes ${error.rawPacket?.subarray(0, 8).toString('hex')}`)
        socket.destroy()
    })
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address()
    const udp = dgram.createSocket('udp4').on('message', () => arrived.push('udp'))
    await new Promise((resolve) => udp.bind(port, '127.0.0.1', resolve))
    const close = () => {
        udp.close()
        server.closeAllConnections()
        return new Promise((resolve) => server.close(resolve))
    }
    return { url: `http://127.0.0.1:${port}`, arrived, close }
}
