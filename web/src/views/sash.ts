// The edge of the sidebar: drag it, or move it with the arrow keys; a double click brings the first width back.
import { h } from '../base/dom'
import { recall, remember } from '../base/storage'
import { t } from '../base/words'

const FIRST = 272 // as in tokens.css
const MIN = 200
const MAX = 520
const STEP = 16

export function sash(): HTMLElement {
  const element = h('div', {
    class: 'sash',
    role: 'separator',
    tabindex: 0,
    title: t('Width of the sidebar'),
    aria: { label: t('Width of the sidebar'), orientation: 'vertical', valuemin: MIN, valuemax: MAX },
  })
  let width = FIRST
  const set = (wanted: number) => {
    width = Math.round(Math.min(MAX, Math.max(MIN, wanted)))
    document.documentElement.style.setProperty('--sidebar', `${width}px`)
    element.setAttribute('aria-valuenow', String(width))
  }
  const keep = () => remember('sidebarWidth', width === FIRST ? null : width)
  const stored = recall<unknown>('sidebarWidth', FIRST)
  set(typeof stored === 'number' && Number.isFinite(stored) ? stored : FIRST)
  const isRtl = () => getComputedStyle(element).direction === 'rtl'
  element.addEventListener('pointerdown', (down) => {
    const from = width
    element.setPointerCapture(down.pointerId)
    element.classList.add('is-dragged')
    const move = ({ clientX }: PointerEvent) => set(from + (clientX - down.clientX) * (isRtl() ? -1 : 1))
    const end = () => {
      element.classList.remove('is-dragged')
      element.removeEventListener('pointermove', move)
      keep()
    }
    element.addEventListener('pointermove', move)
    element.addEventListener('lostpointercapture', end, { once: true })
  })
  element.addEventListener('dblclick', () => {
    set(FIRST)
    keep()
  })
  element.addEventListener('keydown', (event) => {
    const step = { ArrowRight: STEP, ArrowLeft: -STEP }[event.key]
    if (!step) return
    event.preventDefault()
    set(width + step * (isRtl() ? -1 : 1))
    keep()
  })
  return element
}
