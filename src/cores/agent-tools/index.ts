/** What the tool host of maintenance runs exports. */
export { callTool, type ToolHostDeps } from './call-tool.ts'
export { claimNextRun, renewRun, type IdentityDeps } from './claim-next-run.ts'
export { concludeRun } from './conclude-run.ts'
export { reserveTurn, settleTurn } from './settle-turn.ts'
