// Loaded when somebody opens a file, or gives a large one.
import '../main' // as in apps.ts: parts that are loaded later share the whole of the first load

export { giveInPieces } from './pieces'
export { takeFile } from './take'
export { openViewer } from './viewer'
