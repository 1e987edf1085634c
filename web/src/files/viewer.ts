// A file that a person gave, in a dialog. Files are foreign: they become text, pictures and sound, decoded from
// memory; nothing of them is ever a document. PDFs are shown as pictures that the server makes (pdf.ts): the viewers of
// browsers run scripts and follow links, do so on the origin of the address, and refuse to work in a sandbox.
import { messageOf, request } from '../api/client'
import type { FilePart } from '../api/types'
import { openDialog } from '../base/dialog'
import { h } from '../base/dom'
import { loadStylesheet } from '../base/stylesheet'
import { t } from '../base/words'
import { highlight } from '../markdown/highlight'
import { drawDiff, isDiff } from '../results/diff'
import { imageOf, PICTURES, SOUND } from '../results/media'
import { loadStyles as loadResultStyles } from '../results/results'
import { bytesText } from '../results/section'
import { drawValue, parseJson } from '../results/value'
import { readCsv } from './csv'
import { showPdf } from './pdf'
import stylesheet from './viewer.lazy.css'

const TEXT_MAX = 1_000_000 // bytes of a text that are shown
const MEDIA_MAX = 100_000_000
const ZOOM_STEP = 1.5
const ZOOM_MAX = 16

export async function openViewer(part: FilePart, address: string): Promise<void> {
  await Promise.all([loadResultStyles(), loadStylesheet(new URL(stylesheet, import.meta.url).href)])
  const dialog = openDialog(part.name, 'viewer')
  const save = h('a', { class: 'button viewer-save', href: address }, t('Download'))
  save.download = part.name
  const bar = h('div', { class: 'viewer-bar' }, h('span', { class: 'viewer-what' }, whatOf(part)), save)
  const stage = h('div', { class: 'viewer-stage' }, h('span', { class: 'spinner' }))
  dialog.body.append(bar, stage)
  const ends = new AbortController()
  dialog.element.addEventListener('close', () => ends.abort())
  try {
    await show(part, address, stage, bar, ends.signal)
  } catch (error) {
    if (!ends.signal.aborted) stage.replaceChildren(note(messageOf(error)))
  }
}

function whatOf({ mimeType, bytes }: FilePart): string {
  return [mimeType, bytesText(bytes)].filter(Boolean).join(' · ')
}

function note(text: string): HTMLElement {
  return h('p', { class: 'result-note' }, text)
}

async function show(part: FilePart, address: string, stage: HTMLElement, bar: HTMLElement, signal: AbortSignal): Promise<void> {
  const isPicture = PICTURES.includes(part.mimeType)
  if (part.mimeType === 'text/plain') {
    await showText(part, address, stage, bar, signal)
  } else if ((isPicture || SOUND.test(part.mimeType)) && part.bytes <= MEDIA_MAX) {
    const data = await (await request(address, { signal })).blob()
    if (isPicture) showPicture(part, data, stage, bar)
    else showSound(part, data, stage, signal)
  } else if (part.mimeType === 'application/pdf') {
    const addControls = (...controls: HTMLElement[]) => bar.querySelector('.viewer-save')!.before(...controls)
    const tell = (text: string) => (bar.querySelector('.viewer-what')!.textContent = `${whatOf(part)} · ${text}`)
    await showPdf(part, address, { stage, addControls, tell, signal })
  } else {
    stage.replaceChildren(note(t('Files of this type are not shown here. Download it to open it.')))
  }
}

// ---- pictures ----

function showPicture(part: FilePart, data: Blob, stage: HTMLElement, bar: HTMLElement): void {
  const image = imageOf(data, part.name)
  let zoom = 0 // 0: as large as the dialog allows
  const fitted = () => image.naturalWidth > 0 && image.clientWidth / image.naturalWidth
  const set = (next: number) => {
    zoom = next <= 0 ? 0 : Math.min(Math.max(next, 1 / ZOOM_MAX), ZOOM_MAX)
    image.style.width = zoom === 0 ? '' : `${Math.max(1, Math.round(image.naturalWidth * zoom))}px`
    stage.classList.toggle('is-zoomed', zoom !== 0)
  }
  const step = (factor: number) => set((zoom || fitted() || 1) * factor)
  const turn = () => set(zoom === 0 ? 1 : 0)
  image.addEventListener('error', () => stage.replaceChildren(note(t('This picture cannot be shown: its data is not valid.'))))
  image.addEventListener('load', () => {
    bar.querySelector('.viewer-what')!.textContent = `${whatOf(part)} · ${image.naturalWidth} × ${image.naturalHeight}`
  })
  bar.querySelector('.viewer-save')!.before(
    zoomButton('−', t('Smaller'), () => step(1 / ZOOM_STEP)),
    zoomButton('+', t('Larger'), () => step(ZOOM_STEP)),
  )
  const props = { type: 'button', class: 'viewer-picture', aria: { label: t('Original size, or fitted') } }
  stage.replaceChildren(h('button', { ...props, on: { click: turn } }, image))
}

function zoomButton(sign: string, label: string, click: () => void): HTMLButtonElement {
  return h('button', { type: 'button', class: 'viewer-zoom', title: label, aria: { label }, on: { click } }, sign)
}

function showSound(part: FilePart, data: Blob, stage: HTMLElement, signal: AbortSignal): void {
  const player = h('audio', { aria: { label: part.name } })
  const url = URL.createObjectURL(data)
  player.controls = true
  player.src = url
  signal.addEventListener('abort', () => URL.revokeObjectURL(url))
  stage.replaceChildren(player)
}

// ---- text ----

async function showText(part: FilePart, address: string, stage: HTMLElement, bar: HTMLElement, signal: AbortSignal): Promise<void> {
  const response = await request(address, { signal, headers: { range: `bytes=0-${TEXT_MAX - 1}` } })
  const text = await response.text()
  const isCut = part.bytes > TEXT_MAX
  const values = { size: bytesText(TEXT_MAX), total: bytesText(part.bytes) }
  if (isCut) bar.querySelector('.viewer-what')!.textContent = t('The first {size} of {total}', values)
  stage.replaceChildren(drawFile(part, text, isCut))
}

function drawFile({ name }: FilePart, text: string, isCut: boolean): HTMLElement {
  const suffix = /\.([a-z0-9]+)$/i.exec(name)?.[1]?.toLowerCase() ?? ''
  const rows = /^(csv|tsv)$/.test(suffix) ? readCsv(text) : null
  if (rows) return drawValue(name, rows, text)
  const value = suffix === 'json' && !isCut ? parseJson(text) : undefined
  if (value !== undefined) return drawValue(name, value, text)
  if (isDiff(text)) return drawDiff(name, text)
  const code = h('code', { dir: suffix ? 'ltr' : 'auto' }, ...highlight(text, suffix))
  return h('pre', { class: 'viewer-text', tabindex: 0, aria: { label: name } }, code)
}
