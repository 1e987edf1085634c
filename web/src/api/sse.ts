// Server-sent events from a fetch() response. EventSource would do for GET, but hides the
// status of a refusal and cannot be told when to come back.

export interface Frame {
  event: string
  id: string | null
  data: unknown
}

const FRAME_MAX = 64 * 1024 * 1024 // characters of one frame

/** Yields the frames of a response; ends when the server ends it, throws when it breaks. */
export async function* frames(response: Response, onBytes?: () => void): AsyncGenerator<Frame> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let pending = ''
  try {
    for (;;) {
      const { value, done } = await reader.read()
      if (done) return
      onBytes?.()
      // A blank line ends a frame; only the new text can hold the next one.
      let from = Math.max(0, pending.length - 1)
      pending += value
      for (let end; (end = pending.indexOf('\n\n', from)) >= 0; from = 0) {
        const frame = parse(pending.slice(0, end))
        pending = pending.slice(end + 2)
        if (frame) yield frame
      }
      if (pending.length > FRAME_MAX) throw new Error('An event of the stream is too large.') // not translated
    }
  } finally {
    reader.cancel().catch(() => {}) // already broken: nothing left to release
  }
}

function parse(text: string): Frame | null {
  let event = 'message'
  let id: string | null = null
  const data: string[] = []
  for (const line of text.split('\n')) {
    const colon = line.indexOf(':')
    if (colon <= 0) continue // a comment, or no field
    const name = line.slice(0, colon)
    const value = line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (name === 'event') event = value
    else if (name === 'id') id = value
    else if (name === 'data') data.push(value)
  }
  if (data.length === 0) return null
  try {
    return { event, id, data: JSON.parse(data.join('\n')) }
  } catch {
    return null // one bad frame must not end the stream
  }
}
