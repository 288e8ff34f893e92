/** What the support-sessions core exports. */
export { findLiveSupportSession } from './live-support-session.ts'
export { endLiveSupportSessions } from './end-live-support-sessions.ts'
