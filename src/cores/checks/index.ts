/** What the checks core exports. */
export type { ChecksDeps } from './checks-deps.ts'
export { createCheckRunner, type CheckRunnerDeps, type CheckRunnerOptions } from './check-runner.ts'
export { expireCheckClaims } from './claim-checks.ts'
export { rescheduleChecks } from './reschedule-checks.ts'
export type { HttpProbe } from './http-probe-port.ts'
export type { JudgePort } from './judge-port.ts'
export type { FindLines } from './match-lines-port.ts'
export { isLogPattern } from './log-pattern.ts'
