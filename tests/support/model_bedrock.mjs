// model_bedrock.mjs - Claude on Amazon Bedrock for the model double: signatures are computed again, and answers are frames with checksums.
import { createHash, createHmac } from 'node:crypto'
import { Refusal, checkAnthropic } from './model_rules.mjs'

export const AWS = { accessKey: 'AKIADOUBLE', secretKey: 'secret/of+the+double', token: 'token-of-the-double', region: 'eu-north-1', apiKey: 'bedrock-api-key' }

const refuse = (rule, message, status, type) => {
    throw new Refusal(rule, message, { status, type })
}

const hash = (text) => createHash('sha256').update(text).digest('hex')
const hmac = (key, text) => createHmac('sha256', key).update(text).digest()
const encode = (path) => path.replace(/[^A-Za-z0-9\-._~/]/g, (c) => '%' + c.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0'))

function signatureOf(req, raw, stamp, names, scope) {
    const lines = names.map((name) => `${name}:${req.headers[name]}\n`).join('')
    const canonical = [req.method, encode(req.url.split('?')[0]), '', lines, names.join(';'), hash(raw)].join('\n')
    const text = ['AWS4-HMAC-SHA256', stamp, scope, hash(canonical)].join('\n')
    const key = scope.split('/').reduce(hmac, 'AWS4' + AWS.secretKey)
    return hmac(key, text).toString('hex')
}

export function checkBedrockHeaders(req, raw) {
    const { authorization = '', 'x-amz-date': stamp = '', 'x-amz-security-token': token } = req.headers
    if (authorization === 'Bearer ' + AWS.apiKey) return
    const [, key, scope, names, signature] = /^AWS4-HMAC-SHA256 Credential=(\w+)\/(\S+), SignedHeaders=(\S+), Signature=([0-9a-f]{64})$/.exec(authorization) ?? []
    if (!signature) refuse('auth', 'Missing Authentication Token', 403, 'MissingAuthenticationTokenException')
    if (key !== AWS.accessKey || (token !== undefined && token !== AWS.token)) refuse('auth', 'The security token included in the request is invalid.', 403, 'UnrecognizedClientException')
    const when = Date.parse(stamp.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'))
    if (!(Math.abs(Date.now() - when) < 900000)) refuse('stale', 'Signature expired', 403, 'InvalidSignatureException')
    if (scope !== `${stamp.slice(0, 8)}/${AWS.region}/bedrock/aws4_request`) refuse('scope', 'Credential should be scoped to a valid region.', 403, 'InvalidSignatureException')
    for (const name of ['host', 'x-amz-date', ...(token ? ['x-amz-security-token'] : [])])
        if (!names.split(';').includes(name)) refuse('unsigned', `${name} must be a signed header`, 403, 'InvalidSignatureException')
    if (signatureOf(req, raw, stamp, names.split(';'), scope) !== signature)
        refuse('signature', `The request signature we calculated does not match the signature you provided. ${token}`, 403, 'InvalidSignatureException')
}

export function checkBedrock(body, model) {
    const { anthropic_version: version, ...rest } = body
    if (version !== 'bedrock-2023-05-31') refuse('version', 'anthropic_version: Field required', 400, 'ValidationException')
    for (const name of ['model', 'stream']) if (name in rest) refuse('extra-inputs', `${name}: Extra inputs are not permitted`, 400, 'ValidationException')
    if (model === 'missing') refuse('retired', 'The provided model identifier is invalid.', 400, 'ValidationException')
    checkAnthropic({ ...rest, model: model.replace(/^.*anthropic\./, '') })
}

// ---- frames ----

function crc32(bytes) {
    let crc = ~0
    for (const byte of bytes) {
        crc ^= byte
        for (let i = 0; i < 8; i++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0)
    }
    return ~crc >>> 0
}

const u32 = (n) => {
    const b = Buffer.alloc(4)
    b.writeUInt32BE(n >>> 0)
    return b
}

function header(name, value) {
    const size = Buffer.alloc(2)
    size.writeUInt16BE(Buffer.byteLength(value))
    return Buffer.concat([Buffer.from([name.length]), Buffer.from(name), Buffer.from([7]), size, Buffer.from(value)])
}

function frame(headers, payload) {
    const head = Buffer.concat(Object.entries(headers).map(([name, value]) => header(name, value)))
    const prelude = Buffer.concat([u32(16 + head.length + payload.length), u32(head.length)])
    const whole = Buffer.concat([prelude, u32(crc32(prelude)), head, payload])
    return Buffer.concat([whole, u32(crc32(whole))])
}

const EXCEPTIONS = { overloaded_error: 'serviceUnavailableException', rate_limit_error: 'throttlingException' }

/** An event of the Messages API as a frame; an error is an exception. */
export function bedrockFrame(event) {
    const type = { ':content-type': 'application/json' }
    if (event.type === 'error') {
        const name = EXCEPTIONS[event.error.type] ?? 'internalServerException'
        return frame({ ':exception-type': name, ...type, ':message-type': 'exception' }, Buffer.from(JSON.stringify({ message: event.error.message })))
    }
    const payload = { bytes: Buffer.from(JSON.stringify(event)).toString('base64'), p: 'abcdefgh' }
    return frame({ ':event-type': 'chunk', ...type, ':message-type': 'event' }, Buffer.from(JSON.stringify(payload)))
}
