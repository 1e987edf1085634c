// model_rules.mjs - what the real model APIs refuse.
//
// Each check throws a Refusal with the status and the wording of the real service. The double
// (model_double.mjs) applies them to every request; a test that passes only because its double
// is lenient proves nothing. `rule` names the row, so that tests can tell refusals apart.
import { createHash } from 'node:crypto'

export class Refusal extends Error {
    constructor(rule, message, { status = 400, type = 'invalid_request_error', param = null } = {}) {
        super(message)
        Object.assign(this, { rule, status, type, param })
    }
}

export const refuse = (rule, message, more) => {
    throw new Refusal(rule, message, more)
}

// ---- models ----

// The rules of each model, by the longest prefix of its name.
const MODELS = [
    ['claude-sonnet-4-5', { context: 200000, output: 64000, thinking: ['enabled'], prefill: true }],
    ['claude-haiku-4-5', { context: 200000, output: 64000, thinking: ['enabled'], prefill: true }],
    ['claude-opus-4-5', { context: 200000, output: 64000, thinking: ['enabled'], prefill: true, effort: true }],
    ['claude-sonnet-4-6', { context: 1e6, output: 128000, thinking: ['enabled', 'adaptive'], effort: true }],
    ['claude-opus-4-6', { context: 1e6, output: 128000, thinking: ['enabled', 'adaptive'], effort: true }],
    ['claude-', { context: 1e6, output: 128000, thinking: ['adaptive'], effort: true, noSampling: true }],
    ['', { context: 1e6, output: 128000, thinking: ['enabled', 'adaptive'], effort: true, prefill: true }],
]

export const modelFacts = (name) => MODELS.find(([prefix]) => String(name).startsWith(prefix))[1]

export const estimateTokens = (value) => Math.ceil(JSON.stringify(value ?? '').length / 4)

// The double signs what it thinks, so that a changed thinking block is noticed.
export const sign = (text) => 'sig_' + createHash('sha256').update(String(text)).digest('hex').slice(0, 24)

// ---- bytes ----

export function parseBody(bytes) {
    let text
    try {
        text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    } catch {
        refuse('utf8', 'The request body is not valid JSON: invalid utf-8 sequence')
    }
    let body
    try {
        body = JSON.parse(text)
    } catch (error) {
        refuse('json', `The request body is not valid JSON: ${error.message}`)
    }
    if (/\p{Surrogate}/u.test(allStrings(body)))
        refuse('surrogate', 'The request body is not valid JSON: no low surrogate in string')
    if (!isObject(body)) refuse('json', 'The request body must be a JSON object')
    return body
}

// One text of all strings, each ended so that two halves never join into a pair.
function allStrings(value) {
    if (typeof value === 'string') return value + '\n'
    if (Array.isArray(value)) return value.map(allStrings).join('')
    if (isObject(value))
        return Object.entries(value)
            .map(([key, v]) => key + '\n' + allStrings(v))
            .join('')
    return ''
}

export const isObject = (v) => v !== null && typeof v === 'object' && !Array.isArray(v)
export const isString = (v) => typeof v === 'string'
const isCount = (v) => Number.isInteger(v) && v >= 0

function onlyFields(where, object, allowed) {
    for (const key of Object.keys(object))
        if (!allowed.includes(key)) refuse('extra-inputs', `${where}${key}: Extra inputs are not permitted`)
}

// ---- JSON Schema, draft 2020-12 as far as it goes wrong in practice ----

const TYPES = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']
const isType = (v) => TYPES.includes(v)
const isSchema = (v) => typeof v === 'boolean' || (isObject(v) && schemaProblem(v) === null)
const isSchemaMap = (v) => isObject(v) && Object.values(v).every(isSchema)
const isSchemaList = (v) => Array.isArray(v) && v.length > 0 && v.every(isSchema)
const isUnique = (list) => new Set(list).size === list.length

