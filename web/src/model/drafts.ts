// Text that was typed and not sent, and messages that could not be sent, stored per conversation.
import type { FilePart } from '../api/types'
import { session } from '../api/client'
import { recall, remember } from '../base/storage'

const DRAFTS_MAX = 50
const DRAFT_CHARS_MAX = 100_000

type Entry = [key: string, text: string]

function keyOf(conversationId: string | null): string {
  return conversationId ?? `new/${session.workspaceId ?? ''}`
}

export function loadDraft(conversationId: string | null): string {
  const key = keyOf(conversationId)
  return recall<Entry[]>('drafts', []).find(([k]) => k === key)?.[1] ?? ''
}

export function saveDraft(conversationId: string | null, text: string): void {
  const key = keyOf(conversationId)
  const others = recall<Entry[]>('drafts', []).filter(([k]) => k !== key)
  const entries: Entry[] = text ? [[key, text.slice(0, DRAFT_CHARS_MAX)], ...others] : others
  remember('drafts', entries.slice(0, DRAFTS_MAX))
}

/** A message that could not be sent. */
export interface Unsent {
  text: string
  files: FilePart[]
  forPeople: boolean
  at: string
  message: string // why not
}

const UNSENT_MAX = 20

type AllUnsent = Record<string, Unsent[]>

const unsentKey = (conversationId: string | null, me: string): string => `${me}/${keyOf(conversationId)}`

/** Those of this person and this tab: loading the page again must not lose them, and another tab must not send them too. */
export function loadUnsent(conversationId: string | null, me: string): Unsent[] {
  return recall<AllUnsent>('unsent', {}, true)[unsentKey(conversationId, me)] ?? []
}

export function saveUnsent(conversationId: string | null, me: string, messages: readonly Unsent[]): void {
  const key = unsentKey(conversationId, me)
  const { [key]: _, ...others } = recall<AllUnsent>('unsent', {}, true)
  const all = messages.length > 0 ? { ...others, [key]: messages.slice(-UNSENT_MAX) } : others
  remember('unsent', Object.keys(all).length > 0 ? all : null, true)
}
