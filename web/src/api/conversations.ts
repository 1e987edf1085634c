// Conversations on the server: listing, reading, changing.
import { address, call, get } from './client'
import type { ConversationMarks, Trash } from './schema'
import type { Conversation, ConversationPage, HistoryPage, Note, SearchPage } from './types'

export interface ListQuery {
  search?: string
  cursor?: string | null
  limit?: number
  pinned?: boolean
  archived?: boolean
  unread?: boolean
  own?: boolean
  shared?: boolean
  project?: string
}

export function listConversations(
  query: ListQuery,
  signal?: AbortSignal,
): Promise<ConversationPage> {
  return get('conversations', { ...query }, signal)
}

export function getConversation(id: string): Promise<Conversation> {
  return get(`conversations/${id}`)
}

const HISTORY_EVENTS = 500 // per page: enough to fill a screen many times, little enough to be quick

const ahead = new Map<string, Promise<HistoryPage | null>>()

/** Asks for the newest page before it is known who is here: on a slow line that saves the wait. */
export function askAhead(id: string): void {
  ahead.set(id, askHistory(id, null, HISTORY_EVENTS).catch(() => null))
}

/** The newest page, or the one in front of a position. */
export async function getHistory(
  id: string,
  before: number | null = null,
  limit = HISTORY_EVENTS,
): Promise<HistoryPage> {
  const early = before === null ? ahead.get(id) : null
  ahead.delete(id) // it is the newest only once
  return (await early) ?? askHistory(id, before, limit)
}

function askHistory(id: string, before: number | null, limit: number): Promise<HistoryPage> {
  return get(`conversations/${id}/history`, { before, limit })
}

export function search(text: string, limit: number, signal?: AbortSignal): Promise<SearchPage> {
  return get('search', { q: text, limit }, signal)
}

export function renameConversation(id: string, title: string): Promise<Conversation> {
  return call('PATCH', `conversations/${id}`, { title })
}

/** A new conversation with the messages up to and including number atMessage, counted from 1. */
export function forkConversation(
  id: string,
  atMessage?: number,
  kind?: 'branch',
): Promise<Conversation> {
  return call('POST', `conversations/${id}/fork`, { atMessage, kind })
}

export function promoteBranch(id: string): Promise<Conversation> {
  return call('POST', `conversations/${id}/promote`)
}

export function deleteConversation(id: string): Promise<unknown> {
  return call('DELETE', `conversations/${id}`)
}

/** Out of the trash, too. */
export function purgeConversation(id: string): Promise<unknown> {
  return call('DELETE', `conversations/${id}?purge=true`)
}

export interface MarkChange {
  isPinned?: boolean
  isArchived?: boolean
  isUnread?: boolean
  readMessages?: number
}

/** What this person keeps about a conversation; nobody else sees it. */
export function markConversation(id: string, change: MarkChange): Promise<ConversationMarks> {
  return call('PATCH', `conversations/${id}/marks`, change)
}

export function listTrash(): Promise<Trash> {
  return get('trash')
}

export function restoreConversation(id: string): Promise<Conversation> {
  return call('POST', `conversations/${id}/restore`)
}

export const EXPORT_FORMATS = ['markdown', 'html', 'json', 'jsonl'] as const
export type ExportFormat = (typeof EXPORT_FORMATS)[number]

export function exportAddress(id: string, format: ExportFormat): string {
  return address(`conversations/${id}/export`, { format })
}

export async function listNotes(id: string): Promise<Note[]> {
  return (await get<{ notes: Note[] }>(`conversations/${id}/notes`)).notes
}

export async function addNote(id: string, content: string): Promise<Note[]> {
  return (await call<{ notes: Note[] }>('POST', `conversations/${id}/notes`, { content })).notes
}

export function shareConversation(id: string): Promise<Conversation> {
  return call('POST', `conversations/${id}/share`, {})
}

export function unshareConversation(id: string): Promise<Conversation> {
  return call('POST', `conversations/${id}/unshare`)
}

export type Role = 'write' | 'read'

/** Also changes the role of somebody who takes part already. */
export function addParticipant(id: string, userId: string, role: Role): Promise<Conversation> {
  return call('POST', `conversations/${id}/participants`, { userId, role })
}

export function removeParticipant(id: string, userId: string): Promise<Conversation> {
  return call('DELETE', `conversations/${id}/participants/${encodeURIComponent(userId)}`)
}

/** Ends one's own part in it. */
export async function leaveConversation(id: string): Promise<void> {
  await call('POST', `conversations/${id}/leave`)
}

/** Tells the others that this person is writing. */
export async function sayTyping(id: string, isTyping: boolean): Promise<void> {
  await call('POST', `conversations/${id}/typing`, { isTyping })
}
