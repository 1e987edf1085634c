// Participants of a conversation: shared or not, and with whom.
import { messageOf } from '../api/client'
import * as api from '../api/conversations'
import type { Conversation } from '../api/types'
import { iconButton, textButton } from '../base/controls'
import { copyText } from '../base/copy'
import { openDialog, type Dialog } from '../base/dialog'
import { h } from '../base/dom'
import { field, input } from '../base/form'
import { icon } from '../base/icons'
import { linkTo } from '../model/actions'
import type { App } from '../model/app'
import { nameOf, people } from '../model/people'
import { COLOURS } from './person'

export function openShareDialog(app: App, id: string): void {
  new ShareDialog(app, id)
}

class ShareDialog {
  #app: App
  #id: string
  #dialog: Dialog = openDialog('Share the conversation')
  #failure = h('p', { class: 'form-failure', role: 'alert', hidden: true })
  #content = h('div', { class: 'share' }, h('span', { class: 'spinner' }))

  constructor(app: App, id: string) {
    this.#app = app
    this.#id = id
    this.#dialog.body.append(this.#content, this.#failure)
    void this.#change(() => api.getConversation(id))
  }

  async #change(action: () => Promise<Conversation>): Promise<void> {
    this.#failure.hidden = true
    try {
      const conversation = await action()
      this.#app.conversations.amend(this.#id, conversation)
      const { value: chat } = this.#app.chat
      if (chat?.id === this.#id) chat.describe(conversation)
      this.#draw(conversation)
    } catch (error) {
      this.#failure.textContent = messageOf(error)
      this.#failure.hidden = false
    }
  }

  #draw(conversation: Conversation): void {
    const isShared = conversation.visibility === 'shared'
    const id = this.#id
    this.#content.replaceChildren(
      this.#choice(!isShared, 'Private', 'Only you can open it.', () =>
        api.unshareConversation(id),
      ),
      this.#choice(isShared, 'Shared', 'The people below can read it and write in it.', () =>
        api.shareConversation(id),
      ),
      ...(isShared ? [this.#people(conversation), this.#adding(), this.#link()] : []),
    )
  }

  #choice(
    isChosen: boolean,
    label: string,
    hint: string,
    action: () => Promise<Conversation>,
  ): HTMLElement {
    const box = h('input', { type: 'radio', name: 'visibility' })
    box.checked = isChosen
    box.addEventListener('change', () => void this.#change(action))
    const text = h('span', {}, h('strong', {}, label), h('span', { class: 'field-hint' }, hint))
    return h('label', { class: 'share-choice' }, box, text)
  }

  #people({ participants, ownerId }: Conversation): HTMLElement {
    const me = this.#app.workspace.value?.user.id
    const rows = participants.map((userId, i) => {
      const remove = iconButton(
        'cross',
        `Remove ${nameOf(userId)}`,
        () => void this.#change(() => api.removeParticipant(this.#id, userId)),
      )
      const role = [userId === me && 'you', userId === ownerId && 'owner']
        .filter(Boolean)
        .join(', ')
      return h(
        'li',
        { class: `share-person p${i % COLOURS}` },
        h('span', { class: 'speaker-dot' }),
        h('span', { class: 'share-name' }, nameOf(userId)),
        h('span', { class: 'share-role' }, role),
        userId !== ownerId && remove,
      )
    })
    return h('ul', { class: 'share-people', aria: { label: 'Participants' } }, ...rows)
  }

  /** Members of the workspace are offered by name where they are known. */
  #adding(): HTMLElement {
    const known = [...people.value.values()]
    const list = h('datalist', { id: 'share-members' })
    list.append(
      ...known.map(({ id, displayName }) => {
        const option = h('option', {}, displayName)
        option.value = id
        return option
      }),
    )
    const user = input({ placeholder: 'usr_…', required: true })
    user.setAttribute('list', 'share-members')
    const onSubmit = (event: Event) => {
      event.preventDefault()
      const text = user.value.trim()
      const match = known.find((p) => p.email === text || p.displayName === text)
      if (text) void this.#change(() => api.addParticipant(this.#id, match?.id ?? text))
    }
    return h(
      'form',
      { class: 'share-add', on: { submit: onSubmit } },
      field('Add a person', user),
      list,
      h('button', { type: 'submit', class: 'button is-primary' }, 'Add'),
    )
  }

  #link(): HTMLElement {
    const copy = () => void copyText(linkTo(this.#id))
    return h('p', { class: 'share-link' }, icon('link'), textButton('Copy the link', copy))
  }
}
