// The page's look and circumstances as views are told of them. The names of the style variables are a
// closed list: one that is not in it makes apps refuse the whole handshake.
import { chosenLanguage, languageTag } from '../base/words'

type Tokens = (name: string) => string

/** Values for both themes; the view's own colour scheme chooses. */
type Pair = readonly [light: string, dark: string]

const BACKGROUND: Record<string, string> = {
  primary: '--bg',
  secondary: '--bg-soft',
  tertiary: '--bg-hover',
  inverse: '--text',
  ghost: 'transparent',
  info: '--accent-soft',
  danger: '--bad-soft',
  success: 'soft --ok',
  warning: '--warn-soft',
  disabled: '--bg-soft',
}

const TEXT: Record<string, string> = {
  primary: '--text',
  secondary: '--text-2',
  tertiary: '--text-3',
  inverse: '--bg',
  ghost: '--text-3',
  info: '--accent',
  danger: '--bad',
  success: '--ok',
  warning: '--warn',
  disabled: '--text-3',
}

const BORDER: Record<string, string> = {
  primary: '--line-strong',
  secondary: '--line',
  tertiary: '--line',
  inverse: '--text',
  ghost: 'transparent',
  info: '--accent',
  danger: '--bad',
  success: '--ok',
  warning: '--warn',
  disabled: '--line',
}

const RING: Record<string, string> = {
  primary: '--accent',
  secondary: '--line-strong',
  inverse: '--bg',
  info: '--accent',
  danger: '--bad',
  success: '--ok',
  warning: '--warn',
}

const WEIGHTS = { normal: 400, medium: 500, semibold: 600, bold: 700 }

/** Size and line height in px. */
const TEXTS = { xs: [12, 16], sm: [13.5, 20], md: [15, 22], lg: [17, 26] }
const HEADINGS = {
  xs: [13, 18],
  sm: [15, 20],
  md: [17, 24],
  lg: [20, 28],
  xl: [24, 32],
  '2xl': [30, 38],
  '3xl': [36, 44],
}

const SHADE: Pair = ['rgb(20 20 40 / 12%)', 'rgb(0 0 0 / 45%)']
const SHADOWS = {
  hairline: '0 0 0 1px',
  sm: '0 1px 2px',
  md: '0 4px 12px',
  lg: '0 8px 28px',
}

function choose([light, dark]: Pair): string {
  return light === dark ? light : `light-dark(${light}, ${dark})`
}

/** All 76 variables, from the tokens of the light and of the dark page. */
export function styleVariables(light: Tokens, dark: Tokens): Record<string, string> {
  const colour = (source: string): string => {
    if (source === 'transparent') return 'transparent'
    const [name, isSoft] = source.startsWith('soft ') ? [source.slice(5), true] : [source, false]
    const of = (tokens: Tokens) =>
      isSoft ? `color-mix(in srgb, ${tokens(name)} 14%, ${tokens('--bg')})` : tokens(name) // not translated
    return choose([of(light), of(dark)])
  }
  const variables: Record<string, string> = {}
  const groups = { background: BACKGROUND, text: TEXT, border: BORDER, ring: RING }
  for (const [group, sources] of Object.entries(groups))
    for (const [key, source] of Object.entries(sources))
      variables[`--color-${group}-${key}`] = colour(source)
  variables['--font-sans'] = light('--font')
  variables['--font-mono'] = light('--font-mono')
  for (const [key, weight] of Object.entries(WEIGHTS))
    variables[`--font-weight-${key}`] = String(weight)
  for (const [kind, sizes] of Object.entries({ text: TEXTS, heading: HEADINGS }))
    for (const [key, [size, line]] of Object.entries(sizes)) {
      variables[`--font-${kind}-${key}-size`] = `${size}px`
      variables[`--font-${kind}-${key}-line-height`] = `${line}px`
    }
  const radii = { xs: '4px', sm: light('--radius-s'), md: light('--radius-m') }
  const more = { lg: '16px', xl: light('--radius-l'), full: '9999px' }
  for (const [key, radius] of Object.entries({ ...radii, ...more }))
    variables[`--border-radius-${key}`] = radius
  variables['--border-width-regular'] = '1px'
  for (const [key, offsets] of Object.entries(SHADOWS))
    variables[`--shadow-${key}`] = `${offsets} ${choose(SHADE)}`
  return variables
}

/** The tokens of both themes, as the page's own stylesheet has them. */
function readTokens(): { light: Tokens; dark: Tokens } {
  const found: Record<'light' | 'dark', Map<string, string>> = { light: new Map(), dark: new Map() }
  for (const sheet of document.styleSheets)
    for (const rule of sheet.cssRules) {
      if (!(rule instanceof CSSStyleRule)) continue
      const isDark = /^:root\[data-theme=["']?dark["']?\]$/.test(rule.selectorText)
      if (!isDark && rule.selectorText !== ':root') continue
      for (const name of rule.style) {
        if (name.startsWith('--'))
          found[isDark ? 'dark' : 'light'].set(name, rule.style.getPropertyValue(name).trim())
      }
    }
  const light = (name: string) => found.light.get(name) ?? ''
  return { light, dark: (name) => found.dark.get(name) ?? light(name) }
}

let variables: Record<string, string> | null = null

function allVariables(): Record<string, string> {
  if (!variables) {
    const { light, dark } = readTokens()
    variables = styleVariables(light, dark)
  }
  return variables
}

function isDark(): boolean {
  return document.documentElement.dataset.theme === 'dark'
}

function themeContext(): object {
  return { theme: isDark() ? 'dark' : 'light', styles: { variables: allVariables() } }
}

/** The language that was chosen here, else that of the browser: the app may have it where the page has not. */
function languageContext(): object {
  return {
    locale: chosenLanguage() ? languageTag() : navigator.language || languageTag(),
    timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
  }
}

/** The part of the context that has nothing to do with one view. */
export function pageContext(version: string): object {
  return {
    ...themeContext(),
    ...languageContext(),
    userAgent: `nb/${version}`,
    platform: 'web',
    deviceCapabilities: {
      touch: navigator.maxTouchPoints > 0,
      hover: matchMedia('(hover: hover)').matches,
    },
    safeAreaInsets: { top: 0, right: 0, bottom: 0, left: 0 },
  }
}

/** Calls back with what has changed: the theme, or the language; returns how to end it. */
export function onPageChange(tell: (changed: object) => void): () => void {
  const observer = new MutationObserver(() => tell(themeContext()))
  observer.observe(document.documentElement, { attributeFilter: ['data-theme'] })
  const onLanguage = () => tell(languageContext())
  addEventListener('languagechange', onLanguage)
  return () => {
    observer.disconnect()
    removeEventListener('languagechange', onLanguage)
  }
}
