// Pictures and sound. They are fetched with the login and shown from memory; only types that
// browsers decode without running anything are shown, and SVG is not among them.
import { messageOf } from '../api/client'
import type { ResultPart } from '../api/types'
import { textButton } from '../base/controls'
import { openDialog } from '../base/dialog'
import { h } from '../base/dom'
import { t } from '../base/words'
import { bytesText, section } from './section'
import { downloadButton, fetchPart, nameOf, type Source } from './whole'

export const PICTURES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp']
export const SOUND = /^audio\/(x-)?(wav|mpeg|mp4|ogg|webm|aac|flac)$/
const LOADED_MAX = 8_000_000 // bytes; more only on demand

export function isShown({ mimeType = '' }: ResultPart): boolean {
  return PICTURES.includes(mimeType) || SOUND.test(mimeType)
}

export function drawMedia(source: Source): HTMLElement {
  const { mimeType = '', bytes = 0 } = source.part
  const isPicture = PICTURES.includes(mimeType)
  const box = h('div', { class: isPicture ? 'result-picture' : 'result-sound' })
  const load = async () => {
    box.replaceChildren(h('span', { class: 'spinner' }))
    try {
      // The server gives the type that is on its list, whatever the tool says.
      const data = await (await fetchPart(source)).blob()
      box.replaceChildren(isPicture ? picture(source, data) : sound(source, data))
    } catch (error) {
      box.replaceChildren(h('p', { class: 'result-note' }, messageOf(error)))
    }
  }
  if (bytes <= LOADED_MAX) void load()
  else box.append(textButton(t('Show {size}', { size: bytesText(bytes) }), () => void load(), { class: 'result-action' }))
  const what = `${mimeType.split('/')[1]?.replace(/^x-/, '').toUpperCase()} · ${bytesText(bytes)}`
  const label = `${isPicture ? t('Picture') : t('Sound')} · ${what}`
  return section(label, box, { more: [downloadButton(source)] })
}

function picture(source: Source, data: Blob): HTMLElement {
  const image = imageOf(data, t('Picture from {tool}', { tool: source.call.name }))
  const zoom = () => {
    const dialog = openDialog(nameOf(source.part), 'result-zoom')
    dialog.body.append(imageOf(data, image.alt))
  }
  const button = h('button', { type: 'button', aria: { label: t('Enlarge the picture') }, on: { click: zoom } }, image)
  image.addEventListener('error', () =>
    button.replaceWith(h('p', { class: 'result-note' }, t('This picture cannot be shown: its data is not valid.'))),
  )
  return button
}

/** Once it is decoded, its address is not needed any more. */
export function imageOf(data: Blob, alt: string): HTMLImageElement {
  const image = h('img')
  const url = URL.createObjectURL(data)
  const forget = () => URL.revokeObjectURL(url)
  image.alt = alt
  image.decoding = 'async'
  image.addEventListener('load', forget)
  image.addEventListener('error', forget)
  image.src = url
  return image
}

function sound({ call }: Source, data: Blob): HTMLElement {
  const player = h('audio', { aria: { label: t('Sound from {tool}', { tool: call.name }) } })
  player.controls = true
  player.src = URL.createObjectURL(data)
  return player
}
