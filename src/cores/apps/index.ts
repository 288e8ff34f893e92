/** The face of the apps core. */
export { leaveApps, putOnApp, takeOffApp } from './app-members.ts'
export { appsOf, makeApp, nameApp, oneApp } from './apps.ts'
export { appFor, findApp, partIn, type App } from './find-app.ts'
