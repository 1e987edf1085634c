// Files in messages: pictures, and links to everything else.
import { request } from '../api/client'
import type { FilePart } from '../api/types'
import { h } from '../base/dom'
import { icon } from '../base/icons'

const PICTURES_MAX = 64 // kept, so that scrolling does not load them again

const pictures = new Map<string, Promise<string>>()

/** Pictures are loaded with the login, and never shown from an address of the server. */
function pictureOf(address: string): Promise<string> {
  const known = pictures.get(address)
  if (known) return known
  const loading = request(address)
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
  if (bytes < 1000) return `${bytes} B`
  return bytes < 1e6 ? `${Math.round(bytes / 1000)} kB` : `${(bytes / 1e6).toFixed(1)} MB`
}

function download(name: string, href: string, className: string, ...inside: Node[]): HTMLElement {
  const element = h('a', { class: className, href, title: name }, ...inside)
  element.download = name
  return element
}

function link({ name, bytes }: FilePart, address: string): HTMLElement {
  const label = h('span', { class: 'file-name', dir: 'auto' }, name)
  const size = h('span', { class: 'file-size' }, sizeText(bytes))
  return download(name, address, 'file-link', icon('note'), label, size)
}

function picture(part: FilePart, address: string): HTMLElement {
  const image = h('img', { class: 'file-picture' })
  image.alt = part.name
  const element = download(part.name, address, 'file-frame', image)
  pictureOf(address).then(
    (url) => (image.src = url),
    () => element.replaceWith(link(part, address)),
  )
  return element
}

export function fileViews(files: readonly FilePart[], addressOf: (part: FilePart) => string): Node[] {
  return files.map((part) =>
    part.type === 'image' ? picture(part, addressOf(part)) : link(part, addressOf(part)),
  )
}
