import { read, type Verb } from '../verb.ts'
import { presentLoad, requireLoad } from './load-rows.ts'

export const showLoad: Verb<'showLoad'> = read(async ({ db, clock, orgId }, { load_id }) => {
  const { load, source } = await requireLoad(db, orgId, load_id)
  return presentLoad(load, source, clock())
})
