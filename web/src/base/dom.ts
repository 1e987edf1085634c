// Building DOM without strings of HTML: what is text stays text.

type Child = Node | string | null | undefined | false
type Handler<K extends keyof HTMLElementEventMap> = (event: HTMLElementEventMap[K]) => void

export interface Props {
  class?: string
  id?: string
  type?: string
  role?: string
  title?: string
  href?: string
  rel?: string
  target?: string
  dir?: string
  for?: string
  placeholder?: string
  autocomplete?: string
  enterkeyhint?: string
  spellcheck?: string
  popover?: string
  name?: string
  lang?: string
  rows?: number
  tabindex?: number
  hidden?: boolean
  disabled?: boolean
  required?: boolean
  readonly?: boolean
  aria?: Record<string, string | boolean | number>
  data?: Record<string, string>
  on?: { [K in keyof HTMLElementEventMap]?: Handler<K> }
}

/** h('button', {class: 'x', on: {click}}, 'Save'): an element with its attributes and children. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(props)) setProp(element, name, value)
  append(element, children)
  return element
}

function setProp(element: HTMLElement, name: string, value: unknown): void {
  if (value === undefined || value === false) return
  if (name === 'aria') {
    for (const [key, v] of Object.entries(value as object))
      element.setAttribute(`aria-${key}`, String(v))
  } else if (name === 'data') {
    for (const [key, v] of Object.entries(value as object)) element.dataset[key] = v
  } else if (name === 'on') {
    for (const [type, handler] of Object.entries(value as object))
      element.addEventListener(type, handler)
  } else {
    element.setAttribute(name, value === true ? '' : String(value))
  }
}

export function append(parent: Node, children: Iterable<Child>): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue
    parent.appendChild(typeof child === 'string' ? document.createTextNode(child) : child)
  }
}

export interface Keyed {
  readonly element: HTMLElement
}

/**
 * Makes the children of parent the elements of the given views, moving as little as possible,
 * so that focus, selection, scroll positions and the documents in frames survive.
 */
export function arrange(parent: HTMLElement, views: readonly Keyed[]): void {
  // What leaves goes first: whatever stays is then moved only if the order changes.
  const staying = new Set(views.map(({ element }) => element))
  for (const child of [...parent.children]) if (!staying.has(child as HTMLElement)) child.remove()
  let at = parent.firstElementChild
  for (const { element } of views) {
    if (element === at) at = at.nextElementSibling
    else parent.insertBefore(element, at)
  }
}

export function setText(element: Node, text: string): void {
  if (element.textContent !== text) element.textContent = text
}

export function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable ||
      target instanceof HTMLTextAreaElement ||
      target instanceof HTMLSelectElement ||
      target instanceof HTMLInputElement)
  )
}
