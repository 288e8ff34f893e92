/** Which revision a page shows when its address names none. */
import { listRevisions } from '../../../contracts/revisions.ts'
import { sessionOf, type PageContext } from '../../context.ts'
import { emptyTab, type App } from './app-tabs.ts'

export const noSource = (app: App) =>
  emptyTab(
    'No source yet',
    'Push a folder to see its files and what changed between revisions.',
    app.my_role !== null && `svc apps push ${app.alias}`,
  )

/** Not always the newest: an older tree may have been pushed again. */
export async function findHead(c: PageContext, alias: string): Promise<string | undefined> {
  const { head_id } = await sessionOf(c).call(listRevisions, { alias, limit: 1 })
  return head_id ?? undefined
}
