// A line of text while it is read from left to right. Tabs reach to the next multiple of four
// columns, and a part of a tab can be read: what is left of it counts as spaces.

export class Line {
  readonly text: string
  #at = 0 // character
  #column = 0
  #tabRest = 0 // columns of the tab before #at that are not read yet

  constructor(text: string) {
    this.text = text
  }

  /** Columns of white space from here on. */
  get indent(): number {
    let column = this.#column + this.#tabRest
    for (let i = this.#at; ; i++) {
      const c = this.text[i]
      if (c === ' ') column++
      else if (c === '\t') column += 4 - (column % 4)
      else return column - this.#column
    }
  }

  get isBlank(): boolean {
    return /^[ \t]*$/.test(this.text.slice(this.#at))
  }

  /** The text after the white space. */
  get content(): string {
    return this.text.slice(this.#at).replace(/^[ \t]+/, '')
  }

  /** The text from here on, white space included. */
  get rest(): string {
    return ' '.repeat(this.#tabRest) + this.text.slice(this.#at)
  }

  /** Columns that have been read. */
  get column(): number {
    return this.#column
  }

  /** Reads white space, at most so many columns of it. */
  skipIndent(columns: number): void {
    let left = columns
    while (left > 0) {
      if (this.#tabRest > 0) {
        const n = Math.min(left, this.#tabRest)
        this.#tabRest -= n
        this.#column += n
        left -= n
        continue
      }
      const c = this.text[this.#at]
      if (c === '\t') this.#tabRest = 4 - (this.#column % 4)
      else if (c === ' ') (this.#column++, left--)
      else return
      this.#at++
    }
  }

  /** Reads all white space, then so many characters, none of which is white space. */
  skip(characters: number): void {
    this.skipIndent(Infinity)
    this.#at += characters
    this.#column += characters
  }
}
