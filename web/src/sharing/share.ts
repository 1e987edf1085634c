// Participants of a conversation: shared or not, and with whom. Loaded when somebody asks for it.
import '../main' // as in apps.ts: parts that are loaded later share the whole of the first load
import { messageOf } from '../api/client'
import * as api from '../api/conversations'
import type { Conversation } from '../api/types'
import { iconButton, textButton } from '../base/controls'
import { copyText } from '../base/copy'
import { openDialog, type Dialog } from '../base/dialog'
import { h } from '../base/dom'
import { field, input, select } from '../base/form'
import { icon } from '../base/icons'
import { loadStylesheet } from '../base/stylesheet'
import { t } from '../base/words'
import { linkTo } from '../model/actions'
import type { App } from '../model/app'
import { nameOf, people, type Person } from '../model/people'
import { openLeaveDialog } from '../views/conversation_menu'
import { COLOURS } from '../views/person'
import { LinksSection } from './links'
import stylesheet from './share.lazy.css'

const SHOWN_MAX = 50
const roles = () => [
  { value: 'write', label: t('can write') },
  { value: 'read', label: t('can read') },
]

export async function openShareDialog(app: App, id: string): Promise<void> {
  await loadStylesheet(new URL(stylesheet, import.meta.url).href)
  new ShareDialog(app, id)
}

class ShareDialog {
  #app: App
  #id: string
  #links: LinksSection
  #dialog: Dialog = openDialog(t('Share the conversation'))
  #failure = h('p', { class: 'form-failure', role: 'alert', hidden: true })
  #content = h('div', { class: 'share' }, h('span', { class: 'spinner' }))
  #redraw = () => {} // what names people, when more of them are known; the field keeps its text

  constructor(app: App, id: string) {
    this.#app = app
    this.#id = id
    this.#links = new LinksSection(id)
    this.#dialog.body.append(this.#content, this.#failure)
    this.#dialog.element.addEventListener('close', people.subscribe(() => this.#redraw()))
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
    const { visibility, may } = conversation
    const isShared = visibility === 'shared'
    const id = this.#id
    const choices = may.share
      ? [
          this.#choice(!isShared, t('Private'), t('Only you can open it.'), () => api.unshareConversation(id)),
          this.#choice(isShared, t('Shared'), t('The people below can read it, and write in it if they may.'), () =>
            api.shareConversation(id),
          ),
        ]
      : []
    const participants = h('ul', { class: 'share-people', aria: { label: t('Participants') } })
    const adding = isShared && may.share ? this.#adding(conversation) : null
    const shared: HTMLElement[] = isShared ? [participants] : []
    this.#redraw = () => {
      participants.replaceChildren(...this.#people(conversation))
      adding?.draw()
    }
    this.#redraw()
    if (adding) shared.push(adding.element)
    if (isShared) shared.push(this.#link())
    if (may.rename) shared.push(this.#links.element)
    if (may.leave) shared.push(this.#leaving())
    this.#content.replaceChildren(...choices, ...shared)
  }

  #leaving(): HTMLElement {
    const leave = () => {
      this.#dialog.close()
      openLeaveDialog(this.#app, this.#id)
    }
    return h('p', {}, textButton(t('Leave the conversation'), leave, { icon: 'exit' }))
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
    return h('label', { class: 'radio-choice' }, box, text)
  }

  #roleOf(userId: string, readers: string[]): HTMLElement {
    const choice = select(roles(), readers.includes(userId) ? 'read' : 'write')
    choice.setAttribute('aria-label', t('What {name} may do', { name: nameOf(userId) }))
    choice.addEventListener(
      'change',
      () => void this.#change(() => api.addParticipant(this.#id, userId, choice.value as api.Role)),
    )
    return choice
  }

  #people({ participants, readers = [], ownerId, may }: Conversation): HTMLElement[] {
    const me = this.#app.workspace.value?.user.id
    return participants.map((userId, i) => {
      const remove = iconButton(
        'cross',
        t('Remove {name}', { name: nameOf(userId) }),
        () => void this.#change(() => api.removeParticipant(this.#id, userId)),
      )
      const mayChange = may.share && userId !== ownerId
      const isReader = !mayChange && readers.includes(userId)
      const role = [userId === me && t('you'), userId === ownerId && t('owner'), isReader && t('reads')].filter(Boolean).join(', ')
      return h(
        'li',
        { class: `share-person p${i % COLOURS}` },
        faceOf(userId),
        nameLines(userId),
        h('span', { class: 'share-role' }, role),
        mayChange && this.#roleOf(userId, readers),
        mayChange && remove,
      )
    })
  }

  /** Members who do not take part yet, by name or address; others can be named by their id. */
  #adding({ participants }: Conversation): { element: HTMLElement; draw: () => void } {
    const role = select(roles(), 'write')
    role.setAttribute('aria-label', t('What the person may do'))
    const add = (user: string) =>
      void this.#change(() => api.addParticipant(this.#id, user, role.value as api.Role))
    const list = h('ul', { class: 'share-people', aria: { label: t('People to add') } })
    const search = input({ placeholder: t('Name or e-mail address') })
    const matching = () => {
      const wanted = search.value.trim().toLowerCase()
      const isWanted = ({ id, displayName, email = '' }: Person) =>
        !participants.includes(id) && `${displayName} ${email}`.toLowerCase().includes(wanted)
      return [...people.value.values()].filter(isWanted)
    }
    const draw = () => {
      const shown = matching().slice(0, SHOWN_MAX)
      list.replaceChildren(
        ...shown.map(({ id }, i) => {
          const button = textButton('', () => add(id), { class: `share-person share-pick p${i % COLOURS}` })
          button.append(faceOf(id), nameLines(id), h('span', { class: 'share-role' }, t('Add')))
          return h('li', {}, button)
        }),
      )
    }
    const onSubmit = (event: Event) => {
      event.preventDefault()
      const text = search.value.trim()
      const found = matching()
      if (text) add(found.length === 1 ? found[0]!.id : text)
    }
    search.addEventListener('input', draw)
    const element = h(
      'form',
      { class: 'field-row', on: { submit: onSubmit } },
      field(t('Add a person'), search),
      role,
      h('button', { type: 'submit', class: 'button is-primary' }, t('Add')),
      list,
    )
    return { element, draw }
  }

  #link(): HTMLElement {
    const copy = () => void copyText(linkTo(this.#id))
    return h('p', { class: 'share-link' }, icon('link'), textButton(t('Copy the link'), copy))
  }
}

function faceOf(userId: string): HTMLElement {
  return h('span', { class: 'face', aria: { hidden: true } }, nameOf(userId).slice(0, 1).toUpperCase())
}

function nameLines(userId: string): HTMLElement {
  const email = people.value.get(userId)?.email
  return h('span', { class: 'share-name' }, nameOf(userId), email && h('span', { class: 'field-hint' }, email))
}
