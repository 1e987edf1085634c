// Apps that have a place of their own on the page, without a tool call.
import { get } from '../api/client'
import { Signal } from '../base/signal'

export interface Placement {
  app: string
  slot: string // sidebar, sidebar.<group>, sidebar.bottom, main, settings
  uri: string
  label: string
  icon: string | null
  route: string | null
  priority: number
  size: 'compact' | 'full' | 'auto'
}

export const placements = new Signal<readonly Placement[]>([])

let loading: Promise<void> | null = null
let isStale = false

/** Asks the server; what is known stays when it cannot be reached. */
export function loadPlacements(): Promise<void> {
  isStale = true
  loading ??= load().finally(() => (loading = null))
  return loading
}

async function load(): Promise<void> {
  while (isStale) {
    isStale = false
    const shell = await get<{ placements?: Placement[] }>('shell').catch(() => null)
    if (shell) placements.value = withRoutes((shell.placements ?? []).toSorted(inOrder))
  }
}

/** Everything that can be opened has an address: its own, the app's name, or that with the resource. */
function withRoutes(all: readonly Placement[]): Placement[] {
  const taken = new Map<string, string>() // route → what is there
  return all.map((one) => {
    const { app, uri } = one
    const named = (one.route || app).replace(/^\/+/, '')
    const isFree = one.slot === 'settings' || one.route || (taken.get(named) ?? uri) === uri
    const route = isFree ? named : `${app}/${uri.replace(/^ui:\/\/[^/]*\/?/, '')}`
    if (one.slot !== 'settings') taken.set(route, uri)
    return { ...one, route }
  })
}

export function routeOf({ route, app }: Placement): string {
  return route ?? app
}

/** Those with a place in the list of apps, each once. */
export function listedPlacements(): Placement[] {
  const byRoute = new Map<string, Placement>()
  for (const placement of placements.value) {
    const route = routeOf(placement)
    if (placement.slot !== 'settings' && !byRoute.has(route)) byRoute.set(route, placement)
  }
  return [...byRoute.values()]
}

/** What is shown at a route: the main place of an app, where it has several. */
export function placementAt(route: string): Placement | null {
  const found = placements.value.filter((one) => one.slot !== 'settings' && routeOf(one) === route)
  return found.find(({ slot }) => slot === 'main') ?? found[0] ?? null
}

function inOrder(a: Placement, b: Placement): number {
  return rank(a) - rank(b) || a.priority - b.priority
}

function rank({ slot }: Placement): number {
  return slot === 'sidebar.bottom' ? 2 : slot === 'main' ? 1 : 0
}
