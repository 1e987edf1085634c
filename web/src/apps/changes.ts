// Changes of data: somebody has called a tool of a server, and interfaces of that server may show something old.
import { live } from '../api/live'
import { isObject } from './bridge'

export interface DataChange {
  server: string
  tool: string
  viewId?: string // the view that caused it
}

/** Calls back for each change; returns how to end it. */
export function onDataChanged(tell: (change: DataChange) => void): () => void {
  return live.onNews((event, data) => {
    if (event !== 'data.changed' || !isObject(data)) return
    const { server, tool, viewId } = data
    if (typeof server !== 'string' || typeof tool !== 'string' || server === 'nb') return
    tell({ server, tool, viewId: typeof viewId === 'string' ? viewId : undefined })
  })
}
