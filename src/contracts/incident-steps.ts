/** What can happen in an incident, as plain constants: the client loads this file and no zod. */
export const INCIDENT_STEPS = {
  deployed_before: 'The last deployment before it succeeded',
  first_logged: 'First logged',
  check_failed: 'A check began to fail',
  first_found: 'Found',
  found_again: 'Found again',
  run_requested: 'The maintenance agent was asked to look',
  fix_proposed: 'A fix was proposed',
  fix_approved: 'The fix was approved',
  fix_denied: 'The fix was denied',
  fix_queued: 'The fix was queued for a runner',
  fix_deployed: 'The fix was deployed',
  fix_failed: 'The deployment of the fix failed',
  fix_cancelled: 'The deployment of the fix was canceled',
  came_back: 'It came back after the fix',
  last_logged: 'Last logged',
  check_passed: 'The check passes again',
} as const
export type IncidentStep = keyof typeof INCIDENT_STEPS

/** `open`: something is wrong and nobody has repaired it. `quiet`: somebody decided to leave it. */
export const INCIDENT_STATES = ['open', 'quiet', 'resolved'] as const
export type IncidentState = (typeof INCIDENT_STATES)[number]

/** Newest lines that an incident shows; the log has all of them. */
export const INCIDENT_LINES = 10
