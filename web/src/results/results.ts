// What tools returned, drawn by what it is. This part of the page is loaded with the first such
// result. All of it is foreign: it becomes text, pictures and sound, never HTML.
import '../main' // as in apps.ts: parts that are loaded later share the whole of the first load
import type { ResultPart } from '../api/types'
import { loadStylesheet } from '../base/stylesheet'
import { t } from '../base/words'
import type { ToolCall } from '../model/items'
import { drawCommand, isCommand } from './command'
import { drawFile, drawLink, drawLinkedFile } from './links'
import { drawMedia, isShown } from './media'
import { section } from './section'
import stylesheet from './results.lazy.css'
import { drawText } from './text'
import { drawValue, parseJson } from './value'
import { drawCut, type Source } from './whole'

export function loadStyles(): Promise<void> {
  return loadStylesheet(new URL(stylesheet, import.meta.url).href)
}

/** The sections of a result, the most telling form of each part. */
export function drawResult(label: string, call: ToolCall): HTMLElement[] {
  const parts = call.parts ?? [textOf(call)]
  const structured = parts.find(({ type }) => type === 'structured')
  const drawn = parts
    .filter((part) => !isRepeated(part, structured))
    .map((part) => drawPart(part, label, call))
  return drawn.length > 0 ? drawn : [drawText(label, '')]
}

/** A result without parts: its text, of which a blob may have more. */
function textOf({ output = '', blob }: ToolCall): ResultPart {
  return { type: 'text', text: output, bytes: blob?.bytes, address: blob?.address }
}

/** Servers repeat structured content as text, for clients that do not know it. */
function isRepeated({ type, text = '', address }: ResultPart, structured?: ResultPart): boolean {
  const value = structured?.value
  if (type !== 'text' || value === undefined) return false
  if (address || isCommand(value)) return /^\s*[[{]/.test(text)
  return JSON.stringify(parseJson(text)) === JSON.stringify(value)
}

function drawPart(part: ResultPart, label: string, call: ToolCall): HTMLElement {
  const source: Source = { part, call }
  if (part.type === 'structured') return drawStructured(source, label)
  if (part.type === 'resource_link') return part.address ? drawLinkedFile(source) : drawLink(part)
  if (part.address && isShown(part)) return drawMedia(source)
  if (part.text === undefined) return part.address ? drawFile(source) : drawUnknown(part)
  const title = part.type === 'resource' ? (part.uri ?? t('Resource')) : label
  return drawCut(source, part.text, (text) => drawText(title, text))
}

function drawStructured(source: Source, label: string): HTMLElement {
  const { value } = source.part
  return drawCut(source, value, (shown) => {
    if (shown === undefined) return section(t('Structured content'), null)
    const isText = typeof shown === 'string' && shown !== value // the whole of it, as JSON
    const whole = isText ? parseJson(shown) : shown
    if (isCommand(whole)) return drawCommand(label, whole)
    return isText && whole === undefined ? drawText(label, shown) : drawValue(label, whole)
  })
}

function drawUnknown({ type }: ResultPart): HTMLElement {
  return section(type ? t('Part of type {type}', { type }) : t('Part of type unknown'), null)
}
