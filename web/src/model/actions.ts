// Actions on whole conversations, for every place that offers them: lists, the top
// bar, the palette, messages. Failures are told; what can be undone offers it.
import { messageOf } from '../api/client'
import * as api from '../api/conversations'
import type { Conversation } from '../api/types'
import { go, hrefOf, route } from '../base/router'
import { toast } from '../base/toast'
import type { App } from './app'
import type { Chat } from './chat'
import type { Item, UserItem } from './items'

async function attempt<T>(what: string, action: () => Promise<T>): Promise<T | null> {
  try {
    return await action()
  } catch (error) {
    toast(`${what} failed. ${messageOf(error)}`)
    return null
  }
}

export function titleOf(conversation: Pick<Conversation, 'title' | 'preview'>): string {
  return conversation.title ?? (conversation.preview.trim() || 'New conversation')
}

export async function rename(app: App, id: string, title: string): Promise<void> {
  const before = app.conversations.find(id)?.title
  app.conversations.amend(id, { title })
  const done = await attempt('Renaming', () => api.renameConversation(id, title))
  if (!done && before !== undefined) app.conversations.amend(id, { title: before })
  app.conversations.touch()
}

/** Moves it to the trash. A page that shows it opens a new chat. */
export async function remove(app: App, id: string): Promise<void> {
  const title = titleOf(app.conversations.find(id) ?? { title: null, preview: '' })
  const where = route.value
  const isOpen = where.name === 'conversation' && where.id === id
  if (isOpen) app.newChat()
  app.conversations.hide(id)
  const done = await attempt('Deleting', () => api.deleteConversation(id))
  app.conversations.unhide(id)
  app.conversations.touch()
  if (done) toast(`Deleted “${title}”`, { label: 'Undo', run: () => void restore(app, id, isOpen) })
}

async function restore(app: App, id: string, wasOpen: boolean): Promise<void> {
  const done = await attempt('Restoring', () => api.restoreConversation(id))
  app.conversations.touch()
  if (done && wasOpen) go({ name: 'conversation', id })
}

export async function fork(app: App, id: string): Promise<void> {
  const made = await attempt('Forking', () => api.forkConversation(id))
  if (made) open(app, made)
}

/** A fork that ends with the item. */
export async function forkAt(app: App, chat: Chat, item: Item): Promise<void> {
  const made = await attempt('Forking', async () =>
    api.forkConversation(chat.id!, await chat.numberOf(item)),
  )
  if (made) open(app, made)
}

/** Asks differently: a fork that ends before the question, and the new wording in it. */
export async function revise(app: App, chat: Chat, item: UserItem, text: string): Promise<void> {
  const number = await attempt('Forking', () => chat.numberOf(item))
  if (number === null) return
  if (number <= 1) {
    app.newChat()
  } else {
    const made = await attempt('Forking', () => api.forkConversation(chat.id!, number - 1))
    if (!made) return
    open(app, made)
  }
  await app.chat.value?.send(text)
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
