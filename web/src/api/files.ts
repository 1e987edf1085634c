// Files that people give to the agent, and where messages that name them get them from.
import { t } from '../base/words'
import { address, ApiError, session } from './client'
import type { File as GivenFile } from './schema'
import type { FilePart } from './types'

export type { File as GivenFile } from './schema'

/** The share that has been sent; whether it waits for the server to be there again. */
export type OnProgress = (share: number, isWaiting: boolean) => void

const WHOLE_MAX = 8 << 20 // bytes; larger files go in pieces

/** Sends a file. */
export async function giveFile(file: File, onProgress: OnProgress, signal: AbortSignal): Promise<GivenFile> {
  if (file.size > WHOLE_MAX) {
    const { giveInPieces } = await import('../files/files')
    return giveInPieces(file, onProgress, signal)
  }
  const headers = { 'x-file-name': encodeURIComponent(file.name) }
  return transmit('POST', 'files', headers, file, (share) => onProgress(share, false), signal)
}

/** One request with bytes. fetch() does not tell how much has been sent. */
export function transmit<T>(
  method: string,
  path: string,
  headers: Record<string, string>,
  bytes: Blob,
  onProgress: (share: number) => void,
  signal: AbortSignal,
): Promise<T> {
  const sending = new XMLHttpRequest()
  signal.addEventListener('abort', () => sending.abort())
  return new Promise((resolve, reject) => {
    const fail = () => reject(new ApiError(0, 'unreachable', t('The server cannot be reached.')))
    sending.upload.addEventListener('progress', ({ loaded, total }) => onProgress(loaded / total))
    sending.addEventListener('error', fail)
    sending.addEventListener('abort', fail)
    sending.addEventListener('load', () => {
      const body = parse(sending.responseText)
      if (sending.status === 200) resolve(body as T)
      else reject(new ApiError(sending.status, String(body.error), refusalOf(sending.status, body)))
    })
    sending.open(method, address(path))
    sending.setRequestHeader('content-type', 'application/octet-stream')
    if (session.workspaceId) sending.setRequestHeader('x-workspace-id', session.workspaceId)
    for (const [name, value] of Object.entries(headers)) sending.setRequestHeader(name, value)
    sending.send(bytes)
  })
}

function parse(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>
  } catch {
    return {}
  }
}

function refusalOf(status: number, { message }: Record<string, unknown>): string {
  return typeof message === 'string' ? message : t('The server returned HTTP status {status}.', { status })
}

export function partOf({ id, name, mimeType, bytes }: GivenFile): FilePart {
  const type = mimeType.startsWith('image/') ? 'image' : 'file'
  return { type, file: id, name, mimeType, bytes }
}

/** Links cannot send headers, so the address names the workspace. */
export function fileAddress(conversationId: string | null, { file, name }: FilePart): string {
  const path = conversationId ? `conversations/${conversationId}/files/${file}` : `files/${file}`
  return address(path, { name, workspace: session.workspaceId })
}
