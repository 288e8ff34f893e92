/** What the activity core exports. */
export { recordingActivity, recordRefusal, type Trace } from './record-activity.ts'
export { sweepActivity, type SweepActivityDeps } from './sweep-activity.ts'
