// Words that are marked in messages, without a change of their elements. Loaded with the parts that search.
const MARK = 'nb-found'
const RANGES_MAX = 500

/** Where one of the words, which are folded, occurs in the element. With isStart only at the beginning of words. */
export function rangesOf(element: HTMLElement, words: readonly string[], isStart = false): Range[] {
  const ranges: Range[] = []
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node && ranges.length < RANGES_MAX; node = walker.nextNode()) {
    const text = fold(node.nodeValue ?? '')
    if (text.length !== node.nodeValue?.length) continue // the places would not agree
    for (const word of words) {
      for (let at = text.indexOf(word); word && at >= 0; at = text.indexOf(word, at + word.length)) {
        if (isStart && at > 0 && /[\p{L}\p{N}]/u.test(text[at - 1]!) && !/\p{Script=Han}/u.test(word)) continue
        const range = document.createRange()
        range.setStart(node, at)
        range.setEnd(node, at + word.length)
        ranges.push(range)
      }
    }
  }
  return ranges
}

export function mark(ranges: readonly Range[]): void {
  if (globalThis.CSS?.highlights) CSS.highlights.set(MARK, new Highlight(...ranges))
}

export function unmark(): void {
  globalThis.CSS?.highlights?.delete(MARK)
}

/** The first that can be seen; what is folded around it is opened. */
export function firstInView(ranges: readonly Range[]): Range | null {
  for (const range of ranges) {
    range.startContainer.parentElement?.closest('.is-folded')?.classList.remove('is-folded')
    const details = range.startContainer.parentElement?.closest('details')
    if (details && !details.open) details.open = true
    if (range.getBoundingClientRect().height > 0) return range
  }
  return null
}

/** Without case and accents, letter for letter. */
export function fold(text: string): string {
  return [...text].map((c) => c.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase() || c).join('')
}
