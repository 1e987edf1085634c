// A unified diff, line by line.
import { h } from '../base/dom'
import { t, tn } from '../base/words'
import { section } from './section'

const LINES_MAX = 3000 // more on demand
const START = /^(?:diff --git .*|Index: .*|--- [^\n]*\n\+\+\+ [^\n]*\n@@ )/m

export function isDiff(text: string): boolean {
  return START.test(text.slice(0, 4000)) && /^@@ -\d/m.test(text)
}

export function drawDiff(label: string, text: string): HTMLElement {
  const lines = text.replace(/\r\n/g, '\n').replace(/\n$/, '').split('\n')
  const element = h('pre', { class: 'diff', tabindex: 0, dir: 'ltr', aria: { label: t('Diff') } })
  const draw = (from: number, to: number) =>
    element.append(...lines.slice(from, to).map((line) => h('span', { class: kindOf(line) }, `${line}\n`)))
  draw(0, LINES_MAX)
  if (lines.length > LINES_MAX) {
    const more = h('button', { type: 'button', class: 'show-all' }, tn(lines.length, 'Show all {n} line', 'Show all {n} lines'))
    more.addEventListener('click', () => {
      more.remove()
      draw(LINES_MAX, lines.length)
    })
    element.append(more)
  }
  const changed = (sign: string) => lines.filter((line) => line.startsWith(sign) && !line.startsWith(sign.repeat(3))).length
  const counts = t('{added} added, {removed} removed', { added: changed('+'), removed: changed('-') })
  return section(`${label} · ${counts}`, element, { copy: () => text })
}

function kindOf(line: string): string {
  if (/^(\+\+\+|---|diff |index |Index: |===)/.test(line)) return 'is-file'
  if (line.startsWith('@@')) return 'is-place'
  if (line.startsWith('+')) return 'is-added'
  return line.startsWith('-') ? 'is-removed' : ''
}
