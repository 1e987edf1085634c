// Fields with their labels, made in one way everywhere.
import { h, type Props } from './dom'

let count = 0

export interface FieldProps extends Props {
  hint?: string
}

type Control = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement

/** The label above, the control, and what should be known about it below. */
export function field(label: string, control: Control, hint = ''): HTMLElement {
  const id = (control.id ||= `field-${++count}`)
  if (hint) control.setAttribute('aria-describedby', `${id}-hint`)
  return h(
    'div',
    { class: 'field' },
    h('label', { for: id }, label),
    control,
    hint !== '' && h('p', { class: 'field-hint', id: `${id}-hint` }, hint),
  )
}

export function input(props: Props & { value?: string } = {}): HTMLInputElement {
  const { value, ...rest } = props
  const element = h('input', { type: 'text', class: 'input', autocomplete: 'off', ...rest })
  if (value !== undefined) element.value = value
  return element
}

export function textarea(props: Props & { value?: string } = {}): HTMLTextAreaElement {
  const { value, ...rest } = props
  const element = h('textarea', { class: 'input', rows: 4, dir: 'auto', ...rest })
  if (value !== undefined) element.value = value
  return element
}

export interface Option {
  value: string
  label: string
}

export function select(options: readonly Option[], value = ''): HTMLSelectElement {
  const element = h('select', { class: 'input' })
  for (const { value: key, label } of options) {
    const option = h('option', {}, label)
    option.value = key
    element.append(option)
  }
  element.value = value
  return element
}

/** A box to tick with its label behind it. */
export function checkbox(label: string, isChecked: boolean): [HTMLElement, HTMLInputElement] {
  const box = h('input', { type: 'checkbox' })
  box.checked = isChecked
  return [h('label', { class: 'check' }, box, h('span', {}, label)), box]
}

/** A form that is sent by Enter and by its button; what it throws is shown in it. */
export function form(
  children: readonly HTMLElement[],
  submitLabel: string,
  onSubmit: () => Promise<void>,
): HTMLFormElement {
  const button = h('button', { type: 'submit', class: 'button is-primary' }, submitLabel)
  const failure = h('p', { class: 'form-failure', role: 'alert', hidden: true })
  const run = async () => {
    button.disabled = true
    failure.hidden = true
    try {
      await onSubmit()
    } catch (error) {
      failure.textContent = error instanceof Error ? error.message : String(error)
      failure.hidden = false
    } finally {
      button.disabled = false
    }
  }
  const onEvent = (event: Event) => {
    event.preventDefault()
    void run()
  }
  const buttons = h('div', { class: 'form-buttons' }, button)
  return h('form', { class: 'form', on: { submit: onEvent } }, ...children, failure, buttons)
}
