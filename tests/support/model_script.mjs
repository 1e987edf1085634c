// model_script.mjs - what the model double answers.
//
// The newest user text may hold a directive: "@double" followed by one JSON object, or by an
// array of objects, one per model call of that turn (the last tool round asks again). Text
// around it is ignored. Without a directive the double echoes what it was told.
//
//   {"text": "hi"}                       an answer; "words": 500 makes one of so many words
//   {"thinking": "hm", "text": "hi"}     thinking first; "redacted": true hides one more block
//   {"calls": [{"name": "nb__time"}]}    tool calls; "args": {...}, or "raw": "{\"a\": uns" as it streams;
//                                        without either the call has no arguments
//   {"stop": "max_tokens"}               another reason to stop; also for chat: "finish"
//   {"status": 529, "retryAfter": 1, "retryAfterMs": 50, "shouldRetry": false, "type": "...", "message": "...",
//    "html": true, "times": 2}           an error instead; with "times" only so often, then the answer
//   {"midError": "overloaded_error"}     an error event after the first text
//   {"cut": true}                        the connection breaks after the first text; "cut": "start" before it;
//                                        "cut": "clean" ends the body in good order but too early
//   {"hang": "head"} {"hang": "middle"}  silence, before or in the answer
//   {"gate": "name"}                     silence after half of the text or of the arguments, until open("name") of the double
//   {"garbage": true}                    an event that is no JSON
//   {"usage": {...}}                     figures for message_start / the last chunk
//   {"novel": true}                      events, blocks and deltas of the future
//   {"pause": true}                      a server tool pauses the turn
//   {"refuse": "why"}                    a refusal; for Gemini also "block": "SAFETY", of the prompt, and "quota", beside an error
//   {"delayMs": 5}                       between events
//   {"split": "byte"|"none"}             how the stream is cut; random otherwise
//   {"quirks": ["no-index", "no-id", "no-usage", "no-done", "no-finish", "args-object", "whole-call",
//    "error-200", "groq-usage", "parts", "stop-with-calls", "same-index"]}   chat only
import { sign, estimateTokens } from './model_rules.mjs'

const textOf = (content) =>
    typeof content === 'string'
        ? content
        : (content ?? []).filter((b) => b.type === 'text').map((b) => b.text).join('\n')

// The newest message that a person wrote, and how many answers came after it.
export function lastQuestion(messages) {
    let answers = 0
    for (let i = messages.length - 1; i >= 0; i--) {
        const { role, content } = messages[i]
        if (role === 'assistant') answers++
        const text = textOf(content)
        if (role === 'user' && text.trim() !== '' && !text.startsWith('Go on exactly')) return { text, answers }
    }
    return { text: '', answers }
}

export function toolResults(messages) {
    const results = []
    for (let i = messages.length - 1; i >= 0 && messages[i].role !== 'assistant'; i--) {
        const { role, content } = messages[i]
        if (role === 'tool') results.unshift(textOf(content))
        else if (Array.isArray(content))
            results.unshift(...content.filter((b) => b.type === 'tool_result').map((b) => textOf(b.content)))
    }
    return results
}

// The JSON value at the beginning of text, by trying every closing bracket.
function leadingJson(text) {
    for (let end = 1; end <= text.length; end++) {
        if (!'}]'.includes(text[end - 1])) continue
        try {
            return JSON.parse(text.slice(0, end))
        } catch {
            // a bracket further on closes it
        }
    }
    return null
}

// One message may hold several, when turns without an answer were merged: the last one counts.
// A directive may also quote another, but never at the beginning of a line.
function findDirective(text) {
    const starts = [...text.matchAll(/^@double/gm)]
    return starts.length > 0 ? starts.at(-1).index : text.lastIndexOf('@double')
}

export function readDirective(body) {
    const isAside = !body.tools && /\btitle\b/i.test(JSON.stringify(body.system ?? body.messages[0] ?? ''))
    if (isAside) return { text: 'A double title' }
    const { text, answers } = lastQuestion(body.messages)
    const at = findDirective(text)
    const value = at < 0 ? null : leadingJson(text.slice(at + '@double'.length).trimStart())
    const step = Array.isArray(value) ? (value[answers] ?? null) : answers === 0 || !value?.calls ? value : null
    if (step) return { ...step, key: JSON.stringify(step) }
    const results = toolResults(body.messages)
    if (results.length > 0) return { text: `Results: ${results.join(' | ')}` }
    return { text: `You said: ${text}` }
}

