// The fold of a conversation's events into what the page shows. Pure code of the page, run in
// Node from its sources.
import fs from 'node:fs'
import path from 'node:path'
import * as esbuild from 'esbuild'
import { SRC_DIR, assert, before, test, tmpdir } from '../support/tap.mjs'

let Transcript

before(async () => {
    const out = path.join(tmpdir(), 'transcript.mjs')
    await esbuild.build({
        entryPoints: [path.join(SRC_DIR, 'web/src/model/transcript.ts')],
        bundle: true,
        format: 'esm',
        outfile: out,
    })
    assert.ok(fs.existsSync(out))
    ;({ Transcript } = await import(out))
})

function fold(...events) {
    const transcript = new Transcript()
    for (const [event, data, id = null] of events) transcript.apply({ event, data, id })
    return transcript
}

/** The items in short: "you: text", "run state [blocks]". */
function shown(transcript) {
    return transcript.items.map((item) => {
        if (item.kind === 'user') return `you: ${item.text}`
        const blocks = item.blocks.map((b) =>
            b.kind === 'tools' ? b.calls.map((c) => `${c.name}=${c.state}`).join('+') : `${b.kind} ${b.text}`,
        )
        return `${item.state} [${blocks.join(' | ')}]`
    })
}

const text = (t) => [{ type: 'text', text: t }]
const call = (id, name) => ({ type: 'tool-call', toolCallId: id, toolName: name, input: {} })
const asked = (t, id = '1') => ['user.message', { content: text(t), userId: 'usr_a' }, id]
const began = ['run.start', { runId: 'r', model: 'demo:demo' }, '2']

test('a turn with tools, from the first delta to the end', () => {
    const events = [
        asked('q'),
        began,
        ['text.delta', { runId: 'r', text: 'I ' }],
        ['text.delta', { runId: 'r', text: 'call' }],
        ['tool.preparing', { runId: 'r', id: 'x', name: 'a' }],
        [
            'llm.done',
            {
                runId: 'r',
                content: [...text('I call'), call('x', 'a'), call('y', 'b')],
                inputTokens: 3,
                outputTokens: 2,
            },
            '3',
        ],
        ['tool.start', { runId: 'r', id: 'x', name: 'a', input: {} }, '4'],
        ['tool.start', { runId: 'r', id: 'y', name: 'b', input: {} }, '5'],
        ['tool.settled', { runId: 'r', id: 'y', name: 'b', ok: false, ms: 3 }],
    ]
    assert.deepEqual(shown(fold(...events)), ['you: q', 'running [text I call | a=running+b=error]'])
    const rest = [
        ['tool.done', { runId: 'r', id: 'x', name: 'a', ok: true, ms: 5, output: 'X' }, '6'],
        ['tool.done', { runId: 'r', id: 'y', name: 'b', ok: false, ms: 3, output: 'Y' }, '7'],
        ['text.delta', { runId: 'r', text: '\n\n' }],
        ['text.delta', { runId: 'r', text: 'done' }],
    ]
    const before = fold(...events, ...rest)
    assert.deepEqual(shown(before), ['you: q', 'running [text I call | a=ok+b=error | text done]'])
    const key = before.items[1].blocks.at(-1).key
    const end = [
        ['llm.done', { runId: 'r', content: text('done'), inputTokens: 4, outputTokens: 1 }, '8'],
        ['run.done', { runId: 'r', stopReason: 'complete', totalMs: 9 }, '9'],
    ]
    const after = fold(...events, ...rest, ...end)
    assert.deepEqual(shown(after), ['you: q', 'done [text I call | a=ok+b=error | text done]'])
    assert.equal(after.items[1].blocks.at(-1).key, key, 'streamed text keeps its view when it is stored')
    assert.equal(after.items[1].usage.inputTokens, 7)
    assert.equal(after.activeRun, null)
})

test('a snapshot replaces what was streamed; deltas then append', () => {
    const t = fold(
        asked('q'),
        began,
        ['text.delta', { runId: 'r', text: 'abc' }],
        ['text.snapshot', { runId: 'r', text: 'abcdef' }],
        ['text.delta', { runId: 'r', text: 'g' }],
    )
    assert.deepEqual(shown(t), ['you: q', 'running [text abcdefg]'])
    t.apply({ event: 'text.snapshot', data: { runId: 'r', text: '' }, id: null })
    assert.deepEqual(shown(t), ['you: q', 'running []'])
})

