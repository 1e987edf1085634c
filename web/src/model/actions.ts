// Actions on whole conversations, for every place that offers them: lists, the top
// bar, the palette, messages. Failures are told; what can be undone offers it.
import { messageOf } from '../api/client'
import * as api from '../api/conversations'
import type { Conversation, FilePart } from '../api/types'
import { go, hrefOf, route } from '../base/router'
import { toast } from '../base/toast'
import { msg, t } from '../base/words'
import type { App } from './app'
import type { Chat } from './chat'
import type { Item, UserItem } from './items'

/** failure: what is told when it fails, with `{why}`. */
async function attempt<T>(failure: string, action: () => Promise<T>): Promise<T | null> {
  try {
    return await action()
  } catch (error) {
    toast(t(failure, { why: messageOf(error) }))
    return null
  }
}

export function titleOf(conversation: Pick<Conversation, 'title' | 'preview'>): string {
  return conversation.title ?? (conversation.preview.trim() || t('New conversation'))
}

/** What is known about it, wherever it is known. */
export function known(app: App, id: string): Conversation | undefined {
  const { value: chat } = app.chat
  return app.conversations.find(id) ?? (chat?.id === id ? (chat.conversation ?? undefined) : undefined)
}

export async function rename(app: App, id: string, title: string): Promise<void> {
  const before = app.conversations.find(id)?.title
  app.conversations.amend(id, { title })
  const done = await attempt(msg('Renaming failed. {why}'), () => api.renameConversation(id, title))
  if (!done && before !== undefined) app.conversations.amend(id, { title: before })
  app.conversations.touch()
}

/** A page that shows it opens a new chat. */
function closeIfOpen(app: App, id: string): boolean {
  const where = route.value
  const isOpen = where.name === 'conversation' && where.id === id
  if (isOpen) app.newChat()
  return isOpen
}

/** Moves it to the trash. */
export async function remove(app: App, id: string): Promise<void> {
  const title = titleOf(known(app, id) ?? { title: null, preview: '' })
  const isOpen = closeIfOpen(app, id)
  app.conversations.hide(id)
  const done = await attempt(msg('Deleting failed. {why}'), () => api.deleteConversation(id))
  app.conversations.unhide(id)
  app.conversations.touch()
  if (done) toast(t('Deleted “{title}”', { title }), { label: t('Undo'), run: () => void restore(app, id, isOpen) })
}

/** Changes what this person keeps about it: pins, archive, reading. */
export async function mark(app: App, id: string, change: api.MarkChange): Promise<void> {
  const failure = change.isArchived === undefined ? msg('Marking failed. {why}') : msg('Archiving failed. {why}')
  const done = await attempt(failure, () => api.markConversation(id, change))
  if (done) app.conversations.amend(id, done)
  app.conversations.touch()
}

export async function archive(app: App, id: string): Promise<void> {
  const title = titleOf(known(app, id) ?? { title: null, preview: '' })
  await mark(app, id, { isArchived: true })
  const undo = () => void mark(app, id, { isArchived: false })
  toast(t('Archived “{title}”', { title }), { label: t('Undo'), run: undo })
}

/** Ends one's own part in it: it goes from the list, and only those who stay can bring it back. */
export async function leave(app: App, id: string): Promise<void> {
  const title = titleOf(known(app, id) ?? { title: null, preview: '' })
  const done = await attempt(msg('Leaving failed. {why}'), async () => {
    await api.leaveConversation(id)
    return true
  })
  if (!done) return
  closeIfOpen(app, id)
  app.conversations.touch()
  toast(t('You have left “{title}”', { title }))
}

async function restore(app: App, id: string, wasOpen: boolean): Promise<void> {
  const done = await attempt(msg('Restoring failed. {why}'), () => api.restoreConversation(id))
  app.conversations.touch()
  if (done && wasOpen) go({ name: 'conversation', id })
}

export async function fork(app: App, id: string): Promise<void> {
  const made = await attempt(msg('Forking failed. {why}'), () => api.forkConversation(id))
  if (made) open(app, made)
}

/** A fork that ends with the item. */
export async function forkAt(app: App, chat: Chat, item: Item): Promise<void> {
  const made = await attempt(msg('Forking failed. {why}'), async () =>
    api.forkConversation(chat.id!, await chat.numberOf(item)),
  )
  if (made) open(app, made)
}

const ASKING_FAILED = msg('Asking again failed. {why}')

/**
 * Asks differently, or the same once more: in a branch that ends before the question, or in a fork
 * where only the owner makes branches.
 */
export async function revise(
  app: App,
  chat: Chat,
  item: UserItem,
  text: string,
  model: string | null = null,
): Promise<void> {
  const files = await attempt(ASKING_FAILED, () => filesFor(chat, item))
  const number = files && (await attempt(ASKING_FAILED, () => chat.numberOf(item)))
  if (files === null || number === null) return
  const kind = chat.conversation?.may.branch ? 'branch' : undefined
  const made = await attempt(ASKING_FAILED, () =>
    api.forkConversation(chat.id!, number - 1, kind),
  )
  if (!made) return
  open(app, made)
  const { value: next } = app.chat
  if (next?.id !== made.id) return
  next.model = model ?? chat.model
  next.describe(made)
  await next.send(text, 'refuse', files)
}

async function filesFor(chat: Chat, { userId, files = [] }: UserItem): Promise<FilePart[]> {
  if (userId === null || userId === chat.me || files.length === 0) return files
  const { takeFile } = await import('../files/files')
  return Promise.all(files.map((part) => takeFile(chat.id!, part)))
}

/** A branch becomes a conversation of its own. */
export async function promote(app: App, id: string): Promise<void> {
  const made = await attempt(msg('Making it a conversation of its own failed. {why}'), () => api.promoteBranch(id))
  const { value: chat } = app.chat
  if (!made) return
  if (chat?.id === id) {
    chat.family = null
    chat.describe(made)
  }
  app.conversations.touch()
  toast(t('It is a conversation of its own now.'))
}

function open(app: App, conversation: Conversation): void {
  app.conversations.touch()
  go({ name: 'conversation', id: conversation.id })
}

/** The address of a message, for others who may see the conversation. */
export function linkTo(id: string, at?: number): string {
  return new URL(hrefOf({ name: 'conversation', id, at }), document.baseURI).href
}

export function download(id: string, format: api.ExportFormat): void {
  const link = document.createElement('a')
  link.href = api.exportAddress(id, format)
  link.download = ''
  link.click()
}
