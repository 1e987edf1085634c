// Apps that have a place of their own on the page, without a tool call.
import { get } from '../api/client'
import { Signal } from '../base/signal'

export interface Placement {
  app: string
  slot: string // sidebar, sidebar.<group>, sidebar.bottom, main, settings
  uri: string
  label: string
  icon?: string
  route?: string
  priority?: number
  size?: 'compact' | 'full' | 'auto'
}

export const placements = new Signal<readonly Placement[]>([])

let loading: Promise<void> | null = null

/** Asks the server; what is known stays when it cannot be reached. */
export function loadPlacements(): Promise<void> {
  loading ??= get<{ placements?: Placement[] }>('shell')
    .then((shell) => {
      placements.value = (shell.placements ?? []).toSorted(inOrder)
    })
    .catch(() => {})
    .finally(() => (loading = null))
  return loading
}

export function routeOf({ route, app }: Placement): string {
  return (route || app).replace(/^\/+/, '')
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
  return rank(a) - rank(b) || (a.priority ?? 100) - (b.priority ?? 100)
}

function rank({ slot }: Placement): number {
  return slot === 'sidebar.bottom' ? 2 : slot === 'main' ? 1 : 0
}