const KEYWORDS = {
    type: (v) => isType(v) || (Array.isArray(v) && v.length > 0 && v.every(isType) && isUnique(v)),
    properties: isSchemaMap,
    patternProperties: isSchemaMap,
    $defs: isSchemaMap,
    definitions: isSchemaMap,
    additionalProperties: isSchema,
    items: isSchema,
    contains: isSchema,
    not: isSchema,
    if: isSchema,
    then: isSchema,
    else: isSchema,
    propertyNames: isSchema,
    prefixItems: isSchemaList,
    allOf: isSchemaList,
    anyOf: isSchemaList,
    oneOf: isSchemaList,
    required: (v) => Array.isArray(v) && v.every(isString) && isUnique(v),
    enum: Array.isArray,
    minimum: Number.isFinite,
    maximum: Number.isFinite,
    exclusiveMinimum: Number.isFinite,
    exclusiveMaximum: Number.isFinite,
    multipleOf: (v) => Number.isFinite(v) && v > 0,
    minLength: isCount,
    maxLength: isCount,
    minItems: isCount,
    maxItems: isCount,
    minProperties: isCount,
    maxProperties: isCount,
    uniqueItems: (v) => typeof v === 'boolean',
    title: isString,
    description: isString,
    format: isString,
    pattern: isString,
    $ref: isString,
    $schema: (v) => isString(v) && v.includes('2020-12'),
}

export function schemaProblem(schema) {
    for (const [key, value] of Object.entries(schema))
        if (KEYWORDS[key] && !KEYWORDS[key](value)) return key
    return null
}

// ---- Anthropic Messages ----

const REQUEST_FIELDS = [
    'model', 'max_tokens', 'messages', 'system', 'tools', 'tool_choice', 'stream', 'stop_sequences',
    'metadata', 'thinking', 'output_config', 'cache_control', 'service_tier', 'container',
    'inference_geo', 'temperature', 'top_p', 'top_k',
]

const BLOCK_FIELDS = {
    text: ['text', 'cache_control', 'citations'],
    image: ['source', 'cache_control'],
    document: ['source', 'title', 'context', 'citations', 'cache_control'],
    tool_result: ['tool_use_id', 'content', 'is_error', 'cache_control'],
    tool_use: ['id', 'name', 'input', 'caller', 'cache_control'],
    thinking: ['thinking', 'signature'],
    redacted_thinking: ['data'],
    server_tool_use: ['id', 'name', 'input', 'cache_control'],
    web_search_tool_result: ['tool_use_id', 'content', 'cache_control'],
    novel_block: ['payload', 'seal'], // a type of the future, see model_script.mjs
}

const USER_BLOCKS = ['text', 'image', 'document', 'tool_result']
const ASSISTANT_BLOCKS = [
    'text', 'thinking', 'redacted_thinking', 'tool_use', 'server_tool_use', 'web_search_tool_result', 'novel_block',
]

export const MAGIC = {
    'image/png': '89504e47',
    'image/jpeg': 'ffd8ff',
    'image/gif': '47494638',
    'image/webp': '52494646',
}

export function checkAnthropicHeaders(headers, betas = []) {
    const bearer = /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1]
    const key = headers['x-api-key'] ?? bearer
    if (!key) refuse('auth', 'x-api-key header is required', { status: 401, type: 'authentication_error' })
    if (key === 'wrong') refuse('auth', 'invalid x-api-key', { status: 401, type: 'authentication_error' })
    if (!['2023-06-01', '2026-10-21'].includes(headers['anthropic-version']))
        refuse('version', 'anthropic-version: header is required')
    const unknown = (headers['anthropic-beta'] ?? '').split(',').filter((name) => name && !betas.includes(name.trim()))
    if (unknown.length > 0)
        refuse('beta', `Unexpected value(s) \`${unknown}\` for the \`anthropic-beta\` header`)
    if (!/^application\/json/.test(headers['content-type'] ?? ''))
        refuse('content-type', 'content-type: must be application/json')
}

export function checkAnthropic(body, headers = {}) {
    onlyFields('', body, REQUEST_FIELDS)
    if (!isString(body.model) || !body.model) refuse('model', 'model: Field required')
    if (/^(claude-2|claude-retired)/.test(body.model))
        refuse('retired', `model: ${body.model}`, { status: 404, type: 'not_found_error' })
    const facts = modelFacts(body.model)
    checkLimits(body, facts)
    checkSampling(body, facts, headers)
    checkSystem(body.system)
    checkTools(body)
    checkThinking(body, facts)
    checkMessages(body, facts)
    checkCacheControl(body)
    if (estimateTokens(body) > facts.context)
        refuse('context', `prompt is too long: ${estimateTokens(body)} tokens > ${facts.context} maximum`)
}

