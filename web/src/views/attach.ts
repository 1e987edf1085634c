// Text files that are dropped on the message field or pasted into it become part of the message.
import { toast } from '../base/toast'

const FILES_MAX = 5
const FILE_MAX = 64 * 1024 // bytes; it becomes part of the prompt

/** Calls back with the files' text, each in a fence that names it. */
export function acceptFiles(element: HTMLElement, onText: (text: string) => void): void {
  const take = async (files: readonly File[]) => {
    if (files.length > FILES_MAX) toast(`Only the first ${FILES_MAX} files are attached.`)
    const texts = await Promise.all(files.slice(0, FILES_MAX).map(read))
    const fenced = texts.filter((text) => text !== null)
    if (fenced.length > 0) onText(fenced.join('\n\n'))
  }
  const onFiles = (event: Event, data: DataTransfer | null) => {
    const files = [...(data?.files ?? [])]
    if (files.length === 0) return // text goes its usual way
    event.preventDefault()
    element.classList.remove('is-target')
    void take(files)
  }
  element.addEventListener('paste', (event) => {
    const data = event.clipboardData
    // Spreadsheets put a picture beside the text that is meant.
    if (!data?.types.includes('text/plain')) onFiles(event, data)
  })
  element.addEventListener('drop', (event) => onFiles(event, event.dataTransfer))
  element.addEventListener('dragover', (event) => {
    if (!event.dataTransfer?.types.includes('Files')) return
    event.preventDefault()
    element.classList.add('is-target')
  })
  element.addEventListener('dragleave', () => element.classList.remove('is-target'))
}

async function read(file: File): Promise<string | null> {
  if (file.size > FILE_MAX) {
    toast(`${file.name} is larger than ${FILE_MAX / 1024} kB. Put it where a bundle can read it.`)
    return null
  }
  const text = decode(await file.arrayBuffer())
  if (text === null) toast(`${file.name} is not text. Put it where a bundle can read it.`)
  return text === null ? null : fence(file.name, text)
}

function decode(bytes: ArrayBuffer): string | null {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return text.includes('\0') ? null : text
  } catch {
    return null
  }
}

/** Longer than any fence within. */
function fence(name: string, text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length))
  const ticks = '`'.repeat(longest + 1)
  return `${name}:\n${ticks}${languageOf(name)}\n${text.trimEnd()}\n${ticks}`
}

function languageOf(name: string): string {
  return /\.([a-z0-9]{1,12})$/i.exec(name)?.[1]?.toLowerCase() ?? ''
}
