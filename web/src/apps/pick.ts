// A file that an app asks the person for (`synapse/request-file`). The person chooses it, it is sent to the
// server like a file of a message, and the app learns its id, name, type and size.
import { messageOf } from '../api/client'
import { giveFile } from '../api/files'
import { INVALID_PARAMS, RpcError } from '../api/views'
import { h } from '../base/dom'
import { t } from '../base/words'
import type { Params } from './bridge'
import type { Consents } from './consent'

const SIZE_MAX = 25 * 1024 * 1024
const ACCEPT = /^[\w.+*/,\s-]{1,300}$/ // endings and types, as an input element takes them
const FILES_MAX = 20

/** What the app gets: one, or a list if it wants several; null: the person gave none. */
export async function pickFiles(
  { accept, maxSize = SIZE_MAX, multiple }: Params,
  title: string,
  consents: Consents,
  signal: AbortSignal,
): Promise<object | null> {
  if (accept !== undefined && (typeof accept !== 'string' || !ACCEPT.test(accept)))
    throw new RpcError(INVALID_PARAMS, 'accept is not a list of types.')
  if (typeof maxSize !== 'number' || !(maxSize > 0)) throw new RpcError(INVALID_PARAMS, 'maxSize is not a size.')
  const question = multiple === true ? t('{title} asks you for files', { title }) : t('{title} asks you for a file', { title })
  const note = h('p', {}, t('What you choose is copied to your files on the server. The app learns its name, type and size.'))
  const choices = [
    { value: 'choose' as const, label: t('Choose…'), isPrimary: true },
    { value: 'refuse' as const, label: t('Refuse') },
  ]
  if ((await consents.ask(question, [note], choices, signal)) !== 'choose') return null
  const files = await choose(accept, multiple === true, signal)
  if (files.length === 0) return null
  const max = Math.min(maxSize, SIZE_MAX)
  const large = files.find(({ size }) => size > max)
  if (large) throw new RpcError(INVALID_PARAMS, `The file is larger than ${max} bytes.`)
  const given = await Promise.all(files.map((file) => give(file, signal)))
  return multiple === true ? given : given[0]!
}

/** The click on the button is recent enough for the browser to open its dialog. */
function choose(accept: string | undefined, multiple: boolean, signal: AbortSignal): Promise<File[]> {
  const input = h('input', { type: 'file' })
  if (accept !== undefined) input.accept = accept
  input.multiple = multiple
  return new Promise((resolve) => {
    const end = () => resolve([...(input.files ?? [])].slice(0, FILES_MAX))
    input.addEventListener('change', end)
    input.addEventListener('cancel', () => resolve([]))
    signal.addEventListener('abort', () => resolve([]))
    input.click()
  })
}

async function give(file: File, signal: AbortSignal): Promise<object> {
  try {
    const { id, name, mimeType, bytes } = await giveFile(file, () => {}, signal)
    return { id, filename: name, mimeType, size: bytes }
  } catch (error) {
    throw new RpcError(INVALID_PARAMS, messageOf(error))
  }
}
