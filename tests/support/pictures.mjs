// pictures.mjs - pictures and documents for tests, made of bytes.
import zlib from 'node:zlib'

/** A PNG of one pixel, in base64. */
export const DOT_PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

const chunk = (type, data) => {
    const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
    const out = Buffer.alloc(body.length + 8)
    out.writeUInt32BE(data.length, 0)
    body.copy(out, 4)
    out.writeUInt32BE(zlib.crc32(body), body.length + 4)
    return out
}

const SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex')

const header = (width, height, colours) => {
    const out = Buffer.alloc(13)
    out.writeUInt32BE(width, 0)
    out.writeUInt32BE(height, 4)
    out.set([8, colours, 0, 0, 0], 8)
    return out
}

/** A PNG; colour(x, y) gives [r, g, b] or [r, g, b, a]. extra: [type, bytes] of chunks before the pixels. */
export function png(width, height, colour, extra = []) {
    const n = colour(0, 0).length
    const raw = Buffer.alloc(height * (width * n + 1))
    for (let y = 0, at = 0; y < height; y++) {
        raw[at++] = 0
        for (let x = 0; x < width; x++) for (const v of colour(x, y)) raw[at++] = v
    }
    return pngOf(width, height, n === 4 ? 6 : 2, zlib.deflateSync(raw), extra)
}

/** A PNG with these compressed pixels, whatever they are. */
export const pngOf = (width, height, colours, data, extra = []) =>
    Buffer.concat([
        SIGNATURE,
        chunk('IHDR', header(width, height, colours)),
        ...extra.map(([type, bytes]) => chunk(type, bytes)),
        chunk('IDAT', data),
        chunk('IEND', Buffer.alloc(0)),
    ])

const paeth = (a, b, c) => {
    const [pa, pb, pc] = [Math.abs(b - c), Math.abs(a - c), Math.abs(a + b - 2 * c)]
    return pa <= pb && pa <= pc ? a : pb <= pc ? b : c
}

/** {width, height, types of its chunks, at(x, y)} of a PNG with 8 bits, RGB or RGBA. */
export function readPng(bytes) {
    const types = [], data = []
    for (let at = 8; at < bytes.length; at += 12 + bytes.readUInt32BE(at)) {
        const type = bytes.toString('latin1', at + 4, at + 8)
        types.push(type)
        if (type === 'IDAT') data.push(bytes.subarray(at + 8, at + 8 + bytes.readUInt32BE(at)))
    }
    const [width, height, n] = [bytes.readUInt32BE(16), bytes.readUInt32BE(20), bytes[25] === 6 ? 4 : 3]
    const raw = zlib.inflateSync(Buffer.concat(data)), row = width * n
    const pixels = Buffer.alloc(row * height)
    for (let y = 0; y < height; y++)
        for (let i = 0; i < row; i++) {
            const a = i >= n ? pixels[y * row + i - n] : 0, b = y ? pixels[(y - 1) * row + i] : 0
            const c = y && i >= n ? pixels[(y - 1) * row + i - n] : 0
            const predicted = [0, a, b, (a + b) >> 1, paeth(a, b, c)][raw[y * (row + 1)]]
            pixels[y * row + i] = raw[y * (row + 1) + 1 + i] + predicted
        }
    return { width, height, types, at: (x, y) => [...pixels.subarray(y * row + x * n, y * row + x * n + n)] }
}

/** EXIF data (TIFF): an orientation, a comment, and a place with a latitude. */
export function exif(orientation) {
    const out = Buffer.alloc(120)
    out.write('II*\0', 0, 'latin1')
    out.writeUInt32LE(8, 4)
    out.writeUInt16LE(3, 8)
    const entry = (i, tag, type, count, value) => {
        out.writeUInt16LE(tag, 10 + i * 12)
        out.writeUInt16LE(type, 12 + i * 12)
        out.writeUInt32LE(count, 14 + i * 12)
        out.writeUInt32LE(value, 18 + i * 12)
    }
    entry(0, 0x0112, 3, 1, orientation)
    entry(1, 0x010e, 2, 22, 60)
    entry(2, 0x8825, 4, 1, 90)
    out.write('AT-MY-HOUSE 52.5163 N', 60, 'latin1')
    return out
}

