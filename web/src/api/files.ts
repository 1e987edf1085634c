// Files that people give to the agent, and where messages that name them get them from.
import { address, ApiError, session } from './client'
import type { FilePart } from './types'

/** A file as the server has it. */
export interface GivenFile {
  id: string
  name: string
  mimeType: string
  bytes: number
}

/** Sends a file. fetch() does not tell how much has been sent. */
export function giveFile(
  file: File,
  onProgress: (share: number) => void,
  signal: AbortSignal,
): Promise<GivenFile> {
  const sending = new XMLHttpRequest()
  signal.addEventListener('abort', () => sending.abort())
  return new Promise((resolve, reject) => {
    const fail = () => reject(new ApiError(0, 'unreachable', 'The server cannot be reached.'))
    sending.upload.addEventListener('progress', ({ loaded, total }) => onProgress(loaded / total))
    sending.addEventListener('error', fail)
    sending.addEventListener('abort', fail)
    sending.addEventListener('load', () => {
      const body = parse(sending.responseText)
      if (sending.status === 200) resolve(body as unknown as GivenFile)
      else reject(new ApiError(sending.status, String(body.error), refusalOf(sending.status, body)))
    })
    sending.open('POST', address('files'))
    sending.setRequestHeader('x-file-name', encodeURIComponent(file.name))
    sending.setRequestHeader('content-type', 'application/octet-stream')
    if (session.workspaceId) sending.setRequestHeader('x-workspace-id', session.workspaceId)
    sending.send(file)
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
  return typeof message === 'string' ? message : `The server returned HTTP status ${status}.`
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
