// The keys that work everywhere on the page.
import { isTyping } from '../base/dom'
import { isModKey } from '../base/keys'
import { nextTheme } from '../model/preferences'

export interface ShortcutActions {
  palette(): void
  search(): void
  newChat(): void
  toggleSidebar(): void
  help(): void
  compose(): void
  /** To the question of the agent. Returns false when there is none. */
  question(): boolean
  /** To the next message, or the one before. */
  step(by: 1 | -1): void
  /** Finds words in the conversation. Returns false where the browser can do that. */
  find(): boolean
  /** Returns false when there is no conversation to print: the browser prints the page. */
  print(): boolean
  /** Returns true when there was something to close or stop. */
  escape(): boolean
}

export function installShortcuts(actions: ShortcutActions): void {
  document.addEventListener('keydown', (event) => {
    if (event.isComposing || event.altKey) return
    if (find(event, actions)?.() !== undefined) event.preventDefault()
  })
}

/** The action for a key; it returns undefined to leave the key to the browser. */
function find(
  event: KeyboardEvent,
  actions: ShortcutActions,
): (() => true | undefined) | undefined {
  const isMod = isModKey(event)
  const key = event.key.toLowerCase()
  const take = (action: () => void) => () => {
    action()
    return true as const
  }
  if (event.key === 'Escape') return () => actions.escape() || undefined
  if (isMod && event.shiftKey)
    return { o: take(actions.newChat), l: take(nextTheme), f: take(actions.search) }[key]
  if (isMod && key === 'j') return () => actions.question() || undefined
  if (isMod && key === 'f') return () => actions.find() || undefined
  if (isMod && key === 'p') return () => actions.print() || undefined
  if (isMod) return { k: take(actions.palette), b: take(actions.toggleSidebar) }[key]
  if (isTyping(event.target)) return undefined
  return {
    '?': take(actions.help),
    '/': take(actions.compose),
    j: take(() => actions.step(1)),
    k: take(() => actions.step(-1)),
  }[key]
}
