// How full the context of the model is: a ring that shows the share which the newest answer and
// the request for it have used.
import { h } from '../base/dom'
import { count } from '../base/time'
import { t } from '../base/words'
import type { Chat } from '../model/chat'
import { contextOf } from '../model/prices'

const SVG = 'http://www.w3.org/2000/svg'
const LENGTH = 100 // of the circle, as pathLength
const HIGH = 0.8 // near the share at which older messages are summarised

export class ContextMeter {
  readonly element = h('span', { class: 'context-meter', role: 'img', hidden: true })
  #arc = circle('context-used')
  #shown = ''

  constructor() {
    const drawing = document.createElementNS(SVG, 'svg')
    drawing.setAttribute('viewBox', '0 0 20 20')
    drawing.append(circle('context-all'), this.#arc)
    this.element.append(drawing)
  }

  update(chat: Chat): void {
    const run = chat.items.findLast((item) => item.kind === 'run' && item.contextTokens > 0)
    const used = run?.kind === 'run' ? run.contextTokens : 0
    const size = run?.kind === 'run' ? contextOf(run.model) : null
    const shown = `${used} ${size}`
    if (shown === this.#shown) return
    this.#shown = shown
    this.element.hidden = !size || used === 0
    if (size) this.#draw(used, size)
  }

  #draw(used: number, size: number): void {
    const share = Math.min(1, used / size)
    const values = { used: count(used), size: count(size), percent: Math.round(share * 100) }
    const label = t('Context: {used} of {size} tokens used, {percent}%', values)
    this.#arc.setAttribute('stroke-dasharray', `${share * LENGTH} ${LENGTH}`)
    this.element.classList.toggle('is-high', share >= HIGH)
    this.element.title = label
    this.element.setAttribute('aria-label', label)
  }
}

function circle(className: string): SVGCircleElement {
  const element = document.createElementNS(SVG, 'circle')
  element.setAttribute('class', className)
  for (const [name, value] of [['cx', 10], ['cy', 10], ['r', 7.5], ['pathLength', LENGTH]] as const)
    element.setAttribute(name, String(value))
  return element
}
