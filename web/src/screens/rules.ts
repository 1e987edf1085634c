// The rules by name, edited: three lists of names with *, and what holds for all others.
import {
  RULES,
  setPermissions,
  withdrawConsent,
  type Permissions,
  type Rule,
  type Rules,
} from '../api/permissions'
import { messageOf } from '../api/client'
import { announce } from '../base/announcer'
import { iconButton, textButton } from '../base/controls'
import { h } from '../base/dom'
import { field, form, input, select } from '../base/form'
import { toast } from '../base/toast'
import { empty, lead, section } from './parts'

const NAME = /^[\w*-]{1,128}$/ // as the server has it

const TITLES: Record<Rule, string> = { allow: 'Always allow', ask: 'Ask first', deny: 'Never allow' }

const DEFAULTS = [
  { value: 'allow', label: 'Allow, but ask before dangerous ones' },
  { value: 'ask', label: 'Ask' },
]

const HINT = 'The name of a tool, or several with *: files__read, mail__*'

/** Names that are added and removed; the last thing typed counts too, added or not. */
class NameList {
  readonly element: HTMLElement
  readonly #names: string[]
  readonly #list = h('ul', { class: 'names' })
  readonly #input: HTMLInputElement
  readonly #failure = h('p', { class: 'form-failure', role: 'alert', hidden: true })
  readonly #title: string
  readonly #onChanged: () => void

  constructor(title: string, names: readonly string[], onChanged: () => void) {
    this.#title = title
    this.#names = [...names]
    this.#onChanged = onChanged
    this.#input = input({
      class: 'input is-code',
      spellcheck: 'false',
      aria: { label: `${title}: name` },
      on: { keydown: (event) => this.#onKey(event) },
    })
    const add = textButton('Add', () => void this.commit(), { icon: 'plus' })
    add.setAttribute('aria-label', `${title}: add`)
    this.element = h(
      'fieldset',
      { class: 'field' },
      h('legend', {}, title),
      this.#list,
      h('div', { class: 'share-add' }, this.#input, add),
      this.#failure,
    )
    this.#draw()
  }

  get names(): string[] {
    return [...this.#names]
  }

  /** Adds the typed name to the list; false when it is not a name. */
  commit(): boolean {
    const name = this.#input.value.trim()
    const isName = name === '' || NAME.test(name)
    this.#failure.textContent = isName
      ? ''
      : `“${name}” matches no tool. Names have letters, digits, _ and -, and * for any of them.`
    this.#failure.hidden = isName
    if (!isName) {
      this.#input.focus()
      return false
    }
    this.#input.value = ''
    if (name !== '' && !this.#names.includes(name)) {
      this.#names.push(name)
      this.#draw()
      this.#onChanged()
      announce(`${this.#title}: ${name} added`)
    }
    return true
  }

  #onKey(event: KeyboardEvent): void {
    if (event.key !== 'Enter' || this.#input.value.trim() === '') return
    event.preventDefault() // an empty field sends the form, as everywhere
    this.commit()
  }

  #remove(name: string): void {
    this.#names.splice(this.#names.indexOf(name), 1)
    this.#draw()
    this.#input.focus()
    this.#onChanged()
    announce(`${this.#title}: ${name} removed`)
  }

  #draw(): void {
    const rows = this.#names.map((name) =>
      h(
        'li',
        { class: 'name' },
        h('code', {}, name),
        iconButton('cross', `${this.#title}: remove ${name}`, () => this.#remove(name)),
      ),
    )
    this.#list.replaceChildren(...rows)
    this.#list.hidden = rows.length === 0
  }
}

export function rulesEditor(now: Permissions, onSaved: (next: Permissions) => void): HTMLElement {
  const status = h('p', { class: 'field-hint', role: 'status' })
  const onChanged = () => (status.textContent = 'Not saved yet.')
  const lists = RULES.map((rule) => [rule, new NameList(TITLES[rule], now[rule], onChanged)] as const)
  const fallback = select(DEFAULTS, now.default)
  fallback.addEventListener('change', onChanged)
  const save = async () => {
    if (!lists.every(([, list]) => list.commit())) return
    const named = Object.fromEntries(lists.map(([rule, list]) => [rule, list.names]))
    const next = await setPermissions({ ...named, default: fallback.value } as Rules)
    status.textContent = 'Saved. The rules take effect now.'
    toast('The permissions are saved and take effect now.')
    onSaved(next)
  }
  return section(
    'Rules',
    lead(`${HINT}. Never overrides always, always overrides ask.`),
    form(
      [...lists.map(([, list]) => list.element), field('All other tools', fallback), status],
      'Save',
      save,
    ),
  )
}

/** For those who may only look. */
export function rulesShown(now: Permissions): HTMLElement {
  const rows = RULES.filter((rule) => now[rule].length > 0).flatMap((rule) => [
    h('dt', {}, TITLES[rule]),
    h('dd', {}, h('code', {}, now[rule].join(', '))),
  ])
  const fallback = DEFAULTS.find(({ value }) => value === now.default)?.label ?? now.default
  return section(
    'Rules',
    lead('Only admins of the workspace may change the rules.'),
    h('dl', { class: 'facts' }, ...rows, h('dt', {}, 'All other tools'), h('dd', {}, fallback)),
  )
}

/** Tools that this person answered “always” for. */
export function consentsSection(
  { consents }: Permissions,
  onChanged: (next: Permissions) => void,
): HTMLElement {
  const withdraw = (tool: string) =>
    void withdrawConsent(tool)
      .then((next) => {
        toast(`${tool} asks again from now on.`)
        onChanged(next)
      })
      .catch((error) => toast(messageOf(error)))
  const rows = consents.map((tool) =>
    h(
      'li',
      { class: 'name' },
      h('code', {}, tool),
      iconButton('cross', `Ask again for ${tool}`, () => withdraw(tool)),
    ),
  )
  return section(
    'Always allowed by you',
    lead('Tools that you allowed with “always” when the agent or an app asked; both may call them. A rule to ask first overrides this.'),
    rows.length === 0 ? empty('There are no such tools.') : h('ul', { class: 'names' }, ...rows),
  )
}
