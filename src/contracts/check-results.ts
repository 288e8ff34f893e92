/** What a check can find and why, as plain constants: the client loads this file and no zod. */

/** `error`: the instrument itself failed. `indeterminate`: it ran into a limit of evidence or budget. */
export const CHECK_RESULTS = ['pass', 'fail', 'error', 'indeterminate'] as const
export type CheckResult = (typeof CHECK_RESULTS)[number]

/** Why a run has its result: a closed list, because what the other side said is never kept. */
export const CHECK_REASONS = {
  condition: 'A condition does not hold',
  connection_failed: 'No connection, or it broke off',
  tls_failed: 'The certificate is not valid for this name',
  timed_out: 'No answer in time',
  no_address: 'The name has no address that may be checked. Use a name with a public one',
  private_address: 'It failed in a private network, from which no more is kept',
  address_refused:
    'The address is in a private network. Use a public one, or ask the operator to allow it with CHECKS_ALLOW_NETS',
  dns_failed: 'The name could not be looked up',
  log_lines: 'More log lines than allowed',
  evidence_limit: 'There was more to read than a check may',
  token_budget: 'The tokens of today are used up',
  token_limit: 'The tokens of this check did not suffice',
  judged: 'Judged by the model',
  no_verdict: 'The model could not tell',
  model_refused: 'The model’s provider refused the request',
  model_unavailable: 'The model did not answer',
  model_answer: 'The model gave no verdict that can be read',
  internal_error: 'The check itself broke',
} as const
export type CheckReason = keyof typeof CHECK_REASONS

/** Why a check is not run. */
export const CHECK_PAUSES = {
  disabled: 'Turned off',
  maintenance_window: 'In a maintenance window',
  no_maintenance_model: 'The organization has no maintenance model, or has turned it off',
} as const
export type CheckPause = keyof typeof CHECK_PAUSES

/** Stands for a secret of a check, which is not returned; sent back, it keeps the secret. */
export const KEPT_SECRET = '[hidden]'

/** Results in `recent`. */
export const CHECK_STRIP = 30
