// Finding by a few letters: "usg" finds "Usage", "th dark" finds "Change the theme to dark".

/** How well a text fits what was typed: the higher the better, 0 = not at all. */
export function fuzzyScore(text: string, typed: string): number {
  const hay = text.toLowerCase()
  let sum = 1
  for (const word of typed.toLowerCase().split(/\s+/).filter(Boolean)) {
    const score = wordScore(hay, word)
    if (score === 0) return 0
    sum += score
  }
  return sum
}

/** A whole part is better than letters in their order, the start of a word better than its middle. */
function wordScore(hay: string, word: string): number {
  const whole = hay.indexOf(word)
  if (whole === 0) return 100
  if (whole > 0) return isStart(hay, whole) ? 80 : 50
  let best = 0
  for (let at = hay.indexOf(word[0]!); at >= 0; at = hay.indexOf(word[0]!, at + 1))
    if (isStart(hay, at)) best = Math.max(best, lettersFrom(hay, word, at)) // elsewhere they would find everything
  return best
}

function lettersFrom(hay: string, word: string, first: number): number {
  let at = first - 1
  let starts = 0
  for (const letter of word) {
    at = hay.indexOf(letter, at + 1)
    if (at < 0) return 0
    if (isStart(hay, at)) starts++
  }
  return 10 + starts
}

function isStart(hay: string, at: number): boolean {
  return at === 0 || /[\s_/.:-]/.test(hay[at - 1]!)
}

/** Those that fit, the best first; equally good ones keep their order. */
export function fuzzyFind<T>(items: readonly T[], typed: string, textOf: (item: T) => string): T[] {
  if (typed.trim() === '') return [...items]
  return items
    .map((item) => ({ item, score: fuzzyScore(textOf(item), typed) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .map(({ item }) => item)
}
