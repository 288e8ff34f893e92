/** What the activity core exports. */
export { listActivity } from './list-activity.ts'
export { recordingActivity, recordRefusal, type Trace } from './record-activity.ts'
export { reportToolCall } from './report-tool-call.ts'
export { summarizeActivity } from './summarize-activity.ts'
export { sweepActivity, type SweepActivityDeps } from './sweep-activity.ts'
