// A message of a person: one's own, or another participant's with name and colour.
import { iconButton, textButton } from '../base/controls'
import { copyButton } from '../base/copy'
import { h, setText } from '../base/dom'
import { icon } from '../base/icons'
import { fullTime } from '../base/time'
import type { FilePart } from '../api/types'
import { msg, t, tList, tn } from '../base/words'
import type { Sibling } from '../model/branches'
import type { Compacted, UserItem } from '../model/items'
import { fileViews } from './files'
import { saidParts } from './said'

export const COLOURS = 8
const FOLD_LINES = 14 // as they were written
const FOLD_CHARS = 1600

const WAITS = {
  queue: msg('Queued: sent after this answer.'),
  steer: msg('Added to the answer at its next step.'),
}

const FORK_HINT = msg('The conversation so far is kept; this becomes a fork of it.')
const BRANCH_HINT = msg('What follows now is kept: the arrows at the message lead back to it.')
const KEPT = ['is-found', 'is-editing'] // classes that do not follow from the message
const QUEUE_HINT = msg('It stays queued until the agent takes it.')

export interface PersonProps {
  isOwn: boolean
  name: string
  hasLabel: boolean // the speaker differs from the previous message
  isContinued: boolean // nothing stands between this and the same person's last message
  colour: number // 0 to COLOURS - 1
  addressOf(part: FilePart): string
  onRetry(): void // one that was not sent
  onEdit(): void
  onFork: ((text: string) => void) | null // asks differently, in a branch or a fork
  isBranching: boolean // in a branch
  siblings: Sibling[] // this course of the conversation and the others at this message; empty: none
  onBranch(id: string): void
  onReword: ((text: string) => void) | null // one that waits
  onWithdraw: (() => void) | null
  onLink: (() => void) | null
}

/** Apps that had a part in the message. */
function viaOf({ app, contextApps = [], forPeople }: UserItem): string {
  const apps = tList(contextApps)
  const shown = apps && tn(contextApps.length, 'with what {apps} shows', 'with what {apps} shows', { apps })
  return [forPeople ? t('to people only') : '', app ? t('via {app}', { app }) : '', shown].filter(Boolean).join(', ')
}

/** The page keeps all messages; only the model gets less. */
function compactedNote({ messages, summary, cutBecause }: Compacted): HTMLElement[] {
  const title = cutBecause
    ? t('Earlier messages were left out of what the model gets')
    : t('Earlier messages were summarised for the model')
  const cut = { why: cutBecause ?? '' }
  const why = cutBecause
    ? tn(messages, '{n} message. No summary could be made: {why}', '{n} messages. No summary could be made: {why}', cut)
    : tn(messages, '{n} message', '{n} messages')
  return [
    h('summary', {}, h('span', {}, title)),
    h('p', { class: 'compacted-why' }, why),
    h('p', { class: 'compacted-text', dir: 'auto' }, summary),
  ]
}

export class PersonView {
  readonly element = h('article', { class: 'message person', tabindex: -1 })
  #heading = h('h2', { class: 'visually-hidden' })
  #compacted = h('details', { class: 'compacted', hidden: true })
  #label = h('p', { class: 'speaker', aria: { hidden: true } }, h('span', { class: 'speaker-dot' }))
  #name = h('span', { class: 'speaker-name' })
  #files = h('div', { class: 'message-files' })
  #text = h('div', { class: 'bubble', dir: 'auto' })
  #said: string | null = null
  #unfold: HTMLElement | null = null
  #via = h('p', { class: 'via' })
  #foot = h('footer', { class: 'message-foot person-foot' })
  #pager = h('div', { class: 'person-pager' })
  #end = h('div', { class: 'person-end' })
  #shown = ''
  #editor: HTMLElement | null = null
  #area: HTMLTextAreaElement | null = null

