// Conversations on the server: listing, reading, changing.
import { address, call, get } from './client'
import type { Conversation, ConversationPage, HistoryPage, Note, SearchPage } from './types'

export interface ListQuery {
  search?: string
  cursor?: string | null
  limit?: number
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

/** The newest page, or the one in front of a position. */
export function getHistory(
  id: string,
  before: number | null = null,
  limit = HISTORY_EVENTS,
): Promise<HistoryPage> {
  return get(`conversations/${id}/history`, { before, limit })
}

export function search(text: string, limit: number, signal?: AbortSignal): Promise<SearchPage> {
  return get('search', { q: text, limit }, signal)
}

export function renameConversation(id: string, title: string): Promise<Conversation> {
  return call('PATCH', `conversations/${id}`, { title })
}

/** A new conversation with the messages up to and including number atMessage, counted from 1. */
export function forkConversation(id: string, atMessage?: number): Promise<Conversation> {
  return call('POST', `conversations/${id}/fork`, atMessage === undefined ? {} : { atMessage })
}

export function deleteConversation(id: string): Promise<unknown> {
  return call('DELETE', `conversations/${id}`)
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

export function addParticipant(id: string, userId: string): Promise<Conversation> {
  return call('POST', `conversations/${id}/participants`, { userId })
}

export function removeParticipant(id: string, userId: string): Promise<Conversation> {
  return call('DELETE', `conversations/${id}/participants/${encodeURIComponent(userId)}`)
}

/** Tells the others that this person is writing. */
export async function sayTyping(id: string, isTyping: boolean): Promise<void> {
  await call('POST', `conversations/${id}/typing`, { isTyping })
}
