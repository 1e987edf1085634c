// Text of a tool: JSON, a diff, the output of a program, or just text.
import { payload } from '../views/payload'
import { drawDiff, isDiff } from './diff'
import { drawTerminal, hasColours } from './terminal'
import { section } from './section'
import { drawValue, parseJson } from './value'

export function drawText(label: string, text: string): HTMLElement {
  const value = parseJson(text)
  if (value !== undefined) return drawValue(label, value, text)
  if (isDiff(text)) return drawDiff(label, text)
  if (hasColours(text)) return section(label, drawTerminal(text), { copy: () => text })
  return payload(label, text)
}
