// Links with which people without an account read conversations of this workspace; for its admins.
import { listAllLinks, revokeAnyLink, type Link } from '../api/links'
import { messageOf } from '../api/client'
import { textButton } from '../base/controls'
import { h } from '../base/dom'
import { hrefOf } from '../base/router'
import { fullTime } from '../base/time'
import { toast } from '../base/toast'
import { msg, t } from '../base/words'
import { nameOf } from '../model/people'
import { empty, lead, Loading, section, table } from './parts'

const OFF = msg('Links are off. The setting features.publicLinks of the workspace turns them on.')

export function linksPart(): HTMLElement {
  const loading = new Loading(listAllLinks, ({ isOn, links }) => [
    isOn ? null : lead(t(OFF)),
    links.length === 0
      ? empty(t('There are no links.'))
      : table(
          [t('Conversation'), t('Made by'), t('Made'), t('Expires'), t('Tools'), ''],
          links.map((link) => row(link, () => void loading.reload())),
          { isStacked: true },
        ),
  ])
  return h(
    'div',
    {},
    section(
      t('Links'),
      lead(t('Owners of conversations make links with which people without an account read them.')),
      loading.element,
    ),
  )
}

function row(link: Link, onChanged: () => void): (string | HTMLElement)[] {
  const revoke = () =>
    void revokeAnyLink(link)
      .then(onChanged)
      .catch((error) => toast(messageOf(error)))
  return [
    h('a', { href: hrefOf({ name: 'conversation', id: link.conversationId }) }, t('Open')),
    nameOf(link.by),
    fullTime(link.createdAt),
    fullTime(link.expiresAt),
    link.tools ? t('shown') : t('names only'),
    textButton(t('Revoke'), revoke, { class: 'button is-dangerous' }),
  ]
}
