// Stylesheets of parts of the page that are loaded when they are needed.
import { h } from './dom'

const loaded = new Map<string, Promise<void>>()

/** Loads a stylesheet, once. */
export function loadStylesheet(href: string): Promise<void> {
  const known = loaded.get(href)
  if (known) return known
  const done = new Promise<void>((resolve) => {
    const link = h('link', { rel: 'stylesheet', href })
    link.addEventListener('load', () => resolve())
    link.addEventListener('error', () => resolve()) // plain is better than nothing
    document.head.append(link)
  })
  loaded.set(href, done)
  return done
}
