// The layered layout: ranks, chains of long edges, order within ranks, coordinates, routes.
import type { Clock } from '../base/limits'
import { chain } from './chains'
import type { Input, Output } from './layers'
import { order } from './order'
import { place } from './places'
import { rank } from './ranks'
import { route } from './routes'

export function layered(input: Input, clock: Clock): Output {
  if (input.blocks.length === 0) return { blocks: [], routes: [], fences: [] }
  const made = chain(input, rank(input, clock))
  const layers = order(made, input.fences, clock)
  const places = place(input, made, layers, clock)
  const { bands, sides, ends } = places
  return {
    blocks: input.blocks.map((_, b) => {
      const { x, rank: at } = made.vertices[b]!
      return { x, y: (bands[at]!.top + bands[at]!.bottom) / 2 }
    }),
    routes: route(input, made, layers, places),
    fences: input.fences.map((_, g) => ({
      x: sides[g]!.left,
      y: ends[g]!.top,
      width: sides[g]!.right - sides[g]!.left,
      height: ends[g]!.bottom - ends[g]!.top,
    })),
  }
}
