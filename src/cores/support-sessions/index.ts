/** What the support-sessions core exports. */
export { findLiveSupportSession } from './live-support-session.ts'
export { startSupportSession } from './start-support-session.ts'
export { endSupportSession } from './end-support-session.ts'
export { endLiveSupportSessions } from './end-live-support-sessions.ts'
export { elevateSupportSession } from './elevate-support-session.ts'
export { listMySupportSessions } from './list-my-support-sessions.ts'
export { listSupportSessions } from './list-support-sessions.ts'
