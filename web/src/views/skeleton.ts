// The outline of a conversation, in its place until it is there.
import { spoken } from '../base/controls'
import { h } from '../base/dom'
import { t } from '../base/words'

export function skeleton(): HTMLElement {
  const turns = [1, 2].map(() => h('div', { class: 'skeleton-turn' }, h('i'), h('i'), h('i'), h('i')))
  return h('div', { class: 'skeleton', role: 'status' }, spoken(t('Loading the conversation')), ...turns)
}