function checkLimits(body, facts) {
    if (!Number.isInteger(body.max_tokens) || body.max_tokens < 1) refuse('max-tokens', 'max_tokens: Field required')
    if (body.max_tokens > facts.output)
        refuse(
            'max-tokens',
            `max_tokens: ${body.max_tokens} > ${facts.output}, which is the maximum allowed number of output tokens for ${body.model}`,
        )
}

function checkSampling(body, facts, headers) {
    for (const name of ['temperature', 'top_p', 'top_k'])
        if (name in body && (facts.noSampling || headers['anthropic-version'] === '2026-10-21'))
            refuse('sampling', `${name}: this parameter is not supported by this model`)
}

function checkSystem(system) {
    if (system === undefined || isString(system)) return
    if (!Array.isArray(system)) refuse('system', 'system: Input should be a valid list')
    system.forEach((block, i) => checkBlock(`system.${i}.`, block, ['text']))
}

function checkTools({ tools, tool_choice: choice, thinking }) {
    if (choice && !tools?.length) refuse('tool-choice', 'tool_choice: may only be specified while providing `tools`')
    if (choice) onlyFields('tool_choice.', choice, ['type', 'name', 'disable_parallel_tool_use'])
    if (choice && thinking && !['auto', 'none'].includes(choice.type))
        refuse('tool-choice', 'Thinking may not be enabled when tool_choice forces tool use.')
    if (tools === undefined) return
    if (!Array.isArray(tools)) refuse('tools', 'tools: Input should be a valid list')
    const names = new Set()
    tools.forEach((tool, i) => {
        onlyFields(`tools.${i}.custom.`, tool, ['name', 'description', 'input_schema', 'cache_control', 'type', 'strict'])
        if (!/^[a-zA-Z0-9_-]{1,128}$/.test(tool.name ?? ''))
            refuse('tool-name', `tools.${i}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`)
        if (names.has(tool.name)) refuse('tool-dup', 'tools: Tool names must be unique.')
        names.add(tool.name)
        checkInputSchema(`tools.${i}.custom.input_schema`, tool.input_schema)
    })
}

function checkInputSchema(where, schema) {
    if (!isObject(schema)) refuse('schema-type', `${where}: Field required`)
    if (schema.type !== 'object') refuse('schema-type', `${where}.type: Input should be 'object'`)
    if (['oneOf', 'allOf', 'anyOf'].some((key) => key in schema))
        refuse('schema-union', `${where}: input_schema does not support oneOf, allOf, or anyOf at the top level`)
    for (const key of Object.keys(schema.properties ?? {}))
        if (!/^[a-zA-Z0-9_.-]{1,64}$/.test(key))
            refuse('schema-key', `${where}: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'`)
    const problem = schemaProblem(schema)
    if (problem)
        refuse('schema-valid', `${where}: JSON schema is invalid. It must match JSON Schema draft 2020-12 (${problem})`)
}

function checkThinking({ thinking, output_config: config, max_tokens: max }, facts) {
    if (config) onlyFields('output_config.', config, ['effort', 'format'])
    if (config?.effort && !facts.effort) refuse('effort', 'output_config.effort: not supported by this model')
    if (!thinking) return
    onlyFields('thinking.', thinking, ['type', 'budget_tokens', 'display'])
    if (thinking.type === 'disabled') return
    if (!facts.thinking.includes(thinking.type))
        refuse('thinking-type', `thinking.type: '${thinking.type}' is not supported by this model`)
    if (thinking.type === 'adaptive') return
    if (!(thinking.budget_tokens >= 1024))
        refuse('thinking-budget', 'thinking.enabled.budget_tokens: Input should be greater than or equal to 1024')
    if (thinking.budget_tokens >= max)
        refuse('thinking-budget', '`max_tokens` must be greater than `thinking.budget_tokens`')
}

function checkMessages(body, facts) {
    const { messages } = body
    if (!Array.isArray(messages) || messages.length === 0)
        refuse('messages', 'messages: at least one message is required')
    messages.forEach((message, i) => checkMessage(i, message, i === messages.length - 1))
    if (messages[0].role !== 'user') refuse('first-user', 'messages: first message must use the "user" role')
    const turns = mergeRoles(messages)
    checkPairs(turns)
    const last = turns.at(-1)
    const isPaused = ['server_tool_use', 'web_search_tool_result', 'novel_block'].includes(last.content.at(-1)?.type)
    if (last.role === 'assistant' && !isPaused && !facts.prefill)
        refuse('prefill', 'This model does not support assistant message prefill. The conversation must end with a user message.')
    if (body.thinking?.type === 'enabled') checkThinkingFirst(turns)
}

