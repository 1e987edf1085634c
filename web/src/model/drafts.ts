// Text that was typed and not sent, stored per conversation.
import { recall, remember } from '../base/storage'

const DRAFTS_MAX = 50
const DRAFT_CHARS_MAX = 100_000

type Entry = [key: string, text: string]

function keyOf(conversationId: string | null): string {
  return conversationId ?? 'new'
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
