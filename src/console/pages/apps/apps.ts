/** The list of apps, and creating one. */
import { html } from 'hono/html'
import { summarizeApps } from '../../../contracts/app-summaries.ts'
import { createApp } from '../../../contracts/apps.ts'
import { selectField } from '../../../pages/parts.ts'
import { submit } from '../../act.ts'
import { formOf, type Refused } from '../../fields.ts'
import { listOf } from '../../list-of.ts'
import { formCard, statusOf } from '../../forms.ts'
import { page } from '../../layout.ts'
import { emptyState, filterForm, noMatch } from '../../components.ts'
import { pager } from '../../pager.ts'
import { createRoutes, hasRole, organizationOf, sessionOf, type PageContext } from '../../context.ts'
import { appCards } from './app-cards.ts'
import { appPath, APPS_PATH } from './app-labels.ts'

const APPS = listOf(summarizeApps, { search: { label: 'Alias or name' } })
const NEW_APP = formOf(createApp, ['alias', 'name'])

export const appListRoutes = () =>
  createRoutes()
    .get('/apps', (c) => showApps(c))
    .post('/apps', create)

async function showApps(c: PageContext, refused?: Refused) {
  const organization = organizationOf(c)
  const session = sessionOf(c)
  const query = c.req.method === 'GET' ? c.req.query() : {}
  const mine = query['mine'] === 'true'
  const listed = await APPS.call(c, { mine: String(mine) })
  const parts = APPS.parts(c, listed)
  const isFiltered = APPS.isFiltered(c) || mine || query['cursor'] !== undefined
  const mayCreate = hasRole(session, 'developer')
  return page(c, {
    title: 'Apps',
    lead: `Apps of ${organization.name}: what runs, how it is, and what waits for somebody.`,
    status: statusOf(refused?.problem),
    body: html`<div class="card card-list">
        ${filterForm(
          c,
          'Filter apps',
          html`${parts.filters}
          ${selectField({
            name: 'mine',
            label: 'Show',
            value: String(mine),
            options: [
              { value: 'false', label: 'All apps' },
              { value: 'true', label: 'Apps I build or maintain' },
            ],
          })}`,
        )}
        ${listed.apps.length === 0 ? (isFiltered ? noMatch(c, 'apps') : noApps(mayCreate)) : appCards(listed.apps)}
        ${pager(c, listed.apps.length, { next_cursor: listed.next_cursor, total: listed.total })}
      </div>
    ${mayCreate && formCard(c, { of: NEW_APP.show({ refused }), title: 'New app', lead: 'You become its maintainer.', action: APPS_PATH, submit: 'Create app' })}`,
  })
}

const noApps = (mayCreate: boolean) =>
  emptyState(
    'No apps yet',
    mayCreate
      ? 'An app has an alias, builders and maintainers, and tickets. Create the first one below.'
      : 'Apps created by developers are listed here.',
  )

const create = submit(NEW_APP, {
  again: showApps,
  done: ({ alias, name }) => [appPath(alias), `${name} created.`],
})
