// Where the page is: the part of the address after '#'. It works wherever the page is
// hosted, also below a sub-path, because the path itself never changes.
import { Signal } from './signal'

export const SCREENS = ['apps', 'skills', 'usage', 'context', 'permissions', 'settings'] as const
export type ScreenName = (typeof SCREENS)[number]

export type Route =
  | { readonly name: 'new' }
  | { readonly name: 'conversation'; readonly id: string; readonly at?: number } // at: a message
  | { readonly name: 'screen'; readonly screen: ScreenName; readonly part?: string }
  | { readonly name: 'app'; readonly route: string } // an app with a place of its own

const ID = /^[a-z]+_[A-Za-z0-9_-]{1,64}$/
const POSITION = /^\d{1,15}$/

function parse(hash: string): Route {
  const [, kind, id, at] = hash.replace(/^#/, '').split('/')
  if (kind === 'c' && id && ID.test(id))
    return { name: 'conversation', id, at: at && POSITION.test(at) ? Number(at) : undefined }
  if (kind === 'app' && id) return { name: 'app', route: decode(hash.split('/app/')[1]!) }
  const screen = SCREENS.find((name) => name === kind)
  if (screen) return { name: 'screen', screen, part: id ? decode(id) : undefined }
  return { name: 'new' }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

export function hrefOf(route: Route): string {
  if (route.name === 'conversation')
    return `#/c/${route.id}${route.at === undefined ? '' : `/${route.at}`}`
  if (route.name === 'screen')
    return `#/${route.screen}${route.part ? `/${encodeURIComponent(route.part)}` : ''}`
  if (route.name === 'app') return `#/app/${encodeURI(route.route)}`
  return '#/'
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
