// Links for people without an account, in the dialog of sharing.
import { addLink, listLinks, revokeLink, type Link } from '../api/links'
import { messageOf } from '../api/client'
import { textButton } from '../base/controls'
import { copyButton, copyText } from '../base/copy'
import { h } from '../base/dom'
import { checkbox, field, input, select } from '../base/form'
import { fullTime } from '../base/time'
import { t, tn } from '../base/words'

const expiries = () => [
  { value: '1', label: t('One day') },
  { value: '7', label: t('A week') },
  { value: '30', label: tn(30, '{n} day', '{n} days') },
  { value: '365', label: t('One year') },
]

export class LinksSection {
  readonly element = h('section', { class: 'share-links', hidden: true })
  #id: string
  #made = h('div', {})
  #list = h('ul', { class: 'share-people', aria: { label: t('Links') } })
  #failure = h('p', { class: 'form-failure', role: 'alert', hidden: true })

  constructor(id: string) {
    this.#id = id
    void this.#load()
  }

  /** Nothing is shown where links are off. */
  async #load(): Promise<void> {
    const found = await listLinks(this.#id).catch(() => null)
    if (!found?.isOn) return
    this.#drawList(found.links)
    this.element.replaceChildren(
      h('h3', {}, t('People without an account')),
      h('p', { class: 'field-hint' }, t('Whoever has the link reads what has been written up to now, and nothing that follows.')),
      this.#form(),
      this.#made,
      this.#list,
      this.#failure,
    )
    this.element.hidden = false
  }

  #form(): HTMLElement {
    const expiry = select(expiries(), '30')
    const [tools, box] = checkbox(t('Show inputs and results of tools, not only their names'), false)
    const onSubmit = (event: Event) => {
      event.preventDefault()
      void this.#attempt(async () => {
        const { path } = await addLink(this.#id, Number(expiry.value), box.checked)
        this.#drawMade(new URL(path, document.baseURI).href)
      })
    }
    return h(
      'form',
      { class: 'field-row', on: { submit: onSubmit } },
      field(t('Expires after'), expiry),
      h('button', { type: 'submit', class: 'button' }, t('Make a link')),
      tools,
    )
  }

  #drawMade(address: string): void {
    const shown = input({ value: address, readonly: true, class: 'input is-code' })
    this.#made.replaceChildren(
      h(
        'div',
        { class: 'field-row' },
        field(t('Link. It is not shown again.'), shown),
        copyButton(t('Copy this link'), () => address),
      ),
    )
    shown.select()
    this.#made.scrollIntoView({ block: 'nearest' })
    void copyText(address)
  }

  #drawList(links: Link[]): void {
    this.#list.replaceChildren(
      ...links.map((link) =>
        h(
          'li',
          { class: 'share-person' },
          h(
            'span',
            { class: 'share-name' },
            t('Expires on {date}', { date: fullTime(link.expiresAt) }),
            h('span', { class: 'field-hint' }, describe(link)),
          ),
          textButton(t('Revoke'), () => void this.#attempt(() => revokeLink(link)), { class: 'button is-dangerous' }),
        ),
      ),
    )
  }

  async #attempt(action: () => Promise<unknown>): Promise<void> {
    this.#failure.hidden = true
    try {
      await action()
      this.#drawList((await listLinks(this.#id)).links)
    } catch (error) {
      this.#failure.textContent = messageOf(error)
      this.#failure.hidden = false
    }
  }
}

function describe({ createdAt, tools }: Link): string {
  const date = fullTime(createdAt)
  return tools ? t('made on {date}, with tools', { date }) : t('made on {date}', { date })
}
