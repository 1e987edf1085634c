// The keys that work everywhere on the page.
import { isTyping } from '../base/dom'
import { isModKey, MOD, SHIFT } from '../base/keys'
import { msg } from '../base/words'
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
  /** Returns false when there is no conversation to print: the browser prints the page. */
  print(): boolean
  /** Returns true when there was something to close or stop. */
  escape(): boolean
}
/** For the help sheet, in its order. */
export const SHORTCUTS: readonly { keys: string[]; what: string }[] = [
  { keys: [msg('Enter')], what: msg('Send the message') },
  { keys: [SHIFT, msg('Enter')], what: msg('New line') },
  { keys: ['↑'], what: msg('Edit your last message, from an empty field') },
  { keys: [msg('Esc')], what: msg('Stop the answer, or close what is open') },
  { keys: [MOD, msg('Enter')], what: msg('Add the message to the running answer') },
  { keys: [MOD, 'J'], what: msg('Go to the question of the agent') },
  { keys: ['Y', 'N'], what: msg('Allow or decline, when the question has the focus') },
  { keys: [MOD, 'K'], what: msg('Commands and conversations') },
  { keys: [MOD, SHIFT, 'F'], what: msg('Search in all messages') },
  { keys: [MOD, SHIFT, 'O'], what: msg('New chat') },
  { keys: [MOD, 'P'], what: msg('Print the whole conversation') },
  { keys: [MOD, 'B'], what: msg('Show or hide the sidebar') },
  { keys: [MOD, SHIFT, 'L'], what: msg('Change the theme') },
  { keys: ['/'], what: msg('Go to the message field') },
  { keys: ['J'], what: msg('Next message') },
  { keys: ['K'], what: msg('Previous message') },
  { keys: ['?'], what: msg('Show this help') },
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
  if (isMod && key === 'j') return () => actions.question() || undefined
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
