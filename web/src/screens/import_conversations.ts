// Conversations of other programs, from their exports.
import { call, get } from '../api/client'
import { giveFile } from '../api/files'
import type { Import } from '../api/schema'
import { announce } from '../base/announcer'
import { h, setText } from '../base/dom'
import { field, form, select } from '../base/form'
import { count } from '../base/time'
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
    field('From', kind),
    field('Export', file, 'The archive as it was downloaded, or its conversations.json.'),
  ]
  return h(
    'div',
    {},
    section(
      'Import conversations',
      lead('ChatGPT: Settings, Data controls, Export data. Claude.ai: Settings, Privacy, Export data. What was imported before is not imported twice.'),
      form(fields, 'Import', submit),
      state,
      result,
    ),
  )
}

/** The file is given like any other, and taken back when its conversations are there. */
async function importFile(file: File, kind: string, say: (text: string) => void): Promise<Import> {
  const onProgress = (share: number) => say(`Sending: ${Math.round(share * 100)} %`)
  const { id } = await giveFile(file, onProgress, new AbortController().signal)
  try {
    let now = await call<Import>('POST', 'conversations/import', { file: id, kind })
    while (now.isRunning) {
      say(`Importing: ${count(now.conversations)} conversations`)
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
    `${count(conversations)} imported`,
    existing > 0 ? `${count(existing)} were there already` : '',
    lost > 0 ? `${count(lost)} items could not be imported` : '',
  ]
  const list = losses.length > 0 ? [h('ul', {}, ...losses.map((text) => h('li', {}, text)))] : []
  return [h('p', {}, `${parts.filter(Boolean).join('; ')}.`), ...list]
}