test('a snapshot without a run shows that the unfinished one has died', () => {
    const t = fold(
        asked('q'),
        began,
        ['tool.start', { runId: 'r', id: 'x', name: 'a' }, '3'],
        ['text.snapshot', { runId: null, text: '' }],
    )
    assert.deepEqual(shown(t), ['you: q', 'interrupted [a=interrupted]'])
})

test('a retry is told until something of the answer comes, and by a snapshot to those who come late', () => {
    const note = { attempt: 1, of: 5, waitMs: 4000, message: 'busy' }
    for (const told of [['run.retry', { runId: 'r', ...note }], ['text.snapshot', { runId: 'r', text: '', retry: note }]]) {
        const t = fold(asked('q'), began, told)
        const { attempt, of, why } = t.activeRun.retry
        assert.deepEqual([attempt, of, why], [2, 5, 'busy'])
        t.apply({ event: 'text.delta', data: { runId: 'r', text: 'here' }, id: null })
        assert.equal(t.activeRun.retry, null)
    }
})

test('a snapshot tells those who come late how far a call is', () => {
    const t = fold(
        asked('q'),
        began,
        ['llm.done', { runId: 'r', content: [{ type: 'tool-call', toolCallId: 'x', toolName: 'a', input: {} }] }, '3'],
        ['text.snapshot', { runId: 'r', text: '', progress: [{ id: 'x', progress: 4, total: 10, message: 'on it' }, { id: 'gone', progress: 1 }] }],
    )
    const [call] = t.activeRun.blocks.flatMap((block) => block.calls ?? [])
    assert.deepEqual([call.state, call.progress], ['running', { share: 0.4, message: 'on it' }])
})

test('text that overtakes its question is shown after it', () => {
    const t = fold(['text.delta', { runId: 'r', text: 'fast' }], asked('q'), began)
    assert.deepEqual(shown(t), ['you: q', 'running [text fast]'])
})

test('an id of a call that is used again belongs to the newest answer', () => {
    const round = (n) => [
        ['tool.preparing', { runId: 'r', id: 'c1', name: 'a' }],
        ['llm.done', { runId: 'r', content: [call('c1', 'a')] }, `${n}1`],
        ['tool.start', { runId: 'r', id: 'c1', name: 'a' }, `${n}2`],
        ['tool.done', { runId: 'r', id: 'c1', name: 'a', ok: n === 1, ms: 1 }, `${n}3`],
    ]
    assert.deepEqual(shown(fold(asked('q'), began, ...round(1), ...round(2))), [
        'you: q',
        'running [a=ok | a=error]',
    ])
})

test('a failed run keeps its partial text', () => {
    const t = fold(
        asked('q'),
        began,
        ['text.delta', { runId: 'r', text: 'half' }],
        ['run.error', { runId: 'r', error: 'broken', partialText: 'half' }, '3'],
    )
    assert.deepEqual(shown(t), ['you: q', 'error [text half]'])
    assert.equal(t.items[1].error, 'broken')
})

test('an answer that waited for a permission counts as one message, as on the server', () => {
    const transcript = fold(asked('q'), began, ['run.done', { runId: 'r', stopReason: 'waiting' }, '3'])
    assert.equal(transcript.items[1].ends, 0)
    transcript.apply({ event: 'run.start', data: { runId: 'r2', resumes: 'r' }, id: '4' })
    transcript.apply({ event: 'run.done', data: { runId: 'r2', stopReason: 'complete' }, id: '5' })
    assert.equal(transcript.items.reduce((sum, { ends = 0 }) => sum + ends, 0), 1)
})

