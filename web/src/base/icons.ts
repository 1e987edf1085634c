// The icons: 24 by 24, drawn with a line of the text's colour.

const PATHS = {
  plus: 'M12 5v14M5 12h14',
  search: 'M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14ZM20 20l-4.1-4.1',
  sidebar: 'M4 7a3 3 0 0 1 3-3h10a3 3 0 0 1 3 3v10a3 3 0 0 1-3 3H7a3 3 0 0 1-3-3ZM9.5 4v16',
  send: 'M12 19V5M6 11l6-6 6 6',
  stop: 'M8 7h8a1 1 0 0 1 1 1v8a1 1 0 0 1-1 1H8a1 1 0 0 1-1-1V8a1 1 0 0 1 1-1Z',
  down: 'M12 5v14M6 13l6 6 6-6',
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
  spark:
    'M12 3.5c.6 4.9 3.1 7.9 8 8.5-4.9.6-7.4 3.6-8 8.5-.6-4.9-3.1-7.9-8-8.5 4.9-.6 7.4-3.6 8-8.5Z',
} as const

export type IconName = keyof typeof PATHS

const SVG = 'http://www.w3.org/2000/svg'

export function icon(name: IconName): SVGSVGElement {
  const svg = document.createElementNS(SVG, 'svg')
  const path = document.createElementNS(SVG, 'path')
  svg.setAttribute('viewBox', '0 0 24 24')
  svg.setAttribute('class', `icon icon-${name}`)
  svg.setAttribute('aria-hidden', 'true')
  path.setAttribute('d', PATHS[name])
  svg.appendChild(path)
  return svg
}

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