const contentOf = (message) =>
    isString(message.content) ? [{ type: 'text', text: message.content }] : message.content

function checkMessage(i, message, isLast) {
    onlyFields(`messages.${i}.`, message, ['role', 'content'])
    if (!['user', 'assistant'].includes(message.role))
        refuse('role', `messages.${i}.role: Input should be 'user' or 'assistant'`)
    const content = contentOf(message)
    if (!Array.isArray(content)) refuse('content', `messages.${i}.content: Input should be a valid list`)
    if (content.length === 0 || message.content === '') {
        if (!(isLast && message.role === 'assistant'))
            refuse(
                'empty-content',
                `messages.${i}: all messages must have non-empty content except for the optional final assistant message`,
            )
    }
    const allowed = message.role === 'user' ? USER_BLOCKS : ASSISTANT_BLOCKS
    content.forEach((block, k) => checkBlock(`messages.${i}.content.${k}.`, block, allowed))
    if (content.length > 0 && content.every((b) => b.type === 'text' && b.text.trim() === ''))
        refuse('blank-text', 'messages: text content blocks must contain non-whitespace text')
}

function checkBlock(where, block, allowed) {
    if (!isObject(block) || !allowed.includes(block.type))
        refuse('block-type', `${where}type: Input tag '${block?.type}' found using 'type' does not match any of the expected tags`)
    onlyFields(where + block.type + '.', block, ['type', ...BLOCK_FIELDS[block.type]])
    BLOCK_CHECKS[block.type]?.(where, block)
}

const BLOCK_CHECKS = {
    text(where, block) {
        if (!isString(block.text)) refuse('text', `${where}text.text: Input should be a valid string`)
        if (block.text === '') refuse('empty-text', 'messages: text content blocks must be non-empty')
    },
    image(where, { source }) {
        if (source?.type !== 'base64') return
        onlyFields(`${where}image.source.base64.`, source, ['type', 'media_type', 'data'])
        const magic = MAGIC[source.media_type]
        if (!magic) refuse('image-type', `${where}image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'`)
        const bytes = Buffer.from(String(source.data), 'base64')
        if (!bytes.toString('hex').startsWith(magic))
            refuse('image-magic', `${where}image.source.base64.data: The image was specified using the ${source.media_type} media type, but does not appear to be one`)
    },
    document(where, { source, title }) {
        if (source?.type !== 'base64') refuse('document-source', `${where}document.source.type: Input should be 'base64'`)
        onlyFields(`${where}document.source.base64.`, source, ['type', 'media_type', 'data'])
        if (source.media_type !== 'application/pdf')
            refuse('document-type', `${where}document.source.base64.media_type: Input should be 'application/pdf'`)
        if (!Buffer.from(String(source.data), 'base64').toString('latin1').startsWith('%PDF-'))
            refuse('document-pdf', 'The PDF specified was not valid.')
        if (title !== undefined && (!isString(title) || !title)) refuse('document-title', `${where}document.title: Input should be a valid string`)
    },
    tool_use(where, block) {
        if (!/^[a-zA-Z0-9_-]+$/.test(block.id ?? ''))
            refuse('tool_use-id', `${where}tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`)
        if (!isString(block.name) || !block.name || block.name.length > 200)
            refuse('tool_use-name', `${where}tool_use.name: String should have at most 200 characters`)
        if (!isObject(block.input)) refuse('tool_use-input', `${where}tool_use.input: Input should be a valid dictionary`)
    },
    tool_result(where, block) {
        if (!isString(block.tool_use_id)) refuse('tool_result-id', `${where}tool_result.tool_use_id: Field required`)
        const content = block.content
        if (Array.isArray(content))
            content.forEach((part, k) => checkBlock(`${where}tool_result.content.${k}.`, part, ['text', 'image']))
        else if (content !== undefined && !isString(content))
            refuse('tool_result-content', `${where}tool_result.content: Input should be a valid string or list`)
        if (!block.is_error) return
        if (content === undefined || content.length === 0)
            refuse('error-empty', `${where}tool_result: content cannot be empty if \`is_error\` is true`)
        if (Array.isArray(content) && content.some((part) => part.type !== 'text'))
            refuse('error-nontext', `${where}tool_result: all content must be type \`text\` if \`is_error\` is true`)
    },
    thinking(where, block) {
        if (block.signature !== sign(block.thinking))
            refuse('thinking-signature', `${where}thinking.signature: Invalid \`signature\` in \`thinking\` block`)
    },
    redacted_thinking(where, block) {
        if (!String(block.data).startsWith('redacted_'))
            refuse('thinking-signature', `${where}redacted_thinking.data: Invalid \`data\``)
    },
    novel_block(where, block) {
        if (block.seal !== sign(JSON.stringify(block.payload)))
            refuse('novel-changed', `${where}novel_block: the block was changed`)
    },
}

