// An app in full size covers the page: nothing behind it can be reached or read out.

/** Nothing but the element can be reached until this is undone; Escape is sent to it. */
export function cover(element: HTMLElement): () => void {
  const covered: HTMLElement[] = []
  for (let at = element; at !== document.body && at.parentElement; at = at.parentElement) {
    for (const other of at.parentElement.children) {
      if (other === at || !(other instanceof HTMLElement) || other.inert) continue
      if (other.matches('.toasts, [role="status"], [popover]')) continue
      other.inert = true
      covered.push(other)
    }
  }
  // Also when nothing of it has the focus.
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== 'Escape' || element.contains(event.target as Node)) return
    if (document.querySelector('[popover]:popover-open')) return
    event.stopPropagation()
    element.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape' }))
  }
  document.addEventListener('keydown', onKey, true)
  return () => {
    document.removeEventListener('keydown', onKey, true)
    for (const other of covered) other.inert = false
  }
}
