// The page for people who are not logged in: a key, a password, or the way to a provider.
import { loginWays, login, authorizeAddress, type LoginWays } from '../api/people'
import { h } from '../base/dom'
import { field, form, input } from '../base/form'
import { logo } from '../base/icons'
import { t, tParts } from '../base/words'
import { wasLinkRefused } from '../model/link_key'

export function loginView(onDone: () => void): HTMLElement {
  const place = h('div', { class: 'login-form' }, h('span', { class: 'spinner' }))
  const title = h('h1', {}, t('Log in'))
  void loginWays().then((ways) => {
    if (ways.mode === 'dev') title.textContent = t('Open nb')
    if (ways.orgName) title.textContent = t('Log in to {name}', { name: ways.orgName })
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
    t('Login failed. Try again.'),
  )
  if (mode === 'oidc') {
    const link = h(
      'a',
      { class: 'button is-primary login-link', href: authorizeAddress() },
      t('Continue'),
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
  return form([field(t('Key'), key, t('The administrator of this server has it (NB_API_KEY).'))], t('Log in'), submit)
}

/** Without users the page opens with the link that the terminal printed, or with its key. */
function byLink(onDone: () => void): HTMLElement[] {
  const key = input({ type: 'password', required: true, autocomplete: 'off' })
  const submit = async () => {
    await login({ key: key.value.trim().replace(/^.*#key=/, '') })
    onDone()
  }
  const serve = h('code', {}, 'nb serve') // not translated
  const link = h('code', {}, 'nb link') // not translated
  const hint = h(
    'p',
    { class: 'field-hint' },
    ...tParts('This page needs the key of this installation. Open the link that {command} printed.', { command: serve }),
    ' ',
    ...tParts('To print the link again, run {command} in a terminal of this machine.', { command: link }),
  )
  const refused = h(
    'p',
    { class: 'form-failure', role: 'alert' },
    t('That link is not valid any more. Run nb link for the current one.'),
  )
  const paste = form(
    [field(t('Key'), key, t('Or paste the link or the key (nb link --key) here.'))],
    t('Open'),
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
  return form([field(t('E-mail'), email), field(t('Password'), password)], t('Log in'), submit)
}
