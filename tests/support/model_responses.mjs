// model_responses.mjs - OpenAI's Responses API for the model double: what the service refuses, and how it answers.
//
// The double keeps nothing, as for an organisation without data retention: a request that asks to
// be stored is refused, and what the model reasoned must come back sealed, unchanged, and in
// front of what followed it.
import { MAGIC, Refusal, arrayWithoutItems, isObject, isString, schemaProblem, sign } from './model_rules.mjs'
import { pieces } from './model_script.mjs'

const refuse = (rule, message, more = {}) => {
    throw new Refusal(rule, message, more)
}

const FIELDS = [
    'model', 'input', 'instructions', 'tools', 'tool_choice', 'parallel_tool_calls', 'stream', 'store', 'include', 'max_output_tokens',
    'reasoning', 'text', 'temperature', 'top_p', 'truncation', 'metadata', 'prompt_cache_key', 'safety_identifier', 'service_tier',
]
const ITEM_FIELDS = {
    message: ['type', 'id', 'status', 'role', 'content', 'phase'],
    function_call: ['type', 'id', 'status', 'call_id', 'name', 'arguments'],
    function_call_output: ['type', 'id', 'status', 'call_id', 'output'],
    reasoning: ['type', 'id', 'status', 'summary', 'content', 'encrypted_content'],
}
const PART_FIELDS = {
    input_text: ['type', 'text'],
    input_image: ['type', 'image_url', 'detail', 'file_id'],
    input_file: ['type', 'filename', 'file_data', 'file_id', 'file_url'],
    output_text: ['type', 'text', 'annotations', 'logprobs'],
    refusal: ['type', 'refusal'],
}
const isReasoning = (model) => /^(gpt-[5-9]|o\d)/.test(model)

function onlyFields(where, object, allowed) {
    const unknown = Object.keys(object).find((key) => !allowed.includes(key))
    if (unknown) refuse('extra-inputs', `Unknown parameter: '${where}${unknown}'.`, { param: where + unknown })
}

// ---- what is refused ----

export function checkResponses(body) {
    onlyFields('', body, FIELDS)
    if (!isString(body.model) || !body.model) refuse('model', "Missing required parameter: 'model'.")
    if (body.model === 'missing') refuse('retired', "The requested model 'missing' does not exist.", { type: 'model_not_found' })
    if (body.store !== false) refuse('store', 'This organization has zero data retention: store must be false.')
    if (!Number.isInteger(body.max_output_tokens) || body.max_output_tokens < 16)
        refuse('max-tokens', `Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got ${body.max_output_tokens} instead.`)
    if (body.prompt_cache_key?.length > 64) refuse('cache-key', "Invalid 'prompt_cache_key': string too long.")
    checkReasoning(body)
    checkTools(body.tools)
    if (!Array.isArray(body.input) || body.input.length === 0) refuse('input', "Invalid 'input': empty array.")
    body.input.forEach((item, i) => checkItem(item, `input[${i}].`))
    checkPairs(body.input)
    checkFollowed(body.input)
}

function checkReasoning({ model, reasoning, include }) {
    if (!isReasoning(model) && reasoning) refuse('reasoning', "Unsupported parameter: 'reasoning.effort' is not supported with this model.")
    if (!isReasoning(model) && include?.includes('reasoning.encrypted_content')) refuse('include', 'Encrypted content is not supported with this model.')
    if (!reasoning) return
    onlyFields('reasoning.', reasoning, ['effort', 'summary'])
    if (reasoning.effort && !['minimal', 'low', 'medium', 'high'].includes(reasoning.effort)) refuse('effort', `Invalid value: '${reasoning.effort}'.`)
}

