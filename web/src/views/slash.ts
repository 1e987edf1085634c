// The menu of `/` in the field: saved prompts, prompts of bundles, skills, commands of the page.
import '../main' // as in apps.ts: parts that are loaded later share the whole of the first load
import { get, messageOf } from '../api/client'
import { fillBundlePrompt, listBundlePrompts, listPrompts, type BundlePrompt, type SavedPrompt } from '../api/texts'
import { openDialog } from '../base/dialog'
import { h } from '../base/dom'
import { field, form, textarea } from '../base/form'
import { fuzzyFind } from '../base/fuzzy'
import { icon, type IconName } from '../base/icons'
import { loadStylesheet } from '../base/stylesheet'
import { toast } from '../base/toast'
import { t } from '../base/words'
import type { App } from '../model/app'
import stylesheet from './slash.lazy.css'

const TYPED = /^\/(\S*)$/
const SHOWN_MAX = 8
const FRESH_MS = 5000 // lists that are younger are not asked for again
export const VARIABLE = /\{\{\s*([A-Za-z0-9_-][A-Za-z0-9_ -]{0,39}?)\s*\}\}/g

interface Entry {
  label: string
  detail: string
  kind: string
  icon: IconName
  run(menu: SlashMenu): void | Promise<void>
}

interface SkillInfo {
  name: string
  description: string
  type: string
  triggers: string[]
}

export async function openSlashMenu(app: App, box: HTMLTextAreaElement): Promise<SlashMenu> {
  await loadStylesheet(new URL(stylesheet, import.meta.url).href)
  return new SlashMenu(app, box)
}

export class SlashMenu {
  #app: App
  #box: HTMLTextAreaElement
  #list = h('ul', { class: 'slash', role: 'listbox', id: 'slash', hidden: true, aria: { label: t('Prompts and commands') } })
  #known: Entry[] = []
  #loadedMs = -FRESH_MS
  #shown: Entry[] = []
  #at = 0
  #isClosed = false // by Escape, until the field has something else

  constructor(app: App, box: HTMLTextAreaElement) {
    this.#app = app
    this.#box = box
    box.before(this.#list)
    box.addEventListener('blur', () => this.#close())
  }

  /** Call it after each change of the field. */
  update(): void {
    const typed = this.#typed()
    if (typed === null) {
      this.#isClosed = false
      this.#close()
      return
    }
    if (performance.now() - this.#loadedMs > FRESH_MS) void this.#load()
    this.#find(typed)
  }

  /** True: the key was for the menu. */
  onKey(event: KeyboardEvent): boolean {
    const count = this.#shown.length
    if (count === 0 || event.isComposing) return false
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step) this.#at = (this.#at + step + count) % count
    else if (event.key === 'Enter' || event.key === 'Tab') this.#run(this.#shown[this.#at]!)
    else if (event.key === 'Escape') {
      this.#isClosed = true
      this.#close()
    } else return false
    event.preventDefault()
    event.stopPropagation()
    this.#draw()
    return true
  }

  /** Replaces what was typed. */
  fill(text: string): void {
    this.#box.value = text
    this.#box.focus()
    this.#box.setSelectionRange(text.length, text.length)
    this.#box.dispatchEvent(new Event('input'))
  }

  #typed(): string | null {
    const { selectionStart, selectionEnd, value } = this.#box
    return selectionStart === selectionEnd && selectionStart === value.length ? (TYPED.exec(value)?.[1] ?? null) : null
  }

  /** What one source does not answer, the others do. */
  async #load(): Promise<void> {
    this.#loadedMs = performance.now()
    const sources = [
      listPrompts().then(({ prompts }) => prompts.map(promptEntry)),
      listBundlePrompts().then((prompts) => prompts.map(bundleEntry)),
      get<{ skills: SkillInfo[] }>('skills').then(({ skills }) => skills.filter(({ type, triggers }) => type === 'skill' && triggers.length > 0).map(skillEntry)),
    ]
    const found = await Promise.all(sources.map((source) => source.catch(() => [] as Entry[])))
    this.#known = found.flat()
    const typed = this.#typed()
    if (typed === null || document.activeElement !== this.#box) return
    const marked = this.#at > 0 ? this.#shown[this.#at] : undefined
    this.#find(typed)
    if (marked) this.#markAgain(marked)
  }

  /** A row that the person has gone to stays marked when more rows come. */
  #markAgain({ label, kind }: Entry): void {
    const at = this.#shown.findIndex((entry) => entry.label === label && entry.kind === kind)
    this.#at = Math.max(0, at)
    this.#draw()
  }

