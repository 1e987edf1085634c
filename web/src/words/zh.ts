import type { Words } from '../base/words'

const words: Words = {}

export default words
