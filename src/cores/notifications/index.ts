/** The face of the notifications core. */
export { markRead, readInbox, tell } from './inbox.ts'
export { recordEvent } from './record-event.ts'
