// Conversations as the server tells of them, one for each state that a message can be in. The gallery shows what the page makes
// of them; a new kind of event or block gets a case here.
import type { ConversationEvent } from '../api/types'

export interface Case {
  name: string
  events: ConversationEvent[]
}

const ME = 'usr_me'
const AT = '2026-03-02T09:30:00.000Z'
const RUN = 'run_1'

type Told = readonly [name: string, data: object]

const text = (content: string) => [{ type: 'text', text: content }]
const said = (content: string, more: object = {}): Told => ['user.message', { content: text(content), userId: ME, ts: AT, ...more }]
const began: Told = ['run.start', { runId: RUN, model: 'demo:demo', ts: AT }]
const delta = (content: string): Told => ['text.delta', { runId: RUN, text: content }]
const answer = (content: object[]): Told => ['llm.done', { runId: RUN, content, ts: AT, inputTokens: 1200, outputTokens: 80 }]
const ended = (stopReason = 'complete'): Told => ['run.done', { runId: RUN, stopReason, totalMs: 2300, ts: AT }]
const call = (id: string, name: string, input: object) => ({ type: 'tool-call', toolCallId: id, toolName: name, input })
const done = (id: string, name: string, more: object): Told => ['tool.done', { runId: RUN, id, name, ok: true, ms: 120, ts: AT, ...more }]
const command = { command: 'git log --oneline --graph --decorate --all -- src/runtime src/engine web/src tests' }
const opened = (calls: object[]): Told => ['ask.opened', { runId: RUN, askId: 'ask_1', calls, ts: AT }]
const answered = (more: object): Told => ['ask.answered', { askId: 'ask_1', decision: 'allow', userId: 'usr_ada', ts: AT, ...more }]

const SHELL = call('c1', 'bash__bash_exec', command)
const ASKED = { id: 'c1', name: 'bash__bash_exec', input: command, needsPermission: true, canRemember: true, words: 'git log' }

const MARKDOWN = `A paragraph with **bold**, *italic*, \`code\`, ~~struck~~ and [a link](https://example.com).

## A heading

1. one
2. two
   - nested
- [x] done
- [ ] to do

> A quotation.

> [!NOTE]
> A note.

| name | amount |
|---|--:|
| first | 12 |
| second | 1,200 |

\`\`\`js
const answer = 42 // a comment
\`\`\`

The formula $e^{i\\pi} + 1 = 0$ and a footnote[^1].

[^1]: Its text.`

const CASES: readonly (readonly [name: string, ...events: Told[]])[] = [
  ['a question and its answer', said('How large is the moon?'), began, answer(text('Its diameter is **3,474 km**.')), ended()],
  ['everything that Markdown has', said('Show me'), began, answer(text(MARKDOWN)), ended()],
  ['a message of several lines, with code', said('Why does this fail?\n\n```c\nint main(void) { return x; }\n```'), began, answer(text('`x` is not declared.')), ended()],
  ['a long message', said(Array.from({ length: 40 }, (_, i) => `line ${i + 1}`).join('\n'))],
  ['a message of somebody else', said('What about me?', { userId: 'usr_ada', displayName: 'Ada' })],
  ['a message to people only', said('Not for the agent.', { userId: 'usr_ada', displayName: 'Ada', forPeople: true })],
  ['thinking, before the first word', said('Hm?'), began],
  ['text that grows', said('Count'), began, delta('one two three')],
  ['an answer with thoughts and a skill', said('Think'), ['run.start', { runId: RUN, model: 'demo:demo', skill: 'meeting-notes', ts: AT }], answer([{ type: 'reasoning', text: 'First this, then that.' }, ...text('Done.')]), ended()],
  ['a model that does not answer', said('Hello?'), began, ['run.retry', { runId: RUN, attempt: 1, of: 5, waitMs: 600_000, message: 'Anthropic is overloaded' }]],
  ['a tool that runs, with progress', said('Work'), began, answer([call('c1', 'files__copy', { from: 'a', to: 'b' })]), ['tool.start', { runId: RUN, id: 'c1', name: 'files__copy', input: {} }], ['tool.progress', { runId: RUN, id: 'c1', progress: 2, total: 5, message: 'second of five' }]],
  [
    'tools: done, failed, with an exit code',
    said('Work'),
    began,
    answer([call('c1', 'files__read', { path: 'notes.md' }), call('c2', 'files__write', { path: '/etc/x' }), call('c3', 'bash__bash_exec', { command: 'false' })]),
    done('c1', 'files__read', { output: '# Notes' }),
    done('c2', 'files__write', { ok: false, output: 'Permission denied' }),
    done('c3', 'bash__bash_exec', { output: 'exit 3', parts: [{ type: 'structured', value: { exit_code: 3 } }] }),
    answer(text('One of three.')),
    ended(),
  ],
  ['a question about a command', said('Look'), began, answer([SHELL]), opened([ASKED]), ended('waiting')],
  [
    'a question about several calls',
    said('Look'),
    began,
    answer([SHELL, call('c2', 'mail__send', { to: 'ada@example.com' })]),
    opened([ASKED, { id: 'c2', name: 'mail__send', input: { to: 'ada@example.com' }, needsPermission: true, canRemember: true }]),
    ended('waiting'),
  ],
  ['a question that was answered', said('Look'), began, answer([SHELL]), opened([ASKED]), ended('waiting'), answered({ always: 'conversation', words: 'git log' }), began, done('c1', 'bash__bash_exec', { output: 'abc' }), answer(text('Three commits.')), ended()],
  ['a question that was declined', said('Look'), began, answer([SHELL]), opened([ASKED]), ended('waiting'), answered({ decision: 'deny' })],
  ['an answer that failed', said('Hello?'), began, ['run.error', { runId: RUN, error: 'The key was refused.', errorType: 'provider_auth_error', ts: AT }]],
  ['an answer that was stopped', said('Count'), began, answer(text('one two')), ended('cancelled')],
  ['an empty answer', said('Say nothing'), began, ended()],
  ['right to left', said('ما هو القمر؟'), began, answer(text('> القمر **تابع** للأرض.\n\n- واحد\n- اثنان')), ended()],
]

export const cases: Case[] = CASES.map(([name, ...events]) => ({
  name,
  events: events.map(([event, data], i) => ({ event, data, id: String(i + 1) }) as unknown as ConversationEvent),
}))
