// The rules by name, edited: three lists of names with *, and what holds for all others.
import {
  RULES,
  setPermissions,
  withdrawConsent,
  withdrawForAll,
  type Permissions,
  type Rule,
  type Rules,
} from '../api/permissions'
import { messageOf } from '../api/client'
import { announce } from '../base/announcer'
import { iconButton, textButton } from '../base/controls'
import { h } from '../base/dom'
import { field, form, input, select } from '../base/form'
import { hrefOf } from '../base/router'
import { toast } from '../base/toast'
import { msg, t } from '../base/words'
import { empty, lead, section } from './parts'

const NAME = /^[\w*-]{1,128}$/ // as the server has it

const TITLES: Record<Rule, string> = { allow: msg('Always allow'), ask: msg('Ask first'), deny: msg('Never allow') }

const defaults = () => [
  { value: 'allow', label: t('Allow, but ask before dangerous ones') },
  { value: 'ask', label: t('Ask') },
]

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
      aria: { label: t('{list}: name', { list: title }) },
      on: { keydown: (event) => this.#onKey(event) },
    })
    const add = textButton(t('Add'), () => void this.commit(), { icon: 'plus' })
    add.setAttribute('aria-label', t('{list}: add', { list: title }))
    this.element = h(
      'fieldset',
      { class: 'field' },
      h('legend', {}, title),
      this.#list,
      h('div', { class: 'field-row' }, this.#input, add),
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
      : t('“{name}” matches no tool. Names have letters, digits, _ and -, and * for any of them.', { name })
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
      announce(t('{list}: {name} added', { list: this.#title, name }))
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
    announce(t('{list}: {name} removed', { list: this.#title, name }))
  }

  #draw(): void {
    const rows = this.#names.map((name) =>
      h(
        'li',
        { class: 'name' },
        h('code', {}, name),
        iconButton('cross', t('{list}: remove {name}', { list: this.#title, name }), () => this.#remove(name)),
      ),
    )
    this.#list.replaceChildren(...rows)
    this.#list.hidden = rows.length === 0
  }
}

export function rulesEditor(now: Permissions, onSaved: (next: Permissions) => void): HTMLElement {
  const status = h('p', { class: 'field-hint', role: 'status' })
  const onChanged = () => (status.textContent = t('Not saved yet.'))
  const lists = RULES.map((rule) => [rule, new NameList(t(TITLES[rule]), now[rule], onChanged)] as const)
  const fallback = select(defaults(), now.default)
  fallback.addEventListener('change', onChanged)
  const save = async () => {
    if (!lists.every(([, list]) => list.commit())) return
    const named = Object.fromEntries(lists.map(([rule, list]) => [rule, list.names]))
    const next = await setPermissions({ ...named, default: fallback.value } as Rules)
    status.textContent = t('Saved. The rules take effect now.')
    toast(t('The permissions are saved and take effect now.'))
    onSaved(next)
  }
  return section(
    t('Rules'),
    lead(
      t('The name of a tool, or several with *: files__read, mail__*. Never overrides always, always overrides ask.'),
    ),
    form(
      [...lists.map(([, list]) => list.element), field(t('All other tools'), fallback), status],
      t('Save'),
      save,
    ),
  )
}

/** For those who may only look. */
export function rulesShown(now: Permissions): HTMLElement {
  const rows = RULES.filter((rule) => now[rule].length > 0).flatMap((rule) => [
    h('dt', {}, t(TITLES[rule])),
    h('dd', {}, h('code', {}, now[rule].join(', '))),
  ])
  const fallback = defaults().find(({ value }) => value === now.default)?.label ?? now.default
  return section(
    t('Rules'),
    lead(t('Only admins of the workspace may change the rules.')),
    h('dl', { class: 'facts' }, ...rows, h('dt', {}, t('All other tools')), h('dd', {}, fallback)),
  )
}

/** Tools that this person answered “always” for. */
export function consentsSection(
  { consents, workspaceConsents, mayChange }: Permissions,
  onChanged: (next: Permissions) => void,
): HTMLElement {
  const own = consentList(consents, withdrawConsent, onChanged)
  const all = consentList(workspaceConsents, mayChange ? withdrawForAll : null, onChanged)
  return section(
    t('Always allowed by you'),
    lead(
      t(
        'Tools that you allowed with “always” when the agent or an app asked; both may call them. ' +
          'A rule to ask first overrides this.',
      ),
    ),
    own ?? empty(t('There are no such tools.')),
    all && h('h3', {}, t('Always allowed for everybody')),
    all,
  )
}

/** null: there are none. Without `withdraw` they can only be looked at. */
function consentList(
  consents: readonly string[],
  withdraw: ((tool: string) => Promise<Permissions>) | null,
  onChanged: (next: Permissions) => void,
): HTMLElement | null {
  const end = (tool: string) =>
    withdraw?.(tool)
      .then((next) => {
        toast(t('{tool} asks again from now on.', { tool: limitsOf(tool).tool }))
        onChanged(next)
      })
      .catch((error) => toast(messageOf(error)))
  const rows = consents.map((tool) => {
    const { conversation } = limitsOf(tool)
    const name = conversation ? tool.slice(0, tool.lastIndexOf('@')) : tool
    const href = conversation && hrefOf({ name: 'conversation', id: conversation })
    return h(
      'li',
      { class: 'name' },
      h('code', {}, name),
      href && h('a', { href }, t('in one conversation')),
      withdraw && iconButton('cross', t('Ask again for {tool}', { tool: name }), () => void end(tool)),
    )
  })
  return rows.length === 0 ? null : h('ul', { class: 'names' }, ...rows)
}

/** "bash__bash_exec(git status *)@conv_1": a permission may be limited to commands and to a conversation. */
function limitsOf(text: string): { tool: string; conversation: string | null } {
  const [, tool = text, , conversation = null] = /^([^(@]*)(\(.*\))?(?:@(.*))?$/.exec(text) ?? []
  return { tool, conversation }
}
