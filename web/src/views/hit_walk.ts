// Walking through the hits of a search: a bar above the conversation, and the words marked in the message.
// Loaded with the first hit that is opened.
import '../main'
import { iconButton } from '../base/controls'
import { h, setText } from '../base/dom'
import { go, route } from '../base/router'
import type { SearchHit } from '../api/types'
import { t } from '../base/words'
import { walk } from '../model/search'
import { firstInView, fold, mark, rangesOf, unmark } from './highlight'


/** The bar; it goes when the walk ends. */
export function walkBar(): HTMLElement {
  const place = h('span', { class: 'walk-place', role: 'status' })
  const step = (by: number) => {
    const now = walk.value
    if (!now) return
    const at = (now.at + by + now.hits.length) % now.hits.length
    const { conversationId: id, position } = now.hits[at]!
    walk.value = { ...now, at }
    go({ name: 'conversation', id, at: position })
  }
  const end = () => (walk.value = null)
  const bar = h(
    'div',
    { class: 'walk', role: 'group', aria: { label: t('Hits of the search') } },
    place,
    iconButton('chevron', t('Previous hit (Shift+F3)'), () => step(-1), 'walk-up'),
    iconButton('chevron', t('Next hit (F3)'), () => step(1), 'walk-down'),
    iconButton('cross', t('End the search'), end),
  )
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== 'F3') return
    event.preventDefault()
    step(event.shiftKey ? -1 : 1)
  }
  addEventListener('keydown', onKey)
  const left = route.subscribe((where) => {
    const hit = walk.value?.hits[walk.value.at]
    if (where.name !== 'conversation' || where.id !== hit?.conversationId) end()
  })
  const stop = walk.watch((now) => {
    if (now) {
      setText(place, t('{place} of {total}', { place: now.at + 1, total: now.hits.length }))
      return
    }
    stop()
    left()
    removeEventListener('keydown', onKey)
    unmark()
    bar.remove()
  })
  return bar
}

/** Marks the words of the hit in the element. Returns where the first of them is. */
export function markHit(element: HTMLElement, hit: SearchHit): Range | null {
  const words = [...new Set(hit.parts.filter(({ isHit }) => isHit).map(({ text }) => fold(text)))]
  const ranges = rangesOf(element, words, true)
  mark(ranges)
  return firstInView(ranges)
}
