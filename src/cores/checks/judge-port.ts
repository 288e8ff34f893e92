/**
 * How a judge check reaches the organization's maintenance model. Whoever holds the keys of the models stands behind it,
 * in this process or in another.
 */
import type { Handle } from '../../../db/connect.ts'
import type { ModelAnswer, ModelRequest } from '../../contracts/model-port.ts'

export type JudgePort = {
  /**
   * Of this moment; null: the organization has no maintenance model, or has turned it off. `db`: the transaction of whoever
   * asks, if there is one. Another connection might never come free, and embedded there is none.
   */
  readonly settingsOf: (orgId: string, db: Handle) => Promise<JudgeSettings | null>
  readonly ask: (orgId: string, request: ModelRequest, signal: AbortSignal) => Promise<ModelAnswer>
}

export type JudgeSettings = {
  readonly model: string
  /** Tokens that the organization may use in a day, for everything. */
  readonly tokenAllowance: number
}

/** Null: this installation has no maintenance models, so judge checks are paused. */
export type WithJudge = { readonly judge: JudgePort | null }
