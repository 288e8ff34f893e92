/** Evals without the questions. */
import { evals } from '../../db/schema.ts'
import { makeId } from '../../src/contracts/ids.ts'
import type { Source } from './data-sources.ts'
import type { Org } from './make.ts'
import type { TestSystem } from './system.ts'

/** Finished, with five answers found in the table of this label: enough to set a threshold from. */
export async function insertEval(
  { db, clock }: Pick<TestSystem, 'db' | 'clock'>,
  org: Org,
  source: Source,
  given: { readonly target?: string } & Partial<typeof evals.$inferInsert> = {},
): Promise<string> {
  const { target = 'papers', ...values } = given
  const now = clock.now()
  const id = makeId('evl', now.getTime())
  await db.insert(evals).values({
    orgId: org.id,
    id,
    sourceId: source.id,
    questions: 5,
    asked: 5,
    totals: { answerable: 5, recall: 4, reciprocal: 2.5 },
    scores: Array.from({ length: 5 }, (_, at) => ({ target, score: 0.5 + at / 10, found: true })),
    models: [],
    createdBy: org.owner.userId,
    createdByName: 'Olga',
    createdAt: now,
    finishedAt: now,
    ...values,
  })
  return id
}
