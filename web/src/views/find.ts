// Finding words in the open conversation, where the browser's own search sees only the part that is drawn.
// All of the conversation is loaded; messages with the words are shown one after the other.
import '../main' // as in apps.ts: parts that are loaded later share the whole of the first load
import { iconButton } from '../base/controls'
import { h, setText } from '../base/dom'
import { t, tn } from '../base/words'
import type { Chat } from '../model/chat'
import type { Item } from '../model/items'
import { firstInView, fold, mark, rangesOf, unmark } from './highlight'

const DELAY_MS = 150

export interface FindActions {
  chat: Chat
  draw(): void
  show(item: Item): HTMLElement | null
  scrollTo(element: HTMLElement, place?: Range): void
  onClose(): void
}

export function findBar(actions: FindActions): HTMLElement {
  const { chat } = actions
  const field = h('input', { class: 'input', type: 'search', dir: 'auto', aria: { label: t('Find in this conversation') }, placeholder: t('Find in this conversation') })
  const place = h('span', { class: 'walk-place', role: 'status' })
  let found: Item[] = []
  let at = -1
  let timer = 0
  const word = () => fold(field.value.trim())
  const step = (by: number) => {
    if (found.length === 0) return
    at = (at + by + found.length) % found.length
    show()
  }
  const show = () => {
    const element = actions.show(found[at]!)
    setText(place, t('{place} of {total}', { place: at + 1, total: found.length }))
    if (!element) return
    const ranges = rangesOf(element, [word()])
    mark(ranges)
    actions.scrollTo(element, firstInView(ranges) ?? undefined)
    field.focus() // scrolling gives the focus to the message
  }
  /** From the end: what was said last is looked for most. */
  const search = async () => {
    const wanted = word()
    unmark()
    setText(place, '')
    found = []
    if (wanted === '') return
    while (chat.hasEarlier && field.isConnected && wanted === word()) if (!(await chat.loadEarlier())) break
    actions.draw()
    if (wanted !== word()) return
    found = chat.items.filter((item) => fold(textOf(item)).includes(wanted))
    at = found.length - 1
    if (found.length > 0) show()
    else setText(place, tn(0, '{n} hit', '{n} hits'))
  }
  const close = () => {
    clearTimeout(timer)
    unmark()
    bar.remove()
    actions.onClose()
  }
  field.addEventListener('input', () => {
    clearTimeout(timer)
    timer = window.setTimeout(() => void search(), DELAY_MS)
  })
  const bar = h(
    'div',
    { class: 'walk find', role: 'search', aria: { label: t('Find in this conversation') } },
    field,
    place,
    iconButton('chevron', t('Previous hit (Shift+F3)'), () => step(-1), 'walk-up'),
    iconButton('chevron', t('Next hit (F3)'), () => step(1), 'walk-down'),
    iconButton('cross', t('End the search'), close),
  )
  bar.addEventListener('keydown', (event) => {
    if (event.isComposing) return
    const by = event.key === 'F3' || (event.key === 'Enter' && event.target === field) ? (event.shiftKey ? -1 : 1) : 0
    if (event.key === 'Escape') close()
    else if (by) step(event.key === 'Enter' ? -by : by) // Enter leads upwards, to what was said before
    else return
    event.preventDefault()
    event.stopPropagation()
  })
  return bar
}

function textOf(item: Item): string {
  if (item.kind === 'user') return item.text
  return item.blocks.map((block) => (block.kind === 'text' ? block.text : '')).join('\n')
}
