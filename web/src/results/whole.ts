// Results that the page has only the beginning of: "4 kB of 709 kB", the rest on demand.
import type { ResultPart } from '../api/types'
import { address, messageOf, request } from '../api/client'
import { textButton } from '../base/controls'
import { h } from '../base/dom'
import { save } from '../base/save'
import { toast } from '../base/toast'
import { t } from '../base/words'
import type { ToolCall } from '../model/items'
import { bytesText } from './section'

const SHOWN_MAX = 5_000_000 // bytes on the page; downloads have no limit

export interface Source {
  part: ResultPart
  call: ToolCall
}

/** Only addresses of this server's API are asked. */
function addressOf({ part, call }: Source, query: Record<string, number | undefined> = {}): string {
  const path = part.address ?? ''
  if (!path.startsWith('/v1/conversations/')) throw new Error(t('This result has no address.'))
  return address(path.slice('/v1/'.length), { position: call.position, ...query })
}

export async function fetchPart(source: Source, limit?: number): Promise<Response> {
  return request(addressOf(source, { limit }))
}

/** Saves the bytes as a file; nothing of it is shown. */
export async function download(source: Source, name = nameOf(source.part)): Promise<void> {
  try {
    save(name, await (await fetchPart(source)).arrayBuffer())
  } catch (error) {
    toast(messageOf(error))
  }
}

const SUFFIXES: Record<string, string> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/gif': 'gif',
  'image/webp': 'webp',
  'image/svg+xml': 'svg',
  'audio/wav': 'wav',
  'audio/mpeg': 'mp3',
  'application/pdf': 'pdf',
  'application/json': 'json',
}

export function nameOf({ type, uri, mimeType = '', address: at = '' }: ResultPart): string {
  const last = uri?.split(/[/\\?#]/).findLast(Boolean)?.replace(/[^\w.-]/g, '_')
  if (last) return last.slice(-80)
  const suffix = type === 'structured' || at.includes('/blobs/') ? 'json' : SUFFIXES[mimeType]
  return `result.${suffix ?? (type === 'text' ? 'txt' : 'bin')}`
}

export function downloadButton(source: Source): HTMLButtonElement {
  return textButton(t('Download'), () => void download(source), { class: 'result-action' })
}

/** Draws what is there, and below it how much is missing. */
export function drawCut<T>(source: Source, shown: T, draw: (whole: T | string) => HTMLElement): HTMLElement {
  const { bytes = 0, address: at } = source.part
  if (!at) return draw(shown)
  const element = h('div', { class: 'result-cut' }, draw(shown))
  const kept = typeof shown === 'string' ? shown : JSON.stringify(shown ?? '')
  const has = new TextEncoder().encode(kept).length
  const showAll = async () => {
    all.disabled = true
    try {
      const text = await (await fetchPart(source, SHOWN_MAX)).text()
      const isWhole = bytes <= SHOWN_MAX
      const values = { size: bytesText(SHOWN_MAX), total: bytesText(bytes) }
      note.textContent = isWhole ? bytesText(bytes) : t('The first {size} of {total}', values)
      element.replaceChildren(draw(text), bar)
      all.remove()
    } catch (error) {
      all.disabled = false
      toast(messageOf(error))
    }
  }
  const note = h('span', {}, t('{size} of {total}', { size: bytesText(Math.min(has, bytes)), total: bytesText(bytes) }))
  const all = textButton(t('Show all'), () => void showAll(), { class: 'result-action' })
  const bar = h('div', { class: 'result-bar' }, note, all, downloadButton(source))
  element.append(bar)
  return element
}
