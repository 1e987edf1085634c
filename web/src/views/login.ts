// The page for people who are not logged in: a key, a password, or the way to a provider.
import { loginWays, login, authorizeAddress, type LoginWays } from '../api/people'
import { h } from '../base/dom'
import { field, form, input } from '../base/form'
import { logo } from '../base/icons'
import { wasLinkRefused } from '../model/link_key'

export function loginView(onDone: () => void): HTMLElement {
  const place = h('div', { class: 'login-form' }, h('span', { class: 'spinner' }))
  const title = h('h1', {}, 'Log in')
  void loginWays().then((ways) => {
    if (ways.mode === 'dev') title.textContent = 'Open nb'
    if (ways.orgName) title.textContent = `Log in to ${ways.orgName}`
    place.replaceChildren(...fieldsFor(ways, onDone))
    place.querySelector('input')?.focus()
  })
  return h('main', { class: 'login' }, h('div', { class: 'login-card' }, logo(), title, place))
}

function fieldsFor({ mode }: LoginWays, onDone: () => void): HTMLElement[] {
  const failed = new URLSearchParams(location.search).has('error')
  const notice = h(
    'p',
    { class: 'form-failure', role: 'alert' },
    'Login failed. Try again.',
  )
  if (mode === 'oidc') {
    const link = h(
      'a',
      { class: 'button is-primary login-link', href: authorizeAddress() },
      'Continue',
    )
    return failed ? [notice, link] : [link]
  }
  if (mode === 'dev') return byLink(onDone)
  return [mode === 'local' ? byPassword(onDone) : byKey(onDone)]
}

function byKey(onDone: () => void): HTMLElement {
  const key = input({ type: 'password', required: true, autocomplete: 'current-password' })
  const submit = async () => {
    await login({ key: key.value })
    onDone()
  }
  return form([field('Key', key, 'The administrator of this server has it (NB_API_KEY).')], 'Log in', submit)
}

/** Without users the page opens with the link that the terminal printed, or with its key. */
function byLink(onDone: () => void): HTMLElement[] {
  const key = input({ type: 'password', required: true, autocomplete: 'off' })
  const submit = async () => {
    await login({ key: key.value.trim().replace(/^.*#key=/, '') })
    onDone()
  }
  const hint = h(
    'p',
    { class: 'field-hint' },
    'This page needs the key of this installation. Open the link that ',
    h('code', {}, 'nb serve'),
    ' printed. To print the link again, run ',
    h('code', {}, 'nb link'),
    ' in a terminal of this machine.',
  )
  const refused = h(
    'p',
    { class: 'form-failure', role: 'alert' },
    'That link is not valid any more. Run nb link for the current one.',
  )
  const paste = form(
    [field('Key', key, 'Or paste the link or the key (nb link --key) here.')],
    'Open',
    submit,
  )
  return wasLinkRefused ? [refused, hint, paste] : [hint, paste]
}

function byPassword(onDone: () => void): HTMLElement {
  const email = input({ type: 'email', required: true, autocomplete: 'username' })
  const password = input({ type: 'password', required: true, autocomplete: 'current-password' })
  const submit = async () => {
    await login({ email: email.value.trim(), password: password.value })
    onDone()
  }
  return form([field('E-mail', email), field('Password', password)], 'Log in', submit)
}
