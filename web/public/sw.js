// The page without a server: its frame, and the files that it consists of. Nothing of the API is ever kept, nor
// anything about a person: the document and its files are the same for everybody.
//
// The document comes from the server whenever that answers, so an upgrade is seen immediately; files below assets/ have
// their hash in their name and never change. A file that an older page still needs stays until LIMIT others came.
const CACHE = 'nb-page-1'
const LIMIT = 80
const root = new URL(self.registration.scope)

const isDocument = ({ mode, url }) => {
    const { origin, pathname } = new URL(url)
    return mode === 'navigate' && origin === root.origin && (pathname === root.pathname || pathname === `${root.pathname}index.html`)
}
const isAsset = ({ url }) => {
    const { origin, pathname, search } = new URL(url)
    return origin === root.origin && search === '' && pathname.startsWith(`${root.pathname}assets/`)
}

async function keep(key, response) {
    if (!response.ok || response.type !== 'basic' || response.redirected) return
    const cache = await caches.open(CACHE)
    await cache.put(key, response)
    const keys = await cache.keys() // the oldest first
    for (const old of keys.slice(0, Math.max(0, keys.length - LIMIT))) if (old.url !== root.href) await cache.delete(old)
}

/** With the files that it names: a browser that has one in memory does not ask for it (Firefox for stylesheets). */
async function keepDocument(response) {
    const text = await response.clone().text()
    await keep(root.href, response)
    for (const [, name] of text.matchAll(/(?:src|href)="(?:\.\/)?(assets\/[^"?]+)"/g)) {
        const url = new URL(name, root).href
        if (!(await caches.match(url, { cacheName: CACHE }))) await keep(url, await fetch(url))
    }
}

async function fromServer(event) {
    try {
        const response = await fetch(event.request)
        if (response.status < 500) event.waitUntil(keepDocument(response.clone()))
        return response
    } catch (error) {
        const kept = await caches.match(root.href, { cacheName: CACHE })
        if (kept) return kept
        throw error
    }
}

async function fromCache(event) {
    const kept = await caches.match(event.request, { cacheName: CACHE })
    if (kept) return kept
    const response = await fetch(event.request)
    event.waitUntil(keep(event.request, response.clone()))
    return response
}

self.addEventListener('install', () => self.skipWaiting())

self.addEventListener('activate', (event) => {
    const clear = async () => {
        for (const name of await caches.keys()) if (name.startsWith('nb-page-') && name !== CACHE) await caches.delete(name)
        await self.clients.claim()
    }
    event.waitUntil(clear())
})

self.addEventListener('fetch', (event) => {
    const { request } = event
    if (request.method !== 'GET') return
    if (isDocument(request)) event.respondWith(fromServer(event))
    else if (isAsset(request)) event.respondWith(fromCache(event))
})
