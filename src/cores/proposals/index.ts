/** What the proposals core exports. */
export { presentProposalAbout } from './find-proposal.ts'
export { measureFixes } from './measure-fixes.ts'
export { presentEffect } from './present-effect.ts'
export { fitsGlob } from './path-globs.ts'
export { proposeChange, type ProposalDeps } from './propose-change.ts'
export { viewProposals } from './proposal-access.ts'
export { SECRET_FILES } from './secret-files.ts'
