// The notes beside a conversation: what people and models wrote down, newest last.
import '../main' // as in apps.ts: parts that are loaded later share the whole of the first load
import { messageOf } from '../api/client'
import { addNote, listNotes } from '../api/conversations'
import type { Note } from '../api/types'
import { iconButton } from '../base/controls'
import { h } from '../base/dom'
import { form, textarea } from '../base/form'
import { fullTime } from '../base/time'
import { t } from '../base/words'
import { MarkdownView } from '../markdown/view'
import type { Chat } from '../model/chat'
import { nameOf } from '../model/people'

const AT_END_PX = 60 // who is further up is reading

export class NotesPanel {
  readonly element: HTMLElement
  #chat: Chat
  #list = h('div', { class: 'notes-list' })
  #asked = 0 // the newest list that was asked for; older ones come too late
  #unsubscribe: () => void
  #field = textarea({ rows: 3, placeholder: t('Write a note'), aria: { label: t('New note') } })

  constructor(chat: Chat, onClose: () => void) {
    this.#chat = chat
    this.element = h(
      'aside',
      { class: 'panel', aria: { label: t('Notes') } },
      h(
        'header',
        { class: 'panel-head' },
        h('h2', {}, t('Notes')),
        iconButton('cross', t('Close the notes'), onClose),
      ),
      this.#list,
      form([this.#field], t('Add note'), () => this.#add()),
    )
    this.#unsubscribe = chat.notes.subscribe(() => void this.load())
    void this.load()
  }

  close(): void {
    this.#unsubscribe()
    this.element.remove()
  }

  focus(): void {
    this.#field.focus({ preventScroll: true })
  }

  async load(): Promise<void> {
    if (!this.#chat.id) return
    const asked = ++this.#asked
    try {
      const notes = await listNotes(this.#chat.id)
      if (asked === this.#asked) this.#draw(notes)
    } catch (error) {
      this.#list.replaceChildren(h('p', { class: 'list-note' }, messageOf(error)))
    }
  }

  async #add(): Promise<void> {
    const text = this.#field.value.trim()
    if (text === '' || !this.#chat.id) return
    this.#draw(await addNote(this.#chat.id, text))
    this.#field.value = ''
  }

  #draw(notes: Note[]): void {
    const shown = notes.map(({ author, timestamp, content }) => {
      const markdown = new MarkdownView()
      markdown.update(content, false)
      const by = author ? nameOf(author) : t('The agent')
      return h(
        'article',
        { class: 'note' },
        h('p', { class: 'note-head' }, `${by} · ${fullTime(timestamp)}`),
        markdown.element,
      )
    })
    const empty = h(
      'p',
      { class: 'list-note' },
      t('No notes yet. Notes are stored with the conversation and are not sent to the model.'),
    )
    const { scrollHeight, scrollTop, clientHeight } = this.#list
    const isAtEnd = scrollHeight - scrollTop - clientHeight < AT_END_PX
    this.#list.replaceChildren(...(shown.length > 0 ? shown : [empty]))
    this.#list.scrollTop = isAtEnd ? this.#list.scrollHeight : scrollTop
  }
}