function mergeRoles(messages) {
    const turns = []
    for (const message of messages) {
        const last = turns.at(-1)
        if (last?.role === message.role) last.content.push(...contentOf(message))
        else turns.push({ role: message.role, content: [...contentOf(message)] })
    }
    return turns
}

function checkPairs(turns) {
    const seen = new Set()
    turns.forEach((turn, i) => {
        if (turn.role === 'assistant') checkUses(turn, turns[i + 1], i, seen)
        else checkResults(turn, turns[i - 1], i)
    })
}

function checkUses(turn, next, i, seen) {
    const ids = turn.content.filter((b) => b.type === 'tool_use').map((b) => b.id)
    for (const id of ids) {
        if (seen.has(id)) refuse('dup-use', 'messages: `tool_use` ids must be unique')
        seen.add(id)
    }
    const answered = (next?.content ?? []).filter((b) => b.type === 'tool_result').map((b) => b.tool_use_id)
    const missing = ids.filter((id) => !answered.includes(id))
    if (missing.length > 0)
        refuse(
            'orphan-tool_use',
            `messages.${i}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
        )
    const firstOther = (next?.content ?? []).findIndex((b) => b.type !== 'tool_result')
    if (ids.length > 0 && firstOther >= 0 && firstOther < answered.length)
        refuse('results-first', `messages.${i + 1}: \`tool_result\` blocks must come first in the message that answers \`tool_use\``)
}

