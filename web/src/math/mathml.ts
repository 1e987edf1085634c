// LaTeX as MathML: what is common in answers of models. What is not known here throws, and the formula is
// then shown as it was written.
import { grid, isEnvironment, rowsUntil } from './environments'
import { element, row, space, word } from './nodes'
import * as symbols from './symbols'
import { Tokens } from './tokens'

const DEPTH_MAX = 60
const NODES_MAX = 5000

/** The formula as an element. Throws a SyntaxError for what it cannot read. */
export function mathml(text: string, isBlock: boolean): Element {
  const parser = new Parser(new Tokens(text))
  const content = parser.all()
  const math = element('math', content)
  math.setAttribute('display', isBlock ? 'block' : 'inline')
  math.setAttribute('aria-label', text)
  return math
}

/** How scripts stand at the thing before them. */
type Place = 'side' | 'limits'
interface Atom {
  node: Element
  place: Place
}

export class Parser {
  #depth = 0
  #nodes = 0

  constructor(readonly tokens: Tokens) {}

  all(): Element {
    const rows = rowsUntil(this, '')
    const isOne = rows.length === 1 && rows[0]!.length === 1
    return isOne ? rows[0]![0]! : grid(rows, { align: 'rl', isDisplay: true })
  }

  /** What stands before one of these tokens, as one row. The token is not read. */
  expression(...ends: string[]): Element {
    if (++this.#depth > DEPTH_MAX) throw new SyntaxError('the formula is nested too deeply')
    const nodes: Element[] = []
    for (let next = this.tokens.peek(); next && !ends.includes(next); next = this.tokens.peek()) {
      if (++this.#nodes > NODES_MAX) throw new SyntaxError('the formula is too large')
      const over = next === '\\over' || next === '\\choose'
      if (over) return this.#over(nodes, next, ends)
      const node = this.#scripted()
      if (node) nodes.push(node)
    }
    this.#depth--
    return row(nodes)
  }

  /** "{a \over b}" */
  #over(above: Element[], command: string, ends: string[]): Element {
    this.tokens.next()
    const below = this.expression(...ends)
    this.#depth--
    const fraction = element('mfrac', row(above), below)
    if (command === '\\over') return fraction
    fraction.setAttribute('linethickness', '0')
    return row([fence('('), fraction, fence(')')])
  }

  /** A thing with what is above and below its right side, or above and below it. */
  #scripted(): Element | null {
    const { tokens } = this
    const atom = this.#atom()
    let below: Element | null = null
    let above: Element | null = null
    let place: Place | undefined = atom?.place
    for (;;) {
      if (tokens.skip('\\limits')) place = 'limits'
      else if (tokens.skip('\\nolimits')) place = 'side'
      else if (tokens.peek() === '_' && !below) below = this.#script()
      else if (tokens.peek() === '^' && !above) above = this.#script()
      else if (tokens.peek() === "'" && !above) above = this.#primes()
      else break
    }
    const base = atom?.node ?? row([])
    if (!below && !above) return atom?.node ?? null
    const names = place === 'limits' ? ['munder', 'mover', 'munderover'] : ['msub', 'msup', 'msubsup']
    if (below && above) return element(names[2]!, base, below, above)
    return below ? element(names[0]!, base, below) : element(names[1]!, base, above!)
  }

