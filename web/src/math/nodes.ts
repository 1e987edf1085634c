// Elements of MathML.

const NAMESPACE = 'http://www.w3.org/1998/Math/MathML'

export function element(name: string, ...children: Element[]): Element {
  const node = document.createElementNS(NAMESPACE, name)
  node.append(...children)
  return node
}

/** An element with text: mi (name), mn (number), mo (sign), mtext. */
export function word(name: 'mi' | 'mn' | 'mo' | 'mtext', text: string): Element {
  const node = document.createElementNS(NAMESPACE, name)
  node.textContent = text
  return node
}

/** Several elements as one. */
export function row(children: Element[]): Element {
  return children.length === 1 ? children[0]! : element('mrow', ...children)
}

export function space(em: number): Element {
  const node = element('mspace')
  node.setAttribute('width', `${em}em`)
  return node
}
