// Files in messages: pictures, and links to everything else.
import { request } from '../api/client'
import type { FilePart } from '../api/types'
import { h } from '../base/dom'
import { icon } from '../base/icons'
import { toast } from '../base/toast'
import { locale, t } from '../base/words'

const PICTURES_MAX = 64 // kept, so that scrolling does not load them again
const WHOLE_MAX = 200_000 // bytes; of a larger picture a small version is shown, if the server makes some

const pictures = new Map<string, Promise<string>>()

/** Pictures are loaded with the login, and never shown from an address of the server. */
function pictureOf(address: string, load: () => Promise<Response>): Promise<string> {
  const known = pictures.get(address)
  if (known) return known
  const loading = load()
    .then((response) => response.blob())
    .then((blob) => URL.createObjectURL(blob))
  loading.catch(() => pictures.delete(address))
  pictures.set(address, loading)
  const [oldest] = pictures.keys()
  if (pictures.size > PICTURES_MAX && oldest) {
    void pictures.get(oldest)?.then((url) => URL.revokeObjectURL(url))
    pictures.delete(oldest)
  }
  return loading
}

export function sizeText(bytes: number): string {
  if (bytes < 1000) return t('{size} B', { size: bytes })
  if (bytes < 1e6) return t('{size} kB', { size: Math.round(bytes / 1000) })
  const digits = { minimumFractionDigits: 1, maximumFractionDigits: 1, useGrouping: false }
  return t('{size} MB', { size: (bytes / 1e6).toLocaleString(locale(), digits) })
}

/** Opens a file in a dialog. */
export async function viewFile(part: FilePart, address: string): Promise<void> {
  try {
    const { openViewer } = await import('../files/files')
    await openViewer(part, address)
  } catch {
    toast(t('The viewer cannot be loaded.'))
  }
}

/** A click opens the file; the browser's own menu and keys save it. */
function download(part: FilePart, href: string, className: string, ...inside: Node[]): HTMLElement {
  const onClick = (event: MouseEvent) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return
    event.preventDefault()
    void viewFile(part, href)
  }
  const element = h('a', { class: className, href, title: part.name, on: { click: onClick } }, ...inside)
  element.download = part.name
  return element
}

/** The first page of a PDF takes the place of its icon once the server has drawn it. */
export function fileIcon({ mimeType }: FilePart, address: string): Element {
  const element = icon('note')
  const small = `${address}&thumb=1`
  if (mimeType === 'application/pdf')
    pictureOf(small, () => request(small)).then(
      (src) => element.replaceWith(Object.assign(h('img', { class: 'file-page' }), { src, alt: '' })),
      () => {},
    )
  return element
}

export function fileLink(part: FilePart, address: string): HTMLElement {
  const label = h('span', { class: 'file-name', dir: 'auto' }, part.name)
  const size = h('span', { class: 'file-size' }, sizeText(part.bytes))
  return download(part, address, 'file-link', fileIcon(part, address), label, size)
}

function picture(part: FilePart, address: string): HTMLElement {
  const image = h('img', { class: 'file-picture' })
  image.alt = part.name
  const element = download(part, address, 'file-frame', image)
  const onBad = () => element.replaceWith(fileLink(part, address))
  image.addEventListener('error', onBad)
  const whole = () => request(address)
  const load = () => (part.bytes > WHOLE_MAX ? request(`${address}&thumb=1`).catch(whole) : whole())
  pictureOf(address, load).then((url) => (image.src = url), onBad)
  return element
}

export function fileViews(files: readonly FilePart[], addressOf: (part: FilePart) => string): Node[] {
  return files.map((part) =>
    part.type === 'image' ? picture(part, addressOf(part)) : fileLink(part, addressOf(part)),
  )
}
