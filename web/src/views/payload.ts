// Input and output of a tool: JSON laid out, long texts cut until asked for.
import { textButton } from '../base/controls'
import { copyButton } from '../base/copy'
import { h } from '../base/dom'
import { count } from '../base/time'
import { highlight } from '../markdown/highlight'

const SHOWN_MAX = 20_000 // characters before "show all"
const PREVIEW_MAX = 80

export function payload(label: string, value: unknown): HTMLElement {
  const text = pretty(value)
  const code = h('code', { dir: 'ltr' })
  const language = /^\s*[[{]/.test(text) ? 'json' : ''
  const show = (shown: string) => code.replaceChildren(...highlight(shown || '(empty)', language))
  const element = h(
    'section',
    { class: 'tool-section' },
    h(
      'header',
      {},
      h('h3', {}, label),
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
export function preview(input: unknown): string {
  if (input === undefined || input === null) return ''
  const values = typeof input === 'object' ? Object.values(input) : [input]
  const text = values.map((v) => (typeof v === 'string' ? v : JSON.stringify(v))).join(', ')
  const line = text.replace(/\s+/g, ' ')
  return line.length > PREVIEW_MAX ? `${line.slice(0, PREVIEW_MAX)}…` : line
}
