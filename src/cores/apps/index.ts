/** What the apps core exports. */
export { setAppMember } from './set-app-member.ts'
export { removeAppMember } from './remove-app-member.ts'
export { listApps } from './list-apps.ts'
export { createApp } from './create-app.ts'
export { renameApp } from './rename-app.ts'
export { showApp } from './show-app.ts'
export { requireAppReader, requireAppWriter, requireOwnApp, requireSourceReader } from './app-access.ts'
export { findApp, findAppRole, requireApp, type App } from './find-app.ts'