  #script(): Element {
    this.tokens.next()
    return this.argument()
  }

  #primes(): Element {
    let text = ''
    while (this.tokens.skip("'")) text += '′'
    const primes = word('mo', text)
    return this.tokens.peek() === '^' ? row([primes, this.#script()]) : primes
  }

  /** A group, or the one thing that stands here. */
  argument(): Element {
    if (this.tokens.skip('{')) {
      const inner = this.expression('}')
      this.tokens.expect('}')
      return inner
    }
    const atom = this.#atom()
    if (!atom) throw new SyntaxError('an argument is missing')
    return atom.node
  }

  #atom(): Atom | null {
    const token = this.tokens.peek()
    const side = (node: Element): Atom => ({ node, place: 'side' })
    if (token === '' || token === '_' || token === '^') return null
    if (token === '{') return side(this.argument())
    if (/^\d$/.test(token)) return side(this.#number())
    this.tokens.next()
    if (token.length > 1 && token[0] === '\\') return this.#command(token.slice(1))
    if (token === '~') return side(space(0.25))
    if (token === '}' || token === '&' || token === '#' || token === '$' || token === '\\')
      throw new SyntaxError(`${token} has no meaning here`)
    if (/\p{L}/u.test(token)) return side(word('mi', token))
    return side(operator(token === '-' ? '−' : token === '*' ? '∗' : token))
  }

  #number(): Element {
    let text = ''
    while (/^\d$/.test(this.tokens.peek()) || (text && this.tokens.peek() === '.')) text += this.tokens.next()
    if (!text.endsWith('.')) return word('mn', text)
    return row([word('mn', text.slice(0, -1)), operator('.')])
  }

  #command(name: string): Atom | null {
    const side = (node: Element): Atom => ({ node, place: 'side' })
    const limits = (node: Element): Atom => ({ node, place: 'limits' })
    const large = symbols.LARGE.get(name)
    if (large) return limits(operator(large))
    if (symbols.LIMITS.has(name)) return limits(word('mo', name.replace(/^lim(?=inf|sup)/, 'lim ')))
    if (name === 'operatorname*') return limits(word('mo', this.tokens.rawGroup()))
    if (name === 'underbrace' || name === 'overbrace') return limits(this.#accent(name)!)
    if (IGNORED.has(name)) return null
    const node = this.#symbol(name) ?? this.#accent(name) ?? this.#alphabet(name) ?? this.#structure(name)
    if (!node) throw new SyntaxError(`\\${name} is not known`)
    return side(node)
  }

  #symbol(name: string): Element | null {
    const letter = symbols.LETTERS.get(name)
    if (letter) return /^[A-Z]/.test(name) ? upright(letter) : word('mi', letter)
    const sign = symbols.OPERATORS.get(name) ?? symbols.INTEGRALS.get(name)
    if (sign) return operator(sign)
    if (symbols.FUNCTIONS.has(name)) return word('mi', name)
    const width = symbols.SPACES.get(name)
    if (width !== undefined) return space(width)
    if (/^[{}%$#&_]$/.test(name)) return operator(name)
    return name === '|' ? operator('‖') : null
  }

  #accent(name: string): Element | null {
    const above = symbols.ACCENTS.get(name)
    const mark = above ?? symbols.BELOW.get(name)
    if (!mark) return null
    const sign = word('mo', mark)
    sign.setAttribute('stretchy', String(symbols.STRETCHED.has(name)))
    const node = element(above ? 'mover' : 'munder', this.argument(), sign)
    node.setAttribute(above ? 'accent' : 'accentunder', 'true')
    return node
  }

  /** \mathbb{R}: the letters of a group in another alphabet. */
  #alphabet(name: string): Element | null {
    if (name === 'mathrm' || name === 'mathit' || name === 'mathnormal') {
      const node = this.argument()
      if (name === 'mathrm') for (const letter of lettersIn(node)) letter.setAttribute('mathvariant', 'normal')
      return node
    }
    if (!Object.hasOwn(symbols.ALPHABETS, name)) return null
    const node = this.argument()
    for (const letter of lettersIn(node)) letter.textContent = inAlphabet(letter.textContent ?? '', name)
    return node
  }

  #structure(name: string): Element | null {
    const { tokens } = this
    switch (name) {
      case 'frac':
      case 'dfrac':
      case 'tfrac':
      case 'cfrac':
        return element('mfrac', this.argument(), this.argument())
      case 'binom':
      case 'dbinom':
      case 'tbinom': {
        const fraction = element('mfrac', this.argument(), this.argument())
        fraction.setAttribute('linethickness', '0')
        return row([fence('('), fraction, fence(')')])
      }
      case 'sqrt': {
        const index = tokens.rawOption()
        const inner = this.argument()
        return index === null ? element('msqrt', inner) : element('mroot', inner, this.#inner(index))
      }
      case 'text':
      case 'textrm':
      case 'textit':
      case 'textbf':
      case 'texttt':
      case 'textsf':
      case 'mbox':
      case 'hbox':
        return textNode(tokens.rawGroup(), name)
      case 'operatorname':
        return word('mi', tokens.rawGroup().replace(/\\[,;:! ]/g, ' '))
      case 'overset':
      case 'stackrel': {
        const above = this.argument()
        return element('mover', this.argument(), above)
      }
      case 'underset': {
        const below = this.argument()
        return element('munder', this.argument(), below)
      }
      case 'xrightarrow':
      case 'xleftarrow': {
        tokens.rawOption()
        const arrow = operator(name === 'xrightarrow' ? '→' : '←')
        arrow.setAttribute('stretchy', 'true')
        return element('mover', arrow, this.argument())
      }
      case 'left':
        return this.#fenced()
      case 'big':
      case 'Big':
      case 'bigg':
      case 'Bigg':
      case 'bigl':
      case 'bigr':
      case 'Bigl':
      case 'Bigr':
      case 'biggl':
      case 'biggr':
      case 'Biggl':
      case 'Biggr':
      case 'bigm':
      case 'Bigm':
        return this.#sized(name)
      case 'boxed':
      case 'fbox': {
        const box = element('mrow', this.argument())
        box.setAttribute('class', 'formula-box')
        return box
      }
      case 'phantom':
        return element('mphantom', this.argument())
      case 'not':
        return this.#negated()
      case 'mod':
      case 'bmod':
        return row([space(0.3), word('mi', 'mod'), space(0.3)])
      case 'pmod':
        return row([space(0.5), fence('('), word('mi', 'mod'), space(0.3), this.argument(), fence(')')])
      case 'substack': {
        tokens.expect('{')
        const rows = rowsUntil(this, '}')
        tokens.expect('}')
        return grid(rows, { align: 'c' })
      }
      case 'tag':
      case 'tag*':
        return row([space(2), textNode(`(${tokens.rawGroup()})`, 'text')])
      case 'color':
      case 'textcolor':
        tokens.rawGroup()
        return name === 'textcolor' ? this.argument() : row([])
      case 'begin':
        return this.#environment()
      default:
        return null
    }
  }

  #inner(text: string): Element {
    return new Parser(new Tokens(text)).expression()
  }

  #environment(): Element {
    const name = this.tokens.rawGroup()
    if (!isEnvironment(name)) throw new SyntaxError(`the environment ${name} is not known`)
    if (name === 'array' || name === 'alignat' || name === 'alignat*') {
      const columns = this.tokens.rawGroup()
      const node = grid(rowsUntil(this, '\\end'), { align: columns.replace(/[^lcr]/g, '') || 'c' })
      return this.#ended(name, node)
    }
    return this.#ended(name, grid(rowsUntil(this, '\\end'), isEnvironment(name)!))
  }

  #ended(name: string, node: Element): Element {
    this.tokens.expect('\\end')
    if (this.tokens.rawGroup() !== name) throw new SyntaxError(`\\end{${name}} is missing`)
    return node
  }

  /** \left( … \middle| … \right) */
  #fenced(): Element {
    const nodes = [fence(this.#delimiter())]
    for (;;) {
      nodes.push(this.expression('\\right', '\\middle'))
      const isMiddle = this.tokens.skip('\\middle')
      if (!isMiddle) this.tokens.expect('\\right')
      nodes.push(fence(this.#delimiter()))
      if (!isMiddle) return row(nodes)
    }
  }

  #delimiter(): string {
    const token = this.tokens.next()
    if (token === '.') return ''
    if (token === '\\|') return '‖'
    if (/^\\[{}]$/.test(token)) return token[1]!
    const sign = token[0] === '\\' ? symbols.OPERATORS.get(token.slice(1)) : token
    if (!sign || !/^[()[\]{}|/\\<>⟨⟩⌊⌋⌈⌉‖↑↓↕⇑⇓⌜⌝]$/.test(sign)) throw new SyntaxError(`${token} is no bracket`)
    return sign === '<' ? '⟨' : sign === '>' ? '⟩' : sign
  }

  #sized(name: string): Element {
    const sizes: Record<string, string> = { big: '1.2em', Big: '1.8em', bigg: '2.4em', Bigg: '3em' }
    const sign = fence(this.#delimiter())
    const size = sizes[name.replace(/[lrm]$/, '')]!
    sign.setAttribute('minsize', size)
    sign.setAttribute('maxsize', size)
    return sign
  }

  #negated(): Element {
    const node = this.argument()
    if (node.localName !== 'mo') throw new SyntaxError('\\not has no sign to negate')
    node.textContent = `${node.textContent}\u0338`
    return node
  }
}

