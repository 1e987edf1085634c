// One part of a result on the page: a heading, what can be done with it, and its content.
import { copyButton } from '../base/copy'
import { h } from '../base/dom'
import { locale, msg, t, tn } from '../base/words'

const UNITS = [msg('{size} kB'), msg('{size} MB'), msg('{size} GB')]

export function section(
  label: string,
  content: HTMLElement | null,
  { copy, more = [] }: { copy?: () => string; more?: HTMLElement[] } = {},
): HTMLElement {
  const buttons = copy ? [...more, copyButton(t('Copy output'), copy)] : more
  const head = h('header', {}, h('h3', { dir: 'auto' }, label), h('span', {}, ...buttons))
  return h('section', { class: 'tool-section' }, head, content)
}

/** "709 kB", as files are measured. */
export function bytesText(n: number): string {
  if (n < 1000) return tn(n, '{n} byte', '{n} bytes')
  let size = n / 1000
  let i = 0
  for (; size >= 1000 && i < UNITS.length - 1; i++) size /= 1000
  const digits = { maximumFractionDigits: size >= 100 ? 0 : 1, useGrouping: false }
  return t(UNITS[i]!, { size: size.toLocaleString(locale(), digits) })
}
