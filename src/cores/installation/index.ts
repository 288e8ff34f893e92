/** What the installation core exports. */
export { showInstallation, type InstallationDeps } from './show-installation.ts'
