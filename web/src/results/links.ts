// Links to resources, and resources that can only be downloaded.
import type { ResultPart } from '../api/types'
import { h } from '../base/dom'
import { icon } from '../base/icons'
import { t } from '../base/words'
import { bytesText, section } from './section'
import { downloadButton, nameOf, type Source } from './whole'

const SAFE = /^(https?:\/\/|mailto:)/i

/** Addresses of other kinds are shown and lead nowhere. */
export function drawLink(part: ResultPart): HTMLElement {
  const { uri = '', name, title, description, mimeType, size } = part
  const words = [mimeType, size === undefined ? null : bytesText(size)].filter(Boolean).join(' · ')
  const props = { href: uri, target: '_blank', rel: 'noopener noreferrer' }
  const shown = SAFE.test(uri) ? h('a', props, uri) : h('span', {}, uri)
  const card = h(
    'div',
    { class: 'result-link' },
    icon('link'),
    h(
      'div',
      {},
      h('strong', { dir: 'auto' }, title || name || uri),
      description && h('p', { dir: 'auto' }, description),
      h('p', { class: 'result-uri', dir: 'ltr' }, shown),
      words && h('p', { class: 'result-note' }, words),
    ),
  )
  return section(t('Link to a resource'), card)
}

/** A file that the tool has made: people know it by its name, not by its id. */
export function drawLinkedFile({ part, call }: Source): HTMLElement {
  return drawFile({ part: { ...part, uri: part.name, bytes: part.size }, call })
}

export function drawFile(source: Source): HTMLElement {
  const { part } = source
  const words = [part.mimeType, bytesText(part.bytes ?? 0)].filter(Boolean).join(' · ')
  const card = h(
    'div',
    { class: 'result-link' },
    icon('note'),
    h(
      'div',
      {},
      h('strong', { dir: 'auto' }, part.uri || nameOf(part)),
      h('p', { class: 'result-note' }, words),
    ),
  )
  const label = part.type === 'resource' ? t('Resource') : t('File')
  return section(label, card, { more: [downloadButton(source)] })
}
