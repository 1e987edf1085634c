// Formulas: LaTeX is drawn as MathML by a part of the page that is loaded with the first of them. Until
// then, and where it cannot be read, it is shown as it was written.
import { h } from '../base/dom'

/** A place for a formula. isBlock: on a line of its own. */
export function formulaNode(text: string, isBlock: boolean): HTMLElement {
  const source = h('code', {}, text)
  const element = h(isBlock ? 'div' : 'span', { class: isBlock ? 'formula is-block' : 'formula', dir: 'ltr' }, source)
  const draw = async () => {
    try {
      const { mathml } = await import('../math/mathml')
      element.replaceChildren(mathml(text, isBlock))
    } catch {
      // the text stays
    }
  }
  void draw()
  return element
}