  constructor() {
    this.#label.append(this.#name)
    this.element.append(this.#compacted, this.#heading, this.#label, this.#files, this.#text, this.#via, this.#foot, this.#pager, this.#end)
  }

  update(item: UserItem, props: PersonProps): void {
    const failure = item.sending?.state === 'failed' ? item.sending.message : ''
    const waits = item.queued?.mode ?? (item.sending?.state === 'pending' && item.sending.waits)
    const { isOwn, name, hasLabel, isContinued, colour } = props
    const state = item.sending?.state ?? (item.queued ? 'queued' : 'stored')
    const canFork = props.onFork !== null || props.onWithdraw !== null
    const via = viaOf(item)
    const courses = props.siblings.map(({ id }) => id).join()
    const looks = [isOwn, name, hasLabel, isContinued, colour, state, waits, canFork, via]
    looks.push(courses, props.isBranching)
    const shown = [item.text, failure, ...looks].join('\n')
    if (shown === this.#shown) return
    this.#shown = shown
    const whose = isOwn ? 'is-own' : `is-other p${colour % COLOURS}`
    const kept = KEPT.filter((name) => this.element.classList.contains(name))
    this.element.className = ['message person', `is-${state}`, whose, ...kept].join(' ') // not translated
    this.element.classList.toggle('is-continued', isContinued)
    this.element.classList.toggle('is-for-people', item.forPeople === true)
    const heading = isOwn ? t('Your message') : t('Message of {name}', { name })
    this.element.setAttribute('aria-label', heading)
    setText(this.#heading, heading)
    this.#label.hidden = isOwn || !hasLabel
    setText(this.#name, name)
    this.#compacted.hidden = !item.compacted
    if (item.compacted) this.#compacted.replaceChildren(...compactedNote(item.compacted))
    this.#drawText(item.text)
    this.#files.replaceChildren(...fileViews(item.files ?? [], props.addressOf))
    setText(this.#via, via)
    this.#via.hidden = via === ''
    this.#drawFoot(item, props)
    this.#pager.replaceChildren(...(props.siblings.length > 1 ? [pager(props)] : []))
    this.#end.replaceChildren(
      ...(failure ? [this.#failure(failure, props)] : []),
      ...(waits ? [this.#waiting(item, waits, props)] : []),
    )
  }

  /** A long message is folded once; afterwards it is as people leave it. */
  #drawText(text: string): void {
    if (text === this.#said) return
    this.#said = text
    this.#text.replaceChildren(...saidParts(text))
    const lines = text.split('\n').length
    const isLong = lines > FOLD_LINES || text.length > FOLD_CHARS
    this.#text.classList.toggle('is-folded', isLong)
    this.#unfold?.remove()
    const unfold = isLong
      ? textButton(tn(lines, 'Show all {n} line', 'Show all {n} lines'), () => this.#text.classList.toggle('is-folded'), { class: 'show-all' })
      : null
    if (unfold) this.#text.after(unfold)
    this.#unfold = unfold
  }

  #drawFoot(item: UserItem, props: PersonProps): void {
    const { onFork, onLink, isBranching } = props
    this.#foot.replaceChildren()
    if (item.sending || item.queued) return
    const label = isBranching ? t('Edit and ask again') : t('Edit and ask again, in a fork')
    this.#foot.append(copyButton(t('Copy message'), () => item.text))
    if (onFork)
      this.#foot.append(
        iconButton('edit', label, () =>
          this.#openEditor(item.text, isBranching ? BRANCH_HINT : FORK_HINT, onFork),
        ),
      )
    if (onLink) this.#foot.append(iconButton('link', t('Copy link to this message'), onLink))
    this.#foot.append(h('span', { class: 'message-meta' }, fullTime(item.at)))
  }

  /** The state of the message's turn, and the actions that are left. */
  #waiting(item: UserItem, how: 'queue' | 'steer', props: PersonProps): HTMLElement {
    const { onReword, onWithdraw } = props
    const edit = () => onReword && this.#openEditor(item.text, QUEUE_HINT, onReword)
    return h(
      'p',
      { class: 'waits' },
      icon('clock'),
      h('span', {}, t(WAITS[how])),
      item.queued && onReword && iconButton('edit', t('Edit message'), () => edit()),
      item.queued && onWithdraw && iconButton('cross', t('Withdraw'), onWithdraw),
    )
  }

  /** The text in its editor; null: it is not open. */
  get wording(): string | null {
    return this.#area?.value ?? null
  }

  /** Opens the editor of the message, where it has one. */
  edit(item: UserItem, { onReword, onFork, isBranching }: PersonProps): void {
    if (item.queued && onReword) this.#openEditor(item.text, QUEUE_HINT, onReword)
    else if (onFork) this.#openEditor(item.text, isBranching ? BRANCH_HINT : FORK_HINT, onFork)
  }

  /** The bubble becomes a field; what is sent from it goes into a fork, or waits instead. */
  #openEditor(text: string, hint: string, onSend: (text: string) => void): void {
    if (this.#editor) return
    const area = h('textarea', { class: 'edit-field', dir: 'auto', aria: { label: t('New wording') } })
    area.value = text
    this.#area = area
    const close = () => {
      this.#editor?.remove()
      this.#editor = this.#area = null
      this.element.classList.remove('is-editing')
    }
    const submit = () => {
      const changed = area.value.trim()
      if (changed === '') return
      close()
      onSend(changed)
    }
    area.addEventListener('keydown', (event) => {
      if (event.key === 'Escape') {
        event.stopPropagation()
        close()
      } else if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
        event.preventDefault()
        submit()
      }
    })
    this.#editor = h(
      'div',
      { class: 'editor' },
      area,
      h('p', { class: 'editor-hint' }, t(hint)),
      h(
        'div',
        { class: 'editor-buttons' },
        textButton(t('Cancel'), close),
        textButton(t('Send'), submit, { class: 'button is-primary' }),
      ),
    )
    this.element.classList.add('is-editing')
    this.#text.after(this.#editor)
    area.style.height = `${Math.max(72, area.scrollHeight)}px`
    area.focus()
  }

  #failure(message: string, props: PersonProps): HTMLElement {
    return h(
      'div',
      { class: 'failure', role: 'alert' },
      icon('alert'),
      h('p', {}, t('Not sent. {why}', { why: message })),
      textButton(t('Try again'), () => props.onRetry(), { icon: 'retry' }),
      textButton(t('Edit'), () => props.onEdit()),
    )
  }
}

/** ‹ 2/3 ›: leads to the other courses of the conversation. */
function pager({ siblings, onBranch }: PersonProps): HTMLElement {
  const here = siblings.findIndex(({ isHere }) => isHere)
  const step = (by: number, label: string) => {
    const there = siblings[here + by]
    const look = by < 0 ? 'pager-back' : ''
    const button = iconButton('chevron', label, () => there && onBranch(there.id), look)
    button.disabled = !there
    return button
  }
  const text = `${here + 1}/${siblings.length}`
  const label = t('Version {place} of {total}', { place: here + 1, total: siblings.length })
  return h(
    'span',
    { class: 'pager', role: 'group', aria: { label } },
    step(-1, t('Previous version')),
    h('span', { class: 'pager-place' }, text),
    step(1, t('Next version')),
  )
}
