/** Removing a database: a separate page that asks for its name. */
import { html } from 'hono/html'
import { showDataSource } from '../../../contracts/data-sources.ts'
import { removeDatabase } from '../../../contracts/databases.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { button, linkButton, problemNotice } from '../../../pages/parts.ts'
import { formOf, refuse, type Refused } from '../../fields.ts'
import { attempt, form, statusOf } from '../../forms.ts'
import { redirectWithMessage } from '../../flash.ts'
import { page } from '../../layout.ts'
import { createRoutes, requireRole, sessionOf, type PageContext } from '../../context.ts'
import { databaseOf, pathOf, sourceIdFrom, SOURCES_PATH } from './source-labels.ts'
import { tabPath } from './source-tabs.ts'

export const removeDatabaseRoutes = () =>
  createRoutes()
    .get('/data-sources/:source_id/remove', (c) => showRemoval(c))
    .post('/data-sources/:source_id/remove', remove)

const CONFIRM = formOf(removeDatabase, ['confirm'], { confirm: { required: true } })

async function showRemoval(c: PageContext, refused?: Refused) {
  requireRole(c, 'admin', 'Only owners and admins can remove databases')
  const session = sessionOf(c)
  const source = await session.call(showDataSource, { source_id: sourceIdFrom(c) })
  const isAttached = source.kind === 'attached'
  const name = databaseOf(source)
  const path = pathOf(source.source_id)
  return page(c, {
    title: isAttached ? `Detach ${source.name}?` : `Remove ${source.name}?`,
    status: statusOf(refused?.problem),
    body: html`<div class="card">
      <p>${
        isAttached
          ? 'The database and its data are not touched. Its search configuration and connection string are deleted here.'
          : html`The database and <strong>all its data</strong> are deleted. This cannot be undone.`
      } It can no longer be queried. Its activity remains visible.</p>
      ${problemNotice(refused?.problem, ['confirm'])}
      ${form(
        c,
        `${path}/remove`,
        html`${CONFIRM.show({ refused }).field('confirm', { label: `Type ${name} to confirm` })}
        <div class="actions">${button(isAttached ? 'Detach database' : 'Remove database', 'danger')} ${linkButton(tabPath(source.source_id, 'database'), 'Cancel', 'quiet')}</div>`,
      )}
    </div>`,
  })
}

async function remove(c: PageContext) {
  const session = sessionOf(c)
  const { confirm } = CONFIRM.read(c.get('form'))
  const result = await attempt(async () => {
    const source = await session.call(showDataSource, { source_id: sourceIdFrom(c) })
    const name = databaseOf(source)
    if (confirm !== name) {
      throw new ServiceError('INVALID_REQUEST', 'Nothing was removed', {
        problems: [`confirm: must be exactly ${name}`],
      })
    }
    await session.call(removeDatabase, { name, confirm })
    return source
  })
  if ('problem' in result) return showRemoval(c, refuse(c, result.problem))
  return redirectWithMessage(c, SOURCES_PATH, `${result.done.name} removed.`)
}
