// The cards of tool calls: what was called, how it went, and on demand with what and to what.
import { spoken, textButton } from '../base/controls'
import { copyButton } from '../base/copy'
import { arrange, h, setText } from '../base/dom'
import { icon, type IconName } from '../base/icons'
import { count, duration } from '../base/time'
import { highlight } from '../markdown/highlight'
import type { ToolCall, ToolsBlock, ToolState } from '../model/items'

const SHOWN_MAX = 20_000 // characters of an input or output before "show all"
const PREVIEW_MAX = 80

const STATES: Record<ToolState, { icon: IconName | null; label: string }> = {
  preparing: { icon: null, label: 'preparing' },
  waiting: { icon: 'clock', label: 'waiting' },
  running: { icon: null, label: 'running' },
  ok: { icon: 'check', label: 'done' },
  error: { icon: 'alert', label: 'failed' },
  interrupted: { icon: 'cross', label: 'interrupted' },
}

/** The calls of one answer. Several of them run at the same time and form a group. */
export class ToolsView {
  readonly element = h('div', { class: 'tools' })
  #label = h('p', { class: 'tools-label' })
  #cards = new Map<string, ToolCard>()
  #list = h('div', { class: 'tools-list' })

  constructor() {
    this.element.append(this.#label, this.#list)
  }

  update({ calls }: ToolsBlock): void {
    this.#label.hidden = calls.length < 2
    this.element.classList.toggle('is-group', calls.length > 1)
    setText(this.#label, `${calls.length} tools at the same time`)
    const cards = calls.map((call) => {
      const card = this.#cards.get(call.id) ?? new ToolCard()
      this.#cards.set(call.id, card)
      card.update(call)
      return card
    })
    arrange(this.#list, cards)
  }
}

export class ToolCard {
  readonly element = h('details', { class: 'tool' })
  #status = h('span', { class: 'tool-status' })
  #name = h('span', { class: 'tool-name' })
  #preview = h('span', { class: 'tool-preview' })
  #time = h('span', { class: 'tool-time' })
  #body = h('div', { class: 'tool-body' })
  #call: ToolCall | null = null
  #shown = ''
  #bodyShown = ''

  constructor() {
    const summary = h(
      'summary',
      {},
      this.#status,
      this.#name,
      this.#preview,
      this.#time,
      icon('chevron'),
    )
    this.element.append(summary, this.#body)
    this.element.addEventListener('toggle', () => this.#drawBody())
  }

  update(call: ToolCall): void {
    this.#call = call
    const { icon: name, label } = STATES[call.state]
    const shown = [call.name, call.state, call.ms, preview(call.input)].join('\n')
    if (shown !== this.#shown) {
      this.#shown = shown
      this.element.dataset.state = call.state
      this.#status.replaceChildren(
        name ? icon(name) : h('span', { class: 'spinner' }),
        spoken(label),
      )
      this.#drawName(call.name)
      setText(this.#preview, preview(call.input))
      setText(this.#time, call.ms === undefined ? '' : duration(call.ms))
    }
    this.#drawBody()
  }

  /** "nb__calculate": the source small, the tool plain. */
  #drawName(name: string): void {
    const at = name.indexOf('__')
    this.#name.replaceChildren(
      ...(at > 0
        ? [h('span', { class: 'tool-source' }, name.slice(0, at)), name.slice(at + 2)]
        : [name]),
    )
  }

  /** Only what is open is built: outputs may be large. */
  #drawBody(): void {
    const call = this.#call
    if (!this.element.open || !call) return
    const shown = `${call.state}\n${call.output?.length}\n${call.input === undefined}`
    if (shown === this.#bodyShown) return
    this.#bodyShown = shown
    this.#body.replaceChildren(section('Input', pretty(call.input)))
    const label = call.state === 'error' ? 'Error' : 'Output'
    if (call.output !== undefined) this.#body.append(section(label, pretty(call.output)))
  }
}

function section(label: string, text: string): HTMLElement {
  const code = h('code', { dir: 'ltr' })
  const language = /^\s*[[{]/.test(text) ? 'json' : ''
  const show = (shown: string) => code.replaceChildren(...highlight(shown || '(empty)', language))
  const element = h(
    'section',
    { class: 'tool-section' },
    h(
      'header',
      {},
      h('h4', {}, label),
      copyButton(`Copy ${label.toLowerCase()}`, () => text),
    ),
    h('pre', { tabindex: 0, aria: { label } }, code),
  )
  show(text.slice(0, SHOWN_MAX))
  if (text.length <= SHOWN_MAX) return element
  const onMore = () => {
    show(text)
    more.remove()
  }
  const more = textButton(`Show all ${count(text.length)} characters`, onMore, {
    class: 'show-all',
  })
  element.append(more)
  return element
}

/** JSON laid out; other text as it is. */
function pretty(value: unknown): string {
  if (value === undefined) return ''
  if (typeof value !== 'string') return JSON.stringify(value, null, 2)
  if (!/^\s*[[{]/.test(value)) return value
  try {
    return JSON.stringify(JSON.parse(value), null, 2)
  } catch {
    return value
  }
}

/** The arguments in a few words: values of an object, else the beginning. */
function preview(input: unknown): string {
  if (input === undefined || input === null) return ''
  const values = typeof input === 'object' ? Object.values(input) : [input]
  const text = values.map((v) => (typeof v === 'string' ? v : JSON.stringify(v))).join(', ')
  const line = text.replace(/\s+/g, ' ')
  return line.length > PREVIEW_MAX ? `${line.slice(0, PREVIEW_MAX)}…` : line
}