test('history and stream tell the same story', () => {
    const t = new Transcript()
    t.load({
        ask: null,
        messages: [
            { role: 'user', content: 'q', parts: text('q'), timestamp: 't', position: 1, userId: 'usr_a' },
            {
                role: 'assistant',
                content: 'I call',
                parts: [...text('I call'), call('x', 'a')],
                timestamp: 't',
                position: 2,
                runId: 'r',
                inputTokens: 3,
                toolCalls: [
                    { id: 'x', name: 'a', input: {}, output: 'X', ok: true, isAnswered: true, ms: 5 },
                ],
            },
        ],
    })
    assert.deepEqual(shown(t), ['you: q', 'running [text I call | a=ok]'])
    t.apply({ event: 'text.snapshot', data: { runId: 'r', text: '\n\ndo' }, id: null })
    t.apply({ event: 'text.delta', data: { runId: 'r', text: 'ne' }, id: null })
    t.apply({ event: 'llm.done', data: { runId: 'r', content: text('done') }, id: '3' })
    t.apply({ event: 'run.done', data: { runId: 'r', stopReason: 'complete' }, id: '4' })
    assert.deepEqual(shown(t), ['you: q', 'done [text I call | a=ok | text done]'])
})

test('old messages without runs, errors on messages, earlier pages', () => {
    const t = new Transcript()
    t.load({
        ask: null,
        messages: [
            {
                role: 'assistant',
                content: 'b',
                parts: text('b'),
                timestamp: 't',
                position: 5,
                runId: 'r',
                stopReason: 'complete',
            },
            { role: 'user', content: 'x', parts: text('x'), timestamp: 't', position: 6, error: 'no model' },
        ],
    })
    t.prepend([
        {
            role: 'assistant',
            content: 'old',
            parts: text('old'),
            timestamp: 't',
            position: 1,
            toolCalls: [{ id: '1', name: 'a', output: '', ok: true, isAnswered: true, ms: 1 }],
        },
        { role: 'user', content: 'q', parts: text('q'), timestamp: 't', position: 2 },
        { role: 'assistant', content: 'a', parts: text('a'), timestamp: 't', position: 3, runId: 'r' },
    ])
    assert.deepEqual(shown(t), [
        'done [a=ok | text old]',
        'you: q',
        'done [text a | text b]',
        'you: x',
        'error []',
    ])
})

test('a message in the middle of a run: what follows is shown below it', () => {
    const t = fold(
        asked('q'),
        began,
        ['llm.done', { runId: 'r', content: [call('x', 'a')] }, '3'],
        ['tool.done', { runId: 'r', id: 'x', name: 'a', ok: true, ms: 5, output: 'X' }, '4'],
        asked('rather this', '5'),
        ['text.delta', { runId: 'r', text: 'as you ' }],
        ['llm.done', { runId: 'r', content: text('as you wish') }, '6'],
        ['run.done', { runId: 'r', stopReason: 'complete' }, '7'],
    )
    assert.deepEqual(shown(t), ['you: q', 'done [a=ok]', 'you: rather this', 'done [text as you wish]'])
    assert.equal(t.activeRun, null)
})

test('progress of a call, the run it delegated to, and what it asks', () => {
    const t = fold(
        asked('q'),
        began,
        ['llm.done', { runId: 'r', content: [call('x', 'nb__delegate')] }, '3'],
        ['tool.start', { runId: 'r', id: 'x', name: 'nb__delegate', input: {} }, '4'],
        ['tool.progress', { runId: 'r', id: 'x', progress: 1, total: 4, message: 'started conv_1' }],
        ['input.requested', { runId: 'r', inputId: 'i', kind: 'form', source: 's', message: 'm' }, '5'],
    )
    const [tools, input] = t.items[1].blocks
    assert.deepEqual(tools.calls[0].progress, { share: 0.25, message: 'started conv_1' })
    assert.equal(tools.calls[0].childId, 'conv_1')
    assert.equal(input.outcome, null)
    t.apply({ event: 'input.answered', data: { runId: 'r', inputId: 'i', action: 'decline' }, id: '6' })
    assert.equal(input.outcome, 'decline')
})

test('a reset starts over; unknown events are ignored', () => {
    const t = fold(asked('q'), began, ['reset', {}], asked('again', '9'))
    assert.deepEqual(shown(t), ['you: again'])
    assert.equal(t.apply({ event: 'something.new', data: {}, id: '10' }), false)
})
