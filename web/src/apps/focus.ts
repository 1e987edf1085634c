// The keyboard of somebody who writes in the page stays there: a document in a frame can take the focus
// whenever it likes, and would hear what is typed. A frame that takes it from somebody who is writing gives
// it back; one that does so again and again is stopped. A page is not told of clicks into frames, so
// they are guessed: a moment after the person has done something in the page, and not long after they have
// done anything at all.
import { isTyping } from '../base/dom'

const TAB_MS = 1000 // the focus that a Tab moves comes within this time
const PAUSE_MS = 700 // somebody who wants to click has stopped writing
const NEW_MS = 2000 // many apps take the focus when they start; nobody clicks on them by then
const THEFTS_MAX = 3 // from somebody who is writing or has just clicked
const GRABS_MAX = 20 // in all
const THEFTS_MS = 10_000

interface Guard {
  frame: HTMLElement
  since: number
  grabs: { at: number; isTheft: boolean }[]
  onThief(): void
}

const guards = new Set<Guard>()
let field: HTMLElement | null = null // where the person writes, or wrote until the focus was taken
let signAt = 0 // when the person did something in the page
let isTab = false
let isGivingBack = false

function onFocusIn({ target }: Event): void {
  field = isTyping(target) ? (target as HTMLElement) : null
  if (!isGivingBack) signAt = performance.now()
}

/** The person has left the field for nothing in particular. */
function onFocusOut(): void {
  setTimeout(() => {
    if (document.activeElement === document.body) field = null
  })
}

function onSign(event: Event): void {
  signAt = performance.now()
  isTab = event instanceof KeyboardEvent && event.key === 'Tab'
}

/** The focus has left the document: perhaps into a frame. */
function onBlur(): void {
  setTimeout(() => {
    const guard = [...guards].find(({ frame }) => frame === document.activeElement)
    if (!guard || !field?.isConnected || field.closest('[inert]')) return
    if (isWanted(guard)) field = null
    else giveBack(guard, field)
  })
}

function isWanted({ since }: Guard): boolean {
  const now = performance.now()
  if (isTab && now - signAt < TAB_MS) return true
  if (now - signAt < PAUSE_MS || now - since < NEW_MS) return false
  return navigator.userActivation.isActive // also by a click in the frame
}

function giveBack(guard: Guard, to: HTMLElement): void {
  const now = performance.now()
  const recent = guard.grabs.filter(({ at }) => now - at < THEFTS_MS)
  guard.grabs = [...recent, { at: now, isTheft: now - signAt < PAUSE_MS }]
  const thefts = guard.grabs.filter(({ isTheft }) => isTheft)
  if (thefts.length >= THEFTS_MAX || guard.grabs.length >= GRABS_MAX) guard.onThief()
  else guard.frame.blur()
  isGivingBack = true
  focus()
  to.focus({ preventScroll: true })
  isGivingBack = false
}

function listen(): void {
  document.addEventListener('focusin', onFocusIn)
  document.addEventListener('focusout', onFocusOut)
  document.addEventListener('keydown', onSign, true)
  document.addEventListener('pointerdown', onSign, true)
  addEventListener('blur', onBlur)
  if (isTyping(document.activeElement)) field = document.activeElement as HTMLElement
}

function unlisten(): void {
  document.removeEventListener('focusin', onFocusIn)
  document.removeEventListener('focusout', onFocusOut)
  document.removeEventListener('keydown', onSign, true)
  document.removeEventListener('pointerdown', onSign, true)
  removeEventListener('blur', onBlur)
}

/** Watches a frame; onThief has to remove it. Returns how to end it. */
export function guardFocus(frame: HTMLElement, onThief: () => void): () => void {
  const guard: Guard = { frame, since: performance.now(), grabs: [], onThief }
  if (guards.size === 0) listen()
  guards.add(guard)
  return () => {
    if (guards.delete(guard) && guards.size === 0) unlisten()
  }
}
