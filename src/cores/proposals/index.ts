/** What the proposals core exports. */
export { fitsGlob } from './path-globs.ts'
export { proposeChange, type ProposalDeps } from './propose-change.ts'
export { SECRET_FILES } from './secret-files.ts'
