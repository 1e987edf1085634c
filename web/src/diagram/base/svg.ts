// A scene as nodes of the page. Texts are text nodes; colours come from classes and the page's tokens.
import type { Item, Scene } from './scene'

const NAMESPACE = 'http://www.w3.org/2000/svg'
const SHORT = 100 // the parts of a number that can be seen

export function svgOf(scene: Scene): SVGSVGElement {
  const { x, y, width, height } = scene.box
  const svg = node('svg', { class: 'dg', viewBox: `${x} ${y} ${width} ${height}`, width, height })
  for (const item of scene.items) svg.append(nodeOf(item))
  return svg as SVGSVGElement
}

function node(name: string, attributes: Record<string, string | number>): SVGElement {
  const element = document.createElementNS(NAMESPACE, name)
  for (const [key, value] of Object.entries(attributes)) {
    element.setAttribute(key, typeof value === 'number' ? String(Math.round(value * SHORT) / SHORT) : value)
  }
  return element
}

function nodeOf(item: Item): SVGElement {
  switch (item.type) {
    case 'path':
      return node('path', { class: item.class, d: item.d })
    case 'rect': {
      const { x, y, width, height, round } = item
      return node('rect', { class: item.class, x, y, width, height, ...(round > 0 && { rx: round }) })
    }
    case 'circle':
      return node('circle', { class: item.class, cx: item.x, cy: item.y, r: item.r })
    case 'text': {
      const { x, y, size, anchor } = item
      const text = node('text', { class: item.class, x, y, 'font-size': size, 'text-anchor': anchor })
      text.textContent = item.text
      return text
    }
  }
}
