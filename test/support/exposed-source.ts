/** A data source that may be asked, as a grant shows it; no database is behind it. */
import { insertSource } from './data-sources.ts'
import { unique, type Org } from './make.ts'
import type { TestSystem } from './system.ts'

export type ExposedSource = { readonly id: string; readonly source_id: string; readonly name: string }

/** `title` is what people read, `name` that of the database. */
export async function makeExposedSource(
  system: Pick<TestSystem, 'db' | 'clock'>,
  org: Org,
  given: Parameters<typeof insertSource>[2] = {},
): Promise<ExposedSource> {
  const title = given.title ?? unique('About')
  const { id, sourceId } = await insertSource(system, org, { enabled: true, exposed: true, ...given, title })
  return { id, source_id: sourceId, name: title }
}
