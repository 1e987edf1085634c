// One part of a result on the page: a heading, what can be done with it, and its content.
import { copyButton } from '../base/copy'
import { h } from '../base/dom'

export function section(
  label: string,
  content: HTMLElement | null,
  { copy, more = [] }: { copy?: () => string; more?: HTMLElement[] } = {},
): HTMLElement {
  const buttons = copy ? [...more, copyButton('Copy output', copy)] : more
  const head = h('header', {}, h('h3', { dir: 'auto' }, label), h('span', {}, ...buttons))
  return h('section', { class: 'tool-section' }, head, content)
}

/** "709 kB", as files are measured. */
export function bytesText(n: number): string {
  if (n === 1) return '1 byte'
  const units = ['bytes', 'kB', 'MB', 'GB']
  let i = 0
  for (; n >= 1000 && i < units.length - 1; i++) n /= 1000
  return `${i === 0 || n >= 100 ? Math.round(n) : n.toFixed(1).replace(/\.0$/, '')} ${units[i]}`
}
