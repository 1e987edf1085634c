// LaTeX as tokens: "\name", or one character. White space has no meaning, except in text.

const LENGTH_MAX = 20_000
const TOKEN = /\\([A-Za-z]+\*?|[^])|%[^\n]*(?:\n|$)|([^])/guy

export class Tokens {
  #at = 0

  constructor(readonly text: string) {
    if (text.length > LENGTH_MAX) throw new SyntaxError('the formula is too long')
  }

  /** The next token without reading it; '' at the end. Commands keep their backslash. */
  peek(): string {
    for (;;) {
      TOKEN.lastIndex = this.#at
      const match = TOKEN.exec(this.text)
      if (!match) return ''
      const [whole, command, char] = match
      if (whole[0] !== '%' && (command !== undefined || !/\s/.test(char!))) return whole
      this.#at += whole.length
    }
  }

  next(): string {
    const token = this.peek()
    this.#at += token.length
    return token
  }

  /** Reads the token if it is this one. */
  skip(token: string): boolean {
    const isThere = this.peek() === token
    if (isThere) this.next()
    return isThere
  }

  expect(token: string): void {
    if (!this.skip(token)) throw new SyntaxError(`${token} is missing`)
  }

  /** The characters of a group, as they are written. */
  rawGroup(): string {
    this.expect('{')
    const from = this.#at
    for (let depth = 1; this.#at < this.text.length; this.#at++) {
      const c = this.text[this.#at]
      if (c === '\\') this.#at++
      else if (c === '{') depth++
      else if (c === '}' && --depth === 0) return this.text.slice(from, this.#at++)
    }
    throw new SyntaxError('} is missing')
  }

  /** "[…]" right here; null: there is none. */
  rawOption(): string | null {
    if (this.peek() !== '[') return null
    const end = this.text.indexOf(']', this.#at)
    if (end < 0) return null
    const from = this.#at + 1
    this.#at = end + 1
    return this.text.slice(from, end)
  }
}