/** A JPEG of 16 x 8 pixels: left half red, right half blue. With tiff its EXIF data. */
export function jpeg(tiff) {
    if (!tiff) return Buffer.from(JPEG, 'base64')
    const plain = Buffer.from(JPEG, 'base64'), head = Buffer.alloc(10)
    head.writeUInt16BE(0xffe1, 0)
    head.writeUInt16BE(tiff.length + 8, 2)
    head.write('Exif\0\0', 4, 'latin1')
    return Buffer.concat([plain.subarray(0, 2), head, tiff, plain.subarray(2)])
}

/** The same picture as GIF, WebP, and WebP with two frames. */
export const webp = () => Buffer.from('UklGRj4AAABXRUJQVlA4IDIAAACQAQCdASoQAAgAAgA0JaACdLoAA5gA/vZQf/185v/IMf/ID+xr/kB//5Ac8f+QHAQAAA==', 'base64')
export const animatedWebp = () =>
    Buffer.from(
        'UklGRo4AAABXRUJQVlA4WAoAAAACAAAADwAABwAAQU5JTQYAAAD/////AABBTk1GMgAAAAAAAAAAAA8AAAcAAGQAAAJWUDhMGQAAAC8PwAEADxDzv//zHw7Egsn8pTtTiOh/5AAAQU5NRigAAAAAAAAAAAAPAAAHAABkAAAAVlA4TA8AAAAvD8ABAAfQ/4j+ByKi/wEA',
        'base64',
    )

/** A GIF of these rows of colour numbers (0 to 3); codes of three bits that are cleared before they grow. */
export function gif(rows, { transparent } = {}) {
    const [width, height] = [rows[0].length, rows.length]
    const bits = []
    const put = (code) => bits.push(code & 1, (code >> 1) & 1, (code >> 2) & 1)
    rows.flat().forEach((colour, i) => {
        if (i % 2 === 0) put(4)
        put(colour)
    })
    put(5)
    const data = Buffer.alloc(Math.ceil(bits.length / 8))
    bits.forEach((bit, i) => (data[i >> 3] |= bit << (i & 7)))
    const blocks = []
    for (let at = 0; at < data.length; at += 255) blocks.push(Buffer.from([Math.min(255, data.length - at)]), data.subarray(at, at + 255))
    const short = (v) => [v & 255, v >> 8]
    return Buffer.concat([
        Buffer.from('GIF89a', 'latin1'),
        Buffer.from([...short(width), ...short(height), 0x81, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 255]),
        Buffer.from(transparent === undefined ? [] : [0x21, 0xf9, 4, 1, 0, 0, transparent, 0]),
        Buffer.from([0x2c, 0, 0, 0, 0, ...short(width), ...short(height), 0, 2]),
        ...blocks,
        Buffer.from([0, 0x3b]),
    ])
}

/** A PDF of one page with this text, or with this content and filter. */
export function pdf(text, { filter = '', content, box = '0 0 612 792' } = {}) {
    const stream = content ?? Buffer.from(`BT /F1 24 Tf 72 720 Td (${text}) Tj ET`)
    const parts = [
        '<< /Type /Catalog /Pages 2 0 R >>',
        '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
        `<< /Type /Page /Parent 2 0 R /MediaBox [${box}] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>`,
        null,
        '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
    ]
    const pieces = [Buffer.from('%PDF-1.4\n%\xe2\xe3\xcf\xd3\n', 'latin1')], at = []
    parts.forEach((body, i) => {
        at.push(pieces.reduce((n, piece) => n + piece.length, 0))
        pieces.push(Buffer.from(`${i + 1} 0 obj\n`))
        if (body) pieces.push(Buffer.from(body))
        else pieces.push(Buffer.from(`<< /Length ${stream.length} ${filter} >>\nstream\n`), stream, Buffer.from('\nendstream'))
        pieces.push(Buffer.from('\nendobj\n'))
    })
    const table = pieces.reduce((n, piece) => n + piece.length, 0)
    const rows = at.map((offset) => String(offset).padStart(10, '0') + ' 00000 n \n').join('')
    pieces.push(Buffer.from(`xref\n0 6\n0000000000 65535 f \n${rows}trailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n${table}\n%%EOF\n`))
    return Buffer.concat(pieces)
}

