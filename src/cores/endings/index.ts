/** What the endings core exports. */
export type { Ending } from '../record-ending.ts'
export { endLost } from './end-lost.ts'
export type { EndingsJournal, Sealing } from './journal.ts'
export { recordRestore } from './timeline.ts'
export { watchTimeline, type TimelineWatch } from './watch-timeline.ts'
export { keepUnsettledEndings } from './unsettled-endings.ts'
