// Signing in to a remote server that wants OAuth: the browser goes there, and comes back to this page.
import { signOut, startSignIn } from '../api/bundles'
import type { AppInfo } from '../api/bundles'
import { messageOf } from '../api/client'
import { textButton } from '../base/controls'
import { h } from '../base/dom'
import { toast } from '../base/toast'
import { msg, t } from '../base/words'

const FAILED = msg('The sign-in failed. The server’s log says why.')
const RESULTS = new Map([
  ['ok', msg('You are signed in.')],
  ['denied', msg('The server refused the sign-in. Nothing has changed.')],
  ['expired', msg('That sign-in is not valid any more, or was started in another browser. Start it again.')],
])

/** Only pages are opened: an address of another kind could run a program. */
function isPage(address: string): boolean {
  const { protocol } = new URL(address)
  return protocol === 'https:' || protocol === 'http:'
}

/** Whose account a bundle uses, where each person signs in. */
export function signInNote(info: AppInfo): HTMLElement | null {
  if (info.auth?.per !== 'person') return null
  const text = info.auth.needsSignIn
    ? t('Each person signs in here with an account of their own. You have not signed in.')
    : t('You are signed in with an account of your own. Nobody else’s messages use it.')
  return h('p', { class: 'card-text' }, text)
}

export function signInActions(info: AppInfo, onChanged: () => void): HTMLElement[] {
  if (!info.auth) return []
  const enter = async () => {
    signIn.disabled = true
    try {
      const address = await startSignIn(info)
      if (!isPage(address)) throw new Error(t('The server returned a sign-in address that is not a web page.'))
      location.assign(address)
    } catch (error) {
      toast(messageOf(error))
      signIn.disabled = false
    }
  }
  const leave = async () => {
    await signOut(info).catch((error) => toast(messageOf(error)))
    onChanged()
  }
  const needs = info.auth.needsSignIn
  const signIn = textButton(needs ? t('Sign in') : t('Sign in again'), () => void enter(), {
    class: needs ? 'button is-primary' : 'button',
  })
  return needs ? [signIn] : [signIn, textButton(t('Sign out'), () => void leave())]
}

/** The result of a sign-in from which the browser has just returned. */
export function tellSignIn(): void {
  const query = new URLSearchParams(location.search)
  const result = query.get('signIn')
  if (result === null) return
  query.delete('signIn')
  const rest = query.toString()
  history.replaceState(null, '', location.pathname + (rest && `?${rest}`) + location.hash)
  toast(t(RESULTS.get(result) ?? FAILED))
}
