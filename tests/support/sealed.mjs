// sealed.mjs - what a stored secret file holds: XChaCha20-Poly1305 with the key in the work directory, by hand, because Node has no XChaCha20.
import { createDecipheriv } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'

const rotl = (x, n) => ((x << n) | (x >>> (32 - n))) >>> 0

function quarter(s, a, b, c, d) {
    s[a] = (s[a] + s[b]) >>> 0
    s[d] = rotl(s[d] ^ s[a], 16)
    s[c] = (s[c] + s[d]) >>> 0
    s[b] = rotl(s[b] ^ s[c], 12)
    s[a] = (s[a] + s[b]) >>> 0
    s[d] = rotl(s[d] ^ s[a], 8)
    s[c] = (s[c] + s[d]) >>> 0
    s[b] = rotl(s[b] ^ s[c], 7)
}

/** HChaCha20: the key for the rest of the nonce. */
function subkey(key, nonce) {
    const s = new Uint32Array(16)
    const words = (b, n) => Array.from({ length: n }, (_, i) => b.readUInt32LE(4 * i))
    s.set([0x61707865, 0x3320646e, 0x79622d32, 0x6b206574], 0)
    s.set(words(key, 8), 4)
    s.set(words(nonce, 4), 12)
    for (let i = 0; i < 10; i++) {
        for (const [a, b, c, d] of [[0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15], [0, 5, 10, 15], [1, 6, 11, 12], [2, 7, 8, 13], [3, 4, 9, 14]]) quarter(s, a, b, c, d)
    }
    const out = Buffer.alloc(32)
    for (let i = 0; i < 4; i++) {
        out.writeUInt32LE(s[i], 4 * i)
        out.writeUInt32LE(s[12 + i], 16 + 4 * i)
    }
    return out
}

/** The value in a file below `workdir`; a plain one as it is. */
export function readSealed(workdir, file) {
    const v = JSON.parse(fs.readFileSync(file, 'utf8'))
    if (v.format !== 'nb-sealed-1') return v
    const key = Buffer.from(fs.readFileSync(path.join(workdir, '.secrets.key'), 'utf8').trim(), 'hex')
    const nonce = Buffer.from(v.nonce, 'base64')
    const data = Buffer.from(v.data, 'base64')
    const open = createDecipheriv('chacha20-poly1305', subkey(key, nonce), Buffer.concat([Buffer.alloc(4), nonce.subarray(16)]), { authTagLength: 16 })
    open.setAAD(Buffer.from(path.basename(file)), { plaintextLength: data.length - 16 })
    open.setAuthTag(data.subarray(data.length - 16))
    return JSON.parse(Buffer.concat([open.update(data.subarray(0, -16)), open.final()]).toString())
}
