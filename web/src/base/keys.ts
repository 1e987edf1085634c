// The keys of this machine, and what is written on them.
import { msg } from './words'

export const isMac = /Mac|iPhone|iPad/.test(navigator.platform)
export const MOD = isMac ? '⌘' : msg('Ctrl')
export const SHIFT = isMac ? '⇧' : msg('Shift')

/** The key that goes with letters for commands. */
export function isModKey(event: KeyboardEvent): boolean {
  return isMac ? event.metaKey : event.ctrlKey
}
