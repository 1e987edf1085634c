import { loadWords } from './base/words'
import { App } from './model/app'
import { applyPreferences } from './model/preferences'
import { linkKey, takeLinkKey } from './model/link_key'
import { tellSignIn } from './screens/sign_in'
import { loginView } from './views/login'
import { noWorkspaceView } from './views/no_workspace'
import { Shell } from './views/shell'

applyPreferences() // before anything can be seen
await loadWords()
const app = new App()
const place = document.getElementById('app')!
const shell = new Shell(app)
app.isLoggedOut.watch((isOut) => {
  place.replaceChildren(isOut ? loginView(() => location.reload()) : shell.element)
})
app.refusal.watch((reason) => {
  if (reason !== null) place.replaceChildren(noWorkspaceView(reason))
})
// The link of `nb serve` can be opened in a tab that shows the page already.
addEventListener('hashchange', () => {
  if (linkKey()) location.reload()
})
void takeLinkKey().then(() => app.start())
tellSignIn()
// The frame of the page is there without a server too (public/sw.js).
if (isSecureContext) navigator.serviceWorker?.register('./sw.js').catch(() => {}) // forbidden, or a private window
