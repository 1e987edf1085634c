// The end of a session that the person wants.
import { logout } from '../api/people'
import { forgetTexts } from './drafts'

/** Logs out and loads the page again; text that was not sent does not stay in the browser. */
export async function logOut(end: () => Promise<unknown> = logout): Promise<void> {
  await end()
  forgetTexts()
  location.reload()
}
