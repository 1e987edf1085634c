// Questions of a tool to people while its call waits: a form by its schema, a page to visit, or the use of
// the model. One line once it is settled.
import type { FieldSchema, FormSchema, InputAction, InputRequest } from '../api/types'
import { announce } from '../base/announcer'
import { textButton } from '../base/controls'
import { h } from '../base/dom'
import { checkbox, field, input, select, type Option } from '../base/form'
import { icon } from '../base/icons'
import { msg, t } from '../base/words'
import { safeHref } from '../markdown/render'
import type { InputBlock } from '../model/items'
import { signed, type Ending } from './ask'
import { payload } from './payload'
import type { NoAnswer, OtherName } from './run'

export type OnInput = (action: InputAction, content?: Record<string, unknown>) => void

const OUTCOMES: Record<string, Ending> = {
  accept: [msg('Answered.'), msg('Answered by {name}.')],
  decline: [msg('Declined.'), msg('Declined by {name}.')],
  cancel: [msg('Cancelled.'), msg('Cancelled by {name}.')],
  timeout: [msg('Nobody answered in time.'), msg('Nobody answered in time.')],
}
const WITHDRAWN: Ending = [msg('The question was withdrawn.'), msg('The question was withdrawn by {name}.')]

/** A field on the page and what it says; undefined: nothing. */
interface BoundField {
  element: HTMLElement
  read(): unknown
}

export class InputView {
  readonly element = h('form', { class: 'ask', tabindex: -1 })
  #onInput: OnInput
  #otherName: OtherName
  #noAnswer: NoAnswer
  #shown: string | undefined
  #buttons: HTMLButtonElement[] = []
  #failure = h('p', { class: 'ask-failure', role: 'alert', hidden: true })

  constructor(onInput: OnInput, otherName: OtherName, noAnswer: NoAnswer) {
    this.#onInput = onInput
    this.#otherName = otherName
    this.#noAnswer = noAnswer
  }

