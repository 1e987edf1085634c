// Buttons, made in one way everywhere: labelled, of type button, with or without an icon.
import { h } from './dom'
import { icon, type IconName } from './icons'

/** A button that is only an icon; its label is for screen readers and the pointer. */
export function iconButton(
  name: IconName,
  label: string,
  click: () => void,
  className = '',
): HTMLButtonElement {
  const props = { type: 'button', class: `icon-button ${className}`.trim() }
  return h('button', { ...props, title: label, aria: { label }, on: { click } }, icon(name))
}

export function textButton(
  label: string,
  click: () => void,
  { class: className = 'button', icon: name }: { class?: string; icon?: IconName } = {},
): HTMLButtonElement {
  const props = { type: 'button', class: className, on: { click } }
  return h('button', props, name && icon(name), label)
}

/** Text for screen readers only. */
export function spoken(text: string): HTMLElement {
  return h('span', { class: 'visually-hidden' }, text)
}