function checkTools(tools) {
    if (tools === undefined) return
    if (!Array.isArray(tools) || tools.length === 0 || tools.length > 128) refuse('tools', "Invalid 'tools': array of another length expected.")
    const seen = new Set()
    tools.forEach((tool, i) => {
        const where = `tools[${i}].`
        onlyFields(where, tool, ['type', 'name', 'description', 'parameters', 'strict'])
        if (tool.type !== 'function') refuse('tool-type', `Invalid value: '${tool.type}'.`, { param: where + 'type' })
        if (!/^[a-zA-Z0-9_-]{1,64}$/.test(tool.name ?? '')) refuse('tool-name', `Invalid '${where}name': string does not match pattern.`, { param: where + 'name' })
        if (seen.has(tool.name)) refuse('tool-dup', `Duplicate tool name: ${tool.name}`)
        seen.add(tool.name)
        const schema = tool.parameters
        const isLoose = tool.strict === false || schema?.additionalProperties === false
        const isBad = !isObject(schema) || schema.type !== 'object' || schemaProblem(schema) || arrayWithoutItems(schema) || !isLoose
        if (isBad) refuse('schema-valid', `Invalid schema for function '${tool.name}'`, { param: where + 'parameters', type: 'invalid_function_parameters' })
    })
}

function checkItem(item, where) {
    const fields = ITEM_FIELDS[item?.type]
    if (!fields) refuse('item', `Invalid value: '${item?.type}'. Supported values are: ${Object.keys(ITEM_FIELDS)}`, { param: where + 'type' })
    onlyFields(where, item, fields)
    ITEM_CHECKS[item.type](item, where)
}

const isCallId = (id) => isString(id) && id.length >= 1 && id.length <= 64

const ITEM_CHECKS = {
    message(item, where) {
        if (!['user', 'assistant', 'system', 'developer'].includes(item.role)) refuse('role', `Invalid value: '${item.role}'.`)
        if ('phase' in item && (item.role !== 'assistant' || !['commentary', 'final_answer'].includes(item.phase))) refuse('phase', `Invalid value for '${where}phase'.`)
        const allowed = item.role === 'assistant' ? ['output_text', 'refusal'] : ['input_text', 'input_image', 'input_file']
        checkParts(item.content, where + 'content', allowed)
    },
    function_call(item, where) {
        if (!isCallId(item.call_id)) refuse('tool_use-id', `Invalid '${where}call_id': string too long. Expected a string with maximum length 64.`)
        if (!/^[a-zA-Z0-9_-]{1,64}$/.test(item.name ?? '')) refuse('tool-name', `Invalid '${where}name'.`)
        if (!isString(item.arguments)) refuse('tool-arguments', `Invalid type for '${where}arguments': expected a string.`)
    },
    function_call_output(item, where) {
        if (Array.isArray(item.output)) checkParts(item.output, where + 'output', ['input_text', 'input_image', 'input_file'])
        else if (!isString(item.output)) refuse('tool-output', `Invalid type for '${where}output'.`)
    },
    reasoning(item, where) {
        if (!Array.isArray(item.summary)) refuse('summary', `Missing required parameter: '${where}summary'.`)
        if (!item.encrypted_content)
            refuse('not-found', `Item with id '${item.id}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`, { status: 404 })
        const words = item.summary.map((part) => part.text).join('\n')
        if (item.encrypted_content !== seal(item.id, words)) refuse('sealed', `The encrypted content for item ${item.id} could not be verified.`)
    },
}

function checkParts(parts, where, allowed) {
    if (isString(parts) && parts !== '') return
    if (!Array.isArray(parts) || parts.length === 0) refuse('empty-content', `Invalid '${where}': empty array.`)
    parts.forEach((part, i) => {
        const at = `${where}[${i}].`
        if (!allowed.includes(part.type)) refuse('content', `Invalid value: '${part.type}'. Supported values are: ${allowed.map((t) => `'${t}'`)}`, { param: at + 'type' })
        onlyFields(at, part, PART_FIELDS[part.type])
        if (PART_FIELDS[part.type].includes('text') && !part.text) refuse('empty-text', `Invalid '${at}text': empty string.`)
        if (part.type === 'input_image') checkData(part.image_url, MAGIC, at + 'image_url')
        if (part.type === 'input_file') checkFile(part, at)
    })
}

