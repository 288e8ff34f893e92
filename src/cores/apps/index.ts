/** The face of the apps core. */
export { findApp, partIn, type App, type Part } from './find-app.ts'
