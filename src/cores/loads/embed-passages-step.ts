/** Embeds the next passages of a sync that have no vector yet, with the headings above them. */
import { BATCH, embedStaged } from './embed-first.ts'
import { stagedTable } from './staging.ts'
import type { Step } from './step.ts'

export const embedPassagesStep: Step = async (context, load) => {
  const { queries, plan } = context
  // With nothing to read, nothing was staged.
  if (plan.sync!.sent === 0) return { phase: 'finishing' }
  const staged = stagedTable(load.id)
  const found = await queries.query<{ n: string; sha256: string; text: string }>(
    `select s.n::text as n, s.text_sha256 as sha256, s.heading || E'\\n' || s.passage as text from ${staged} s
      where s.embedding is null and s.n > $1::bigint order by s.n limit ${BATCH}`,
    [String(load.embedded)],
  )
  if (found.length === 0) return { phase: 'finishing', embedded: load.rows }
  const embedded = await embedStaged(context, load, staged, found)
  return { embedded: Number(found[embedded - 1]!.n) }
}
