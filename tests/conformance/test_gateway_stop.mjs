// A server that stops while clients have connections of their own to a bundle ends cleanly: with
// status 0, which the helper asserts, and without waiting for anybody.
import { assert, startServer, test } from '../support/tap.mjs'
import { gatewayWith, legacyClient, modernClient, ready } from '../support/mcp.mjs'

const CLIENTS = {
    stateless: (url) => modernClient(url, { capabilities: { elicitation: {} } }),
    'with a session': (url) => legacyClient(url, { capabilities: { elicitation: {} }, listen: false }),
}

for (const [kind, connect] of Object.entries(CLIENTS))
    test(`nb stops while a client, ${kind}, has a connection of its own to a bundle`, async () => {
        for (let i = 0; i < 3; i++) {
            const server = await startServer({ workdir: gatewayWith({ legacy: ['--era', 'legacy'] }) })
            await ready(server, 'legacy')
            const client = await connect(server.url + '/mcp')
            const answer = await client.request('tools/call', { name: 'legacy__greet', arguments: { name: 'x' } })
            assert.ok(answer.result, JSON.stringify(answer))
            await server.stop()
        }
    })
