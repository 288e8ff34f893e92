/** Which revision a page shows when its address names none. */
import { listRevisions } from '../../../contracts/revisions.ts'
import { sessionOf, type PageContext } from '../../context.ts'
import { emptyTab, type App } from './app-tabs.ts'

export const noSource = (app: App) =>
  emptyTab(
    'No source yet',
    'Push a folder to see its files and what changed between revisions.',
    `svc apps push ${app.alias}`,
  )

/** Almost always on the first page: it is the newest, unless an older tree was pushed again. */
export async function findHead(c: PageContext, alias: string): Promise<string | undefined> {
  const { revisions } = await sessionOf(c).call(listRevisions, { alias })
  return (revisions.find(({ is_head }) => is_head) ?? revisions[0])?.id
}
