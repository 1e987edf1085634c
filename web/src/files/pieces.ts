// A large file, sent in several requests. When one of them fails, the server is asked how much it has, and
// the next one goes on there: a connection that drops costs one piece at most.
import { ApiError, call, get } from '../api/client'
import { transmit, type GivenFile, type OnProgress } from '../api/files'

const PIECE_BYTES = 8 << 20
const TRIES_MAX = 12 // without a byte in between
const WAIT_MAX_MS = 15_000

interface Upload {
  id: string
  offset: number
}

interface Sent {
  offset: number
  file: GivenFile | null
}

export async function giveInPieces(file: File, onProgress: OnProgress, signal: AbortSignal): Promise<GivenFile> {
  const { id } = await call<Upload>('POST', 'files/uploads', { name: file.name, bytes: file.size })
  try {
    return await sendAll(id, file, onProgress, signal)
  } catch (error) {
    void call('DELETE', `files/uploads/${id}`).catch(() => {}) // it expires otherwise
    throw error
  }
}

async function sendAll(id: string, file: File, onProgress: OnProgress, signal: AbortSignal): Promise<GivenFile> {
  let offset = 0
  for (let failures = 0; ; ) {
    try {
      const sent = await sendPiece(id, file, offset, onProgress, signal)
      if (sent.file) return sent.file
      offset = sent.offset
      failures = 0
    } catch (error) {
      if (signal.aborted || !isPassing(error) || failures >= TRIES_MAX) throw error
      onProgress(offset / file.size, true)
      await pause(Math.min(500 * 2 ** failures++, WAIT_MAX_MS), signal)
      const known = await offsetOf(id)
      if (known !== null && known > offset) failures = 0
      offset = known ?? offset
    }
  }
}

function sendPiece(id: string, file: File, offset: number, onProgress: OnProgress, signal: AbortSignal): Promise<Sent> {
  const piece = file.slice(offset, offset + PIECE_BYTES)
  const headers = { 'upload-offset': String(offset) }
  const tell = (share: number) => onProgress((offset + share * piece.size) / file.size, false)
  return transmit<Sent>('PATCH', `files/uploads/${id}`, headers, piece, tell, signal)
}

/** null: the server cannot be asked just now. Asking also renews a login that has expired. */
async function offsetOf(id: string): Promise<number | null> {
  try {
    return (await get<Upload>(`files/uploads/${id}`)).offset
  } catch (error) {
    if (isPassing(error)) return null
    throw error
  }
}

/** Network, an expired login, an offset that is not known, a server that restarts; 507 is a full disk. */
function isPassing(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false
  return [0, 401, 409, 429].includes(error.status) || (error.status >= 500 && error.status !== 507)
}

/** Ends early when the browser says that it is online again. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      window.removeEventListener('online', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    window.addEventListener('online', done)
    signal.addEventListener('abort', done, { once: true })
  })
}
