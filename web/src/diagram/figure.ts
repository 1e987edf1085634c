// A diagram in the place of its source: a block of code with a picture, and buttons to see the source, to see the picture
// large and to save it.
import type { Kit } from '../markdown/diagram'
import { type Diagram, drawDiagram, stylesheet } from './diagram'
import { savedSvg } from './saved'
import { Turns } from './turns'

const SOURCE = 'M8 7l-5 5 5 5M16 7l5 5-5 5M13.5 5l-3 14'
const EXPAND = 'M14 5h5v5M19 5l-6 6M10 19H5v-5M5 19l6-6'
const KNOWN_MAX = 30
const SMALLEST = 0.7 // a wide diagram is made narrower down to this, then it scrolls
const NEAR = '100% 0px' // one window above and below
const ZOOM_STEP = 1.25
const ZOOMS = { least: 0.25, most: 4 }

/** By source; null if it cannot be drawn. A list that grows is drawn again, with all diagrams in it. */
const known = new Map<string, Diagram | null>()
const wanted = new WeakMap<HTMLElement, { text: string; kit: Kit; isDrawn: boolean }>()
const turns = new Turns(draw)
let styled: Promise<void> | null = null
let isStyled = false

/** A figure near the window is drawn before others. One that returns to the page is noticed here too. */
const nearby = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      const figure = target as HTMLElement
      if (isStyled && wanted.get(figure)?.isDrawn === false) turns.add(figure, isIntersecting)
    }
  },
  { rootMargin: NEAR, scrollMargin: NEAR } as IntersectionObserverInit, // the messages scroll in an element of the page
)

/** Shows the diagram of a text in a block of code, or, if the text is empty, its source. */
export function show(figure: HTMLElement, text: string, kit: Kit): void {
  if ((wanted.get(figure)?.text ?? '') === text) return
  clear(figure)
  wanted.set(figure, { text, kit, isDrawn: text === '' })
  if (text === '') turns.drop(figure)
  else if (!isStyled || !known.has(text) || !turns.takeNow(figure)) void later(figure, kit)
}

async function later(figure: HTMLElement, kit: Kit): Promise<void> {
  styled ??= style(kit)
  await styled
  if (wanted.get(figure)?.isDrawn !== false) return
  nearby.unobserve(figure) // it is told of a figure when it begins to watch it
  nearby.observe(figure)
}

/** Nothing is drawn that is not in the page, or no longer. */
function draw(figure: HTMLElement): void {
  const one = wanted.get(figure)
  if (!one || one.isDrawn || (!figure.isConnected && !known.has(one.text))) return
  one.isDrawn = true
  nearby.unobserve(figure)
  put(figure, diagramOf(one.text), one.kit)
  figure.getBoundingClientRect() // the time that the layout takes is part of it
}

async function style({ loadStylesheet }: Kit): Promise<void> {
  try {
    await loadStylesheet(new URL(stylesheet, import.meta.url).href)
  } catch {
    // plain is better than nothing
  }
  isStyled = true
}

function diagramOf(text: string): Diagram | null {
  let diagram = known.get(text)
  if (diagram !== undefined) return diagram
  try {
    diagram = drawDiagram(text)
  } catch {
    diagram = null // not understood, or too large
  }
  known.set(text, diagram)
  const [oldest] = known.keys()
  if (known.size > KNOWN_MAX) known.delete(oldest!)
  return diagram
}

function clear(figure: HTMLElement): void {
  figure.querySelectorAll(':scope > .diagram, .diagram-action').forEach((element) => element.remove())
  figure.classList.remove('is-diagram', 'has-diagram')
}

function put(figure: HTMLElement, diagram: Diagram | null, kit: Kit): void {
  const actions = figure.querySelector('.code-actions')
  if (!diagram || !actions) return
  const { h, t } = kit
  const svg = pictureOf(diagram, kit)
  svg.style.minWidth = `${Math.round(Number(svg.getAttribute('width')) * SMALLEST)}px`
  const stage = h('div', { class: 'diagram', tabindex: 0, role: 'group', dir: 'ltr', aria: { label: t('Diagram') } })
  stage.append(svg)
  figure.querySelector('figcaption')!.after(stage)
  figure.classList.add('is-diagram', 'has-diagram')
  const source: HTMLButtonElement = action(kit, SOURCE, t('Show source'), () => {
    const isSource = !figure.classList.toggle('is-diagram')
    source.setAttribute('aria-pressed', String(isSource))
  })
  source.setAttribute('aria-pressed', 'false')
  const large = action(kit, EXPAND, t('Show in full size'), () => openLarge(diagram, kit))
  large.classList.add('diagram-only')
  const saving = kit.iconButton('save', t('Download as SVG'), () => kit.save('diagram.svg', savedSvg(svg)), 'diagram-action diagram-only') // not translated
  actions.prepend(source, large, saving)
}

function action({ drawIcon, iconButton }: Kit, line: string, label: string, click: () => void): HTMLButtonElement {
  const button = iconButton('none', label, click, 'diagram-action')
  button.replaceChildren(drawIcon('diagram', line))
  return button
}

/** A copy: a picture can only be in one place. */
function pictureOf({ svg, name }: Diagram, { t }: Kit): SVGSVGElement {
  const picture = svg.cloneNode(true) as SVGSVGElement
  picture.setAttribute('role', 'img')
  picture.setAttribute('aria-label', t('Diagram: {text}', { text: name }))
  return picture
}

function openLarge(diagram: Diagram, kit: Kit): void {
  const { h, t, openDialog } = kit
  const dialog = openDialog(t('Diagram'), 'diagram-large')
  const svg = pictureOf(diagram, kit)
  const width = Number(svg.getAttribute('width'))
  const stage = h('div', { class: 'diagram', tabindex: 0, role: 'group', dir: 'ltr', aria: { label: t('Diagram') } })
  let zoom = 0 // 0: as wide as the dialog allows
  const step = (factor: number) => {
    zoom = Math.min(ZOOMS.most, Math.max(ZOOMS.least, (zoom || svg.clientWidth / width || 1) * factor))
    svg.style.maxWidth = 'none'
    svg.style.width = `${Math.round(width * zoom)}px`
  }
  const button = (sign: string, label: string, factor: number) =>
    h('button', { type: 'button', class: 'button', title: label, aria: { label }, on: { click: () => step(factor) } }, sign)
  stage.append(svg)
  dialog.body.append(h('div', { class: 'diagram-zoom' }, button('−', t('Smaller'), 1 / ZOOM_STEP), button('+', t('Larger'), ZOOM_STEP)), stage)
}
