// A button that copies something and says so.
import { h } from './dom'
import { icon } from './icons'
import { announce } from './announcer'
import { iconButton } from './controls'
import { toast } from './toast'
import { t } from './words'

const SHOWN_MS = 1600

export function copyButton(label: string, read: () => string): HTMLButtonElement {
  const onClick = async () => {
    const isCopied = await copy(read())
    announce(isCopied ? t('Copied') : t('The browser did not allow copying.'))
    button.replaceChildren(icon(isCopied ? 'check' : 'cross'))
    setTimeout(() => button.replaceChildren(icon('copy')), SHOWN_MS)
  }
  const button = iconButton('copy', label, () => void onClick(), 'copy')
  return button
}

/** Copies a link without a button of its own, and tells how it went. */
export async function copyText(link: string): Promise<void> {
  toast((await copy(link)) ? t('Link copied') : t('The browser did not allow copying.'))
}

/** The clipboard exists only on secure pages; a selection can be copied on the others too. */
async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    const area = h('textarea', { class: 'visually-hidden' })
    area.value = text
    const layer = document.querySelector('dialog[open]') ?? document.body
    layer.append(area)
    area.select()
    const isCopied = document.execCommand('copy')
    area.remove()
    return isCopied
  }
}
