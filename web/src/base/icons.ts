// The icons: 24 by 24, drawn with a line of the text's colour.

const PATHS = {
  none: '',
  plus: 'M12 5v14M5 12h14',
  search: 'M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14ZM20 20l-4.1-4.1',
  sidebar: 'M4 7a3 3 0 0 1 3-3h10a3 3 0 0 1 3 3v10a3 3 0 0 1-3 3H7a3 3 0 0 1-3-3ZM9.5 4v16',
  send: 'M12 19V5M6 11l6-6 6 6',
  stop: 'M8 7h8a1 1 0 0 1 1 1v8a1 1 0 0 1-1 1H8a1 1 0 0 1-1-1V8a1 1 0 0 1 1-1Z',
  down: 'M12 5v14M6 13l6 6 6-6',
  bell: 'M6 16V11a6 6 0 0112 0v5l1.5 2h-15zM10 20.5h4',
  chevron: 'M9 6l6 6-6 6',
  check: 'M5 12.5l4.5 4.5L19 7.5',
  cross: 'M6 6l12 12M18 6 6 18',
  copy: 'M9 9h9a2 2 0 0 1 2 2v7a2 2 0 0 1-2 2h-7a2 2 0 0 1-2-2ZM15 9V6a2 2 0 0 0-2-2H6a2 2 0 0 0-2 2v7a2 2 0 0 0 2 2h3',
  retry: 'M4 12a8 8 0 1 0 2.6-5.9M4 4v4.5h4.5',
  sun: 'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8ZM12 2.5v2M12 19.5v2M2.5 12h2M19.5 12h2M5.3 5.3l1.4 1.4M17.3 17.3l1.4 1.4M5.3 18.7l1.4-1.4M17.3 6.7l1.4-1.4',
  moon: 'M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5Z',
  screen: 'M5 5h14a2 2 0 0 1 2 2v8a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2V7a2 2 0 0 1 2-2ZM9 21h6M12 17v4',
  help: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18ZM9.6 9.4a2.5 2.5 0 1 1 3.6 2.3c-.8.4-1.2.9-1.2 1.8M12 16.6v.1',
  people:
    'M9 5a3.2 3.2 0 1 0 0 6.4A3.2 3.2 0 0 0 9 5ZM3 19c.4-3 2.7-5 6-5s5.6 2 6 5M15.5 5.3a3.2 3.2 0 0 1 0 5.8M17.5 14.4c2 .7 3.2 2.3 3.5 4.6',
  wrench:
    'M14.5 6.5a4 4 0 0 1 5-1.2l-2.7 2.7 1.7 2 2.6-2.3a4 4 0 0 1-5.6 4.7l-6.7 7a2 2 0 0 1-2.9-2.9l7-6.6a4 4 0 0 1 1.6-3.4Z',
  alert:
    'M12 8v5M12 16.5v.1M10.3 4.2 2.8 17a2 2 0 0 0 1.7 3h15a2 2 0 0 0 1.7-3L13.7 4.2a2 2 0 0 0-3.4 0Z',
  clock: 'M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17ZM12 7.5V12l3 2',
  edit: 'M4.5 19.5l.9-4L15.8 5.1a2 2 0 0 1 2.8 0l.3.3a2 2 0 0 1 0 2.8L8.5 18.6ZM13.8 7.1l3.1 3.1',
  fork: 'M7 4.5a2 2 0 1 0 0 4 2 2 0 0 0 0-4ZM17 4.5a2 2 0 1 0 0 4 2 2 0 0 0 0-4ZM12 15.5a2 2 0 1 0 0 4 2 2 0 0 0 0-4ZM7 8.5c0 3.5 5 2.5 5 7M17 8.5c0 3.5-5 2.5-5 7',
  link: 'M10 14a4 4 0 0 0 5.7 0l3-3A4 4 0 0 0 13 5.3l-1 1M14 10a4 4 0 0 0-5.7 0l-3 3A4 4 0 0 0 11 18.7l1-1',
  pin: 'M9 4h6l-.7 6 3.2 3.5v1.5h-11v-1.5L9.7 10ZM12 15v5',
  archive: 'M5 9h14v9a2 2 0 0 1-2 2H7a2 2 0 0 1-2-2ZM4 5h16v4H4ZM10 13h4',
  more: 'M5.5 12h.01M12 12h.01M18.5 12h.01',
  trash:
    'M5 7h14M10 7V5a1 1 0 0 1 1-1h2a1 1 0 0 1 1 1v2M7 7l.8 11.2a2 2 0 0 0 2 1.8h4.4a2 2 0 0 0 2-1.8L17 7M10.5 11v5M13.5 11v5',
  note: 'M6 4h12a2 2 0 0 1 2 2v8l-6 6H6a2 2 0 0 1-2-2V6a2 2 0 0 1 2-2ZM20 14h-4a2 2 0 0 0-2 2v4M8 9h8M8 13h4',
  clip: 'M19.5 11.5l-7.6 7.6a5 5 0 0 1-7-7l8-8a3.3 3.3 0 0 1 4.7 4.7l-8 8a1.7 1.7 0 0 1-2.4-2.4l7.2-7.2',
  wrap: 'M4 6h16M4 12h13a3 3 0 0 1 0 6h-5M14.5 15.5 12 18l2.5 2.5M4 18h4',
  fold: 'M7 4l5 4.5L17 4M7 20l5-4.5 5 4.5M4 12h16',
  save: 'M12 4v11M7 11l5 5 5-5M5 20h14',
  gear: 'M12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6ZM12 3v2.5M12 18.5V21M3 12h2.5M18.5 12H21M5.6 5.6l1.8 1.8M16.6 16.6l1.8 1.8M5.6 18.4l1.8-1.8M16.6 7.4l1.8-1.8',
  box: 'M12 3.5l7.5 4.2v8.6L12 20.5l-7.5-4.2V7.7ZM4.7 7.9 12 12l7.3-4.1M12 12v8.3',
  book: 'M5 5.5A1.5 1.5 0 0 1 6.5 4H19v13H6.5A1.5 1.5 0 0 0 5 18.5ZM5 18.5A1.5 1.5 0 0 0 6.5 20H19v-3',
  chart: 'M5 20V11M12 20V4M19 20v-6',
  table: 'M6 5h12a2 2 0 0 1 2 2v10a2 2 0 0 1-2 2H6a2 2 0 0 1-2-2V7a2 2 0 0 1 2-2ZM4 10h16M4 14.5h16M10 10v9',
  layers: 'M12 4l8.5 4.5L12 13 3.5 8.5ZM4 12.5l8 4.2 8-4.2M4 16.3l8 4.2 8-4.2',
  shield: 'M12 3.5l7 2.5v5.5c0 4.3-2.8 7.5-7 9-4.2-1.5-7-4.7-7-9V6ZM9 12l2.2 2.2L15.2 10',
  user: 'M12 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8ZM4.5 20c.7-3.7 3.6-6 7.5-6s6.8 2.3 7.5 6',
  key: 'M8 11a4 4 0 1 0 0 8 4 4 0 0 0 0-8ZM11 12.5 19.5 4M16 7.5l3 3M13.5 10l2 2',
  exit: 'M10 4H6a2 2 0 0 0-2 2v12a2 2 0 0 0 2 2h4M15 8l4 4-4 4M19 12H9',
  play: 'M8 5.5v13l10.5-6.5Z',
  steer: 'M5 19v-6a4 4 0 0 1 4-4h10M14 4l5 5-5 5',
  command:
    'M9 9V6.5A2.5 2.5 0 1 0 6.5 9ZM15 9h2.5A2.5 2.5 0 1 0 15 6.5ZM15 15v2.5a2.5 2.5 0 1 0 2.5-2.5ZM9 15H6.5A2.5 2.5 0 1 0 9 17.5ZM9 9h6v6H9Z',
  spark:
    'M12 3.5c.6 4.9 3.1 7.9 8 8.5-4.9.6-7.4 3.6-8 8.5-.6-4.9-3.1-7.9-8-8.5 4.9-.6 7.4-3.6 8-8.5Z',
} as const