function checkResults(turn, before, i) {
    const uses = (before?.content ?? []).filter((b) => b.type === 'tool_use').map((b) => b.id)
    const seen = new Set()
    turn.content.forEach((block, k) => {
        if (block.type !== 'tool_result') return
        if (!uses.includes(block.tool_use_id))
            refuse(
                'orphan-tool_result',
                `messages.${i}.content.${k}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${block.tool_use_id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
            )
        if (seen.has(block.tool_use_id))
            refuse(
                'dup-result',
                `messages.${i}.content.${k}: each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${block.tool_use_id}`,
            )
        seen.add(block.tool_use_id)
    })
}

// A turn under way (its tools were just answered) must have begun with thinking.
function checkThinkingFirst(turns) {
    const last = turns.at(-1)
    const before = turns.at(-2)
    if (last.content[0]?.type !== 'tool_result' || !before) return
    const first = before.content[0].type
    if (!['thinking', 'redacted_thinking'].includes(first))
        refuse('thinking-first', `messages.${turns.length - 2}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${first}\`.`)
}

function* blocksOf(body) {
    yield* body.tools ?? []
    if (Array.isArray(body.system)) yield* body.system
    for (const message of body.messages) {
        for (const block of contentOf(message)) {
            yield block
            if (Array.isArray(block.content)) yield* block.content
        }
    }
    if (body.cache_control) yield { type: 'automatic', cache_control: body.cache_control }
}

function checkCacheControl(body) {
    const marked = [...blocksOf(body)].filter((block) => block.cache_control)
    if (marked.length > 4)
        refuse('cache-max', `A maximum of 4 blocks with cache_control may be provided. Found ${marked.length}.`)
    let sawShort = false
    for (const { cache_control: mark, type, text } of marked) {
        onlyFields('cache_control.', mark, ['type', 'ttl'])
        if (mark.type !== 'ephemeral') refuse('cache-type', "cache_control.type: Input should be 'ephemeral'")
        if (type === 'text' && text.trim() === '') refuse('cache-empty', 'cache_control cannot be set for empty text blocks')
        if (mark.ttl === '1h' && sawShort) refuse('cache-ttl', "a ttl='1h' cache_control block must not come after a ttl='5m' one")
        if (mark.ttl !== '1h') sawShort = true
    }
}

// ---- OpenAI chat completions, and the flavours of its imitators ----

const CHAT_FIELDS = [
    'model', 'messages', 'tools', 'tool_choice', 'parallel_tool_calls', 'stream', 'stream_options', 'max_tokens',
    'max_completion_tokens', 'reasoning_effort', 'temperature', 'top_p', 'stop', 'seed', 'user', 'prompt_cache_key',
    'response_format', 'store', 'metadata',
]
const MISTRAL_FIELDS = ['model', 'messages', 'tools', 'tool_choice', 'parallel_tool_calls', 'stream', 'max_tokens', 'temperature', 'top_p', 'stop', 'random_seed']
const CHAT_MESSAGE_FIELDS = {
    system: ['content', 'name'],
    developer: ['content', 'name'],
    user: ['content', 'name'],
    assistant: ['content', 'name', 'tool_calls', 'refusal', 'reasoning_content', 'reasoning_details'],
    tool: ['content', 'tool_call_id', 'name'],
}

export function checkChatHeaders(headers) {
    const key = /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1]
    const auth = { status: 401, type: 'invalid_api_key' }
    if (!key) refuse('auth', "You didn't provide an API key.", auth)
    if (key === 'wrong') refuse('auth', 'Incorrect API key provided: wrong.', auth)
}

export function checkChat(body, flavour = 'openai') {
    checkChatFields(body, flavour)
    if (!isString(body.model) || !body.model) refuse('model', 'you must provide a model parameter')
    if (body.model === 'missing')
        refuse('retired', 'The model `missing` does not exist', { status: 404, type: 'model_not_found' })
    if (/^(gpt-5|o\d)/.test(body.model) && 'max_tokens' in body)
        refuse('max-tokens', "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.")
    if (body.stream_options && !body.stream) refuse('stream-options', 'stream_options is only allowed when stream is true')
    checkChatTools(body, flavour)
    if (!Array.isArray(body.messages) || body.messages.length === 0) refuse('messages', "'messages' is too short")
    checkChatMessages(body.messages, flavour)
}

function checkChatFields(body, flavour) {
    const allowed = flavour === 'mistral' ? MISTRAL_FIELDS : CHAT_FIELDS
    for (const key of Object.keys(body)) {
        if (allowed.includes(key)) continue
        if (flavour === 'mistral') refuse('extra-inputs', `Extra inputs are not permitted: ${key}`, { status: 422 })
        refuse('extra-inputs', `Unrecognized request argument supplied: ${key}`)
    }
}

function checkChatTools({ tools, tool_choice: choice }, flavour) {
    if (choice && !tools?.length) refuse('tool-choice', "'tool_choice' is only allowed when 'tools' are specified")
    if (tools === undefined) return
    if (!Array.isArray(tools) || tools.length === 0) refuse('tools', "Invalid 'tools': empty array")
    if (tools.length > 128) refuse('tools-max', `Invalid 'tools': array too long. Expected at most 128, got ${tools.length}`)
    tools.forEach((tool, i) => {
        const param = `tools[${i}].function`
        if (!/^[a-zA-Z0-9_-]{1,64}$/.test(tool.function?.name ?? ''))
            refuse('tool-name', `Invalid '${param}.name': string does not match pattern.`, { param: param + '.name' })
        const problem = chatSchemaProblem(tool.function.parameters, flavour)
        if (problem)
            refuse('schema-valid', `Invalid schema for function '${tool.function.name}': ${problem}`, {
                param: param + '.parameters',
                type: 'invalid_function_parameters',
            })
    })
}

function chatSchemaProblem(schema, flavour) {
    if (schema === undefined) return null
    if (!isObject(schema) || schema.type !== 'object') return "schema must be of type 'object'"
    const problem = schemaProblem(schema)
    if (problem) return `${problem} is not valid`
    const text = JSON.stringify(schema)
    if (flavour === 'gemini' && /"(\$ref|additionalProperties)":/.test(text)) return 'unknown name "additionalProperties"'
    return arrayWithoutItems(schema) ? 'array schema missing items' : null
}

export function arrayWithoutItems(schema) {
    if (!isObject(schema)) return false
    if (schema.type === 'array' && !('items' in schema) && !('prefixItems' in schema)) return true
    return Object.values(schema.properties ?? {}).some(arrayWithoutItems) || arrayWithoutItems(schema.items)
}

function checkChatMessages(messages, flavour) {
    let open = new Set() // calls that wait for their result
    messages.forEach((message, i) => {
        const where = `messages[${i}]`
        const fields = CHAT_MESSAGE_FIELDS[message.role]
        if (!fields) refuse('role', `Invalid value: '${message.role}'. Supported values are: 'system', 'assistant', 'user', 'tool'.`)
        for (const key of Object.keys(message))
            if (key !== 'role' && !fields.includes(key)) refuse('extra-inputs', `Unknown parameter: '${where}.${key}'.`)
        if (message.role === 'tool') {
            checkToolMessage(message, open, where)
            return
        }
        if (open.size > 0)
            refuse(
                'orphan-tool_use',
                `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${[...open].join(', ')}`,
            )
        if (flavour === 'mistral' && message.role === 'user' && messages[i - 1]?.role === 'tool')
            refuse('user-after-tool', "Unexpected role 'user' after role 'tool'")
        if (message.role === 'assistant') open = checkAssistant(message, where, flavour)
        else checkChatContent(message.content, where, message.role === 'user')
    })
    if (open.size > 0) refuse('orphan-tool_use', "An assistant message with 'tool_calls' must be followed by tool messages")
}

function checkToolMessage(message, open, where) {
    if (!open.has(message.tool_call_id))
        refuse('orphan-tool_result', `Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'. (${where})`)
    open.delete(message.tool_call_id)
    const isText = isString(message.content) || message.content?.every?.((part) => part.type === 'text' && isString(part.text))
    if (!isText) refuse('tool-text', `Invalid type for '${where}.content': tool messages hold text only`)
}

function checkChatContent(content, where, mayHaveImages) {
    if (isString(content)) {
        if (content === '') refuse('empty-content', `'${where}.content' is too short`)
        return
    }
    if (!Array.isArray(content) || content.length === 0) refuse('content', `Invalid type for '${where}.content'`)
    for (const part of content) {
        const isText = part.type === 'text' && isString(part.text) && part.text !== ''
        const isImage = mayHaveImages && part.type === 'image_url' && /^(data:image\/|https?:)/.test(part.image_url?.url)
        const isFile =
            mayHaveImages &&
            part.type === 'file' &&
            isString(part.file?.filename) &&
            /^data:application\/pdf;base64,JVBERi0/.test(part.file.file_data)
        if (!isText && !isImage && !isFile) refuse('content', `Invalid value in '${where}.content': '${part.type}'`)
    }
}

function checkAssistant(message, where, flavour) {
    const calls = message.tool_calls ?? []
    if (calls.length === 0 && (!isString(message.content) || message.content === ''))
        refuse('empty-content', `Invalid value for '${where}.content': expected a string, got null`)
    if (message.tool_calls && calls.length === 0) refuse('tool-calls', `'${where}.tool_calls' is too short`)
    const ids = new Set()
    for (const call of calls) {
        const shape = flavour === 'mistral' ? /^[a-zA-Z0-9]{9}$/ : /^.{1,40}$/
        if (!shape.test(call.id ?? '')) refuse('tool_use-id', `Invalid '${where}.tool_calls.id': ${call.id}`)
        if (ids.has(call.id)) refuse('dup-use', `Duplicate value for 'tool_call_id' of '${call.id}'`)
        ids.add(call.id)
        if (!/^[a-zA-Z0-9_-]{1,64}$/.test(call.function?.name ?? '')) refuse('tool-name', `Invalid '${where}.tool_calls.function.name'`)
        if (!isString(call.function.arguments)) refuse('tool-arguments', `Invalid type for '${where}.tool_calls.function.arguments'`)
        try {
            JSON.parse(call.function.arguments)
        } catch {
            refuse('tool-arguments', `'${where}.tool_calls.function.arguments' is not valid JSON`)
        }
        if (flavour === 'gemini' && !call.extra_content?.google?.thought_signature)
            refuse('thought-signature', 'Function call is missing a thought_signature in functionCall parts.')
    }
    if (flavour === 'deepseek' && calls.length > 0 && !isString(message.reasoning_content))
        refuse('reasoning-content', 'The `reasoning_content` in the thinking mode must be passed back to the API.')
    return ids
}
