// Results of tools that are more than plain text: what draws them is loaded with the first of them.
import { h } from '../base/dom'
import { t } from '../base/words'
import type { ToolCall } from '../model/items'
import { payload } from './payload'

const STRUCTURED_TEXT = /^\s*[[{]|^diff --git |^--- .*\r?\n\+\+\+ |\x1b\[/

export function isRich({ parts, blob, output = '' }: ToolCall): boolean {
  return parts !== undefined || blob !== undefined || STRUCTURED_TEXT.test(output)
}

export function hasMedia({ parts = [] }: ToolCall): boolean {
  return parts.some(({ mimeType = '', address }) => address && /^(image|audio)\//.test(mimeType))
}

export function richResult(label: string, call: ToolCall): HTMLElement {
  const element = h('div', { class: 'results' }, payload(label, t('Loading…')))
  const draw = async () => {
    try {
      const { drawResult, loadStyles } = await import('../results/results')
      await loadStyles()
      element.replaceChildren(...drawResult(label, call))
    } catch {
      element.replaceChildren(payload(label, call.output)) // the text at least
    }
  }
  void draw()
  return element
}