// The directive as blocks, in the order in which they are streamed.
export function plan(directive, body, nextId) {
    const blocks = []
    if (directive.thinking) blocks.push({ type: 'thinking', thinking: directive.thinking })
    if (directive.redacted) blocks.push({ type: 'redacted_thinking', data: 'redacted_' + nextId() })
    if (directive.novel) blocks.push({ type: 'novel_block', payload: { n: 1e21, list: [1, 2.5] } })
    const words = directive.words ? Array.from({ length: directive.words }, (_, i) => `word${i}`).join(' ') : ''
    const text = directive.text ?? words
    if (text) blocks.push({ type: 'text', text })
    for (const call of directive.calls ?? []) {
        const raw = call.raw ?? (call.args === undefined ? '' : JSON.stringify(call.args))
        blocks.push({ type: 'tool_use', id: call.id ?? 'toolu_' + nextId(), name: call.name, raw })
    }
    if (directive.pause) blocks.push({ type: 'server_tool_use', id: 'srvtoolu_' + nextId(), name: 'web_search', raw: '{"query":"x"}' })
    return { blocks, stop: stopReason(directive), usage: usageOf(directive, body, blocks) }
}

function stopReason(directive) {
    if (directive.stop) return directive.stop
    if (directive.refuse) return 'refusal'
    if (directive.pause) return 'pause_turn'
    return directive.calls?.length ? 'tool_use' : 'end_turn'
}

function usageOf(directive, body, blocks) {
    return {
        input_tokens: estimateTokens(body),
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 0,
        output_tokens: estimateTokens(blocks),
        ...directive.usage,
    }
}

// Cuts text so that the pieces differ in size; characters stay whole, bytes are cut elsewhere.
export function pieces(text, random) {
    const chars = [...text]
    const out = []
    for (let at = 0; at < chars.length; ) {
        const n = 1 + Math.floor(random() * 12)
        out.push(chars.slice(at, at + n).join(''))
        at += n
    }
    return out
}

const isMiddle = (at, all) => at === Math.floor((all.length - 1) / 2)

// ---- Anthropic ----

const START = {
    text: () => ({ type: 'text', text: '' }),
    thinking: () => ({ type: 'thinking', thinking: '', signature: '' }),
    tool_use: (b) => ({ type: 'tool_use', id: b.id, name: b.name, input: {} }),
    server_tool_use: (b) => ({ type: 'server_tool_use', id: b.id, name: b.name, input: {} }),
    redacted_thinking: (b) => b,
    novel_block: (b) => ({ ...b, seal: sign(JSON.stringify(b.payload)) }),
}

function deltasOf(block, random) {
    const json = (raw) => ['', ...pieces(raw, random)].map((partial_json) => ({ type: 'input_json_delta', partial_json }))
    switch (block.type) {
        case 'text':
            return pieces(block.text, random).map((text) => ({ type: 'text_delta', text }))
        case 'thinking':
            return [
                ...pieces(block.thinking, random).map((thinking) => ({ type: 'thinking_delta', thinking })),
                { type: 'signature_delta', signature: sign(block.thinking) },
            ]
        case 'tool_use':
        case 'server_tool_use':
            return json(block.raw)
        case 'novel_block':
            return [{ type: 'novel_delta', anything: [1] }]
        default:
            return []
    }
}

export function* anthropicEvents(answer, directive, model, random, nextId) {
    const { usage } = answer
    yield {
        type: 'message_start',
        message: {
            id: 'msg_' + nextId(), type: 'message', role: 'assistant', model, content: [], stop_reason: null,
            stop_sequence: null, usage: { ...usage, output_tokens: 1 },
        },
    }
    yield { type: 'ping' }
    if (directive.novel) yield { type: 'novel_event', surprise: true }
    if (directive.cut === 'start') yield { cut: true }
    for (const [index, block] of answer.blocks.entries()) {
        yield { type: 'content_block_start', index, content_block: START[block.type](block) }
        const deltas = deltasOf(block, random)
        for (const [at, delta] of deltas.entries()) {
            yield { type: 'content_block_delta', index, delta }
            if (directive.gate && block.type !== 'thinking' && isMiddle(at, deltas)) yield { gate: directive.gate }
            if (random() < 0.1) yield { type: 'ping' }
            if (block.type !== 'text') continue
            if (directive.midError) yield { type: 'error', error: { type: directive.midError, message: 'Broken in mid-stream' } }
            if (directive.cut) yield { cut: directive.cut }
            if (directive.hang === 'middle') yield { hang: true }
        }
        yield { type: 'content_block_stop', index }
    }
    const details = directive.refuse ? { stop_details: { category: 'test', explanation: directive.refuse } } : {}
    yield {
        type: 'message_delta',
        delta: { stop_reason: answer.stop, stop_sequence: null, ...details },
        usage: { output_tokens: usage.output_tokens },
    }
    yield { type: 'message_stop' }
}

