/** What the installation core exports. */
export type { InstallationDeps } from './show-installation.ts'
