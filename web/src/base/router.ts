// Where the page is: the part of the address after '#'. It works wherever the page is
// hosted, also below a sub-path, because the path itself never changes.
import { Signal } from './signal'

export type Route =
  { readonly name: 'new' } | { readonly name: 'conversation'; readonly id: string }

const ID = /^[a-z]+_[A-Za-z0-9_-]{1,64}$/

function parse(hash: string): Route {
  const [, kind, id] = hash.replace(/^#/, '').split('/')
  if (kind === 'c' && id && ID.test(id)) return { name: 'conversation', id }
  return { name: 'new' }
}

export function hrefOf(route: Route): string {
  return route.name === 'conversation' ? `#/c/${route.id}` : '#/'
}

function isSame(a: Route, b: Route): boolean {
  return hrefOf(a) === hrefOf(b)
}

export const route = new Signal<Route>(parse(location.hash))

addEventListener('hashchange', () => {
  const next = parse(location.hash)
  if (!isSame(next, route.value)) route.value = next
})

/** Goes there. `replace` leaves no step in the browser's history. */
export function go(next: Route, { replace = false } = {}): void {
  if (isSame(next, route.value)) return
  if (replace) history.replaceState(null, '', hrefOf(next))
  else history.pushState(null, '', hrefOf(next))
  route.value = next
}
