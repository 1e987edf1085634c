// A menu that opens at a button or a point: arrow keys move, Escape and a click elsewhere close.
import { h } from './dom'
import { icon, type IconName } from './icons'

export interface MenuItem {
  label: string
  icon?: IconName
  hint?: string
  isDangerous?: boolean
  isChecked?: boolean
  run(): void
}

const GAP_PX = 4
const EDGE_PX = 8

export function openMenu(anchor: HTMLElement, items: readonly MenuItem[], label: string): void {
  const menu = h('div', { class: 'menu', role: 'menu', popover: 'auto', aria: { label } })
  menu.append(...items.map((item) => entry(item, () => menu.hidePopover())))
  menu.addEventListener('keydown', (event) => onKey(menu, event))
  menu.addEventListener('toggle', (event) => {
    if (event.newState !== 'closed') return
    if (menu.contains(document.activeElement)) anchor.focus()
    anchor.setAttribute('aria-expanded', 'false')
    menu.remove()
  })
  // In the landmark of its button; in a modal dialog, everything outside could not be reached.
  const place = anchor.closest('dialog, main, aside') ?? document.body
  place.append(menu)
  menu.showPopover()
  anchor.setAttribute('aria-expanded', 'true')
  position(menu, anchor.getBoundingClientRect())
  menu.querySelector('button')?.focus()
}

/**
 * Linux and macOS ask for the menu when the right button is pressed. Its release is a click elsewhere,
 * for which some browsers close the menu again: it opens after that.
 */
export function onContextMenu(element: HTMLElement, open: () => void): void {
  element.addEventListener('contextmenu', (event) => {
    event.preventDefault()
    if (event.buttons === 0) open()
    else addEventListener('pointerup', () => setTimeout(open), { once: true })
  })
}

function entry(item: MenuItem, close: () => void): HTMLElement {
  const isChoice = item.isChecked !== undefined
  const onClick = () => {
    close()
    item.run()
  }
  return h(
    'button',
    {
      type: 'button',
      class: item.isDangerous ? 'menu-item is-dangerous' : 'menu-item',
      role: isChoice ? 'menuitemradio' : 'menuitem',
      aria: isChoice ? { checked: item.isChecked! } : {},
      on: { click: onClick },
    },
    item.icon ? icon(item.icon) : isChoice && icon(item.isChecked ? 'check' : 'none'),
    h('span', { class: 'menu-label' }, item.label),
    item.hint !== undefined && h('span', { class: 'menu-hint' }, item.hint),
  )
}

/** Below the anchor, above it without room below, and never beyond the window. */
function position(menu: HTMLElement, at: DOMRect): void {
  const { offsetWidth: width, offsetHeight: height } = menu
  const below = at.bottom + GAP_PX
  const fits = below + height + EDGE_PX <= innerHeight
  const top = fits ? below : Math.max(EDGE_PX, at.top - height - GAP_PX)
  const start = getComputedStyle(menu).direction === 'rtl' ? at.right - width : at.left
  const left = Math.min(Math.max(EDGE_PX, start), innerWidth - width - EDGE_PX)
  menu.style.top = `${top}px`
  menu.style.left = `${left}px`
}

function onKey(menu: HTMLElement, event: KeyboardEvent): void {
  const all = [...menu.querySelectorAll('button')]
  const at = all.indexOf(document.activeElement as HTMLButtonElement)
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[event.key]
  if (event.key === 'Tab') menu.hidePopover()
  if (event.key === 'Escape') event.stopPropagation() // the menu's own business
  if (to === undefined) return
  event.preventDefault()
  all.at(to % all.length)?.focus()
}
