// A diagram as a file of its own: colours and fonts as they are shown now, since the page's styles stay behind.

const PROPERTIES = ['fill', 'stroke', 'stroke-width', 'stroke-dasharray', 'stroke-linejoin', 'font-weight', 'paint-order']

export function savedSvg(svg: SVGSVGElement): string {
  const copy = svg.cloneNode(true) as SVGSVGElement
  const colours = new Colours()
  const [shown, written] = [[...svg.querySelectorAll('*')], [...copy.querySelectorAll('*')]]
  written.forEach((element, i) => {
    const style = getComputedStyle(shown[i]!)
    for (const name of PROPERTIES) element.setAttribute(name, colours.plain(style.getPropertyValue(name)))
    element.removeAttribute('class')
  })
  for (const name of ['class', 'style', 'role']) copy.removeAttribute(name)
  copy.setAttribute('font-family', getComputedStyle(svg).fontFamily)
  copy.prepend(groundOf(svg, colours.plain(getComputedStyle(document.body).backgroundColor)))
  return new XMLSerializer().serializeToString(copy)
}

/** The page behind it: in a dark theme, its texts are light. */
function groundOf(svg: SVGSVGElement, fill: string): Element {
  const [x, y, width, height] = svg.getAttribute('viewBox')!.split(' ')
  const ground = document.createElementNS(svg.namespaceURI, 'rect')
  for (const [name, value] of Object.entries({ x, y, width, height, fill })) ground.setAttribute(name, value!)
  return ground
}

/** Mixed colours are written in a form that other programs do not know: they are painted and read back. */
class Colours {
  #context = document.createElement('canvas').getContext('2d', { willReadFrequently: true })
  #known = new Map<string, string>()

  plain(value: string): string {
    if (!/^(?:color|color-mix|oklab|oklch|lab|lch|rgba?)\(/.test(value) || !this.#context) return value
    let plain = this.#known.get(value)
    if (plain === undefined) this.#known.set(value, (plain = this.#painted(value)))
    return plain
  }

  #painted(value: string): string {
    const context = this.#context!
    context.clearRect(0, 0, 1, 1)
    context.fillStyle = value
    context.fillRect(0, 0, 1, 1)
    const [r, g, b, a] = context.getImageData(0, 0, 1, 1).data
    return a === 255 ? `rgb(${r},${g},${b})` : `rgba(${r},${g},${b},${Math.round((a! / 255) * 100) / 100})`
  }
}
