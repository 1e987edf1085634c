// model_google.mjs - Gemini's generateContent for the model double: what the service refuses, and how it answers.
//
// Everything that a client sends back is checked: fields at every level, the order of calls and
// results, the signature of the first call of a step over its name and arguments, bytes against
// their type. A call or a text that the double made is signed; history of other models carries
// the documented placeholder.
import { MAGIC, Refusal, isObject, isString, schemaProblem, sign } from './model_rules.mjs'
import { pieces } from './model_script.mjs'

const PLACEHOLDER = 'skip_thought_signature_validator'
const MIME = { ...MAGIC, 'application/pdf': '25504446' }
delete MIME['image/gif']

const refuse = (rule, message, { status = 400, type = 'INVALID_ARGUMENT', ...more } = {}) => {
    throw Object.assign(new Refusal(rule, message, { status, type }), more)
}

const FIELDS = {
    request: ['contents', 'systemInstruction', 'tools', 'toolConfig', 'generationConfig', 'safetySettings', 'cachedContent'],
    content: ['role', 'parts'],
    part: ['text', 'inlineData', 'functionCall', 'functionResponse', 'thought', 'thoughtSignature'],
    inlineData: ['mimeType', 'data'],
    functionCall: ['id', 'name', 'args'],
    functionResponse: ['id', 'name', 'response'],
    tool: ['functionDeclarations'],
    declaration: ['name', 'description', 'parameters', 'parametersJsonSchema'],
    config: ['maxOutputTokens', 'thinkingConfig', 'temperature', 'topP', 'topK', 'stopSequences'],
    thinking: ['includeThoughts', 'thinkingBudget', 'thinkingLevel'],
}

function onlyFields(kind, where, object) {
    if (!isObject(object)) refuse('shape', `Invalid value at '${where}': starting an object on a scalar field`)
    const unknown = Object.keys(object).find((key) => !FIELDS[kind].includes(key))
    if (unknown) refuse('extra-inputs', `Invalid JSON payload received. Unknown name "${unknown}"${where && ` at '${where}'`}: Cannot find field.`)
}

const signCall = ({ name, args }) => Buffer.from(sign(`call ${name} ${JSON.stringify(args ?? {})}`)).toString('base64')
const signText = (text) => Buffer.from('text_' + sign(text)).toString('base64')
const isSignedModel = (model) => !/^(gemini-[12]|gemma)/.test(model)

// ---- what is refused ----