/** A PDF with a page for each text; `box` and `more`: members of every page, `contents` its operators. */
export function paper(texts, { box = '0 0 612 792', more = '', contents = (text) => `BT /F1 24 Tf 72 700 Td (${text}) Tj ET` } = {}) {
    const kids = texts.map((_, i) => `${4 + 2 * i} 0 R`).join(' ')
    const parts = ['<< /Type /Catalog /Pages 2 0 R >>', `<< /Type /Pages /Kids [${kids}] /Count ${texts.length} >>`, '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>']
    texts.forEach((text, i) => {
        const stream = contents(text, i)
        parts.push(`<< /Type /Page /Parent 2 0 R /MediaBox [${box}] ${more} /Contents ${5 + 2 * i} 0 R /Resources << /Font << /F1 3 0 R >> >> >>`)
        parts.push(`<< /Length ${stream.length} >>\nstream\n${stream}\nendstream`)
    })
    const pieces = ['%PDF-1.7\n'], rows = []
    let at = pieces[0].length
    parts.forEach((part, i) => {
        const piece = `${i + 1} 0 obj\n${part}\nendobj\n`
        rows.push(`${String(at).padStart(10, '0')} 00000 n \n`)
        pieces.push(piece)
        at += piece.length
    })
    pieces.push(`xref\n0 ${parts.length + 1}\n0000000000 65535 f \n${rows.join('')}trailer\n<< /Size ${parts.length + 1} /Root 1 0 R >>\nstartxref\n${at}\n%%EOF\n`)
    return Buffer.from(pieces.join(''), 'latin1')
}

const JPEG =
    '/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAQDAwMDAgQDAwMEBAQFBgoGBgUFBgwICQcKDgwPDg4MDQ0PERYTDxAVEQ0NExoTFRcYGRkZDxIbHRsYHRYYGRj/2wBDAQQEBAYFBgsGBgsYEA0QGBgYGBgYGBgYGBgYGBgYGBgYGBgYGBgYGBgYGBgYGBgYGBgYGBgYGBgYGBgYGBgYGBj/wAARCAAIABADASIAAhEBAxEB/8QAHwAAAQUBAQEBAQEAAAAAAAAAAAECAwQFBgcICQoL/8QAtRAAAgEDAwIEAwUFBAQAAAF9AQIDAAQRBRIhMUEGE1FhByJxFDKBkaEII0KxwRVS0fAkM2JyggkKFhcYGRolJicoKSo0NTY3ODk6Q0RFRkdISUpTVFVWV1hZWmNkZWZnaGlqc3R1dnd4eXqDhIWGh4iJipKTlJWWl5iZmqKjpKWmp6ipqrKztLW2t7i5usLDxMXGx8jJytLT1NXW19jZ2uHi4+Tl5ufo6erx8vP09fb3+Pn6/8QAHwEAAwEBAQEBAQEBAQAAAAAAAAECAwQFBgcICQoL/8QAtREAAgECBAQDBAcFBAQAAQJ3AAECAxEEBSExBhJBUQdhcRMiMoEIFEKRobHBCSMzUvAVYnLRChYkNOEl8RcYGRomJygpKjU2Nzg5OkNERUZHSElKU1RVVldYWVpjZGVmZ2hpanN0dXZ3eHl6goOEhYaHiImKkpOUlZaXmJmaoqOkpaanqKmqsrO0tba3uLm6wsPExcbHyMnK0tPU1dbX2Nna4uPk5ebn6Onq8vP09fb3+Pn6/9oADAMBAAIRAxEAPwDxevJG/wBY31oor9V+jR/zMf8AuH/7eftf0g/+YD/uJ/7af//Z'
