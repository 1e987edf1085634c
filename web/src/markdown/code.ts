// Code blocks: with a bar that says the language and has what people do with code.
import { copyButton } from '../base/copy'
import { iconButton } from '../base/controls'
import { h } from '../base/dom'
import { save } from '../base/save'
import { t } from '../base/words'
import { settleDiagram } from './diagram'
import { GrowingCode } from './highlight'
import type { Code } from './tree'

const FOLD_LINES = 30 // from so many on, a block can be folded
const EXTENSIONS: Record<string, string> = {
  bash: 'sh',
  csharp: 'cs',
  javascript: 'js',
  kotlin: 'kt',
  markdown: 'md',
  mermaid: 'mmd',
  python: 'py',
  ruby: 'rb',
  rust: 'rs',
  shell: 'sh',
  text: 'txt',
  typescript: 'ts',
}

const drawn = new WeakMap<HTMLElement, GrowingCode>()

/** isGrowing: its end has not been seen. */
export function codeNode({ language, text }: Code, isGrowing: boolean): HTMLElement {
  const label = language || 'text'
  const code = h('code', { dir: 'ltr' })
  const read = () => code.textContent ?? ''
  const figure: HTMLElement = h(
    'figure',
    { class: 'code' },
    h(
      'figcaption',
      {},
      h('span', { class: 'code-language' }, label),
      h(
        'span',
        { class: 'code-actions' },
        toggle('fold', t('Fold'), () => figure.classList.toggle('is-folded')),
        toggle('wrap', t('Wrap lines'), () => figure.classList.toggle('is-wrapped')),
        iconButton('save', t('Download'), () => save(`code.${extensionOf(label)}`, read()), 'code-save'),
        copyButton(t('Copy code'), read),
      ),
    ),
    h('pre', { tabindex: 0, aria: { label: t('Code, {language}', { language: label }) } }, code),
  )
  const growing = new GrowingCode(code, language)
  growing.update(text)
  drawn.set(figure, growing)
  measure(figure, text)
  settleDiagram(figure, language, text, isGrowing)
  return figure
}

/** Updates a code block in place, so that its scroll position survives while it grows. */
export function updateCode(figure: HTMLElement, { language, text }: Code, isGrowing: boolean): boolean {
  const growing = drawn.get(figure)
  if (!growing || growing.language !== language) return false
  growing.update(text)
  measure(figure, text)
  settleDiagram(figure, language, text, isGrowing)
  return true
}

function toggle(name: 'fold' | 'wrap', label: string, change: () => boolean): HTMLButtonElement {
  const button = iconButton(
    name,
    label,
    () => button.setAttribute('aria-pressed', String(change())),
    `code-${name}`,
  )
  button.setAttribute('aria-pressed', 'false')
  return button
}

function measure(figure: HTMLElement, text: string): void {
  let lines = 1
  for (let at = text.indexOf('\n'); at >= 0 && lines < FOLD_LINES; at = text.indexOf('\n', at + 1)) lines++
  figure.classList.toggle('is-long', lines >= FOLD_LINES)
}

function extensionOf(label: string): string {
  const name = label.toLowerCase()
  if (Object.hasOwn(EXTENSIONS, name)) return EXTENSIONS[name]!
  return /^[a-z\d]{1,10}$/.test(name) ? name : 'txt'
}