export function checkGoogleHeaders(headers) {
    const key = headers['x-goog-api-key']
    if (!key) refuse('auth', "Method doesn't allow unregistered callers. Please use API Key.", { status: 403, type: 'PERMISSION_DENIED' })
    const details = [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID', domain: 'googleapis.com' }]
    if (key === 'wrong') refuse('auth', 'API key not valid. Please pass a valid API key.', { details })
}

export function checkGoogle(body, model) {
    onlyFields('request', '', body)
    if (model === 'missing')
        refuse('retired', `models/${model} is not found for API version v1beta, or is not supported for generateContent.`, { status: 404, type: 'NOT_FOUND' })
    checkConfig(body.generationConfig ?? {}, model)
    checkDeclarations(body.tools)
    if (body.systemInstruction) checkParts('system_instruction', body.systemInstruction, ['text'])
    if (!Array.isArray(body.contents) || body.contents.length === 0) refuse('contents', '* GenerateContentRequest.contents: contents is not specified')
    body.contents.forEach((content, i) => checkContent(content, `contents[${i}]`))
    checkOrder(body.contents)
    checkSignatures(body.contents, model)
}

function checkConfig(config, model) {
    onlyFields('config', 'generation_config', config)
    const max = config.maxOutputTokens ?? 1
    if (!Number.isInteger(max) || max < 1 || max > 65536)
        refuse('max-tokens', `Unable to submit request because it has a maxOutputTokens value of ${max} but the supported range is from 1 (inclusive) to 65537 (exclusive).`)
    const thinking = config.thinkingConfig
    if (!thinking) return
    onlyFields('thinking', 'generation_config.thinking_config', thinking)
    if ('thinkingLevel' in thinking && 'thinkingBudget' in thinking) refuse('thinking', 'You can only set only one of thinking budget and thinking level.')
    if ('thinkingLevel' in thinking && !isSignedModel(model)) refuse('thinking', 'Thinking level is not supported for this model.')
    if ('thinkingLevel' in thinking && !['low', 'medium', 'high'].includes(thinking.thinkingLevel)) refuse('thinking', `Invalid value at 'thinking_level': "${thinking.thinkingLevel}"`)
    const budget = thinking.thinkingBudget
    if (budget !== undefined && isSignedModel(model)) refuse('thinking', 'Thinking budget is not supported for this model.')
    if (budget !== undefined && budget !== -1 && !(budget >= 128 && budget <= 24576)) refuse('thinking', `The thinking budget ${budget} is invalid.`)
}

function checkDeclarations(tools) {
    if (tools === undefined) return
    const seen = new Set()
    if (!Array.isArray(tools) || tools.length !== 1) refuse('tools', 'Multiple tools are supported only when they are all search tools.')
    onlyFields('tool', 'tools[0]', tools[0])
    tools[0].functionDeclarations.forEach((f, i) => {
        const where = `tools[0].function_declarations[${i}]`
        onlyFields('declaration', where, f)
        if (!/^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/.test(f.name ?? ''))
            refuse('tool-name', `* GenerateContentRequest.${where}.name: [FIELD_INVALID] Invalid function name. Must start with a letter or an underscore.`)
        if (seen.has(f.name)) refuse('tool-dup', `Duplicate function declaration found: ${f.name}`)
        seen.add(f.name)
        if (!isString(f.description) || !f.description) refuse('tool-description', `* GenerateContentRequest.${where}.description: must be specified`)
        const schema = f.parametersJsonSchema
        if (schema === undefined) return
        if (f.parameters) refuse('schema', `${where}: parameters and parameters_json_schema are mutually exclusive`)
        const problem = !isObject(schema) || schema.type !== 'object' ? 'type' : schemaProblem(schema)
        if (problem || Object.keys(schema.properties ?? {}).length === 0)
            refuse('schema-valid', `* GenerateContentRequest.${where}.parameters_json_schema: ${problem ?? 'properties'}: should be non-empty for OBJECT type`)
    })
}

function checkContent(content, where) {
    onlyFields('content', where, content)
    if (!['user', 'model'].includes(content.role)) refuse('role', 'Please use a valid role: user, model.')
    const allowed = content.role === 'user' ? ['text', 'inlineData', 'functionResponse'] : ['text', 'functionCall']
    checkParts(where, content, allowed)
}

function checkParts(where, content, allowed) {
    if (!Array.isArray(content.parts) || content.parts.length === 0) refuse('empty-content', `* GenerateContentRequest.${where}.parts: contents.parts must not be empty.`)
    content.parts.forEach((part, k) => {
        const at = `${where}.parts[${k}]`
        onlyFields('part', at, part)
        const kinds = Object.keys(part).filter((key) => !['thought', 'thoughtSignature'].includes(key))
        if (kinds.length !== 1) refuse('part', `* GenerateContentRequest.${at}.data: required oneof field 'data' must have one initialized field`)
        if (!allowed.includes(kinds[0])) refuse('part-role', `${at}: ${kinds[0]} is not allowed here`)
        PART_CHECKS[kinds[0]](part[kinds[0]], at, part)
    })
}

const PART_CHECKS = {
    text(text, at, part) {
        if (!isString(text)) refuse('text', `Invalid value at '${at}.text' (TYPE_STRING)`)
        if (text.trim() === '' && !part.thoughtSignature) refuse('empty-text', `${at}: Unable to submit request because it must have a text parameter.`)
    },
    inlineData(data, at) {
        onlyFields('inlineData', `${at}.inline_data`, data)
        const magic = MIME[data.mimeType]
        if (!magic) refuse('image-type', `Unsupported MIME type: ${data.mimeType}`)
        if (!Buffer.from(String(data.data), 'base64').toString('hex').startsWith(magic))
            refuse('image-magic', data.mimeType === 'application/pdf' ? 'The document has no pages.' : 'Unable to process input image. Please retry or report in the Developer forum')
    },
    functionCall(call, at) {
        onlyFields('functionCall', `${at}.function_call`, call)
        if (!isString(call.name) || !isObject(call.args)) refuse('call', `Invalid value at '${at}.function_call'`)
    },
    functionResponse(response, at) {
        onlyFields('functionResponse', `${at}.function_response`, response)
        if (!isString(response.name) || !isObject(response.response)) refuse('response', `Invalid value at '${at}.function_response.response'`)
    },
}

const callsOf = (content) => (content?.parts ?? []).filter((p) => p.functionCall).map((p) => p.functionCall)
const responsesOf = (content) => (content?.parts ?? []).filter((p) => p.functionResponse).map((p) => p.functionResponse)

function checkOrder(contents) {
    if (contents[0].role !== 'user') refuse('first-role', 'Please ensure that the first content is of the role user.')
    if (contents.at(-1).role !== 'user') refuse('last-role', 'Please ensure that multiturn requests end with a user role or a function response.')
    const ids = new Set()
    contents.forEach((content, i) => {
        const calls = callsOf(content)
        const responses = responsesOf(content)
        const answers = responsesOf(contents[i + 1])
        if (calls.length > 0 && contents[i - 1]?.role !== 'user')
            refuse('call-order', 'Please ensure that function call turn comes immediately after a user turn or after a function response turn.')
        if (calls.length > 0 && answers.length !== calls.length)
            refuse('orphan-tool_use', 'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.')
        calls.forEach((call, k) => {
            if (call.name !== answers[k].name || call.id !== answers[k].id) refuse('pair', `The response of ${call.name} has another name or id.`)
            if (ids.has(call.id)) refuse('dup-use', `Duplicate function call id ${call.id}`)
            ids.add(call.id)
        })
        if (responses.length === 0) return
        if (responses.length !== content.parts.length) refuse('mixed', 'A function response turn holds only function responses.')
        if (callsOf(contents[i - 1]).length === 0)
            refuse('orphan-tool_result', 'Please ensure that function response turn comes immediately after a function call turn.')
    })
}

function checkSignatures(contents, model) {
    contents.forEach((content, i) => {
        content.parts.forEach((part, k) => {
            const signature = part.thoughtSignature
            if (signature === undefined) return
            if (!isSignedModel(model) && signature === PLACEHOLDER) refuse('signature', 'Corrupted thought signature.')
            const isGood = part.functionCall ? [signCall(part.functionCall), PLACEHOLDER].includes(signature) : atob(signature).startsWith('text_')
            if (!isGood) refuse('signature', `Corrupted thought signature. (${i}, ${k})`)
        })
        const first = content.parts.findIndex((part) => part.functionCall)
        if (first >= 0 && isSignedModel(model) && !content.parts[first].thoughtSignature)
            refuse('thought-signature', `Function call is missing a thought_signature in functionCall parts. Additional data, function call \`default_api:${content.parts[first].functionCall.name}\`, position ${first + 1}.`)
    })
}

// ---- what was said ----

/** The request as messages, for directives. */
export function googleView(body) {
    const part = (p) =>
        p.functionResponse
            ? { type: 'tool_result', content: p.functionResponse.response.output ?? `Error: ${p.functionResponse.response.error}` }
            : { type: 'text', text: p.text ?? '' }
    return {
        tools: body.tools,
        system: body.systemInstruction,
        messages: body.contents.map(({ role, parts }) => ({ role: role === 'model' ? 'assistant' : 'user', content: parts.map(part) })),
    }
}

// ---- answering ----

const FINISH = { end_turn: 'STOP', tool_use: 'STOP', max_tokens: 'MAX_TOKENS', refusal: 'SAFETY' }

function googleUsage(usage) {
    const cached = usage.cache_read_input_tokens
    return {
        promptTokenCount: usage.input_tokens + cached,
        candidatesTokenCount: usage.output_tokens,
        totalTokenCount: usage.input_tokens + cached + usage.output_tokens,
        ...(cached > 0 ? { cachedContentTokenCount: cached } : {}),
        ...(usage.thoughts ? { thoughtsTokenCount: usage.thoughts } : {}),
    }
}

const callPart = (block, isFirst, model) => {
    const call = { name: block.name, args: JSON.parse(block.raw || '{}') }
    return { functionCall: { id: block.id, ...call }, ...(isFirst && isSignedModel(model) ? { thoughtSignature: signCall(call) } : {}) }
}

export function* googleEvents(answer, directive, body, random, nextId, model) {
    const base = { usageMetadata: { promptTokenCount: answer.usage.input_tokens }, modelVersion: model, responseId: nextId() }
    const chunk = (parts, more = {}) => ({ ...base, candidates: [{ content: { role: 'model', parts }, index: 0, ...more }] })
    let calls = 0
    if (directive.cut === 'start') yield { cut: true }
    if (directive.block) {
        yield { ...base, promptFeedback: { blockReason: directive.block } }
        return
    }
    if (directive.novel) yield chunk([{ executableCode: { language: 'NOVEL', code: '1' } }])
    for (const block of answer.blocks) {
        if (block.type === 'thinking') for (const text of pieces(block.thinking, random)) yield chunk([{ text, thought: true }])
        if (block.type === 'tool_use') yield chunk([callPart(block, calls++ === 0, model)])
        if (block.type !== 'text') continue
        const all = pieces(block.text, random)
        for (const [at, text] of all.entries()) {
            yield chunk([{ text }])
            if (directive.gate && at === Math.floor((all.length - 1) / 2)) yield { gate: directive.gate }
            if (directive.midError) yield { error: { code: 503, message: 'Broken in mid-stream', status: 'UNAVAILABLE' } }
            if (directive.cut) yield { cut: directive.cut }
            if (directive.hang === 'middle') yield { hang: true }
        }
        if (isSignedModel(model)) yield chunk([{ text: '', thoughtSignature: signText(block.text) }])
    }
    const message = directive.refuse ? { finishMessage: directive.refuse } : {}
    const finishReason = directive.finish ?? FINISH[answer.stop] ?? 'STOP'
    yield { ...chunk([], { finishReason, ...message }), usageMetadata: googleUsage(answer.usage) }
}

export function googleResponse(answer, body, nextId, model) {
    const events = [...googleEvents(answer, {}, body, () => 0.9, nextId, model)]
    const parts = events.flatMap((event) => event.candidates?.[0].content.parts ?? [])
    return { ...events.at(-1), candidates: [{ ...events.at(-1).candidates[0], content: { role: 'model', parts } }] }
}

const STATUS = {
    400: 'INVALID_ARGUMENT', 401: 'UNAUTHENTICATED', 403: 'PERMISSION_DENIED', 404: 'NOT_FOUND', 409: 'ABORTED',
    429: 'RESOURCE_EXHAUSTED', 500: 'INTERNAL', 503: 'UNAVAILABLE', 504: 'DEADLINE_EXCEEDED',
}

/** The wait of a rate limit is in the body, and so is the quota that was exceeded. */
export function googleError({ status, message, details, retryAfterMs, quota }) {
    const more = [...(details ?? [])]
    if (retryAfterMs !== undefined) more.push({ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${retryAfterMs / 1000}s` })
    if (quota) more.push({ '@type': 'type.googleapis.com/google.rpc.QuotaFailure', violations: [{ quotaId: quota }] })
    return { error: { code: status, message, status: STATUS[status] ?? 'UNKNOWN', ...(more.length ? { details: more } : {}) } }
}
