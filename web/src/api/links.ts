// Links with which people without an account read a conversation.
import { call, get } from './client'
import type { Link, LinkList, NewLink } from './schema'

export type { Link, LinkList, NewLink } from './schema'

export function listLinks(conversationId: string): Promise<LinkList> {
  return get(`conversations/${conversationId}/links`)
}

export function addLink(conversationId: string, expiresInDays: number, tools: boolean): Promise<NewLink> {
  return call('POST', `conversations/${conversationId}/links`, { expiresInDays, tools })
}

export function revokeLink({ conversationId, id }: Link): Promise<unknown> {
  return call('DELETE', `conversations/${conversationId}/links/${id}`)
}

/** Of the whole workspace; for its admins. */
export function listAllLinks(): Promise<LinkList> {
  return get('links')
}

export function revokeAnyLink({ id }: Link): Promise<unknown> {
  return call('DELETE', `links/${id}`)
}
