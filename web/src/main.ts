import { App } from './model/app'
import { applyPreferences } from './model/preferences'
import { Shell } from './views/shell'

applyPreferences()
const app = new App()
document.getElementById('app')!.replaceChildren(new Shell(app).element)
void app.start()
