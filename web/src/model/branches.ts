// The courses of a conversation: which branches there are at each of its messages. A branch has its
// first messages in common with the one it was made from, and says how many.
import { get } from '../api/client'
import type { BranchList } from '../api/types'
import type { Chat } from './chat'
import type { UserItem } from './items'

interface Course {
  id: string
  from: string | null // null: the conversation itself
  at: number
  rootAt: number
  made: string
  changed: string
}

export interface Sibling {
  id: string
  isHere: boolean
}

export class Family {
  #root: string
  #courses = new Map<string, Course>()

  constructor({ conversationId, branches }: BranchList) {
    this.#root = conversationId
    const root = { id: conversationId, from: null, at: 0, rootAt: 0, made: '', changed: '' }
    this.#courses.set(conversationId, root)
    for (const { id, forkedFrom, at, rootAt, createdAt, updatedAt } of branches)
      this.#courses.set(id, { id, from: forkedFrom, at, rootAt, made: createdAt, changed: updatedAt })
  }

  /** The course and those it comes from, each with the number of messages in common. */
  #path(id: string): Map<string, number> {
    const path = new Map<string, number>()
    let common = Infinity
    for (let course = this.#courses.get(id); course && !path.has(course.id); ) {
      path.set(course.id, common)
      if (course.from === null) break
      // The one it was made from may be deleted by now, or a conversation of its own.
      const isThere = this.#courses.has(course.from)
      common = Math.min(common, isThere ? course.at : course.rootAt)
      course = this.#courses.get(isThere ? course.from : this.#root)
    }
    return path
  }

  #common(one: string, other: string): number {
    const path = this.#path(other)
    for (const [id, common] of this.#path(one)) {
      const theirs = path.get(id)
      if (theirs !== undefined) return Math.min(common, theirs)
    }
    return 0
  }

  /** The courses that differ in the message with this number; one of each, the oldest first. */
  siblings(here: string, number: number): Sibling[] {
    const groups: Course[][] = []
    for (const course of this.#courses.values()) {
      if (this.#common(here, course.id) < number - 1) continue
      const group = groups.find(([first]) => this.#common(first!.id, course.id) >= number)
      if (group) group.push(course)
      else groups.push([course])
    }
    const age = (group: Course[]) => group.map(({ made }) => made).sort()[0]!
    groups.sort((a, b) => (age(a) < age(b) ? -1 : 1))
    return groups.map((group) => {
      const isHere = group.some(({ id }) => id === here)
      const latest = group.reduce((a, b) => (b.changed > a.changed ? b : a))
      return { id: isHere ? here : latest.id, isHere }
    })
  }
}

/** Looks up the branches; the page shows them when they are there. */
export async function meetFamily(chat: Chat): Promise<void> {
  const list = await get<BranchList>(`conversations/${chat.id}/branches`).catch(() => null)
  if (!list || list.branches.length === 0) return
  await chat.countMessages()
  chat.family = new Family(list)
  chat.changes.notify()
}

export function siblingsOf(chat: Chat, item: UserItem): Sibling[] {
  const number = chat.family ? chat.numberIn(item) : null
  return number === null ? [] : chat.family!.siblings(chat.id!, number)
}
