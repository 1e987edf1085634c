// journal.mjs - a journal as a writer leaves it that lost its power (src/store/log/journal.h).
import fs from 'node:fs'
import path from 'node:path'

const MAGIC = 0x316c616e72756f6an
const HEAD = 40
const BLOCK = 4096
const WORD = (1n << 64n) - 1n

function mix(sum, word) {
    const next = ((sum ^ word) * 0x9e3779b97f4a7c15n) & WORD
    return next ^ (next >> 32n)
}

function record({ name, inode, offset, bytes }) {
    const head = Buffer.alloc(24)
    head.writeBigUInt64LE(BigInt(inode), 0)
    head.writeBigUInt64LE(BigInt(offset), 8)
    head.writeUInt32LE(bytes.length, 16)
    head.writeUInt32LE(name.length, 20)
    return Buffer.concat([head, Buffer.from(name), bytes])
}

function batch(records) {
    const body = Buffer.concat(records.map(record))
    const bytes = BigInt(HEAD + body.length)
    const padded = Buffer.concat([body, Buffer.alloc(-body.length & 7)])
    let sum = mix(mix(mix(MAGIC, 1n), bytes), BigInt(records.length))
    for (let at = 0; at < padded.length; at += 8) sum = mix(sum, padded.readBigUInt64LE(at))
    const head = Buffer.alloc(HEAD)
    head.writeBigUInt64LE(MAGIC, 0)
    head.writeBigUInt64LE(1n, 8) // the generation; sequence 0
    head.writeBigUInt64LE(sum, 16)
    head.writeUInt32LE(records.length, 28)
    head.writeBigUInt64LE(bytes, 32)
    return Buffer.concat([head, body])
}

/** Takes the last line off a log, and leaves it in a journal beside it. */
export function losePower(log) {
    const text = fs.readFileSync(log)
    const offset = text.lastIndexOf(0x0a, text.length - 2) + 1
    const bytes = text.subarray(offset)
    const dir = path.join(path.dirname(log), '.journal')
    const half = Buffer.alloc(Math.ceil((HEAD + 256 + bytes.length) / BLOCK) * BLOCK)
    batch([{ name: path.basename(log), inode: fs.statSync(log).ino, offset, bytes }]).copy(half)
    fs.truncateSync(log, offset)
    fs.mkdirSync(dir, { recursive: true })
    fs.writeFileSync(path.join(dir, 'journal_0123456789abcdef'), Buffer.concat([half, Buffer.alloc(half.length)]))
    return bytes.toString()
}
