// Announcements for screen readers. One polite region for the whole page.
import { h } from './dom'

const region = h('div', { class: 'visually-hidden', role: 'status', aria: { live: 'polite' } })
const ANNOUNCE_MAX = 2000

export function announcer(): HTMLElement {
  return region
}

export function announce(text: string): void {
  region.textContent = text.slice(0, ANNOUNCE_MAX)
}
