// No control character and no bidirectional mark of a conversation reaches a terminal: plain, --json and documents.
import fs from 'node:fs'
import path from 'node:path'
import { assert, nb, test, tmpdir } from '../support/tap.mjs'
import { QUICK } from '../support/office.mjs'

const HOSTILE = 'x\u001b]0;OWNED\u0007\u001b[31mred\u009b31m\u202Eevil\u2066\u200f\u061c\u007f\u0085end'
const RAW = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/

/** A conversation as an attacker would leave it: every text is hostile. */
function writeLog(workdir) {
    const dir = path.join(workdir, 'conversations')
    fs.mkdirSync(dir, { recursive: true })
    const ts = '2026-03-25T10:30:00.000Z'
    const lines = [
        { id: 'conv_0123456789abcdef', createdAt: ts, updatedAt: ts, title: HOSTILE, ownerId: 'usr_default', visibility: 'private' },
        { type: 'user.message', ts, userId: HOSTILE, content: [{ type: 'text', text: HOSTILE }] },
        { type: 'run.start', ts, runId: 'run_1' },
        { type: 'llm.response', ts, runId: 'run_1', model: HOSTILE, content: [{ type: 'text', text: HOSTILE }, { type: 'tool-call', toolCallId: 'c1', toolName: HOSTILE, input: { a: HOSTILE } }] },
        { type: 'tool.done', ts, runId: 'run_1', id: 'c1', name: HOSTILE, ok: true, ms: 1, result: { content: [{ type: 'text', text: HOSTILE }] } },
        { type: 'metadata.title', ts, title: HOSTILE },
        { type: 'note', ts, author: HOSTILE, content: HOSTILE },
        { type: 'run.done', ts, runId: 'run_1', stopReason: 'complete' },
    ]
    fs.writeFileSync(path.join(dir, 'conv_0123456789abcdef.jsonl'), lines.map((l) => JSON.stringify(l)).join('\n') + '\n')
}

const ID = 'conv_0123456789abcdef'

const COMMANDS = [
    ['conv', 'list'], ['conv', 'show', ID], ['conv', 'search', 'evil'], ['conv', 'search', 'end'], ['conv', 'stats'], ['conv', 'participants', ID],
    ['conv', 'verify'], ['conv', 'verify', ID], ['conv', 'export', ID], ['conv', 'export', '--format', 'markdown', ID],
    ['conv', 'export', '--format', 'json', ID], ['conv', 'export', '--format', 'html', ID], ['conv', 'export', '--format', 'jsonl', ID],
    ['conv', 'rename', ID, HOSTILE.replaceAll('\u0000', '')], ['conv', 'note', ID, HOSTILE], ['conv', 'fork', ID],
    ['bundle', 'list'], ['status'], ['usage'], ['skill', 'list'], ['models'], ['user', 'list'], ['token', 'list'], ['workspace', 'list'],
    ['audit'], ['audit', 'verify'], ['prompt', HOSTILE], ['replay', ID], ['doctor'], ['mcp', 'tools'], ['conv', 'delete', '--yes', ID], ['conv', 'restore', ID],
    ['conv', 'show', HOSTILE], ['user', 'add', HOSTILE], ['workspace', 'create', HOSTILE], ['no' + HOSTILE], ['-p', HOSTILE],
]

test('every command is clean over a hostile conversation, in plain text and as JSON', async () => {
    const workdir = tmpdir('nb-plain-')
    writeLog(workdir)
    let cells = 0
    for (const args of COMMANDS) {
        for (const mode of [[], ['--json']]) {
            const r = await nb([...mode, '--workdir', workdir, ...args], { env: QUICK })
            for (const text of [r.stdout, r.stderr]) {
                const bad = RAW.exec(text)
                assert.ok(!bad, `nb ${args.slice(0, 3).join(' ').slice(0, 60)} ${mode}: U+${bad?.[0].codePointAt(0).toString(16)} in ${JSON.stringify(text.slice(Math.max(0, bad?.index - 60), bad?.index + 20))}`)
                cells++
            }
        }
    }
    console.log(`# ${COMMANDS.length} commands, ${cells} outputs`)
})

test('documents in files are clean, and a log keeps its values', async () => {
    const workdir = tmpdir('nb-plain-')
    writeLog(workdir)
    for (const format of ['markdown', 'json', 'html']) {
        const file = path.join(workdir, 'out.' + format)
        assert.equal((await nb(['conv', 'export', '--workdir', workdir, '--format', format, '-o', file, ID], { env: QUICK })).code, 0)
        assert.ok(!RAW.test(fs.readFileSync(file, 'utf8')), format)
    }
    const json = JSON.parse(fs.readFileSync(path.join(workdir, 'out.json'), 'utf8'))
    assert.ok(JSON.stringify(json).includes('\u202E')) // the value stays, written as an escape
    const lines = (await nb(['conv', 'export', '--workdir', workdir, '--format', 'jsonl', ID], { env: QUICK })).stdout.trim().split('\n')
    assert.equal(JSON.parse(lines[1]).content[0].text, HOSTILE)
})

test('a title loses control characters and bidirectional marks when it is set', async () => {
    const workdir = tmpdir('nb-plain-')
    writeLog(workdir)
    assert.equal((await nb(['conv', 'rename', '--workdir', workdir, ID, 'a\u202Eb\u009bc\u2066'], { env: QUICK })).code, 0)
    const log = fs.readFileSync(path.join(workdir, 'conversations', ID + '.jsonl'), 'utf8').trim().split('\n')
    const title = JSON.parse(log.findLast((l) => l.includes('metadata.title'))).title
    assert.equal(title, 'a b c')
})
