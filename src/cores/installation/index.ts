/** What the installation core exports. */
export { standbyWarnings } from './standby-warnings.ts'
export type { InstallationDeps } from './show-installation.ts'
