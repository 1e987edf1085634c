// Parts of the page that need a moment before they can be removed: apps are told that they end.

type End = () => Promise<void> | null

const ends = new WeakMap<Element, End>()

/** `end` is called before the element is removed by retire(); null: nothing has to be waited for. */
export function setEnd(element: HTMLElement, end: End): void {
  element.dataset.end = ''
  ends.set(element, end)
}

/** Removes an element; if something in it needs a moment, hides it until then. */
export function retire(element: HTMLElement): void {
  const parts = [element, ...element.querySelectorAll('[data-end]')]
  const pending = parts.map((part) => ends.get(part)?.()).filter(Boolean)
  if (pending.length === 0) {
    element.remove()
    return
  }
  element.hidden = true
  element.classList.add('is-leaving')
  void Promise.all(pending).then(() => element.remove())
}