  #find(typed: string): void {
    const commands = this.#app.commands().map(({ label, icon, keys, run }) => ({
      label,
      detail: keys ?? '',
      kind: t('Command'),
      icon,
      run: (menu: SlashMenu) => {
        menu.fill('')
        run()
      },
    }))
    const words = typed.replace(/[-_]+/g, ' ')
    this.#shown = this.#isClosed ? [] : fuzzyFind([...this.#known, ...commands], words, ({ label }) => label.replace(/[-_]+/g, ' ')).slice(0, SHOWN_MAX)
    this.#at = 0
    this.#draw()
  }

  #run(entry: Entry): void {
    this.#close()
    void Promise.resolve(entry.run(this)).catch((error: unknown) => toast(messageOf(error)))
  }

  #close(): void {
    this.#shown = []
    this.#draw()
  }

  #draw(): void {
    this.#list.hidden = this.#shown.length === 0
    this.#list.replaceChildren(
      ...this.#shown.map((entry, i) => {
        const choose = (event: Event) => {
          event.preventDefault() // the field keeps the focus
          this.#run(entry)
        }
        return h(
          'li',
          { id: `slash-${i}`, class: 'slash-row', role: 'option', aria: { selected: i === this.#at }, on: { mousedown: choose } },
          icon(entry.icon),
          h('span', { class: 'slash-name', dir: 'auto' }, entry.label),
          h('span', { class: 'slash-detail', dir: 'auto' }, entry.detail),
          h('span', { class: 'slash-kind' }, entry.kind),
        )
      }),
    )
    this.#list.children[this.#at]?.scrollIntoView({ block: 'nearest' })
    if (this.#shown.length === 0) {
      if (this.#box.getAttribute('aria-controls') === 'slash') this.#box.removeAttribute('aria-activedescendant')
      return
    }
    this.#box.setAttribute('aria-autocomplete', 'list')
    this.#box.setAttribute('aria-controls', 'slash')
    this.#box.setAttribute('aria-activedescendant', `slash-${this.#at}`)
  }
}

function promptEntry({ name, description, scope, text }: SavedPrompt): Entry {
  return {
    label: name,
    detail: description || text.slice(0, 80),
    kind: scope === 'personal' ? t('My prompt') : t('Prompt'),
    icon: 'note',
    run: async (menu) => {
      const names = [...new Set([...text.matchAll(VARIABLE)].map(([, variable]) => variable!))]
      const values = await askFor(name, names.map((variable) => ({ name: variable, isRequired: true })))
      if (values) menu.fill(text.replace(VARIABLE, (whole, variable: string) => values[variable] ?? whole))
    },
  }
}

function bundleEntry({ name, title, description, arguments: wanted = [] }: BundlePrompt): Entry {
  return {
    label: name.replace('__', ': '),
    detail: title ?? description ?? '',
    kind: t('Bundle'),
    icon: 'box',
    run: async (menu) => {
      const questions = wanted.map((arg) => ({ name: arg.name, hint: arg.description, isRequired: arg.required === true }))
      const values = await askFor(name, questions)
      if (values) menu.fill(await fillBundlePrompt(name, values))
    },
  }
}

function skillEntry({ name, description, triggers }: SkillInfo): Entry {
  return { label: name, detail: description, kind: t('Skill'), icon: 'book', run: (menu) => menu.fill(`${triggers[0]!} `) }
}

interface Question {
  name: string
  hint?: string
  isRequired: boolean
}

/** The values of the variables; null: the person closed the form. */
function askFor(title: string, questions: Question[]): Promise<Record<string, string> | null> {
  if (questions.length === 0) return Promise.resolve({})
  const fields = questions.map(({ name, hint, isRequired }) => {
    const box = textarea({ rows: 1, required: isRequired, name })
    return { name, box, element: field(name, box, hint ?? '') }
  })
  return new Promise((resolve) => {
    const dialog = openDialog(title)
    let values: Record<string, string> | null = null
    const submit = async () => {
      values = Object.fromEntries(fields.filter(({ box }) => box.value !== '').map(({ name, box }) => [name, box.value]))
      dialog.close()
    }
    const asked = form(fields.map(({ element }) => element), t('Insert'), submit)
    asked.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' || event.shiftKey || event.isComposing || !(event.target instanceof HTMLTextAreaElement)) return
      event.preventDefault()
      asked.requestSubmit()
    })
    dialog.element.addEventListener('close', () => resolve(values))
    dialog.body.append(asked)
    fields[0]!.box.focus()
  })
}
