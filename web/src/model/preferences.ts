// Choices of a person for this browser.
import { Signal } from '../base/signal'
import { recall, remember } from '../base/storage'

export type Theme = 'system' | 'light' | 'dark'

const THEMES: readonly Theme[] = ['system', 'light', 'dark']
const BACKGROUNDS = { light: '#ffffff', dark: '#17171a' }

export const theme = new Signal<Theme>(recallTheme())
export const isSidebarOpen = new Signal<boolean>(recall('sidebar', true))

function recallTheme(): Theme {
  const stored = recall<Theme>('theme', 'system')
  return THEMES.includes(stored) ? stored : 'system'
}

export function nextTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length]!
}

/** Applies the choices to the document and remembers them. */
export function applyPreferences(): void {
  const systemDark = matchMedia('(prefers-color-scheme: dark)')
  const paint = () => {
    const isDark = theme.value === 'dark' || (theme.value === 'system' && systemDark.matches)
    document.documentElement.dataset.theme = isDark ? 'dark' : 'light'
    const colour = isDark ? BACKGROUNDS.dark : BACKGROUNDS.light
    document.querySelector('meta[name="theme-color"]')?.setAttribute('content', colour)
  }
  systemDark.addEventListener('change', paint)
  theme.watch((value) => {
    remember('theme', value === 'system' ? null : value)
    paint()
  })
  isSidebarOpen.subscribe((value) => remember('sidebar', value))
  addEventListener('storage', (event) => {
    if (event.key === 'nb.theme') theme.value = recallTheme()
  })
}
