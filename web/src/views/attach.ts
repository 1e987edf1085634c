// Files beside the message that is being written: dropped anywhere, pasted, or chosen. Each is sent
// to the server immediately, and shown as a chip until the message goes.
import { messageOf } from '../api/client'
import { fileAddress, giveFile, partOf, type GivenFile } from '../api/files'
import type { FilePart } from '../api/types'
import { iconButton } from '../base/controls'
import { h, setText } from '../base/dom'
import { icon } from '../base/icons'
import { toast } from '../base/toast'
import { t } from '../base/words'
import { fileIcon, sizeText, viewFile } from './files'

const FILES_MAX = 20 // of one message, as the server has it
const PASTED_MAX = 8000 // characters that stay in the field

interface Chip {
  element: HTMLElement
  abort: AbortController
  file: GivenFile | null // null: still on its way
  thumbnail: string | null
}

export class Attachments {
  readonly element = h('div', { class: 'attachments', hidden: true })
  readonly button = iconButton('clip', t('Attach files'), () => this.#choose(), 'attach')
  #chips: Chip[] = []
  #onChange: () => void
  #ends = new AbortController()

  constructor(area: HTMLElement, onChange: () => void) {
    this.#onChange = onChange
    area.addEventListener('paste', (event) => this.#onPaste(event))
    const { signal } = this.#ends
    window.addEventListener('dragover', (event) => this.#onDrag(event), { signal })
    window.addEventListener('dragleave', (event) => event.relatedTarget ?? target(false), { signal })
    window.addEventListener('drop', (event) => this.#onDrop(event), { signal })
  }

  close(): void {
    this.#ends.abort()
    for (const chip of this.#chips) chip.abort.abort()
    target(false)
  }

  get isReady(): boolean {
    return this.#chips.every(({ file }) => file !== null)
  }

  /** The files for the message that is sent now. */
  take(): FilePart[] {
    const parts = this.#chips.flatMap(({ file }) => (file ? [partOf(file)] : []))
    for (const chip of [...this.#chips]) this.#drop(chip)
    return parts
  }

  add(files: readonly File[]): void {
    const room = FILES_MAX - this.#chips.length
    if (files.length > room) toast(t('A message has at most {max} files.', { max: FILES_MAX }))
    for (const file of files.slice(0, room)) void this.#give(file)
  }

  async #give(file: File): Promise<void> {
    const size = h('span', { class: 'file-size' }, t('{percent}%', { percent: 0 }))
    const thumbnail = /^image\/(png|jpeg|gif|webp)$/.test(file.type) ? URL.createObjectURL(file) : null
    const chip: Chip = { element: h('span', { class: 'attachment is-sending' }), abort: new AbortController(), file: null, thumbnail }
    const face = thumbnail ? thumbnailOf(thumbnail) : icon('note')
    const open = () => chip.file && void viewFile(partOf(chip.file), fileAddress(null, partOf(chip.file)))
    chip.element.append(
      h(
        'button',
        { type: 'button', class: 'attachment-open', title: file.name, on: { click: open } },
        face,
        h('span', { class: 'file-name', dir: 'auto' }, file.name),
        size,
      ),
      iconButton('cross', t('Remove {name}', { name: file.name }), () => this.#drop(chip)),
    )
    this.#chips.push(chip)
    this.element.append(chip.element)
    this.#changed()
    try {
      const tell = (share: number, isWaiting: boolean) => {
        const percent = Math.floor(share * 100)
        setText(size, isWaiting ? t('{percent}%, waiting for the server', { percent }) : t('{percent}%', { percent }))
        chip.element.style.setProperty('--sent', String(share))
      }
      chip.file = await giveFile(file, tell, chip.abort.signal)
      setText(size, sizeText(chip.file.bytes))
      chip.element.classList.remove('is-sending')
      if (!thumbnail) face.replaceWith(fileIcon(partOf(chip.file), fileAddress(null, partOf(chip.file))))
    } catch (error) {
      if (!chip.abort.signal.aborted) toast(`${file.name}: ${messageOf(error)}`)
      this.#drop(chip)
    }
    this.#changed()
  }

  #drop(chip: Chip): void {
    if (!chip.file) chip.abort.abort()
    if (chip.thumbnail) URL.revokeObjectURL(chip.thumbnail)
    chip.element.remove()
    this.#chips = this.#chips.filter((other) => other !== chip)
    this.#changed()
  }

  #changed(): void {
    this.element.hidden = this.#chips.length === 0
    this.#onChange()
  }

  #choose(): void {
    const input = h('input', { type: 'file' })
    input.multiple = true
    input.addEventListener('change', () => this.add([...(input.files ?? [])]))
    input.click()
  }

  #onPaste(event: ClipboardEvent): void {
    const data = event.clipboardData
    const text = data?.getData('text/plain') ?? ''
    // Spreadsheets put a picture beside the text that is meant.
    const files = text === '' ? [...(data?.files ?? [])] : []
    // A long text would hide what is being written.
    if (text.length > PASTED_MAX) files.push(new File([text], `${t('Pasted text')}.txt`, { type: 'text/plain' }))
    if (files.length === 0) return
    event.preventDefault()
    this.add(files)
  }

  #onDrag(event: DragEvent): void {
    if (!event.dataTransfer?.types.includes('Files')) return
    event.preventDefault()
    target(true)
  }

  #onDrop(event: DragEvent): void {
    const files = [...(event.dataTransfer?.files ?? [])]
    target(false)
    if (files.length === 0) return // text goes its usual way
    event.preventDefault()
    this.add(files)
  }
}

function thumbnailOf(url: string): HTMLElement {
  const image = Object.assign(h('img'), { src: url, alt: '' })
  image.addEventListener('error', () => image.replaceWith(icon('note')))
  return image
}

/** The whole window takes files. */
function target(isTarget: boolean): void {
  const { classList, dataset } = document.documentElement
  dataset.dropHint = t('Drop files to attach them')
  classList.toggle('is-file-target', isTarget)
}
