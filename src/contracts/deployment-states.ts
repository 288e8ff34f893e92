/** The states of a deployment, and why it failed. Plain constants: the client `svc` loads this file and no zod. */

export const DEPLOYMENT_STATES = ['queued', 'running', 'succeeded', 'failed', 'cancelled'] as const
export type DeploymentState = (typeof DEPLOYMENT_STATES)[number]

/** Why a deployment failed. The short code of the notification, too. */
export const DEPLOYMENT_CODES = {
  BUILD_FAILED: 'The deploy command ended with an error',
  TIMED_OUT: 'The deploy command took too long',
  NO_RUNNER: 'No runner claimed it within 24 hours',
  RUNNER_LOST: 'The runner was not heard from any more; its command may still be running',
  RUNNER_FAILED: 'The runner could not start the command, or was stopped while it ran',
  ROLLOUT_FAILED: 'It was reported as broken after it had succeeded',
} as const
export type DeploymentCode = keyof typeof DEPLOYMENT_CODES