  update({ request, outcome, by, sending }: InputBlock): void {
    const refusal = this.#noAnswer(request.forUserId)
    const shown = outcome ?? `open ${refusal ?? ''}`
    if (shown !== this.#shown) {
      this.#shown = shown
      if (outcome === null) this.#drawQuestion(request, refusal)
      else this.#drawOutcome(outcome, this.#otherName(by))
    }
    for (const button of this.#buttons) button.disabled = sending?.state === 'pending'
    this.#failure.hidden = sending?.state !== 'failed'
    this.#failure.textContent = sending?.state === 'failed' ? sending.message : ''
  }

  #drawQuestion(request: InputRequest, refusal: string | null): void {
    const fields = request.kind === 'form' && refusal === null ? fieldsOf(request.schema ?? {}) : []
    const accept = h('button', { type: 'submit', class: 'button is-primary' }, t(ACCEPT[request.kind]))
    const others = [
      textButton(t('Decline'), () => this.#onInput('decline')),
      textButton(t('Cancel'), () => this.#onInput('cancel')),
    ]
    this.#buttons = refusal === null ? [accept, ...others] : []
    this.element.onsubmit = (event) => {
      event.preventDefault()
      this.element.focus({ preventScroll: true })
      this.#onInput('accept', request.kind === 'form' ? contentOf(fields) : undefined)
    }
    const { source, message } = request
    const asked = t('{source} asks: {message}', { source, message })
    this.element.setAttribute('aria-label', asked)
    this.element.replaceChildren(
      h('p', { class: 'ask-title' }, icon('help'), t('{source} asks', { source })),
      h('p', { class: 'ask-message', dir: 'auto' }, message),
      ...details(request),
      ...fields.map(([, bound]) => bound.element),
      refusal === null ? h('div', { class: 'ask-buttons' }, ...this.#buttons) : h('p', { class: 'ask-refusal' }, refusal),
      this.#failure,
    )
    announce(asked)
  }

  #drawOutcome(outcome: string, by: string | null): void {
    const hadFocus = this.element.contains(document.activeElement)
    const note = signed(OUTCOMES[outcome] ?? WITHDRAWN, by)
    this.#buttons = []
    this.element.classList.add('is-settled')
    this.element.removeAttribute('aria-label') // without fields it is not a place to go to
    this.element.replaceChildren(icon(outcome === 'accept' ? 'check' : 'cross'), note)
    if (hadFocus) this.element.focus({ preventScroll: true })
    announce(note)
  }
}

const ACCEPT: Record<InputRequest['kind'], string> = {
  form: msg('Send'),
  url: msg('I have opened it'),
  sampling: msg('Allow'),
}

/** A link is shown in full: who follows it should know where it leads. */
function details({ kind, url, detail }: InputRequest): HTMLElement[] {
  if (kind === 'sampling') return detail ? [payload(t('Input for the model'), detail)] : []
  const href = kind === 'url' && url ? safeHref(url) : null
  if (!href) return []
  const props = { href, target: '_blank', rel: 'noopener noreferrer', class: 'ask-link' }
  return [h('a', props, href)]
}

function fieldsOf(schema: FormSchema): [string, BoundField][] {
  const required = schema.required ?? []
  return Object.entries(schema.properties ?? {}).map(([name, part]) => [
    name,
    bind(part, part.title ?? name, required.includes(name)),
  ])
}

function contentOf(fields: [string, BoundField][]): Record<string, unknown> {
  const entries = fields.map(([name, bound]) => [name, bound.read()] as const)
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
}

function bind(schema: FieldSchema, title: string, isRequired: boolean): BoundField {
  const label = isRequired ? title : t('{title} (optional)', { title })
  const options = optionsOf(schema)
  if (schema.type === 'boolean') {
    const [element, box] = checkbox(title, schema.default === true)
    return { element, read: () => box.checked }
  }
  if (schema.type === 'array') return bindMany(schema, label)
  if (options) {
    const first = isRequired ? [] : [{ value: '', label: '–' }]
    const control = select(
      [...first, ...options],
      String(schema.default ?? first[0]?.value ?? options[0]?.value ?? ''),
    )
    return {
      element: field(label, control, schema.description),
      read: () => control.value || undefined,
    }
  }
  return bindText(schema, label, isRequired)
}

function bindText(schema: FieldSchema, label: string, isRequired: boolean): BoundField {
  const isNumber = schema.type === 'number' || schema.type === 'integer'
  const types: Record<string, string> = { email: 'email', uri: 'url', date: 'date' }
  const control = input({
    type: isNumber ? 'number' : (types[schema.format ?? ''] ?? 'text'),
    required: isRequired,
    dir: 'auto',
    value: schema.default === undefined ? '' : String(schema.default),
  })
  if (schema.type === 'number') control.step = 'any'
  if (schema.minLength !== undefined) control.minLength = schema.minLength
  if (schema.maxLength !== undefined) control.maxLength = schema.maxLength
  if (schema.minimum !== undefined) control.min = String(schema.minimum)
  if (schema.maximum !== undefined) control.max = String(schema.maximum)
  const read = () => {
    if (control.value === '') return undefined
    return isNumber ? control.valueAsNumber : control.value
  }
  return { element: field(label, control, schema.description), read }
}

/** Several of a few choices. */
function bindMany(schema: FieldSchema, label: string): BoundField {
  const { enum: values = [], anyOf } = schema.items ?? {}
  const options = anyOf
    ? anyOf.map(({ const: v, title }) => ({ value: v, label: title ?? v }))
    : values.map((v) => ({ value: v, label: v }))
  const chosen = Array.isArray(schema.default) ? (schema.default as unknown[]) : []
  const boxes = options.map(({ value, label: text }) => {
    const [element, box] = checkbox(text, chosen.includes(value))
    return { value, element, box }
  })
  const element = h(
    'fieldset',
    { class: 'field' },
    h('legend', {}, label),
    ...boxes.map((b) => b.element),
  )
  return { element, read: () => boxes.filter(({ box }) => box.checked).map(({ value }) => value) }
}

function optionsOf({ enum: values, enumNames, oneOf }: FieldSchema): Option[] | null {
  if (oneOf) return oneOf.map(({ const: value, title }) => ({ value, label: title ?? value }))
  return values?.map((value, i) => ({ value, label: enumNames?.[i] ?? value })) ?? null
}
