// Saving something as a file of the person's computer.
import { h } from './dom'

const READ_MS = 60_000 // the browser reads it after the click

/** Nothing of it is shown, whatever it is. */
export function save(name: string, data: BlobPart): void {
  const url = URL.createObjectURL(new Blob([data], { type: 'application/octet-stream' }))
  const link = h('a', { href: url })
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), READ_MS)
}
