/** What the apps core exports. */
export { countApps } from './count-apps.ts'
export { createApp } from './create-app.ts'
export { narrowAppMemberAgain } from './narrow-again.ts'
export { requireAppReader, requireAppWriter, requireOwnApp, requireSourceReader } from './app-access.ts'
export { effectiveRole, findApp, findAppRole, requireApp, type App } from './find-app.ts'
export { appRows, presentApp } from './present-app.ts'
