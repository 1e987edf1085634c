// The keys that work everywhere on the page.
import { isTyping } from '../base/dom'
import { isModKey, MOD, SHIFT } from '../base/keys'
import { nextTheme } from '../model/preferences'

export interface ShortcutActions {
  palette(): void
  search(): void
  newChat(): void
  toggleSidebar(): void
  help(): void
  compose(): void
  /** To the next message, or the one before. */
  step(by: 1 | -1): void
  /** Returns false when there is no conversation to print: the browser prints the page. */
  print(): boolean
  /** Returns true when there was something to close or stop. */
  escape(): boolean
}
/** For the help sheet, in its order. */
export const SHORTCUTS: readonly { keys: string[]; what: string }[] = [
  { keys: ['Enter'], what: 'Send the message' },
  { keys: [SHIFT, 'Enter'], what: 'New line' },
  { keys: ['↑'], what: 'Edit your last message, from an empty field' },
  { keys: ['Esc'], what: 'Stop the answer, or close what is open' },
  { keys: [MOD, 'Enter'], what: 'Add the message to the running answer' },
  { keys: [MOD, 'K'], what: 'Commands and conversations' },
  { keys: [MOD, SHIFT, 'F'], what: 'Search in all messages' },
  { keys: [MOD, SHIFT, 'O'], what: 'New chat' },
  { keys: [MOD, 'P'], what: 'Print the whole conversation' },
  { keys: [MOD, 'B'], what: 'Show or hide the sidebar' },
  { keys: [MOD, SHIFT, 'L'], what: 'Change the theme' },
  { keys: ['/'], what: 'Go to the message field' },
  { keys: ['J'], what: 'Next message' },
  { keys: ['K'], what: 'Previous message' },
  { keys: ['?'], what: 'Show this help' },
]

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
