/** The last loads of a data source, so that whoever left one finds it again. */
import { html } from 'hono/html'
import { listLoads } from '../../../contracts/loads.ts'
import { card, linkButton } from '../../../pages/parts.ts'
import { changing, table, time } from '../../components.ts'
import { sessionOf, type PageContext } from '../../context.ts'
import { LOAD_FILE_PATH } from './load-file.ts'
import { loadBadge, loadPath } from './load-labels.ts'
import { databaseOf, type Source } from './source-labels.ts'

const SHOWN = 5

export async function loadsCard(c: PageContext, source: Source) {
  if (source.kind === 'attached' || source.documents || !source.ready) return null
  const name = databaseOf(source)
  const { loads } = await sessionOf(c).call(listLoads, { name, limit: SHOWN })
  return card(
    'Files',
    html`${
      loads.length > 0 &&
      changing(
        'loads',
        'loads',
        table(
          'The last files that were loaded',
          ['File', 'State', 'Table', 'Rows', 'By', 'When'],
          loads.map((load) => [
            html`<a href="${loadPath(load)}">${load.filename || load.id}</a>`,
            loadBadge(load),
            load.table ?? '',
            load.rows.toLocaleString('en'),
            load.created_by,
            time(load.created_at),
          ]),
        ),
      )
    }
    <div class="actions">${linkButton(`${LOAD_FILE_PATH}?database=${name}`, 'Load a file', 'quiet')}</div>`,
    'CSV, XLSX, JSON, NDJSON and Parquet files become tables that can be searched.',
  )
}
