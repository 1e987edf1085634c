// Files of other people's messages.
import { ApiError } from '../api/client'
import { fileAddress, giveFile, partOf } from '../api/files'
import type { FilePart } from '../api/types'
import { t } from '../base/words'

/** A file of somebody else's message becomes one's own: only these can be sent. */
export async function takeFile(conversationId: string, part: FilePart): Promise<FilePart> {
  const response = await fetch(fileAddress(conversationId, part))
  const { name } = part
  if (!response.ok) throw new ApiError(response.status, 'not_found', t('{name} cannot be read any more.', { name }))
  const file = new File([await response.blob()], name, { type: part.mimeType })
  return partOf(await giveFile(file, () => {}, new AbortController().signal))
}
