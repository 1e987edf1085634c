import { App } from './model/app'
import { applyPreferences } from './model/preferences'
import { loginView } from './views/login'
import { Shell } from './views/shell'

applyPreferences()
const app = new App()
const place = document.getElementById('app')!
const shell = new Shell(app)
app.isLoggedOut.watch((isOut) => {
  place.replaceChildren(isOut ? loginView(() => location.reload()) : shell.element)
})
void app.start()