function checkFile(part, at) {
    if (!isString(part.filename) || !part.filename) refuse('filename', `Missing required parameter: '${at}filename'.`)
    checkData(part.file_data, { 'application/pdf': '25504446' }, at + 'file_data')
}

function checkData(url, types, at) {
    const [, mime, data] = /^data:([\w/+.-]+);base64,(.+)$/s.exec(url ?? '') ?? []
    if (!types[mime]) refuse('image-type', `Invalid '${at}'. Expected a base64-encoded data URL with one of ${Object.keys(types)}, but got unsupported MIME type '${mime}'.`)
    if (!Buffer.from(data, 'base64').toString('hex').startsWith(types[mime])) refuse('image-magic', 'The image data you provided does not represent a valid image.')
}

function checkPairs(items) {
    const open = new Map()
    const seen = new Set()
    for (const item of items) {
        if (item.type === 'function_call') {
            if (seen.has(item.call_id)) refuse('dup-use', `Duplicate call_id ${item.call_id}`)
            seen.add(item.call_id)
            open.set(item.call_id, item)
        } else if (item.type === 'function_call_output') {
            if (!open.delete(item.call_id)) refuse('orphan-tool_result', `No tool call found for function call output with call_id ${item.call_id}.`)
        } else if (item.role === 'user' && open.size > 0) {
            refuse('orphan-tool_use', `No tool output found for function call ${[...open.keys()][0]}.`)
        }
    }
    if (open.size > 0) refuse('orphan-tool_use', `No tool output found for function call ${[...open.keys()][0]}.`)
}

function checkFollowed(items) {
    items.forEach((item, i) => {
        if (item.type !== 'reasoning') return
        const next = items.slice(i + 1).find((other) => other.type !== 'reasoning')
        if (!next || (next.type !== 'function_call' && next.role !== 'assistant'))
            refuse('unfollowed', `Item '${item.id}' of type 'reasoning' was provided without its required following item.`)
    })
}

// ---- what was said ----

/** The request as messages, for directives. */
export function responsesView(body) {
    const text = (parts) => (isString(parts) ? parts : parts.map((part) => part.text ?? '').join('\n'))
    const messages = []
    for (const item of body.input) {
        const isCall = item.type === 'function_call' || item.type === 'reasoning' || item.role === 'assistant'
        if (item.type === 'function_call_output') messages.push({ role: 'tool', content: text(item.output) })
        else if (!isCall) messages.push({ role: item.role, content: text(item.content) })
        else if (messages.at(-1)?.role !== 'assistant') messages.push({ role: 'assistant', content: item.content ? text(item.content) : '' })
    }
    return { tools: body.tools, system: body.instructions, messages }
}

// ---- answering ----

const seal = (id, words) => 'sealed_' + sign(`${id} ${words}`)

function responsesUsage(usage) {
    const cached = usage.cache_read_input_tokens
    return {
        input_tokens: usage.input_tokens + cached,
        input_tokens_details: { cached_tokens: cached },
        output_tokens: usage.output_tokens,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: usage.input_tokens + cached + usage.output_tokens,
    }
}

