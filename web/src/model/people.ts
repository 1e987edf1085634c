// Names of people, by id: from the workspace's members where they may be seen, else from what
// messages say.
import { Signal } from '../base/signal'
import { t } from '../base/words'

export interface Person {
  id: string
  displayName: string
  email?: string
}

export const people = new Signal<ReadonlyMap<string, Person>>(new Map())

export function learnPeople(more: readonly Person[]): void {
  if (more.length === 0) return
  people.value = new Map([...people.value, ...more.map((person) => [person.id, person] as const)])
}

/** Without a display name: the id without its prefix. */
export function nameOf(userId: string | null, said: string | null = null): string {
  const known = userId ? people.value.get(userId)?.displayName : null
  return known ?? said ?? userId?.replace(/^(?:usr|user)_/, '') ?? t('Someone')
}