export function anthropicMessage(answer, directive, model, nextId) {
    const content = answer.blocks.map((block) => {
        if (block.type === 'text') return block
        if (block.type === 'thinking') return { ...block, signature: sign(block.thinking) }
        if ('raw' in block) return { type: block.type, id: block.id, name: block.name, input: JSON.parse(block.raw || '{}') }
        return START[block.type](block)
    })
    return {
        id: 'msg_' + nextId(), type: 'message', role: 'assistant', model, content, stop_reason: answer.stop,
        stop_sequence: null, usage: answer.usage,
    }
}

// ---- chat completions ----

const FINISH = { end_turn: 'stop', tool_use: 'tool_calls', max_tokens: 'length', refusal: 'content_filter' }

function chatUsage(usage) {
    const cached = usage.cache_read_input_tokens
    return {
        prompt_tokens: usage.input_tokens + cached,
        completion_tokens: usage.output_tokens,
        total_tokens: usage.input_tokens + cached + usage.output_tokens,
        prompt_tokens_details: { cached_tokens: cached },
    }
}

function* callDeltas(block, index, quirks, random) {
    const has = (name) => quirks.includes(name)
    const number = has('no-index') ? {} : { index: has('same-index') ? 0 : index }
    const id = has('no-id') ? {} : { id: block.id }
    const extra = has('signature') ? { extra_content: { google: { thought_signature: sign(block.name) } } } : {}
    const first = { ...number, ...id, type: 'function', ...extra }
    if (has('args-object') || has('whole-call')) {
        const args = has('args-object') ? JSON.parse(block.raw || '{}') : block.raw
        yield { tool_calls: [{ ...first, function: { name: block.name, arguments: args } }] }
        return
    }
    yield { tool_calls: [{ ...first, function: { name: block.name, arguments: '' } }] }
    for (const piece of pieces(block.raw, random)) yield { tool_calls: [{ ...number, function: { arguments: piece } }] }
}

function* chatDeltas(answer, directive, quirks, random) {
    let calls = 0
    for (const block of answer.blocks) {
        if (block.type === 'thinking')
            for (const piece of pieces(block.thinking, random)) yield { reasoning_content: piece }
        if (block.type === 'text') {
            const all = pieces(block.text, random)
            for (const [at, piece] of all.entries()) {
                yield { content: quirks.includes('parts') ? [{ type: 'text', text: piece }] : piece }
                if (directive.midError) yield { error: true }
                if (directive.cut) yield { cut: directive.cut }
                if (directive.hang === 'middle') yield { hang: true }
                if (directive.gate && isMiddle(at, all)) yield { gate: directive.gate }
            }
        }
        if (block.type === 'tool_use') yield* callDeltas(block, calls++, quirks, random)
    }
}

export function* chatEvents(answer, directive, body, random, nextId) {
    const quirks = directive.quirks ?? []
    const base = { id: 'chatcmpl-' + nextId(), object: 'chat.completion.chunk', created: 1, model: body.model }
    const chunk = (delta, finish_reason = null) => ({ ...base, choices: [{ index: 0, delta, finish_reason }] })
    yield chunk({ role: 'assistant', content: '' })
    if (directive.cut === 'start') yield { cut: true }
    for (const delta of chatDeltas(answer, directive, quirks, random)) {
        if (delta.cut || delta.hang || delta.gate) yield delta
        else if (delta.error) yield { error: { message: 'Broken in mid-stream', type: directive.midError, code: directive.midError } }
        else yield chunk(delta)
    }
    const finish = quirks.includes('stop-with-calls') ? 'stop' : (directive.finish ?? FINISH[answer.stop] ?? 'stop')
    const usage = chatUsage(answer.usage)
    const last = chunk({}, finish)
    if (quirks.includes('groq-usage')) last.x_groq = { usage }
    if (!quirks.includes('no-finish')) yield last
    if (body.stream_options?.include_usage && !quirks.includes('no-usage') && !quirks.includes('groq-usage'))
        yield { ...base, choices: [], usage }
    if (!quirks.includes('no-done')) yield { done: true }
}

export function chatCompletion(answer, body, nextId) {
    const text = answer.blocks.filter((b) => b.type === 'text').map((b) => b.text).join('')
    const calls = answer.blocks
        .filter((b) => b.type === 'tool_use')
        .map((b) => ({ id: b.id, type: 'function', function: { name: b.name, arguments: b.raw || '{}' } }))
    const message = { role: 'assistant', content: text || null, ...(calls.length ? { tool_calls: calls } : {}) }
    return {
        id: 'chatcmpl-' + nextId(), object: 'chat.completion', created: 1, model: body.model,
        choices: [{ index: 0, message, finish_reason: FINISH[answer.stop] ?? 'stop' }], usage: chatUsage(answer.usage),
    }
}
