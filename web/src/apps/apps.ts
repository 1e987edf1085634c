// The interfaces of tools (MCP Apps). This part of the page is loaded when the first of them is shown.
// Parts that are loaded later all share the whole of the first load, so that it is one file and compresses as one.
import '../main'

export { loadStyles, pageActions } from './page'
export { noPlacement, openPlacement } from './placement'
export { AppStage } from './stage'