const IGNORED = new Set(
  'displaystyle textstyle scriptstyle scriptscriptstyle limits nolimits nonumber notag hline rm it bf protect allowbreak'.split(' '),
)

function operator(sign: string): Element {
  const node = word('mo', sign)
  if (/^[()[\]{}|‖⟨⟩⌊⌋⌈⌉]$/.test(sign)) node.setAttribute('stretchy', 'false')
  return node
}

/** A bracket that is as high as what it surrounds. */
function fence(sign: string): Element {
  const node = word('mo', sign)
  node.setAttribute('stretchy', 'true')
  return node
}

function upright(letter: string): Element {
  const node = word('mi', letter)
  node.setAttribute('mathvariant', 'normal')
  return node
}

function textNode(text: string, command: string): Element {
  const styles: Record<string, string> = { textbf: 'bold', textit: 'italic', texttt: 'monospace' }
  const plain = text.replace(/\\([ {}%$#&_,;])/g, '$1').replace(/[$]/g, '')
  const node = word('mtext', plain.replace(/^ | $/g, '\u00a0'))
  if (styles[command]) node.setAttribute('class', `formula-${styles[command]}`)
  return node
}

function lettersIn(node: Element): Element[] {
  const isLetter = ({ localName }: Element) => localName === 'mi' || localName === 'mn'
  return isLetter(node) ? [node] : [...node.querySelectorAll('mi, mn')]
}

function inAlphabet(text: string, name: string): string {
  const { upper, lower, digit, except = '' } = symbols.ALPHABETS[name]!
  return [...text]
    .map((c) => {
      const elsewhere = except.indexOf(c)
      if (elsewhere >= 0 && elsewhere % 2 === 0) return except[elsewhere + 1]!
      if (/[A-Z]/.test(c)) return String.fromCodePoint(upper + c.charCodeAt(0) - 65)
      if (/[a-z]/.test(c)) return String.fromCodePoint(lower + c.charCodeAt(0) - 97)
      return digit && /\d/.test(c) ? String.fromCodePoint(digit + Number(c)) : c
    })
    .join('')
}