// The events of an item between "added" and "done", and the item as it is when done.
const ITEMS = {
    *thinking(block, at, random, nextId) {
        const id = 'rs_' + nextId()
        yield { type: 'response.output_item.added', item: { type: 'reasoning', id, summary: [] }, ...at }
        yield { type: 'response.reasoning_summary_part.added', summary_index: 0, part: { type: 'summary_text', text: '' }, ...at }
        for (const delta of pieces(block.thinking, random)) yield { type: 'response.reasoning_summary_text.delta', summary_index: 0, delta, ...at }
        const summary = [{ type: 'summary_text', text: block.thinking }]
        const item = { type: 'reasoning', id, summary, encrypted_content: seal(id, block.thinking), status: null }
        yield { type: 'response.output_item.done', item, ...at }
    },
    *redacted_thinking(block, at, random, nextId) {
        const id = 'rs_' + nextId()
        const item = { type: 'reasoning', id, summary: [], encrypted_content: seal(id, '') }
        yield { type: 'response.output_item.added', item: { type: 'reasoning', id, summary: [] }, ...at }
        yield { type: 'response.output_item.done', item, ...at }
    },
    *novel_block(block, at) {
        yield { type: 'response.output_item.added', item: { type: 'novel_call', id: 'nc_1' }, ...at }
        yield { type: 'response.novel.delta', delta: 'x', ...at }
        yield { type: 'response.output_item.done', item: { type: 'novel_call', id: 'nc_1' }, ...at }
    },
    *text(block, at, random, nextId, directive) {
        const id = 'msg_' + nextId()
        const phase = directive.calls ? 'commentary' : 'final_answer'
        const message = (content) => ({ type: 'message', id, role: 'assistant', phase, content, status: 'completed' })
        yield { type: 'response.output_item.added', item: message([]), ...at }
        yield { type: 'response.content_part.added', content_index: 0, part: { type: 'output_text', text: '' }, ...at }
        const all = pieces(block.text, random)
        for (const [n, delta] of all.entries()) {
            yield { type: 'response.output_text.delta', content_index: 0, delta, logprobs: [], ...at }
            if (directive.gate && n === Math.floor((all.length - 1) / 2)) yield { gate: directive.gate }
            if (directive.midError) yield { type: 'error', code: directive.midError, message: 'Broken in mid-stream', param: null }
            if (directive.cut) yield { cut: directive.cut }
            if (directive.hang === 'middle') yield { hang: true }
        }
        yield { type: 'response.output_text.done', content_index: 0, text: block.text, ...at }
        yield { type: 'response.output_item.done', item: message([{ type: 'output_text', text: block.text, annotations: [] }]), ...at }
    },
    *tool_use(block, at, random, nextId) {
        const call = { type: 'function_call', id: 'fc_' + nextId(), call_id: block.id, name: block.name }
        yield { type: 'response.output_item.added', item: { ...call, arguments: '' }, ...at }
        for (const delta of pieces(block.raw, random)) yield { type: 'response.function_call_arguments.delta', delta, ...at }
        yield { type: 'response.function_call_arguments.done', arguments: block.raw, ...at }
        yield { type: 'response.output_item.done', item: { ...call, arguments: block.raw, status: 'completed' }, ...at }
    },
    *refusal(block, at, random, nextId) {
        const message = (content) => ({ type: 'message', id: 'msg_' + nextId(), role: 'assistant', content })
        yield { type: 'response.output_item.added', item: message([]), ...at }
        for (const delta of pieces(block.refusal, random)) yield { type: 'response.refusal.delta', content_index: 0, delta, ...at }
        yield { type: 'response.output_item.done', item: message([{ type: 'refusal', refusal: block.refusal }]), ...at }
    },
}

export function* responsesEvents(answer, directive, body, random, nextId) {
    const response = { id: 'resp_' + nextId(), object: 'response', model: body.model, store: false, status: 'in_progress', output: [] }
    let number = 0
    const numbered = (event) => (event.type ? { ...event, sequence_number: number++ } : event)
    const output = []
    const blocks = directive.refuse ? [...answer.blocks, { type: 'refusal', refusal: directive.refuse }] : answer.blocks
    yield numbered({ type: 'response.created', response })
    yield numbered({ type: 'response.in_progress', response })
    if (directive.cut === 'start') yield { cut: true }
    for (const [output_index, block] of blocks.entries()) {
        for (const event of ITEMS[block.type](block, { output_index }, random, nextId, directive)) {
            if (event.type === 'response.output_item.done') output.push(event.item)
            yield numbered(event)
        }
    }
    const usage = responsesUsage(answer.usage)
    const isCut = answer.stop === 'max_tokens'
    const whole = { ...response, output, usage, status: isCut ? 'incomplete' : 'completed' }
    if (isCut) whole.incomplete_details = { reason: 'max_output_tokens' }
    yield numbered({ type: isCut ? 'response.incomplete' : 'response.completed', response: whole })
}

export function responsesWhole(answer, directive, body, nextId) {
    return [...responsesEvents(answer, directive, body, () => 0.9, nextId)].at(-1).response
}
