// Input and output of a tool: JSON laid out, long texts cut until asked for.
import { textButton } from '../base/controls'
import { copyButton } from '../base/copy'
import { h } from '../base/dom'
import { t, tn } from '../base/words'
import { highlight } from '../markdown/highlight'

const SHOWN_MAX = 20_000 // characters before "show all"
const PREVIEW_MAX = 80

export function payload(label: string, value: unknown): HTMLElement {
  const text = pretty(value)
  const code = h('code', { dir: 'ltr' })
  const language = /^\s*[[{]/.test(text) ? 'json' : ''
  const show = (shown: string) => code.replaceChildren(...highlight(shown || t('(empty)'), language))
  const element = h(
    'section',
    { class: 'tool-section' },
    h(
      'header',
      {},
      h('h3', {}, label),
      copyButton(copyLabel(label), () => text),
    ),
    h('pre', { tabindex: 0, aria: { label } }, code),
  )
  show(text.slice(0, SHOWN_MAX))
  if (text.length <= SHOWN_MAX) return element
  const onMore = () => {
    show(text)
    more.remove()
  }
  const more = textButton(tn(text.length, 'Show all {n} character', 'Show all {n} characters'), onMore, {
    class: 'show-all',
  })
  element.append(more)
  return element
}

/** What is copied has a name of its own in each language; anything else is called by its address. */
function copyLabel(label: string): string {
  const known = new Map([
    [t('Input'), t('Copy input')],
    [t('Output'), t('Copy output')],
    [t('Error'), t('Copy error')],
    [t('Request'), t('Copy request')],
    [t('Result'), t('Copy result')],
    [t('Resource'), t('Copy resource')],
    [t('Input for the model'), t('Copy input for the model')],
  ])
  return known.get(label) ?? t('Copy {what}', { what: label.toLowerCase() })
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
