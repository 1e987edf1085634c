// The words of the page, in the language of the person. The key of a text is its English form,
// which stands where it is used:
//
//     t('Delete')                                      t('Shared by {name}', { name })
//     tn(n, '{n} file', '{n} files')                   forms by the plural rules of the language
//     tList(names)
//     h('p', {}, ...tParts('{person} has left.', { person: h('b', {}, name) }))
//
// A text with two meanings has a note for translators behind a bar, which nobody sees: t('Archive|list').
//
// A table of a module is made before the language is known: it has msg('Delete'), and t() where it is
// shown. Every other language has all keys in src/words/; tests/checks/test_words.mjs compares.
import { recall, remember } from './storage'

/** By category of Intl.PluralRules: `one`, `few`, `other` ... */
export type Forms = Partial<Record<Intl.LDMLPluralRule, string>>
export type Words = Readonly<Record<string, string | Forms>>
type Values = Readonly<Record<string, string | number>>

interface Language {
  readonly code: string
  readonly name: string
  readonly isRightToLeft?: boolean
  readonly load?: () => Promise<{ default: Words }>
}

export const LANGUAGES: readonly Language[] = [
  { code: 'en', name: 'English' },
  { code: 'de', name: 'Deutsch', load: () => import('../words/de') },
  { code: 'es', name: 'Español', load: () => import('../words/es') },
  { code: 'fr', name: 'Français', load: () => import('../words/fr') },
  { code: 'ja', name: '日本語', load: () => import('../words/ja') },
  { code: 'zh', name: '简体中文', load: () => import('../words/zh') },
  { code: 'ar', name: 'العربية', isRightToLeft: true, load: () => import('../words/ar') },
]

let language = LANGUAGES[0]!
let words: Words = {}
let plurals = new Intl.PluralRules('en')

/** The language that was chosen in Settings, or '' for that of the browser. */
export function chosenLanguage(): string {
  const stored = recall('language', '')
  return LANGUAGES.some(({ code }) => code === stored) ? stored : ''
}

/** Takes effect when the page is loaded again. */
export function chooseLanguage(code: string): void {
  remember('language', code || null)
}

const isOf = (tag: string, code: string) => tag === code || tag.startsWith(`${code}-`)

function preferred(): Language {
  const wanted = chosenLanguage() ? [chosenLanguage()] : navigator.languages
  for (const tag of wanted) {
    const known = LANGUAGES.find(({ code }) => isOf(tag, code))
    if (known) return known
  }
  return LANGUAGES[0]!
}

/** Before anything is shown. A language that cannot be loaded is replaced by English. */
export async function loadWords(): Promise<void> {
  const wanted = preferred()
  if (!wanted.load) return
  try {
    words = (await wanted.load()).default
  } catch {
    return
  }
  language = wanted
  plurals = new Intl.PluralRules(language.code)
  document.documentElement.lang = language.code
  if (language.isRightToLeft) document.documentElement.dir = 'rtl'
}

/** The browser's own form of the language, if it has one. */
export function languageTag(): string {
  return navigator.languages.find((tag) => isOf(tag, language.code)) ?? language.code
}

/** For dates and numbers. Arabic has two kinds of digits; 0 to 9 is what numbers that nothing formats have too. */
export function locale(): string {
  const tag = languageTag()
  return language.code === 'ar' ? new Intl.Locale(tag, { numberingSystem: 'latn' }).toString() : tag
}

/** Marks a text that is shown by t() later. */
export const msg = (text: string): string => text

export function t(text: string, values?: Values): string {
  const found = words[text]
  return fill(typeof found === 'string' ? found : text.split('|')[0]!, values)
}

/** `{n}` is the number, written as the language writes it. */
export function tn(n: number, one: string, other: string, values?: Values): string {
  const found = words[other]
  const forms: Forms = typeof found === 'object' ? found : { one, other }
  const form = forms[plurals.select(n)] ?? forms.other ?? other
  return fill(form, { n: n.toLocaleString(locale()), ...values })
}

/** Names, as the language puts them together: "Ann, Ben, and Cat". */
export function tList(names: readonly string[]): string {
  return new Intl.ListFormat(locale()).format(names.map(isolated))
}

/** A sentence with elements in it: its pieces, in the order of the language. */
export function tParts(text: string, values: Readonly<Record<string, Node | string>>): (Node | string)[] {
  return t(text)
    .split(/\{(\w+)\}/)
    .map((piece, i) => (i % 2 === 0 ? piece : partOf(values[piece] ?? `{${piece}}`)))
    .filter((piece) => piece !== '')
}

function fill(text: string, values?: Values): string {
  return values ? text.replace(/\{(\w+)\}/g, (whole, name: string) => isolated(String(values[name] ?? whole))) : text
}

const partOf = (value: Node | string) => (typeof value === 'string' ? isolated(value) : value)

/** In a text from right to left, a name or a sentence of another direction is kept apart (FSI, PDI): neither mixes up the other. */
function isolated(value: string): string {
  return language.isRightToLeft && /\p{L}/u.test(value) ? `\u2068${value}\u2069` : value
}
