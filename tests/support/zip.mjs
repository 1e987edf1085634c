// zip.mjs - ZIP archives made by hand, so that tests can make wrong ones.
import zlib from 'node:zlib'

const REGULAR = 0o100000
export const LINK = 0o120777

/** entries: [{name, data, mode = 0644, size (claimed), store}] */
export function zip(entries) {
    const parts = []
    const central = []
    let at = 0
    for (const entry of entries) {
        const data = Buffer.from(entry.data ?? '')
        const packed = entry.store ? data : zlib.deflateRawSync(data)
        const name = Buffer.from(entry.name)
        const mode = entry.mode ?? 0o644
        const common = Buffer.alloc(26)
        common.writeUInt16LE(20, 0)
        common.writeUInt16LE(entry.store ? 0 : 8, 4)
        common.writeUInt32LE(zlib.crc32(data), 10)
        common.writeUInt32LE(packed.length, 14)
        common.writeUInt32LE(entry.size ?? data.length, 18)
        common.writeUInt16LE(name.length, 22)
        const head = Buffer.alloc(4)
        head.writeUInt32LE(0x04034b50)
        parts.push(head, common, name, packed)
        const record = Buffer.alloc(20)
        record.writeUInt32LE(0x02014b50)
        record.writeUInt16LE((3 << 8) | 20, 4)
        const tail = Buffer.alloc(14)
        tail.writeUInt32LE(((mode < 0o10000 ? REGULAR | mode : mode) << 16) >>> 0, 6)
        tail.writeUInt32LE(at, 10)
        central.push(record.subarray(0, 6), common, tail, name)
        at += head.length + common.length + name.length + packed.length
    }
    const directory = Buffer.concat(central)
    const end = Buffer.alloc(22)
    end.writeUInt32LE(0x06054b50)
    end.writeUInt16LE(entries.length, 8)
    end.writeUInt16LE(entries.length, 10)
    end.writeUInt32LE(directory.length, 12)
    end.writeUInt32LE(at, 16)
    return Buffer.concat([...parts, directory, end])
}
