// Conversations of other programs, from their exports.
import { call, get } from '../api/client'
import { giveFile } from '../api/files'
import type { Import } from '../api/schema'
import { announce } from '../base/announcer'
import { h, setText } from '../base/dom'
import { field, form, select } from '../base/form'
import { t, tn } from '../base/words'
import type { App } from '../model/app'
import { lead, section } from './parts'

const POLL_MS = 500
const KINDS = [
  { value: 'chatgpt', label: 'ChatGPT' },
  { value: 'claude', label: 'Claude.ai' },
]

export function importPart(app: App): HTMLElement {
  const kind = select(KINDS, 'chatgpt')
  const file = h('input', { type: 'file', class: 'input', required: true })
  file.accept = '.zip,.json'
  const state = h('p', { role: 'status' })
  const result = h('div', {})
  const say = (text: string) => setText(state, text)
  const submit = async () => {
    result.replaceChildren()
    const done = await importFile(file.files![0]!, kind.value, say)
    say('')
    result.replaceChildren(...report(done))
    announce(result.textContent ?? '')
    app.conversations.touch()
    file.value = ''
  }
  const fields = [
    field(t('From'), kind),
    field(t('Export|file'), file, t('The archive as it was downloaded, or its conversations.json.')),
  ]
  return h(
    'div',
    {},
    section(
      t('Import conversations'),
      lead(
        t(
          'ChatGPT: Settings, Data controls, Export data. Claude.ai: Settings, Privacy, Export data. ' +
            'What was imported before is not imported twice.',
        ),
      ),
      form(fields, t('Import'), submit),
      state,
      result,
    ),
  )
}

/** The file is given like any other, and taken back when its conversations are there. */
async function importFile(file: File, kind: string, say: (text: string) => void): Promise<Import> {
  const onProgress = (share: number) => say(t('Sending: {percent}%', { percent: Math.round(share * 100) }))
  const { id } = await giveFile(file, onProgress, new AbortController().signal)
  try {
    let now = await call<Import>('POST', 'conversations/import', { file: id, kind })
    while (now.isRunning) {
      say(tn(now.conversations, 'Importing: {n} conversation', 'Importing: {n} conversations'))
      await new Promise((resolve) => setTimeout(resolve, POLL_MS))
      now = await get<Import>('conversations/import')
    }
    if (now.error) throw new Error(now.error)
    return now
  } finally {
    call('DELETE', `files/${id}`).catch(() => {}) // it only takes room
    say('')
  }
}

function report({ conversations, existing, lost, losses }: Import): HTMLElement[] {
  const parts = [
    tn(conversations, '{n} imported', '{n} imported'),
    existing > 0 ? tn(existing, '{n} were there already', '{n} were there already') : '',
    lost > 0 ? tn(lost, '{n} item could not be imported', '{n} items could not be imported') : '',
  ]
  const list = losses.length > 0 ? [h('ul', {}, ...losses.map((text) => h('li', {}, text)))] : []
  return [h('p', {}, `${parts.filter(Boolean).join('; ')}.`), ...list]
}
