// The link that `nb serve` and `nb link` print: …/#key=<key of the installation>. The page
// exchanges the key for a cookie, and takes it out of the address before anything else happens.
import { ApiError } from '../api/client'
import { login } from '../api/people'

const LINK = /^#key=([A-Za-z0-9_-]+)$/

/** Whether the link that led here was refused; the login page says so. */
export let wasLinkRefused = false

export function linkKey(): string | null {
  return LINK.exec(location.hash)?.[1] ?? null
}

export async function takeLinkKey(): Promise<void> {
  const key = linkKey()
  if (!key) return
  history.replaceState(null, '', '#/')
  try {
    await login({ key })
  } catch (error) {
    // An unreachable server is the concern of the page itself, which asks again.
    wasLinkRefused = error instanceof ApiError && error.status !== 0
  }
}
