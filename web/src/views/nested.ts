// The run of a child agent inside the card of the call that started it: read-only, live while
// it runs.
import { h } from '../base/dom'
import { t } from '../base/words'
import { Chat } from '../model/chat'
import { Messages } from './messages'

export function nestedRun(conversationId: string, me: string): HTMLElement {
  const chat = new Chat(conversationId, me, { onCreated: () => {}, onChanged: () => {} })
  const messages = new Messages(chat, null, null)
  const note = h('p', { class: 'nested-note' })
  const draw = () => {
    note.textContent = chat.gone ?? (chat.items.length === 0 ? t('Loading…') : '')
    note.hidden = note.textContent === ''
    messages.update()
    if (chat.link === 'live' && !chat.activeRun && chat.items.length > 0) chat.close()
  }
  chat.changes.watch(draw)
  return h(
    'section',
    { class: 'nested', aria: { label: t('Delegated run') } },
    h('h3', {}, t('Delegated run')),
    note,
    messages.element,
  )
}
