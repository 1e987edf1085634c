// Characters that are written in another way: "\*", "&amp;", "&#65;".

export const ESCAPABLE = /[!-/:-@[-`{-~]/
const ENTITY = /&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([A-Za-z][A-Za-z\d]{1,31}));/y
const WRITTEN = /\\([!-/:-@[-`{-~])|&[^;\s]{1,33};/g

const known = new Map<string, string>()

/** The entity that begins here, and where it ends; null: there is none. */
export function entityAt(text: string, at: number): { value: string; end: number } | null {
  ENTITY.lastIndex = at
  const match = ENTITY.exec(text)
  if (!match) return null
  const [whole, decimal, hex, name] = match
  const value = name ? named(whole) : scalar(Number.parseInt(decimal ?? hex!, decimal ? 10 : 16))
  return value === null ? null : { value, end: at + whole.length }
}

/** Text in which nothing but these escapes means anything. */
export function unescaped(text: string): string {
  if (!/[\\&]/.test(text)) return text
  return text.replace(WRITTEN, (whole, char?: string) => char ?? entityAt(whole, 0)?.value ?? whole)
}

/** The browser knows all names. Nothing but a name is given to its parser. */
function named(entity: string): string | null {
  let value = known.get(entity)
  if (value === undefined) {
    value = new DOMParser().parseFromString(entity, 'text/html').body.textContent ?? entity
    known.set(entity, value)
  }
  return value === entity ? null : value
}

function scalar(code: number): string {
  const isScalar = code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff)
  return isScalar ? String.fromCodePoint(code) : '\ufffd'
}
