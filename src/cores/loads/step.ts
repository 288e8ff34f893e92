/** What the steps of a load share. A step may be repeated from its beginning, and two of the same load do no harm. */
import type { StoredPlan } from '../../../db/schema.ts'
import type { LoadFailure } from '../../contracts/loads.ts'
import type { Queries, SourceRow } from '../databases/index.ts'
import type { ClaimedLoad } from './claim-load.ts'
import type { LoadDeps } from './load-deps.ts'
import type { LoadRow } from './load-rows.ts'

export type StepContext = {
  readonly deps: LoadDeps
  readonly source: SourceRow
  readonly queries: Queries
  readonly plan: StoredPlan
  /** The program is stopping. */
  readonly signal: AbortSignal
}

/** Returns what changed. */
export type Step = (context: StepContext, load: ClaimedLoad) => Promise<Partial<LoadRow>>

/** Ends the load for good. */
export class LoadFailed extends Error {
  override readonly name = 'LoadFailed'
  readonly failure: LoadFailure
  readonly values: Partial<LoadRow>

  constructor(failure: LoadFailure, values: Partial<LoadRow> = {}) {
    super(failure)
    this.failure = failure
    this.values = values
  }
}
