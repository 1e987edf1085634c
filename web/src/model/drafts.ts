// Text that was typed and not sent, and messages that could not be sent, stored per person and conversation: several people
// may use one browser.
import type { FilePart } from '../api/types'
import { session } from '../api/client'
import { recall, remember } from '../base/storage'

const DRAFTS_MAX = 50
const DRAFT_CHARS_MAX = 100_000

type Entry = [person: string, key: string, text: string]

let isLeaving = false // the page is about to end, and must not store anything again

function keyOf(conversationId: string | null): string {
  return conversationId ?? `new/${session.workspaceId ?? ''}`
}

/** Earlier versions stored drafts without a person: nobody knows whose they are. */
function drafts(): Entry[] {
  const stored = recall<Entry[]>('drafts', [])
  const owned = stored.filter((entry) => entry.length === 3)
  if (owned.length < stored.length) remember('drafts', owned)
  return owned
}

const isOf = (conversationId: string | null, me: string) => {
  const key = keyOf(conversationId)
  return ([person, k]: Entry): boolean => person === me && k === key
}

export function loadDraft(conversationId: string | null, me: string): string {
  return drafts().find(isOf(conversationId, me))?.[2] ?? ''
}

export function saveDraft(conversationId: string | null, me: string, text: string): void {
  if (isLeaving) return
  const isThis = isOf(conversationId, me)
  const others = drafts().filter((entry) => !isThis(entry))
  const entry: Entry = [me, keyOf(conversationId), text.slice(0, DRAFT_CHARS_MAX)]
  remember('drafts', (text ? [entry, ...others] : others).slice(0, DRAFTS_MAX))
}

/** A message that could not be sent. */
export interface Unsent {
  text: string
  files: FilePart[]
  forPeople: boolean
  projectId?: string | null // where its conversation would begin
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
  if (isLeaving) return
  const key = unsentKey(conversationId, me)
  const { [key]: _, ...others } = recall<AllUnsent>('unsent', {}, true)
  const all = messages.length > 0 ? { ...others, [key]: messages.slice(-UNSENT_MAX) } : others
  remember('unsent', Object.keys(all).length > 0 ? all : null, true)
}

/** Removes everything of the above from the browser, before the page is loaded for somebody else. */
export function forgetTexts(): void {
  isLeaving = true
  remember('drafts', null)
  remember('unsent', null, true)
}
