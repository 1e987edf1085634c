// The document around an interface: what passes between the page and the frame, and what does not.
import dgram from 'node:dgram'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { assert, before, skip, SRC_DIR, test, WAIT_MS } from '../support/tap.mjs'
import { chat, server, withAgent } from '../support/agent.mjs'
import { newContext, obeysAllowlist } from './browser.mjs'

const FIXTURE = path.join(SRC_DIR, 'tests/fixtures/views-server.mjs')
withAgent({ bundles: [{ serverName: 'views', command: process.execPath, args: [FIXTURE], sandbox: { read: [SRC_DIR] } }] })

let context
before(async () => {
    context = await newContext()
})

async function openView(more) {
    const done = await chat([{ calls: [{ name: 'views__show', args: {} }] }, { text: 'ok' }])
    const res = await fetch(server.url + '/v1/views', {
        method: 'POST', headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ conversationId: done.conversationId, callId: done.toolCalls[0].id, ...more }),
    })
    return res.json()
}

/** A page of the server with the document in a frame; what the frame's messages said is in `heard`. */
async function show(html, more) {
    const view = await openView(more)
    const page = await context.newPage()
    await page.goto(server.url + '/')
    await page.evaluate(({ view, html }) => {
        globalThis.heard = []
        const frame = document.createElement('iframe')
        globalThis.frame = frame
        frame.setAttribute('sandbox', 'allow-scripts allow-forms' + (view.sandbox.isApart ? ' allow-same-origin' : ''))
        addEventListener('message', ({ source, origin, data }) => {
            if (source !== frame.contentWindow) return
            heard.push({ origin, data })
            if (data.method === 'ui/notifications/sandbox-proxy-ready')
                frame.contentWindow.postMessage({ method: 'ui/notifications/sandbox-resource-ready', params: { html } }, '*')
        })
        frame.src = view.sandbox.url
        document.body.append(frame)
    }, { view, html })
    const until = async (method, n = 1) => {
        await page.waitForFunction(({ method, n }) => heard.filter((m) => m.data.method === method).length >= n, { method, n }, { timeout: WAIT_MS })
        return page.evaluate((method) => heard.filter((m) => m.data.method === method), method)
    }
    return { view, page, until, send: (message) => page.evaluate((m) => frame.contentWindow.postMessage(m, '*'), message) }
}

const script = (body) =>
    `<!-- x --><!DOCTYPE html><title>t</title><script>{const say = (method, params) => parent.postMessage({ method, params }, '*');${body}}</script>`

for (const isApart of [true, false])
    test(`messages pass both ways, and the frame has an opaque origin (${isApart ? 'its own' : 'one'} origin)`, async () => {
        const s = await show(script(`
            addEventListener('message', (ev) => say('echo', { data: ev.data, isParent: ev.source === parent }));
            let cookie = 'none'; try { cookie = document.cookie } catch (e) { cookie = e.name }
            let top = 'reached'; try { window.top.document.title } catch (e) { top = e.name }
            let outer = 'reached'; try { parent.document.title } catch (e) { outer = e.name }
            say('hello', { origin, cookie, top, outer, mode: document.compatMode, scripts: document.scripts.length });
            say('ui/notifications/sandbox-proxy-ready', {});
            say('ui/notifications/sandbox-violation', { directive: 'x', blockedUri: 'y' });
            parent.postMessage('text', '*'); parent.postMessage([1], '*');
            say('last', {});`), { isApart })
        const [hello] = await s.until('hello')
        assert.equal(hello.origin, s.view.sandbox.origin)
        assert.deepEqual(hello.data.params, { origin: 'null', cookie: 'SecurityError', top: 'SecurityError', outer: 'SecurityError', mode: 'CSS1Compat', scripts: 1 })
        await s.until('last')
        const methods = await s.page.evaluate(() => heard.map((m) => m.data.method))
        assert.deepEqual(methods, ['ui/notifications/sandbox-proxy-ready', 'hello', 'last'])
        await s.send({ jsonrpc: '2.0', id: 0, result: {} })
        await s.send({ method: 'ui/notifications/sandbox-secret', params: {} })
        await s.send({ method: 'ui/notifications/sandbox-resource-ready', params: { html: 'again' } })
        await s.send({ method: 'end', params: {} })
        const echoes = await s.until('echo', 2)
        assert.deepEqual(echoes.map((e) => e.data.params), [
            { data: { jsonrpc: '2.0', id: 0, result: {} }, isParent: true }, { data: { method: 'end', params: {} }, isParent: true },
        ])
        await s.page.close()
    })

test('what the policy blocks is reported, also when the interface navigates itself', async () => {
    const s = await show(script(`
        fetch('https://undeclared.example.net/x').catch(() => say('fetched', {}));
        document.write('<img src="https://images.example.net/a.png">');
        addEventListener('message', () => { location.href = 'https://away.example.net/?data' });`))
    await s.until('fetched')
    await s.send({ method: 'go' })
    const found = await s.until('ui/notifications/sandbox-violation', 3)
    const seen = found.map(({ data: { params } }) => `${params.directive} ${params.blockedUri}`).sort()
    assert.deepEqual(seen, ['connect-src https://undeclared.example.net/x', 'frame-src https://away.example.net', 'img-src https://images.example.net/a.png'].sort(), JSON.stringify(seen))
    await s.page.close()
})

// No Content-Security-Policy governs these. They need an address that is not the loopback, where there is one.
test('neither WebRTC nor a connection in advance reaches a host that was not declared', async () => {
    if (!(await obeysAllowlist())) skip('this browser does not obey Connection-Allowlist')
    const own = Object.values(os.networkInterfaces()).flat().find((a) => a.family === 'IPv4' && !a.internal)?.address ?? '127.0.0.1'
    const heard = []
    const udp = dgram.createSocket('udp4').on('message', () => heard.push('datagram'))
    const tcp = net.createServer((socket) => heard.push('connection') && socket.destroy())
    await new Promise((done) => udp.bind(0, done))
    await new Promise((done) => tcp.listen(0, done))
    const peer = `
        const servers = [{ urls: 'stun:${own}:${udp.address().port}' }, { urls: 'turn:${own}:${tcp.address().port}?transport=tcp', username: 'u', credential: 'c' }];
        const peer = new RTCPeerConnection({ iceServers: servers });
        peer.createDataChannel('x');
        peer.onicegatheringstatechange = () => peer.iceGatheringState === 'complete' && parent.postMessage('tried', '*');
        peer.createOffer().then((offer) => peer.setLocalDescription(offer));`
    const s = await show(script(`
        const link = document.createElement('link'), frame = document.createElement('iframe');
        Object.assign(link, { rel: 'preconnect', href: 'http://${own}:${tcp.address().port}' });
        document.documentElement.append(link);
        addEventListener('message', ({ source }) => (source === parent ? document.documentElement.append(frame) : say('tried')));
        say('begun', { has: 'RTCPeerConnection' in self || 'webkitRTCPeerConnection' in self });
        frame.srcdoc = ${JSON.stringify(`<script>${peer}</`)} + 'script>'; // a window with everything
    `))
    const [{ data }] = await s.until('begun')
    assert.equal(data.params.has, false)
    await s.send({ method: 'try' })
    await s.until('tried').catch(({ message }) => assert.match(message, /crashed/)) // the frame, not the page
    await s.page.close()
    udp.close()
    tcp.close()
    assert.deepEqual(heard, [])
})