export type IconName = keyof typeof PATHS

const SVG = 'http://www.w3.org/2000/svg'

export function icon(name: IconName): SVGSVGElement {
  return drawIcon(name, PATHS[name])
}

/** An icon that only a part of the page has. */
export function drawIcon(name: string, line: string): SVGSVGElement {
  const svg = document.createElementNS(SVG, 'svg')
  const path = document.createElementNS(SVG, 'path')
  svg.setAttribute('viewBox', '0 0 24 24')
  svg.setAttribute('class', `icon icon-${name}`) // not translated
  svg.setAttribute('aria-hidden', 'true')
  path.setAttribute('d', line)
  svg.appendChild(path)
  return svg
}

/** For the gallery. */
export const ICONS = /* @__PURE__ */ Object.keys(PATHS) as IconName[]

/** The mark of the product: an n that ends in a spark. */
export function logo(): SVGSVGElement {
  const svg = document.createElementNS(SVG, 'svg')
  const line = document.createElementNS(SVG, 'path')
  const dot = document.createElementNS(SVG, 'circle')
  svg.setAttribute('viewBox', '0 0 32 32')
  svg.setAttribute('class', 'logo')
  svg.setAttribute('aria-hidden', 'true')
  line.setAttribute('d', 'M9 22.5V15a4.2 4.2 0 0 1 8.4 0v2.2a4.2 4.2 0 0 0 4.2 4.2')
  dot.setAttribute('cx', '22')
  dot.setAttribute('cy', '11.2')
  dot.setAttribute('r', '2.6')
  svg.append(line, dot)
  return svg
}
